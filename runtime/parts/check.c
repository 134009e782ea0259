/* check.c -- reads a part once, in blocks, and finds which bytes are not what was written.
 *
 * A header follows from the plan and the save, so it is compared. The sums are trusted where their
 * own sum is the manifest's; without this match the sums may be damaged themselves: the sum of the
 * sums that the data have decides. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "runtime/parts/parts.h"
#include "runtime/safetensors/safetensors.h"

uint64_t part_sum(const void *bytes, size_t count) {
  return XXH3_64bits(bytes, count);
}

typedef struct Check {
  const PartFile *part;
  const PartSink *sink;
  char path[4096], name[PART_FILE_NAME_BYTES];
  PartLayout layout;
  int64_t file_bytes; /* the size that was found */
  int descriptor;
  uint64_t *computed, *stored; /* sums of blocks, and of these */
  bool *bad;                   /* by block */
  uint8_t *block;
  bool is_whole;
} Check;

/* The names of tensors with bytes in a range of the file. */
typedef struct TouchedTensors {
  const Check *check;
  int64_t first, end;
  const char **name;
  int32_t count;
} TouchedTensors;

static const char *full_name(const State *state, const StateStored *stored) {
  const char *kind = state_kind_of(state_tensor(state, stored->item)->kind)->name;
  size_t room = strlen(stored->item->name) + strlen(kind) + 2;
  char *name = malloc(room);
  if (name) (void)snprintf(name, room, "%s/%s", stored->item->name, kind);
  return name;
}

static bool touch(void *context, const StateStored *stored) {
  TouchedTensors *touched = context;
  const Check *check = touched->check;
  int64_t first = check->layout.header_bytes + (int64_t)stored->data_first;
  bool is_header = touched->first < check->layout.header_bytes;
  if (!is_header &&
      (first >= touched->end || first + (int64_t)stored->size_bytes <= touched->first))
    return true;
  const char **more = realloc(touched->name, ((size_t)touched->count + 1) * sizeof *more);
  if (!more) return false;
  touched->name = more;
  touched->name[touched->count] = full_name(check->part->state, stored);
  return touched->name[touched->count] && ++touched->count;
}

static void damaged(Check *check, int64_t first_byte, int64_t bytes, const char *why) {
  TouchedTensors touched = {.check = check, .first = first_byte, .end = first_byte + bytes};
  check->is_whole = false;
  (void)state_part_each(check->part->state, check->part->id.number, touch, &touched);
  const PartDamage damage = {.file = check->name,
                             .first_byte = first_byte,
                             .bytes = bytes,
                             .why = why,
                             .tensor = touched.name,
                             .tensor_count = touched.count};
  check->sink->damaged(check->sink->context, &damage);
  for (int32_t i = 0; i < touched.count; i++)
    free((char *)touched.name[i]);
  free(touched.name);
}

static bool no_memory(const Check *check, Status *status) {
  return status_fail(status, STATUS_WORLD, "%s/%s: not enough memory to read it",
                     check->part->folder, check->name);
}

/* Reads the part of a range that the file has; `got` is how much. */
static bool read_some(const Check *check, int64_t first, void *bytes, int64_t count, int64_t *got,
                      Status *status) {
  for (*got = 0; *got < count;) {
    ssize_t more = pread(check->descriptor, (char *)bytes + *got, (size_t)(count - *got),
                         (off_t)(first + *got));
    if (more < 0 && errno == EINTR) continue;
    if (more < 0)
      return status_fail(status, STATUS_WORLD, "%s/%s: cannot be read: %s", check->part->folder,
                         check->name, strerror(errno));
    if (more == 0) return true;
    *got += more;
  }
  return true;
}

/* ---- the header */

static void ignore(void *context, const SafeProblem *problem) {
  (void)context, (void)problem;
}

/* The file's own description, if its header is of another part than the one wanted. NULL:
 * nothing.
 */
static const char *of_another(const Check *check, char why[PART_WHY_BYTES]) {
  const PartId *id = &check->part->id;
  const SafeSink sink = {ignore, NULL};
  char step[24], save[24], number[24];
  SafeFile file;
  Status status;
  const char *found = NULL;
  (void)safe_open(&file, check->path, &sink, &status);
  const char *its_step = safe_note(&file, "step"), *its_save = safe_note(&file, "save");
  const char *its_part = safe_note(&file, "part");
  (void)snprintf(step, sizeof step, "%012lld", (long long)id->step);
  (void)snprintf(save, sizeof save, "%016llx", (unsigned long long)id->save);
  (void)snprintf(number, sizeof number, "%d", id->number);
  if (its_step && strlen(its_step) == 12 && strcmp(its_step, step) != 0) {
    (void)snprintf(why, PART_WHY_BYTES, "the header is of step %lld", strtoll(its_step, NULL, 10));
    found = why;
  } else if (its_part && strlen(its_part) < 12 && strcmp(its_part, number) != 0) {
    (void)snprintf(why, PART_WHY_BYTES, "the header is of part %s", its_part);
    found = why;
  } else if (its_save && strlen(its_save) == 16 && strcmp(its_save, save) != 0) {
    found = "the header is of another save of this step";
  }
  safe_close(&file);
  return found;
}

/* Where two ranges of bytes differ first and last. */
static bool find_difference(const char *a, const char *b, int64_t count, int64_t *first,
                            int64_t *bytes) {
  int64_t begin = 0, end = count;
  while (begin < count && a[begin] == b[begin])
    begin++;
  while (end > begin && a[end - 1] == b[end - 1])
    end--;
  *first = begin;
  *bytes = end - begin;
  return end > begin;
}

/* True if the part of the header that the file has is as expected. False with `status`: unread. */
static bool check_header(Check *check, bool *is_same, Status *status) {
  const PartFile *part = check->part;
  char why[PART_WHY_BYTES];
  int64_t got = 0, first, bytes;
  char *wanted = part_header(part->state, &part->id, &check->layout);
  char *header = wanted ? calloc(1, (size_t)check->layout.header_bytes) : NULL;
  bool is_read = header && read_some(check, 0, header, check->layout.header_bytes, &got, status);
  *is_same = is_read && !find_difference(header, wanted, got, &first, &bytes);
  if (is_read && !*is_same) {
    const char *other = of_another(check, why);
    damaged(check, other ? 0 : first, other ? check->file_bytes : bytes,
            other ? other : "the header is not the one that was written");
  }
  if (!header) (void)no_memory(check, status);
  free(wanted);
  free(header);
  return is_read;
}

/* ---- the blocks */

static bool sum_blocks(Check *check, Status *status) {
  const PartLayout *layout = &check->layout;
  for (int64_t i = 0; i < layout->blocks; i++) {
    int64_t first = i * PART_BLOCK_BYTES, left = layout->sums_first - first, got;
    int64_t count = left < PART_BLOCK_BYTES ? left : PART_BLOCK_BYTES;
    if (!read_some(check, first, check->block, count, &got, status)) return false;
    check->computed[i] = part_sum(check->block, (size_t)got);
  }
  check->computed[layout->blocks] =
      part_sum(check->computed, (size_t)layout->blocks * PART_SUM_BYTES);
  int64_t bytes = PART_SUM_BYTES * (layout->blocks + 1), got;
  return read_some(check, layout->sums_first, check->stored, bytes, &got, status);
}

/* Prints damaged blocks; adjacent ones are one range. A header was compared already. */
static void report_blocks(Check *check, bool is_header_same) {
  const PartLayout *layout = &check->layout;
  for (int64_t i = 0, end; i < layout->blocks; i = end) {
    for (end = i; end < layout->blocks && check->bad[end]; end++)
      continue;
    int64_t first = i * PART_BLOCK_BYTES, last = end * PART_BLOCK_BYTES;
    if (last > layout->sums_first) last = layout->sums_first;
    if (first < layout->header_bytes) first = layout->header_bytes;
    bool is_headers = !is_header_same && end == 1; /* the header alone may explain it */
    if (end > i && first < last && !is_headers)
      damaged(check, first, last - first,
              "the bytes do not have the sum that was written with them");
    if (end == i) end++;
  }
}

static void judge_sums(Check *check, bool is_header_same) {
  const PartLayout *layout = &check->layout;
  uint64_t of_stored = part_sum(check->stored, (size_t)layout->blocks * PART_SUM_BYTES);
  uint64_t wanted = check->part->sum, last = check->stored[layout->blocks];
  int64_t sums_bytes = layout->file_bytes - layout->sums_first;
  if (check->computed[layout->blocks] == wanted) { /* the data are what was written */
    if (memcmp(check->computed, check->stored, (size_t)sums_bytes) != 0)
      damaged(check, layout->sums_first, sums_bytes, "the tensors are whole, but not their sums");
  } else if (of_stored == wanted) { /* the sums are */
    for (int64_t i = 0; i < layout->blocks; i++)
      check->bad[i] = check->computed[i] != check->stored[i];
    report_blocks(check, is_header_same);
  } else if (of_stored == last && last == check->computed[layout->blocks]) {
    damaged(check, 0, check->file_bytes, "the file is whole, but it is not the one of this save");
  } else {
    damaged(check, layout->header_bytes, layout->file_bytes - layout->header_bytes,
            "neither the tensors nor their sums are what was written");
  }
}

/* ---- the file */

static void check_size(Check *check) {
  char why[PART_WHY_BYTES];
  int64_t wanted = check->layout.file_bytes, had = check->file_bytes;
  if (had == wanted) return;
  (void)snprintf(why, sizeof why, "the file has %lld bytes, and %lld were written", (long long)had,
                 (long long)wanted);
  damaged(check, had < wanted ? had : wanted, had < wanted ? wanted - had : had - wanted, why);
}

static bool allocate(Check *check, Status *status) {
  size_t sums = (size_t)check->layout.blocks + 1;
  check->computed = calloc(sums, sizeof *check->computed);
  check->stored = calloc(sums, sizeof *check->stored);
  check->bad = calloc(sums, sizeof *check->bad);
  check->block = malloc(PART_BLOCK_BYTES);
  return (check->computed && check->stored && check->bad && check->block) ||
         no_memory(check, status);
}

static bool check_contents(Check *check, Status *status) {
  bool is_header_same;
  if (!check_header(check, &is_header_same, status) || !allocate(check, status)) return false;
  if (!is_header_same && check->file_bytes != check->layout.file_bytes) return true;
  check_size(check);
  if (check->file_bytes < check->layout.file_bytes) return true; /* its sums are missing, too */
  if (!sum_blocks(check, status)) return false;
  judge_sums(check, is_header_same);
  return true;
}

PartResult part_check(const PartFile *part, const PartSink *sink, Status *status) {
  struct stat about;
  Check check = {.part = part, .sink = sink, .is_whole = true};
  part_file_name(check.name, part->id.number);
  (void)snprintf(check.path, sizeof check.path, "%.4000s/%s", part->folder, check.name);
  if (!part_layout(part->state, part->id.number, &check.layout)) {
    (void)no_memory(&check, status);
    return PART_UNREAD;
  }
  check.descriptor = open(check.path, O_RDONLY | O_CLOEXEC);
  if (check.descriptor < 0 && (errno == ENOENT || errno == ENOTDIR)) {
    damaged(&check, 0, check.layout.file_bytes, "there is no such file");
    return PART_DAMAGED;
  }
  bool is_open = check.descriptor >= 0 && fstat(check.descriptor, &about) == 0;
  if (!is_open)
    (void)status_fail(status, STATUS_WORLD, "%s: cannot be read: %s", check.path, strerror(errno));
  check.file_bytes = is_open ? about.st_size : 0;
  bool is_read = is_open && check_contents(&check, status);
  if (check.descriptor >= 0) (void)close(check.descriptor);
  free(check.computed);
  free(check.stored);
  free(check.bad);
  free(check.block);
  return !is_read ? PART_UNREAD : check.is_whole ? PART_WHOLE : PART_DAMAGED;
}

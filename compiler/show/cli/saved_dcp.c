/* saved_dcp.c -- lockstep checkpoint convert --to dcp: a folder that torch's
 * HuggingFaceStorageReader loads at any degrees.
 *
 *   shard-00002-model-00001-of-00001.safetensors
 *     __metadata__: {"format": "pt", "DCP_SHARDING_INFO": {"KEY": {"saved_offsets": [64, 0]}, ...}}
 *     KEY: one rectangle of the tensor, which begins there in the whole
 *
 * That reader adds files up by their names of tensors, so a file has at most one rectangle of each.
 * Tensors follow each other over as many files as the checkpoint has parts; one that does not fit
 * into the rest of a file is cut along its first dimension. It streams: memory holds one chunk. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/show/cli/dcp.h"
#include "compiler/show/cli/runs.h"
#include "compiler/show/cli/saved.h"
#include "runtime/safetensors/safetensors.h"

enum { CHUNK_ELEMENTS = 1 << 20, ELEMENT_BYTES_MAX = 8, ALIGN_BYTES = 64 };

/* Rows [first, first + rows) of a tensor, in a file. */
typedef struct Rectangle {
  uint32_t item;
  bool is_step; /* the number of updates, once a parameter: no item */
  const char *key;
  int64_t first, rows, row_elements;
  int64_t shape[STATE_DIMS_MAX];
  int32_t dims;
  DType dtype;
} Rectangle;

typedef struct Exporting {
  Compile *c;
  const SavedOpen *saved;
  const Options *options;
  VEC(Rectangle) here; /* of the file to be written */
  SavedReader *reader;
  const char *folder; /* until it is whole */
  uint8_t *chunk;
  int64_t limit, used; /* bytes of a file, and those of `here` */
  int64_t bytes;       /* of all */
  int32_t files, tensors;
  ExitCode code;
} Exporting;

static bool cannot(Exporting *e, const char *path) {
  e->code = cannot_write(path, errno);
  return false;
}

/* ---- a file */

static bool write_all(Exporting *e, int file, const char *path, const void *bytes, size_t count) {
  for (size_t done = 0; done < count;) {
    ssize_t wrote = write(file, (const char *)bytes + done, count - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return cannot(e, path);
    done += (size_t)wrote;
  }
  return true;
}

/* {"KEY":{"saved_offsets":[64,0]},...} */
static char *sharding_info(const Exporting *e) {
  char *text = NULL;
  size_t bytes = 0;
  FILE *out = open_memstream(&text, &bytes);
  for (int32_t i = 0; out && i < e->here.count; i++) {
    const Rectangle *r = &e->here.at[i];
    fputs(i > 0 ? "," : "{", out);
    print_json_text(r->key, out);
    fputs(":{\"saved_offsets\":[", out);
    for (int32_t d = 0; d < r->dims; d++)
      fprintf(out, "%s%lld", d > 0 ? "," : "", d == 0 ? (long long)r->first : 0LL);
    fputs("]}", out);
  }
  if (out) fputs("}", out);
  if (out && fclose(out) == 0) return text;
  free(text);
  return NULL;
}

static bool write_header(Exporting *e, int file, const char *path) {
  SafeEntry *entries = ARENA_ARRAY(e->c->arena, SafeEntry, e->here.count);
  for (int32_t i = 0; i < e->here.count; i++) {
    const Rectangle *r = &e->here.at[i];
    entries[i] = (SafeEntry){r->key, safe_dtype_of(state_dtype_name(r->dtype)), r->dims, r->shape};
  }
  size_t bytes;
  char *info = sharding_info(e);
  const SafeNote notes[] = {{"format", "pt"}, {"DCP_SHARDING_INFO", info}};
  char *header = info ? safe_header(notes, 2, entries, e->here.count, ALIGN_BYTES, &bytes) : NULL;
  bool is_good = header != NULL && write_all(e, file, path, header, bytes);
  if (!header) e->code = complain(EXIT_WORLD, "%s: not enough memory for its header", path);
  free(info);
  free(header);
  return is_good;
}

static bool write_rectangle(Exporting *e, int file, const char *path, const Rectangle *r) {
  int64_t width = dtype_bytes(r->dtype), end = (r->first + r->rows) * r->row_elements;
  if (r->is_step) {
    float updates = (float)e->saved->checkpoint.manifest.facts.lasting.updates;
    return write_all(e, file, path, &updates, sizeof updates);
  }
  for (int64_t at = r->first * r->row_elements; at < end; at += CHUNK_ELEMENTS) {
    int64_t count = end - at < CHUNK_ELEMENTS ? end - at : CHUNK_ELEMENTS;
    if (!saved_read(e->reader, r->item, at, count, e->chunk, &e->code) ||
        !write_all(e, file, path, e->chunk, (size_t)(count * width)))
      return false;
  }
  return true;
}

/* Writes what has gathered. */
static bool write_file(Exporting *e) {
  if (e->here.count == 0) return true;
  const char *path = arena_printf(e->c->arena, "%s/shard-%05d-model-00001-of-00001.safetensors",
                                  e->folder, ++e->files);
  int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return cannot(e, path);
  bool is_good = write_header(e, file, path);
  for (int32_t i = 0; is_good && i < e->here.count; i++)
    is_good = write_rectangle(e, file, path, &e->here.at[i]);
  if (is_good && fsync(file) != 0) is_good = cannot(e, path);
  if (close(file) != 0 && is_good) is_good = cannot(e, path);
  e->bytes += e->used;
  e->here.count = 0;
  e->used = 0;
  return is_good;
}

/* ---- tensors */

/* Cut along the first dimension, where it does not fit. */
static bool add_tensor(Exporting *e, Rectangle whole) {
  int64_t row_bytes = whole.row_elements * dtype_bytes(whole.dtype), rows = whole.rows;
  e->tensors++;
  for (whole.first = 0; whole.first < rows; whole.first += whole.rows) {
    int64_t room = (e->limit - e->used) / row_bytes, left = rows - whole.first;
    bool is_full = e->here.count > 0 && room == 0;
    bool has_it = e->here.count > 0 && e->here.at[e->here.count - 1].key == whole.key;
    if ((is_full || has_it) && !write_file(e)) return false;
    if (e->here.count == 0) room = e->limit / row_bytes;
    whole.rows = room < 1 ? 1 : room < left ? room : left;
    if (whole.dims > 0) whole.shape[0] = whole.rows;
    VEC_PUSH(e->c->arena, &e->here, whole);
    e->used += whole.rows * row_bytes;
  }
  return true;
}

static bool add_item(Exporting *e, uint32_t index) {
  const State *state = &e->saved->checkpoint.manifest.state;
  const StateItem *item = &state->item[index];
  uint32_t kind = state_tensor(state, item)->kind;
  Rectangle whole = {.item = index,
                     .key = dcp_key(e->c->arena, item->name, kind),
                     .dtype = state_saved_dtype(state_tensor(state, item))};
  bool is_coded = whole.dtype == DTYPE_U8;
  if (whole.key == NULL || is_coded) {
    e->code = complain(EXIT_USER,
                       "%s/%s: torch's optimizers have no such state, so it cannot be "
                       "converted; checkpoint merge --weights has the weights alone",
                       item->name, saved_kind(state, item));
    return false;
  }
  whole.dims = saved_shape(state, index, whole.shape);
  whole.rows = whole.dims > 0 ? whole.shape[0] : 1;
  whole.row_elements = saved_elements(state, index) / whole.rows;
  if (!add_tensor(e, whole)) return false;
  if (kind != BUFFER_MOMENT1) return true;
  return add_tensor(
      e, (Rectangle){.key = arena_printf(e->c->arena, "optimizer.state.%s.step", item->name),
                     .is_step = true,
                     .rows = 1,
                     .row_elements = 1,
                     .dtype = DTYPE_F32});
}

static bool add_all(Exporting *e) {
  const Manifest *manifest = &e->saved->checkpoint.manifest;
  int64_t bytes = saved_bytes(manifest);
  e->limit = bytes / manifest->part_count + (bytes % manifest->part_count != 0);
  e->chunk = arena_alloc(e->c->arena, (size_t)CHUNK_ELEMENTS * ELEMENT_BYTES_MAX);
  for (uint32_t i = 0; i < manifest->state.item_count; i++)
    if (!add_item(e, manifest->state.sorted[i])) return false;
  return write_file(e);
}

/* ---- the folder */

/* Removes what a conversion that is refused has written. */
static void remove_files(const char *folder) {
  DIR *items = opendir(folder);
  for (struct dirent *item; items && (item = readdir(items)) != NULL;)
    if (strncmp(item->d_name, "shard-", 6) == 0) (void)unlinkat(dirfd(items), item->d_name, 0);
  if (items) (void)closedir(items);
  (void)rmdir(folder);
}

static bool publish(Exporting *e) {
  const char *out = e->options->out;
  if (!folder_sync(e->folder)) return cannot(e, e->folder);
  if (rename(e->folder, out) != 0 || !folder_sync(arena_printf(e->c->arena, "%s/..", out)))
    return cannot(e, out);
  return true;
}

static ExitCode export(Exporting *e) {
  const char *out = e->options->out;
  e->folder = arena_printf(e->c->arena, "%s.new", out);
  if (access(out, F_OK) == 0)
    return complain(EXIT_USER, "%s is there already: name another folder", out);
  if (!folder_fresh(e->c->arena, e->folder, &e->code)) return e->code;
  e->reader = saved_reader(e->saved);
  if (e->reader == NULL) e->code = complain(EXIT_WORLD, "not enough memory");
  bool is_good = e->reader != NULL && add_all(e) && publish(e);
  if (!is_good) remove_files(e->folder);
  if (is_good && !e->options->quiet)
    printf("wrote    %s   %s, %d tensors in %d file%s of step %s\n", text_plain(e->c->arena, out),
           format_bytes(e->c->arena, e->bytes), e->tensors, e->files, plural((uint64_t)e->files),
           format_count(e->c->arena, e->saved->checkpoint.manifest.facts.step));
  saved_reader_free(e->reader);
  return is_good ? EXIT_DONE : e->code;
}

ExitCode saved_export_dcp(Compile *c, const Options *options) {
  SavedOpen *saved = ARENA_NEW(c->arena, SavedOpen);
  Exporting e = {.c = c, .options = options, .saved = saved};
  ExitCode code = saved_open_word(c, options, options->words.at[1], saved);
  if (code == EXIT_DONE) code = export(&e);
  saved_close(saved);
  return code;
}

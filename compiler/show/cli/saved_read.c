/* saved_read.c -- elements of whole tensors, from the parts that have pieces of them. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/show/cli/saved.h"
#include "runtime/parts/parts.h"

enum { OPEN_MOST = 64 };

/* A part that is open. */
typedef struct OpenPart {
  int32_t number;
  int descriptor; /* -1: none */
  int64_t data_first;
} OpenPart;

struct SavedReader {
  const SavedOpen *saved;
  const State *state;
  OpenPart open[OPEN_MOST];
  int32_t next;  /* to be closed when another is opened */
  bool *checked; /* by index in the manifest's list */
  uint8_t *run;  /* bytes of a part */
  size_t run_room;
};

SavedReader *saved_reader(const SavedOpen *saved) {
  SavedReader *reader = calloc(1, sizeof *reader);
  if (!reader) return NULL;
  reader->saved = saved;
  reader->state = &saved->checkpoint.manifest.state;
  for (int32_t i = 0; i < OPEN_MOST; i++)
    reader->open[i].descriptor = -1;
  reader->checked =
      calloc((size_t)saved->checkpoint.manifest.part_count + 1, sizeof *reader->checked);
  if (reader->checked) return reader;
  free(reader);
  return NULL;
}

void saved_reader_free(SavedReader *reader) {
  if (!reader) return;
  for (int32_t i = 0; i < OPEN_MOST; i++)
    if (reader->open[i].descriptor >= 0) (void)close(reader->open[i].descriptor);
  free(reader->checked);
  free(reader->run);
  free(reader);
}

static void first_damage(void *context, const PartDamage *damage) {
  bool *was_told = context;
  if (!*was_told)
    complain(EXIT_USER,
             "%s is damaged at byte %lld: %s; lockstep checkpoint verify names all of it",
             damage->file, (long long)damage->first_byte, damage->why);
  *was_told = true;
}

/* Reads the whole part once, before anything of it is used. */
static bool check(SavedReader *reader, const ManifestPart *part, ExitCode *code) {
  const SavedOpen *saved = reader->saved;
  bool *checked = &reader->checked[part - saved->checkpoint.manifest.part], was_told = false;
  const ManifestFacts *facts = &saved->checkpoint.manifest.facts;
  Status status = {0};
  if (*checked) return true;
  const PartSink sink = {first_damage, &was_told};
  const PartFile file = {reader->state,
                         saved->checkpoint.path,
                         {part->number, facts->step, facts->save},
                         (int64_t)part->file_bytes,
                         part->sum};
  PartResult result = part_check(&file, &sink, &status);
  if (result == PART_UNREAD) complain(EXIT_WORLD, "%s", status.text);
  *code = result == PART_UNREAD ? EXIT_WORLD : EXIT_USER; /* damaged */
  return *checked = result == PART_WHOLE;
}

static const OpenPart *open_part(SavedReader *reader, int32_t number, ExitCode *code) {
  for (int32_t i = 0; i < OPEN_MOST; i++)
    if (reader->open[i].descriptor >= 0 && reader->open[i].number == number)
      return &reader->open[i];
  const ManifestPart *part = manifest_part(&reader->saved->checkpoint.manifest, number);
  char path[4200], name[PART_FILE_NAME_BYTES];
  PartLayout layout;
  *code = EXIT_WORLD;
  part_file_name(name, number);
  snprintf(path, sizeof path, "%.4096s/%s", reader->saved->checkpoint.path, name);
  if (!part) {
    *code = complain(EXIT_USER, "%s: the manifest has no such part", name);
    return NULL;
  }
  if (!check(reader, part, code) || !part_layout(reader->state, number, &layout)) return NULL;
  OpenPart *at = &reader->open[reader->next];
  reader->next = (reader->next + 1) % OPEN_MOST;
  if (at->descriptor >= 0) (void)close(at->descriptor);
  *at = (OpenPart){number, open(path, O_RDONLY | O_CLOEXEC), layout.header_bytes};
  if (at->descriptor >= 0) return at;
  complain(EXIT_WORLD, "%s: cannot be opened: %s", path, strerror(errno));
  return NULL;
}

/* A read of elements, while pieces of them are gathered. */
typedef struct Gather {
  SavedReader *reader;
  const StatePiece *want;
  uint8_t *to;
  int64_t width;
  int64_t first, end; /* of the stored piece, that are wanted */
  ExitCode *code;
} Gather;

static bool widen(void *context, int64_t from, int64_t to, int64_t count) {
  Gather *gather = context;
  (void)to;
  if (gather->first < 0) gather->first = from;
  gather->end = from + count;
  return true;
}

static bool copy(void *context, int64_t from, int64_t to, int64_t count) {
  const Gather *gather = context;
  int64_t width = gather->width;
  memcpy(gather->to + to * width, gather->reader->run + (from - gather->first) * width,
         (size_t)(count * width));
  return true;
}

static bool read_run(SavedReader *reader, const OpenPart *part, int64_t first, size_t bytes) {
  if (bytes > reader->run_room) {
    free(reader->run);
    reader->run_room = bytes;
    reader->run = malloc(bytes);
    if (!reader->run) return false;
  }
  for (size_t done = 0; done < bytes;) {
    ssize_t got = pread(part->descriptor, reader->run + done, bytes - done, first + (int64_t)done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    done += (size_t)got;
  }
  return true;
}

/* Reads the wanted elements of one stored piece. Their order is ascending in the piece and in the
 * result, so one read gets them all. */
static bool gather_from(void *context, const StateStored *stored) {
  Gather *gather = context;
  gather->first = -1;
  (void)state_common(&stored->piece, gather->want, widen, gather);
  if (gather->first < 0) return true;
  const OpenPart *part = open_part(gather->reader, stored->number, gather->code);
  if (!part) return false;
  int64_t at = part->data_first + (int64_t)stored->data_first + gather->first * gather->width;
  size_t bytes = (size_t)((gather->end - gather->first) * gather->width);
  if (!read_run(gather->reader, part, at, bytes)) {
    *gather->code = complain(EXIT_WORLD, "part %d of %s cannot be read: %s", stored->number,
                             gather->reader->saved->checkpoint.path, strerror(errno));
    return false;
  }
  return state_common(&stored->piece, gather->want, copy, gather);
}

StatePiece saved_whole(const State *state, uint32_t item) {
  const PlanTensor *tensor = state_tensor(state, &state->item[item]);
  const int32_t coordinate[PLAN_AXES_MAX] = {0};
  StatePiece piece = {0};
  int64_t elements = 1;
  (void)state_piece(state->plan, tensor->layout, coordinate, &piece);
  for (int32_t i = 0; i < piece.dims; i++) {
    piece.first[i] = 0;
    piece.count[i] = piece.shape[i];
    elements *= piece.shape[i];
  }
  return state_piece_dense(&piece, 0, elements);
}

int32_t saved_shape(const State *state, uint32_t item, int64_t shape[STATE_DIMS_MAX]) {
  StatePiece piece = saved_whole(state, item);
  memcpy(shape, piece.shape, sizeof piece.shape);
  return piece.dims;
}

int64_t saved_elements(const State *state, uint32_t item) {
  return saved_whole(state, item).range_count;
}

bool saved_read_piece(SavedReader *reader, uint32_t item, const StatePiece *want, void *elements,
                      ExitCode *code) {
  const State *state = reader->state;
  const PlanTensor *tensor = state_tensor(state, &state->item[item]);
  Gather gather = {.reader = reader,
                   .want = want,
                   .to = elements,
                   .width = dtype_bytes(state_saved_dtype(tensor)),
                   .code = code};
  *code = EXIT_WORLD;
  return state_sources(state, item, want, gather_from, &gather);
}

bool saved_read(SavedReader *reader, uint32_t item, int64_t first, int64_t count, void *elements,
                ExitCode *code) {
  StatePiece whole = saved_whole(reader->state, item);
  StatePiece want = state_piece_dense(&whole, first, count);
  return saved_read_piece(reader, item, &want, elements, code);
}

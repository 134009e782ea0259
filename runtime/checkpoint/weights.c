#include "runtime/checkpoint/weights.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/plan/plan_job.h"

/* ---- the folder */

typedef struct FirstProblem {
  const char *folder;
  Status *status;
  bool any;
} FirstProblem;

static void keep_first(void *context, const SafeProblem *problem) {
  FirstProblem *first = context;
  if (first->any) return;
  first->any = true;
  (void)status_fail(first->status, STATUS_USER, "%s: %s%s%s", problem->file,
                    problem->tensor ? problem->tensor : "", problem->tensor ? ": " : "",
                    problem->why);
}

static const char *text_of(const Plan *plan, const char *key) {
  char number[SETTING_NUMBER_BYTES];
  const PlanSetting *setting = plan_setting(plan, key);
  return setting == NULL ? "" : plan_setting_text(plan, setting, number);
}

static bool compare_sum(const WeightFiles *files, const char *folder, Status *status) {
  uint64_t sum = 0;
  char text[24];
  size_t bytes;
  char *manifest = files->is_checkpoint ? weights_manifest(folder, &bytes, &sum, status) : NULL;
  bool good = files->is_checkpoint ? manifest != NULL : weights_sum(&files->set, &sum, status);
  free(manifest);
  if (!good) return false;
  (void)snprintf(text, sizeof text, "%016llx", (unsigned long long)sum);
  if (strcmp(text, text_of(files->plan, PLAN_WEIGHTS_KEY)) == 0) return true;
  return status_fail(status, STATUS_USER,
                     "%s: its tensors are not those that the plan was compiled with: compile the "
                     "job again",
                     folder);
}

bool weight_files_open(WeightFiles *files, const Plan *plan, Status *status) {
  const char *folder = job_weights(plan);
  char path[WEIGHTS_PATH_BYTES], why[SAFE_WHY_BYTES];
  FirstProblem first = {folder, status, false};
  const SafeSink sink = {keep_first, &first};
  *files = (WeightFiles){.plan = plan};
  if (*folder == '\0') return true;
  files->is_checkpoint = weights_is_checkpoint(folder);
  if (files->is_checkpoint) return compare_sum(files, folder, status);
  if (weights_find(folder, path, why) == WEIGHTS_NONE)
    return status_fail(status, STATUS_USER, "%s %s", folder, why);
  return safe_set_open(&files->set, path, &sink, status) == SAFE_WHOLE &&
         compare_sum(files, folder, status);
}

void weight_files_close(WeightFiles *files) {
  safe_set_close(&files->set);
}

static bool equal_tensors(const SafePlace *a, const SafePlace *b, Status *status) {
  enum { CHUNK_BYTES = 1 << 20 };
  uint8_t *chunk = malloc((size_t)2 * CHUNK_BYTES);
  if (chunk == NULL) return status_fail(status, STATUS_WORLD, "not enough memory");
  bool good = true;
  for (int64_t at = 0; good && at < a->tensor->bytes; at += CHUNK_BYTES) {
    int64_t left = a->tensor->bytes - at;
    size_t count = left < CHUNK_BYTES ? (size_t)left : CHUNK_BYTES;
    good = safe_read(a->file, a->tensor->first_byte + at, chunk, count, status) &&
           safe_read(b->file, b->tensor->first_byte + at, chunk + CHUNK_BYTES, count, status);
    if (good && memcmp(chunk, chunk + CHUNK_BYTES, count) != 0)
      good = status_fail(status, STATUS_USER,
                         "%s: tensors %s and %s are tied in this model, and differ: the model of "
                         "this folder has an untied head",
                         a->file->path, a->tensor->name, b->tensor->name);
  }
  free(chunk);
  return good;
}

bool weight_files_check_tied(const WeightFiles *files, Status *status) {
  const char *text = text_of(files->plan, PLAN_TIED_KEY), *rest = text;
  char name[WEIGHTS_NAME_BYTES], like[WEIGHTS_NAME_BYTES];
  while (files->set.place_count > 0 && weights_next_tied(&rest, name, like)) {
    SafePlace a = safe_set_find(&files->set, name), b = safe_set_find(&files->set, like);
    if (a.tensor == NULL || b.tensor == NULL || a.tensor->bytes != b.tensor->bytes)
      return status_fail(status, STATUS_OURS, "plan: tied tensors %s", text);
    if (!equal_tensors(&a, &b, status)) return false;
  }
  return true;
}

/* ---- one tensor */

static const PlanParameter *parameter_of(const Plan *plan, const PlanTensor *tensor) {
  for (uint32_t i = 0; i < plan->parameters_count; i++)
    if (plan->parameters[i].value == tensor->value) return &plan->parameters[i];
  return NULL;
}

bool weight_source(const WeightFiles *files, const PlanTensor *tensor, int32_t layer,
                   WeightSource *source, Status *status) {
  const Plan *plan = files->plan;
  const PlanParameter *parameter = parameter_of(plan, tensor);
  char name[WEIGHTS_NAME_BYTES] = "";
  *source = (WeightSource){0};
  if (parameter != NULL && weights_name(name, plan->strings + parameter->source, layer))
    source->place = safe_set_find(&files->set, name);
  if (parameter == NULL || source->place.tensor == NULL)
    return status_fail(status, STATUS_OURS, "plan: tensor %s has no source in the files: '%s'",
                       plan->strings + tensor->name, name);
  source->is_transposed = parameter->transposed != 0;
  SafeDtype dtype = source->place.tensor->dtype;
  source->dtype = dtype == SAFE_F32 ? DTYPE_F32 : dtype == SAFE_BF16 ? DTYPE_BF16 : DTYPE_F16;
  return true;
}

static int64_t product(const int64_t *size, int32_t first, int32_t end) {
  int64_t elements = 1;
  for (int32_t i = first; i < end; i++)
    elements *= size[i];
  return elements;
}

static StatePiece whole_of(const int64_t *shape, int32_t dims) {
  StatePiece whole = {.dims = dims};
  for (int32_t i = 0; i < dims; i++)
    whole.shape[i] = whole.count[i] = whole.room[i] = shape[i];
  whole.range_count = product(shape, 0, dims);
  return whole;
}

StatePiece weight_whole(const StatePiece *piece) {
  return whole_of(piece->shape, piece->dims);
}

/* ---- bytes of files */

enum { READ_BYTES = 512 << 10 /* by one thread at once */ };

typedef struct Reading {
  const SafePlace *place;
  int64_t first, count; /* bytes of the tensor */
  uint8_t *to;
  _Atomic bool has_failed;
} Reading;

static bool read_part(const Reading *r, int64_t first, int64_t count, Status *status) {
  return safe_read(r->place->file, r->place->tensor->first_byte + r->first + first, r->to + first,
                   (size_t)count, status);
}

static void read_task(void *context, int64_t task, int32_t worker) {
  Reading *r = context;
  const int64_t first = task * READ_BYTES, left = r->count - first;
  Status ignored = {0}; /* the calling thread meets the failure again */
  (void)worker;
  if (!read_part(r, first, left < READ_BYTES ? left : READ_BYTES, &ignored))
    atomic_store(&r->has_failed, true);
}

static bool read_bytes(const SafePlace *place, int64_t first, uint8_t *to, int64_t count,
                       WeightReading reading, Status *status) {
  Reading r = {.place = place, .first = first, .count = count, .to = to};
  const int64_t tasks = (count + READ_BYTES - 1) / READ_BYTES;
  const bool alone = reading.threads == NULL || tasks < 2;
  if (!alone) threads_run(reading.threads, tasks, read_task, &r);
  if ((alone || r.has_failed) && !read_part(&r, 0, count, status)) return false;
  if (reading.sums != NULL) weight_sums_add(reading.sums, place, first, to, count);
  return true;
}

bool weight_read_whole(const WeightSource *source, WeightReading reading, uint8_t *bytes,
                       Status *status) {
  return read_bytes(&source->place, 0, bytes, source->place.tensor->bytes, reading, status);
}

/* ---- in the file's order */

typedef struct Copy {
  const WeightSource *source;
  WeightReading reading;
  int64_t width;
  uint8_t *packed;
  int64_t done; /* elements */
  Status *status;
} Copy;

static bool read_run(void *context, int64_t from, int64_t to, int64_t count) {
  (void)to;
  Copy *copy = context;
  uint8_t *at = copy->packed + copy->done * copy->width;
  copy->done += count;
  return read_bytes(&copy->source->place, from * copy->width, at, count * copy->width,
                    copy->reading, copy->status);
}

/* ---- transposed: the file has [in, out], and `want` is a range of a box of [out dims, in dims]
 *
 *            columns of the file: out
 *              . . x x x .
 *   rows: in   . . x x x .      a tile of rows and columns is read, and turned: elements of one out
 *              . . x x x .      lie beside each other in the box
 */

enum { TILE_ROWS = 16, TILE_LINE_BYTES = 1 << 12 };

typedef struct Turn {
  Copy copy;
  const StatePiece *want;
  int64_t columns;            /* of the file */
  int64_t in_count;           /* of the box */
  int64_t out_first, out_end; /* of the box, that the range touches */
  StatePiece in_whole, in_box;
  int64_t column, out, out_count; /* the run of columns that is being read */
  uint8_t *lines;                 /* of a tile */
} Turn;

/* A tile of `rows` lines that are line_bytes apart: rows `in` of the box and on, outs `out` and on.
 */
static inline void turn_tile(const Turn *turn, const uint8_t *line, int64_t line_bytes, int64_t in,
                             int64_t rows, int64_t out, int64_t count, size_t width) {
  for (int64_t k = 0; k < count; k++) {
    const int64_t at = (out + k) * turn->in_count + in - turn->want->range_first;
    const int64_t left = turn->want->range_count - at;
    const int64_t end = left < rows ? left : rows;
    for (int64_t row = at < 0 ? -at : 0; row < end; row++)
      memcpy(turn->copy.packed + (at + row) * (int64_t)width,
             line + row * line_bytes + k * (int64_t)width, width);
  }
}

static bool turn_rows_of(Turn *turn, int64_t row, int64_t in, int64_t rows, int64_t first,
                         int64_t count) {
  const WeightSource *source = turn->copy.source;
  const int64_t width = turn->copy.width, out = turn->out + first;
  int64_t at = (row * turn->columns + turn->column + first) * width, line_bytes = TILE_LINE_BYTES;
  const uint8_t *line = turn->lines;
  for (int64_t i = 0; source->bytes == NULL && i < rows; i++)
    if (!read_bytes(&source->place, at + i * turn->columns * width,
                    turn->lines + i * TILE_LINE_BYTES, count * width, (WeightReading){0},
                    turn->copy.status))
      return false;
  if (source->bytes != NULL) {
    line = source->bytes + at;
    line_bytes = turn->columns * width;
  }
  if (width == (int64_t)sizeof(float))
    turn_tile(turn, line, line_bytes, in, rows, out, count, sizeof(float));
  else
    turn_tile(turn, line, line_bytes, in, rows, out, count, sizeof(uint16_t));
  return true;
}

static bool turn_rows(void *context, int64_t from, int64_t to, int64_t count) {
  Turn *turn = context;
  const int64_t most = TILE_LINE_BYTES / turn->copy.width;
  for (int64_t i = 0; i < count; i += TILE_ROWS)
    for (int64_t first = 0; first < turn->out_count; first += most) {
      const int64_t left = turn->out_count - first, rows = count - i;
      if (!turn_rows_of(turn, from + i, to + i, rows < TILE_ROWS ? rows : TILE_ROWS, first,
                        left < most ? left : most))
        return false;
    }
  return true;
}

static bool turn_columns(void *context, int64_t from, int64_t to, int64_t count) {
  Turn *turn = context;
  int64_t skip = to < turn->out_first ? turn->out_first - to : 0;
  int64_t end = to + count < turn->out_end ? to + count : turn->out_end;
  if (to + skip >= end) return true;
  turn->column = from + skip;
  turn->out = to + skip;
  turn->out_count = end - turn->out;
  return state_common(&turn->in_whole, &turn->in_box, turn_rows, turn);
}

/* The part of a piece along dims [first, end), all of its box. */
static StatePiece along(const StatePiece *piece, int32_t first, int32_t end) {
  StatePiece part = {.dims = end - first};
  for (int32_t i = first; i < end; i++) {
    part.shape[i - first] = piece->shape[i];
    part.first[i - first] = piece->first[i];
    part.count[i - first] = part.room[i - first] = piece->count[i];
  }
  part.range_count = product(piece->count, first, end);
  return part;
}

static bool read_turned(Copy copy, const StatePiece *want) {
  const SafeTensor *tensor = copy.source->place.tensor;
  uint8_t lines[TILE_ROWS * TILE_LINE_BYTES];
  int32_t out_dims = 1;
  while (out_dims < want->dims && product(want->shape, 0, out_dims) < tensor->shape[1])
    out_dims++;
  StatePiece out_box = along(want, 0, out_dims);
  StatePiece out_whole = whole_of(want->shape, out_dims);
  Turn turn = {.copy = copy,
               .want = want,
               .columns = tensor->shape[1],
               .in_whole = whole_of(want->shape + out_dims, want->dims - out_dims),
               .in_box = along(want, out_dims, want->dims),
               .lines = lines};
  turn.in_count = turn.in_box.range_count;
  if (tensor->rank != 2 || product(want->shape, 0, out_dims) != tensor->shape[1])
    return status_fail(copy.status, STATUS_OURS, "plan: tensor %s is not transposed", tensor->name);
  if (turn.in_count == 0 || want->range_count == 0) return true;
  turn.out_first = want->range_first / turn.in_count;
  turn.out_end = (want->range_first + want->range_count - 1) / turn.in_count + 1;
  return state_common(&out_whole, &out_box, turn_columns, &turn);
}

bool weight_read(const WeightSource *source, const StatePiece *want, WeightReading reading,
                 uint8_t *packed, Status *status) {
  Copy copy = {.source = source,
               .reading = reading,
               .width = dtype_bytes(source->dtype),
               .packed = packed,
               .status = status};
  StatePiece whole = weight_whole(want);
  if (source->is_transposed) return read_turned(copy, want);
  return state_common(&whole, want, read_run, &copy);
}

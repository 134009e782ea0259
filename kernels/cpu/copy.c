/* copy.c -- cast rounds to another dtype; copy moves rows between views; slice takes a rank's part;
 * gather_pieces and scatter_pieces move the pieces of members. */
#include <assert.h>
#include <string.h>

#include "kernels/cpu/ranges.h"
#include "kernels/cpu/vec.h"
#include "kernels/runs.h"

static void cast_range(const KernelArgs *args, const void *context, int64_t first, int64_t end) {
  DType x_dtype = (DType)args->dtype[0], y_dtype = (DType)args->dtype[1];
  (void)context;
  for (int64_t i = first; i < end; i += LANES)
    v_put_n(args->operand[1], i, end - i, y_dtype, v_get_n(args->operand[0], i, end - i, x_dtype));
}

void CPU(cast)(const KernelArgs *args) {
  if (cpu_floats(args, 2, 0))
    cpu_ranges(args, args->dim[0], GRAIN_STREAM, cast_range, NULL);
  else
    reference_cast(args);
}

static void copy_rows(const KernelArgs *args, const void *context, int64_t first, int64_t end) {
  const char *x = (const char *)args->operand[0];
  char *y = (char *)args->operand[1];
  int64_t bytes = dtype_bytes((DType)args->dtype[0]);
  (void)context;
  for (int64_t r = first; r < end; r++)
    memmove(y + r * args->dim[3] * bytes, x + r * args->dim[2] * bytes,
            (size_t)(args->dim[1] * bytes));
}

/* A dense copy of few rows is cut by elements instead. */
static void copy_dense(const KernelArgs *args, const void *context, int64_t first, int64_t end) {
  int64_t bytes = dtype_bytes((DType)args->dtype[0]);
  (void)context;
  memmove((char *)args->operand[1] + first * bytes, (const char *)args->operand[0] + first * bytes,
          (size_t)((end - first) * bytes));
}

void CPU(copy)(const KernelArgs *args) {
  assert(args->dtype[0] == args->dtype[1]);
  int64_t rows = args->dim[0], cols = args->dim[1];
  if (args->dim[2] == cols && args->dim[3] == cols)
    cpu_ranges(args, rows * cols, GRAIN_STREAM, copy_dense, NULL);
  else
    cpu_ranges(args, rows, grain_rows(cols), copy_rows, NULL);
}

/* Rows of y, as many at once as lie side by side in x. */
static void slice_rows(const KernelArgs *args, const void *context, int64_t first, int64_t end) {
  const char *x = (const char *)args->operand[0];
  char *y = (char *)args->operand[1];
  int64_t whole = args->dim[1], part = args->dim[2];
  int64_t row_bytes = args->dim[3] * dtype_bytes((DType)args->dtype[0]);
  Runs runs = *(const Runs *)context;
  for (int64_t r = first, count = 0; r < end; r += count) {
    int64_t p = r % part;
    count = runs_length(runs, p, min64(end - r, part - p));
    memcpy(y + r * row_bytes, x + (r / part * whole + runs_position(runs, p)) * row_bytes,
           (size_t)(count * row_bytes));
  }
}

void CPU(slice)(const KernelArgs *args) {
  assert(args->dtype[0] == args->dtype[1]);
  Runs runs = {args->dim[2], (int64_t)args->attr[0], (int64_t)args->attr[1]};
  cpu_ranges(args, args->dim[0] * args->dim[2], grain_rows(args->dim[3]), slice_rows, &runs);
}

/* A place among the gathered elements: element `at` of piece number `time` of a pair of a member.
 */
typedef struct PiecePlace {
  int64_t member, pair, time, at;
  int64_t pair_first; /* of the pair, in the whole */
} PiecePlace;

static int64_t pair_share(const KernelArgs *args, int64_t pair) {
  return args->dim[2 + 2 * pair] * args->dim[3 + 2 * pair];
}

static int64_t share_elements(const KernelArgs *args) {
  int64_t share = 0;
  for (int64_t p = 0; p < args->dim[1]; p++)
    share += pair_share(args, p);
  return share;
}

static PiecePlace place_of(const KernelArgs *args, int64_t gathered, int64_t share) {
  PiecePlace place = {.member = gathered / share};
  int64_t rest = gathered % share;
  for (; rest >= pair_share(args, place.pair); place.pair++) {
    rest -= pair_share(args, place.pair);
    place.pair_first += pair_share(args, place.pair) * args->dim[0];
  }
  place.time = rest / args->dim[3 + 2 * place.pair];
  place.at = rest % args->dim[3 + 2 * place.pair];
  return place;
}

/* The next piece of the member, or the first of the next member. */
static void next_piece(const KernelArgs *args, PiecePlace *place) {
  place->at = 0;
  if (++place->time < args->dim[2 + 2 * place->pair]) return;
  place->time = 0;
  place->pair_first += pair_share(args, place->pair) * args->dim[0];
  if (++place->pair < args->dim[1]) return;
  place->pair = place->pair_first = 0;
  place->member++;
}

/* Elements [first, end) of the gathered side; `context` says whether it is y. */
static void move_pieces(const KernelArgs *args, const void *context, int64_t first, int64_t end) {
  bool gathers = *(const bool *)context;
  const char *x = (const char *)args->operand[0];
  char *y = (char *)args->operand[1];
  int64_t bytes = dtype_bytes((DType)args->dtype[0]);
  PiecePlace place = place_of(args, first, share_elements(args));
  while (first < end) {
    int64_t elements = args->dim[3 + 2 * place.pair];
    int64_t count = min64(elements - place.at, end - first);
    int64_t whole =
        place.pair_first + (place.time * args->dim[0] + place.member) * elements + place.at;
    memcpy(y + (gathers ? first : whole) * bytes, x + (gathers ? whole : first) * bytes,
           (size_t)(count * bytes));
    first += count;
    next_piece(args, &place);
  }
}

void CPU(gather_pieces)(const KernelArgs *args) {
  bool gathers = true;
  assert(args->dtype[0] == args->dtype[1]);
  cpu_ranges(args, share_elements(args) * args->dim[0], GRAIN_STREAM, move_pieces, &gathers);
}

void CPU(scatter_pieces)(const KernelArgs *args) {
  bool gathers = false;
  assert(args->dtype[0] == args->dtype[1]);
  cpu_ranges(args, share_elements(args) * args->dim[0], GRAIN_STREAM, move_pieces, &gathers);
}

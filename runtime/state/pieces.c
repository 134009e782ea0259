#include "runtime/state/pieces.h"

/* The number of elements of a box of these sizes, from dim `from` on. */
static int64_t product(const int64_t *size, int32_t from, int32_t dims) {
  int64_t elements = 1;
  for (int32_t i = from; i < dims; i++)
    elements *= size[i];
  return elements;
}

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* The rank's part of a dim, and the number of parts. False: the rank has several runs of it. */
static bool part_of_dim(const Plan *plan, const PlanLayoutDim *dim, const int32_t *coordinate,
                        int64_t *index, int64_t *parts) {
  *index = 0;
  *parts = 1;
  for (uint32_t i = 0; i < dim->cuts_count; i++) {
    const PlanCut *cut = &plan->cuts[dim->cuts_first + i];
    int64_t size = plan->axes[cut->axis].size;
    if (cut->style != CUT_BLOCK && size > 1) return false;
    *index = *index * size + coordinate[cut->axis];
    *parts *= size;
  }
  return *parts > 0 && dim->size % *parts == 0;
}

static bool find_box(const Plan *plan, const PlanLayout *layout, const int32_t *coordinate,
                     StatePiece *piece) {
  if (layout->dims_count > STATE_DIMS_MAX) return false;
  *piece = (StatePiece){.dims = (int32_t)layout->dims_count};
  for (int32_t i = 0; i < piece->dims; i++) {
    const PlanLayoutDim *dim = &plan->layout_dims[layout->dims_first + (uint32_t)i];
    int64_t index = 0, parts = 1;
    if (!part_of_dim(plan, dim, coordinate, &index, &parts)) return false;
    piece->shape[i] = dim->real_size;
    piece->room[i] = dim->size / parts;
    piece->first[i] = least(index * piece->room[i], dim->real_size);
    piece->count[i] = least(dim->real_size - piece->first[i], piece->room[i]);
  }
  if (piece->dims == 0) { /* one number */
    piece->dims = 1;
    piece->shape[0] = piece->count[0] = piece->room[0] = 1;
  }
  return true;
}

/* The number of elements of the box before index `at` of its room. */
static int64_t elements_before(const StatePiece *piece, int64_t at) {
  int64_t before = 0;
  for (int32_t i = 0; i < piece->dims; i++) {
    int64_t slab = product(piece->room, i + 1, piece->dims);
    int64_t inside = product(piece->count, i + 1, piece->dims);
    int64_t index = slab > 0 ? at / slab : 0;
    if (index >= piece->count[i]) return before + piece->count[i] * inside;
    before += index * inside;
    at -= index * slab;
  }
  return before;
}

static int64_t member_of(const Plan *plan, uint32_t axes, const int32_t *coordinate) {
  int64_t member = 0;
  for (uint32_t i = 0; i < plan->axes_count; i++)
    if ((axes >> i & 1u) != 0) member = member * plan->axes[i].size + coordinate[i];
  return member;
}

bool state_piece(const Plan *plan, uint32_t layout, const int32_t *coordinate, StatePiece *piece) {
  const PlanLayout *of = &plan->layouts[layout];
  if (of->owed_axes != 0 || !find_box(plan, of, coordinate, piece)) return false;
  piece->range_count = product(piece->count, 0, piece->dims);
  if (of->flat_axes == 0) return true;
  piece->origin = member_of(plan, of->flat_axes, coordinate) * of->piece;
  piece->range_first = elements_before(piece, piece->origin);
  piece->range_count = elements_before(piece, piece->origin + of->piece) - piece->range_first;
  return true;
}

StatePiece state_piece_dense(const StatePiece *piece, int64_t skip, int64_t count) {
  StatePiece dense = *piece;
  for (int32_t i = 0; i < dense.dims; i++)
    dense.room[i] = dense.count[i];
  dense.range_first += skip;
  dense.range_count = count;
  dense.origin = dense.range_first;
  return dense;
}

bool state_piece_is_box(const StatePiece *piece) {
  return piece->range_first == 0 && piece->range_count == product(piece->count, 0, piece->dims);
}

bool state_piece_is_whole(const StatePiece *piece) {
  return piece->range_first == 0 && piece->range_count == product(piece->shape, 0, piece->dims);
}

/* Row-major indices of the first element of a run: in the box, and in its room. */
typedef struct BoxRunStart {
  int64_t in_box, in_room;
} BoxRunStart;

static BoxRunStart start_of(const StatePiece *piece, const int64_t *at) {
  BoxRunStart start = {0};
  for (int32_t i = 0; i < piece->dims; i++) {
    start.in_box = start.in_box * piece->count[i] + at[i] - piece->first[i];
    start.in_room = start.in_room * piece->room[i] + at[i] - piece->first[i];
  }
  return start;
}

/* The box that two pieces share, in coordinates of the whole. */
typedef struct CommonBox {
  int64_t first[STATE_DIMS_MAX], end[STATE_DIMS_MAX];
} CommonBox;

/* Leaves out the indices of the first dim that the range does not reach. */
static void narrow(const StatePiece *piece, CommonBox *box) {
  int64_t slab = product(piece->count, 1, piece->dims);
  if (slab == 0) return;
  int64_t end = piece->range_first + piece->range_count;
  box->first[0] = most(box->first[0], piece->first[0] + piece->range_first / slab);
  box->end[0] = least(box->end[0], piece->first[0] + (end + slab - 1) / slab);
}

static bool find_common(const StatePiece *from, const StatePiece *to, CommonBox *box) {
  for (int32_t i = 0; i < from->dims; i++) {
    box->first[i] = most(from->first[i], to->first[i]);
    box->end[i] = least(from->first[i] + from->count[i], to->first[i] + to->count[i]);
  }
  narrow(from, box);
  narrow(to, box);
  for (int32_t i = 0; i < from->dims; i++)
    if (box->first[i] >= box->end[i]) return false;
  return from->range_count > 0 && to->range_count > 0;
}

static bool is_full(const StatePiece *piece, const CommonBox *box, int32_t dim) {
  int64_t count = box->end[dim] - box->first[dim];
  return piece->count[dim] == count && piece->room[dim] == count;
}

/* The dim from which on the shared elements lie one after another in both. */
static int32_t run_dim(const StatePiece *from, const StatePiece *to, const CommonBox *box) {
  int32_t dim = from->dims - 1;
  while (dim > 0 && is_full(from, box, dim) && is_full(to, box, dim))
    dim--;
  return dim;
}

/* The next coordinates of the dims before `dims`; false after the last. */
static bool advance(const CommonBox *box, int32_t dims, int64_t *at) {
  for (int32_t i = dims - 1; i >= 0; i--) {
    if (++at[i] < box->end[i]) return true;
    at[i] = box->first[i];
  }
  return false;
}

bool state_common(const StatePiece *from, const StatePiece *to, StateRun *run, void *context) {
  CommonBox box = {0};
  int64_t at[STATE_DIMS_MAX] = {0};
  if (from->dims != to->dims || !find_common(from, to, &box)) return true;
  int32_t dim = run_dim(from, to, &box);
  int64_t length = 1;
  for (int32_t i = 0; i < from->dims; i++) {
    at[i] = box.first[i];
    if (i >= dim) length *= box.end[i] - box.first[i];
  }
  int64_t from_end = from->range_first + from->range_count;
  int64_t to_end = to->range_first + to->range_count;
  do {
    BoxRunStart f = start_of(from, at), t = start_of(to, at);
    if (f.in_box >= from_end || t.in_box >= to_end) return true; /* later runs are beyond, too */
    int64_t skip = most(0, most(from->range_first - f.in_box, to->range_first - t.in_box));
    int64_t end = least(length, least(from_end - f.in_box, to_end - t.in_box));
    if (skip < end &&
        !run(context, f.in_room + skip - from->origin, t.in_room + skip - to->origin, end - skip))
      return false;
  } while (advance(&box, dim, at));
  return true;
}

StatePiece state_piece_window(const StatePiece *piece, int64_t first, int64_t count) {
  StatePiece window = *piece;
  int64_t end = elements_before(piece, piece->origin + first + count);
  int64_t range_end = piece->range_first + piece->range_count;
  window.origin = piece->origin + first;
  window.range_first = most(piece->range_first, elements_before(piece, window.origin));
  window.range_count = most(0, least(end, range_end) - window.range_first);
  return window;
}

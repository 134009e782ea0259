/* pieces.c -- gathers the many pieces of a collective into one.
 *
 * A collective of a library moves one run of memory for each member, so a record with many pieces
 * would need as many calls. On GPUs it becomes three records instead: gather_pieces puts each
 * member's pieces together in a buffer, the collective moves that, and scatter_pieces puts them in
 * their places. Threads read each other's memory piece by piece at no cost, so plans for processors
 * keep their pieces.
 *
 * The same elements are summed in the same order of members, so results are bitwise the same. */
#include <string.h>

#include "compiler/draft/segments/segments.h"

/* With more pieces than this, gathering costs less than the calls it saves. */
enum { PIECES_MOST = 8 };

/* ---- pieces of the two sides of a collective, as pairs (times, elements) of one member */

typedef struct Side {
  int64_t *pair;
  int32_t count;
  bool is_whole; /* the side with all members' parts; otherwise the rank's own, whose pieces are
                    adjacent anyway */
} Side;

static Side one_pair(const Draft *d, int64_t times, int64_t elements) {
  Side side = {ARENA_ARRAY(d->compile->arena, int64_t, 2), 1, true};
  side.pair[0] = times, side.pair[1] = elements;
  return side;
}

/* The five dims are explained at PlanRecord in plan.def. `cut`: for the side that has the parts. */
static Side turned_side(const Draft *d, const int64_t *dims, bool cut) {
  int64_t outer = dims[0], a = dims[1], middle = dims[2], rest = dims[3] * dims[4];
  return cut ? one_pair(d, outer * a * middle, rest) : one_pair(d, outer, a * middle * rest);
}

static Side side_of(const Draft *d, const Record *record, int32_t operand) {
  bool turned = record->attr_count > 0 && record->attrs[0] == 1;
  if (record->kind == RECORD_ALL_TO_ALL) return turned_side(d, record->dims, turned == operand);
  bool is_pieces = record->pieces != NULL;
  Side side = {is_pieces ? record->pieces : NULL, record->piece_count, record->operand_count == 1};
  if (!is_pieces) side = one_pair(d, record->dims[0], record->dims[1]);
  side.is_whole = record->operand_count == 1 || operand == (record->kind == RECORD_ALL_GATHER);
  return side;
}

static bool is_scattered(const Side *side) {
  return side->is_whole && (side->count > 1 || side->pair[0] > 1);
}

static int64_t share_elements(const Side *side) {
  int64_t share = 0;
  for (int32_t i = 0; i < side->count; i++)
    share += side->pair[2 * i] * side->pair[2 * i + 1];
  return share;
}

static bool is_gathered(const Record *record) {
  bool has_pieces = record->kind == RECORD_ALL_GATHER || record->kind == RECORD_REDUCE_SCATTER ||
                    record->kind == RECORD_ALL_TO_ALL;
  return has_pieces && record_flat_calls(record) > PIECES_MOST;
}

/* ---- the three records */

/* gather_pieces or scatter_pieces, for the collective `of`. */
static Record *add_mover(Draft *d, int32_t segment, KernelId kernel, const Record *of,
                         const Side *side) {
  Record *record = segment_kernel(d, segment, kernel, of->purpose);
  record->path = of->path;
  record->model = of->model, record->node = of->node, record->value = of->value;
  record->lane = of->lane;
  record->when_all = of->when_all, record->when_none = of->when_none;
  record->direction = of->direction;
  record->piece_count = side->count + 1;
  record->pieces = ARENA_ARRAY(d->compile->arena, int64_t, 2 * record->piece_count);
  record->pieces[0] = mesh_count(&d->mesh, of->axes);
  record->pieces[1] = side->count;
  memcpy(record->pieces + 2, side->pair, sizeof *side->pair * 2 * (size_t)side->count);
  return record;
}

static void add_operand(Record *record, const Operand *operand, Access access) {
  Operand *added = record_operand(record, operand->base, operand->offset_bytes, operand->size_bytes,
                                  operand->dtype, access);
  added->by = operand->by;
  added->member_stride_bytes = operand->member_stride_bytes;
  added->value = operand->value, added->layout = operand->layout;
}

/* The gathered operand, in a buffer that the records of the segment use one after the other. */
static Operand gathered_operand(Draft *d, int32_t segment, const Operand *whole, BaseRole role) {
  int32_t base = segment_base(d, segment, role, NO_ID, whole->size_bytes);
  return (Operand){
      .value = NO_ID, .base = base, .size_bytes = whole->size_bytes, .dtype = whole->dtype};
}

static Operand add_gather(Draft *d, int32_t segment, const Record *of, const Side *side) {
  const Operand *from = &of->operands[0];
  if (!is_scattered(side)) return *from;
  Operand gathered = gathered_operand(d, segment, from, BASE_PIECES);
  Record *record = add_mover(d, segment, KERNEL_gather_pieces, of, side);
  add_operand(record, from, ACCESS_READ);
  add_operand(record, &gathered, ACCESS_WRITE);
  return gathered;
}

static void add_scatter(Draft *d, int32_t segment, const Record *of, const Side *side,
                        const Operand *gathered) {
  Record *record = add_mover(d, segment, KERNEL_scatter_pieces, of, side);
  add_operand(record, gathered, ACCESS_READ);
  add_operand(record, &of->operands[of->operand_count - 1], ACCESS_WRITE);
}

/* One piece a member. */
static void flatten(const Draft *d, Record *record, int64_t share) {
  if (record->kind != RECORD_ALL_TO_ALL) {
    record->pieces = one_pair(d, 1, share).pair;
    record->piece_count = 1;
    return;
  }
  record->attrs[0] = 0;
  for (int32_t i = 0; i < 4; i++)
    record->dims[i] = 1;
  record->dims[4] = share;
}

static void add_gathered(Draft *d, int32_t segment, const Record *of) {
  bool in_place = of->operand_count == 1;
  Side x = side_of(d, of, 0), y = side_of(d, of, of->operand_count - 1);
  Operand from = add_gather(d, segment, of, &x), to = of->operands[of->operand_count - 1];
  if (in_place)
    to = from;
  else if (is_scattered(&y))
    to = gathered_operand(d, segment, &to,
                          of->kind == RECORD_ALL_TO_ALL ? BASE_RECEIVED : BASE_PIECES);
  Record *flat = segment_record(d, segment, of->kind, NULL, of->purpose);
  *flat = *of;
  flat->operand_count = 0, flat->bytes = 0;
  add_operand(flat, &from, in_place ? ACCESS_UPDATE : ACCESS_READ);
  if (!in_place) add_operand(flat, &to, ACCESS_WRITE);
  flatten(d, flat, share_elements(&x));
  if (is_scattered(&y)) add_scatter(d, segment, of, &y, &to);
}

static void gather_segment(Draft *d, int32_t segment) {
  Segment *at = &d->segments.at[segment];
  bool any = false;
  for (int32_t i = 0; i < at->records.count; i++)
    any = any || is_gathered(&at->records.at[i]);
  if (!any) return;
  Segment before = *at;
  memset(&at->records, 0, sizeof at->records);
  for (int32_t i = 0; i < before.records.count; i++)
    if (is_gathered(&before.records.at[i]))
      add_gathered(d, segment, &before.records.at[i]);
    else
      VEC_PUSH(d->compile->arena, &at->records, before.records.at[i]);
}

void pieces_gather(Draft *d) {
  if (!pieces_are_gathered(d)) return;
  for (int32_t s = 0; s < d->segments.count; s++)
    gather_segment(d, s);
}

/* pieces.c -- gathering, a collective of one run a member, and scattering are together a collective
 * of pieces.
 *
 * The three records are compared with each other, and then that one collective is judged: rules
 * that follow values need not know that they were gathered on the way. The gathered bytes count as
 * its scratch. */
#include <string.h>

#include "compiler/plan/prove/types/typing.h"

/* The record at this position of the segment if it runs this kernel, else NULL. */
static const PlanRecord *mover_at(const Typing *t, uint32_t position, KernelId kernel) {
  if (position >= t->call.walk.segment->records_count) return NULL;
  const KernelContract *contract = contract_at(t->view, walk_record(&t->call.walk, position));
  return contract != NULL && contract->id == kernel ? walk_record(&t->call.walk, position) : NULL;
}

static bool same_place(const PlanOperand *a, const PlanOperand *b) {
  return a->base == b->base && a->offset == b->offset && a->size_bytes == b->size_bytes &&
         a->member_stride == b->member_stride && a->by == b->by && a->dtype == b->dtype;
}

/* Elements a member has in a collective of one piece; 0: the collective has several. */
static int64_t flat_share(const Plan *plan, const PlanRecord *record) {
  const int64_t *dims = plan->ints + record->dims_first;
  if (record->flat_calls != 1) return 0;
  if (record->kind == RECORD_ALL_TO_ALL) return dims[3] * dims[4];
  bool has_pieces = record->kind == RECORD_ALL_GATHER || record->kind == RECORD_REDUCE_SCATTER;
  return has_pieces ? dims[1] : 0;
}

/* True if the gathering record hands its operand `gathered` to the collective's operand `end`, or
 * takes it from there: the same bytes of the same members, on every rank and under every flag.
 * Sizes are within what plan_check and the contract allow, so nothing overflows. */
static bool fits(const Typing *t, const PlanRecord *mover, uint32_t gathered,
                 const PlanRecord *flat, uint32_t end) {
  const int64_t *dims = t->plan->ints + mover->dims_first;
  int64_t members = plan_comm_size(t->plan, flat->comm);
  return mover->accumulate == 0 && dims[0] == members &&
         contract_elements(contract_at(t->view, mover), 0, dims) ==
             members * flat_share(t->plan, flat) &&
         mover->lane == flat->lane && mover->when_all == flat->when_all &&
         mover->when_none == flat->when_none &&
         same_place(record_operand(t->plan, mover, gathered), record_operand(t->plan, flat, end));
}

/* ---- the collective that they form */

/* The pieces are those of the side that has the parts of all members; in place, both sides do. */
static bool join_pieces(Typing *t, const PlanRecord *gather, const PlanRecord *scatter) {
  PlanRecord *record = &t->call.joined.record;
  const PlanRecord *whole = record->kind == RECORD_ALL_GATHER ? scatter : gather;
  const PlanRecord *share = whole == gather ? scatter : gather;
  bool in_place = record->operands_count == 1;
  if (whole == NULL || in_place != (share != NULL)) return false;
  t->call.joined.dims = t->plan->ints + whole->dims_first + 2;
  record->dims_count = whole->dims_count - 2;
  return !in_place ||
         (whole->dims_count == share->dims_count &&
          memcmp(t->call.joined.dims, t->plan->ints + share->dims_first + 2,
                 record->dims_count * sizeof(int64_t)) == 0 &&
          same_place(record_operand(t->plan, gather, 0), record_operand(t->plan, scatter, 1)));
}

/* There are many pieces on one side and fewer on the other, each made of equally many. */
static bool join_turn(Typing *t, const PlanRecord *gather, const PlanRecord *scatter) {
  PlanRecord *record = &t->call.joined.record;
  const int64_t one[4] = {0, 1, 1, flat_share(t->plan, record)}, *ints = t->plan->ints;
  const int64_t *from = gather != NULL ? ints + gather->dims_first : one;
  const int64_t *to = scatter != NULL ? ints + scatter->dims_first : one;
  bool back = from[2] < to[2];
  const int64_t *many = back ? to : from, *few = back ? from : to;
  if (from[1] != 1 || to[1] != 1 || many[2] % few[2] != 0 || record->operands_count != 2)
    return false;
  const int64_t dims[5] = {few[2], many[2] / few[2], 1, 1, many[3]};
  memcpy(t->call.joined.turn, dims, sizeof dims);
  t->call.joined.dims = t->call.joined.turn;
  t->call.joined.back = back;
  record->dims_count = 5, record->attrs_count = 1;
  return true;
}

static void add_operand(Typing *t, const PlanOperand *operand, uint32_t access) {
  PlanOperand *added = &t->call.joined.operand[t->call.joined.record.operands_count++];
  *added = *operand;
  added->access = access;
}

/* The joined record reads the operand of the gather and writes that of the scatter; the bytes in
 * between are scratch. */
static void join_operands(Typing *t, const PlanRecord *flat, const PlanRecord *gather,
                          const PlanRecord *scatter) {
  const PlanOperand *own = record_operand(t->plan, flat, 0);
  uint32_t last = flat->operands_count - 1;
  t->call.joined.record.operands_count = 0;
  add_operand(t, gather != NULL ? record_operand(t->plan, gather, 0) : own, own->access);
  if (last > 0)
    add_operand(t, scatter != NULL ? record_operand(t->plan, scatter, 1) : own + 1, ACCESS_WRITE);
  for (uint32_t i = 0; i <= last; i++)
    if ((i == 0 ? gather : scatter) != NULL) add_operand(t, own + i, ACCESS_SCRATCH);
}

/* Puts the collective that the record at `position` forms with the gathering around it into
 * t->call.joined. False: it is not a collective, or the gathering does not belong to it. */
static bool join_at(Typing *t, uint32_t position) {
  if (position >= t->call.walk.segment->records_count) return false;
  const PlanRecord *flat = walk_record(&t->call.walk, position);
  const PlanRecord *gather = mover_at(t, position - 1, KERNEL_gather_pieces);
  const PlanRecord *scatter = mover_at(t, position + 1, KERNEL_scatter_pieces);
  t->call.joined.record = *flat;
  if ((gather == NULL && scatter == NULL) || flat_share(t->plan, flat) == 0 ||
      (gather != NULL && !fits(t, gather, 1, flat, 0)) ||
      (scatter != NULL && !fits(t, scatter, 0, flat, flat->operands_count - 1)) ||
      !(flat->kind == RECORD_ALL_TO_ALL ? join_turn : join_pieces)(t, gather, scatter))
    return false;
  join_operands(t, flat, gather, scatter);
  return true;
}

bool join_pieces_of(Typing *t) {
  const uint32_t at = t->call.record;
  const bool gathers = mover_at(t, at, KERNEL_gather_pieces) != NULL;
  const bool moves = gathers || mover_at(t, at, KERNEL_scatter_pieces) != NULL;
  if (moves && join_at(t, gathers ? at + 1 : at - 1)) return false;
  if (join_at(t, at))
    t->call.at = &t->call.joined.record;
  else if (moves || mover_at(t, at - 1, KERNEL_gather_pieces) ||
           mover_at(t, at + 1, KERNEL_scatter_pieces))
    return REFUSE(t, "no collective next to it moves what it gathers or scatters");
  return true;
}

/* packed.c -- a plan as it would be if collectives moved pieces.
 *
 * pack, a collective of one run a member and unpack do together what the collective with pieces
 * does. Here the three are held against each other, and what is left to judge is that collective:
 * who follows values need not know that they were packed on the way. Records stand where they
 * stood; pack and unpack never run. What they hand on is scratch of the collective. */
#include <stdlib.h>
#include <string.h>

#include "compiler/prove/walk.h"

typedef struct Packing {
  const View *view;
  const Plan *plan;
  const PlanSegment *segment;
  Plan *out; /* these of its tables are its own, with room for what is added: */
  PlanRecord *records;
  PlanOperand *operands;
  int64_t *ints;
  double *reals;
} Packing;

/* The record at this place of the segment, if it is of the kernel; NULL: it is not. */
static const PlanRecord *mover_at(const Packing *p, uint32_t position, KernelId kernel) {
  if (position >= p->segment->records_count) return NULL;
  const PlanRecord *record = &p->plan->records[p->segment->records_first + position];
  const KernelContract *contract = contract_at(p->view, record);
  return contract != NULL && contract->id == kernel ? record : NULL;
}

static bool same_place(const PlanOperand *a, const PlanOperand *b) {
  return a->base == b->base && a->offset == b->offset && a->size_bytes == b->size_bytes &&
         a->member_stride == b->member_stride && a->by == b->by && a->dtype == b->dtype;
}

/* Elements that a member has of a collective of one piece; 0: it has several. */
static int64_t flat_share(const Plan *plan, const PlanRecord *record) {
  const int64_t *dims = plan->ints + record->dims_first;
  if (record->flat_calls != 1) return 0;
  if (record->kind == RECORD_ALL_TO_ALL) return dims[3] * dims[4];
  bool has_pieces = record->kind == RECORD_ALL_GATHER || record->kind == RECORD_REDUCE_SCATTER;
  return has_pieces ? dims[1] : 0;
}

/* Whether the mover hands its operand `packed` to the collective's operand `end`, or takes it from
 * there: the same bytes of the same members, whenever and where the collective runs. No more than
 * plan_check and the contract let through, so nothing overflows. */
static bool fits(const Packing *p, const PlanRecord *mover, uint32_t packed, const PlanRecord *flat,
                 uint32_t end) {
  const int64_t *dims = p->plan->ints + mover->dims_first;
  const KernelContract *contract = contract_at(p->view, mover);
  int64_t members = plan_comm_size(p->plan, flat->comm);
  return mover->operands_count == 2 && mover->accumulate == 0 &&
         contract_dims_fit(contract, dims, mover->dims_count) && dims[0] == members &&
         contract_elements(contract, 0, dims) == members * flat_share(p->plan, flat) &&
         mover->lane == flat->lane && mover->when_all == flat->when_all &&
         mover->when_none == flat->when_none &&
         same_place(record_operand(p->plan, mover, packed), record_operand(p->plan, flat, end));
}

/* ---- the collective that they are together */

/* Pieces are those of the side that has the parts of all members; in place, both sides have. */
static bool join_pieces(const Packing *p, PlanRecord *record, const PlanRecord *pack,
                        const PlanRecord *unpack) {
  const PlanRecord *whole = record->kind == RECORD_ALL_GATHER ? unpack : pack;
  const PlanRecord *share = whole == pack ? unpack : pack;
  bool in_place = record->operands_count == 1;
  if (whole == NULL || in_place != (share != NULL)) return false;
  record->dims_first = whole->dims_first + 2, record->dims_count = whole->dims_count - 2;
  return !in_place ||
         (whole->dims_count == share->dims_count &&
          memcmp(p->plan->ints + whole->dims_first, p->plan->ints + share->dims_first,
                 whole->dims_count * sizeof(int64_t)) == 0 &&
          same_place(record_operand(p->plan, pack, 0), record_operand(p->plan, unpack, 1)));
}

/* Many pieces on one side, fewer on the other, each of as many of them. */
static bool join_turn(Packing *p, PlanRecord *record, const PlanRecord *pack,
                      const PlanRecord *unpack) {
  const int64_t one[4] = {0, 1, 1, flat_share(p->plan, record)}, *ints = p->plan->ints;
  const int64_t *from = pack != NULL ? ints + pack->dims_first : one;
  const int64_t *to = unpack != NULL ? ints + unpack->dims_first : one;
  bool back = from[2] < to[2];
  const int64_t *many = back ? to : from, *few = back ? from : to;
  if (from[1] != 1 || to[1] != 1 || many[2] % few[2] != 0 || record->operands_count != 2)
    return false;
  const int64_t dims[5] = {few[2], many[2] / few[2], 1, 1, many[3]};
  record->dims_first = p->out->ints_count, record->dims_count = 5;
  memcpy(p->ints + p->out->ints_count, dims, sizeof dims);
  p->out->ints_count += record->dims_count;
  record->attrs_first = p->out->reals_count++, record->attrs_count = 1;
  p->reals[record->attrs_first] = back;
  return true;
}

static void add_operand(Packing *p, PlanRecord *record, const PlanOperand *operand,
                        uint32_t access) {
  PlanOperand *added = &p->operands[p->out->operands_count++];
  *added = *operand;
  added->access = access;
  record->operands_count++;
}

/* It works on what is packed, and on what will have been unpacked; what is between is scratch. */
static void join_operands(Packing *p, PlanRecord *record, const PlanRecord *pack,
                          const PlanRecord *unpack) {
  const PlanRecord flat = *record;
  uint32_t last = flat.operands_count - 1;
  record->operands_first = p->out->operands_count, record->operands_count = 0;
  add_operand(p, record, record_operand(p->plan, pack != NULL ? pack : &flat, 0),
              record_operand(p->plan, &flat, 0)->access);
  if (last > 0)
    add_operand(p, record, record_operand(p->plan, unpack != NULL ? unpack : &flat, 1),
                ACCESS_WRITE);
  for (uint32_t i = 0; i <= last; i++)
    if ((i == 0 ? pack : unpack) != NULL)
      add_operand(p, record, record_operand(p->plan, &flat, i), ACCESS_SCRATCH);
}

/* The record at `position` becomes what it is together with the movers around it, if it is a
 * collective and they belong to it; they run no more. */
static void join(Packing *p, uint32_t position) {
  PlanRecord *record = &p->records[p->segment->records_first + position];
  const PlanRecord *pack = mover_at(p, position - 1, KERNEL_pack);
  const PlanRecord *unpack = mover_at(p, position + 1, KERNEL_unpack);
  if ((pack == NULL && unpack == NULL) || flat_share(p->plan, record) == 0 ||
      (pack != NULL && !fits(p, pack, 1, record, 0)) ||
      (unpack != NULL && !fits(p, unpack, 0, record, record->operands_count - 1)) ||
      !(record->kind == RECORD_ALL_TO_ALL ? join_turn(p, record, pack, unpack)
                                          : join_pieces(p, record, pack, unpack)))
    return;
  join_operands(p, record, pack, unpack);
  if (pack != NULL) record[-1].when_all = record[-1].when_none = CALL_FIRST_MICROBATCH;
  if (unpack != NULL) record[1].when_all = record[1].when_none = CALL_FIRST_MICROBATCH;
}

static void unpack_segment(Packing *p) {
  Walk walk = walk_segment(p->view, p->segment);
  for (uint32_t i = 0; i < p->segment->records_count; i++)
    join(p, i);
  for (uint32_t i = 0; i < p->segment->records_count; i++) {
    const PlanRecord *record = &p->records[p->segment->records_first + i];
    bool moves = mover_at(p, i, KERNEL_pack) != NULL || mover_at(p, i, KERNEL_unpack) != NULL;
    if (moves && (record->when_all & record->when_none) == 0)
      prove_finding(p->view, &walk, i, "packing",
                    "no collective beside it moves what it packs, or what it would unpack");
  }
}

/* ---- all of them */

static void *copied(const View *view, const void *items, uint32_t count, size_t item_bytes,
                    uint32_t more) {
  void *copy = prove_array(view, (size_t)count + more, item_bytes);
  if (copy != NULL && count > 0) memcpy(copy, items, count * item_bytes);
  return copy;
}

/* Of each record at most four operands, five dims and a direction are added. */
bool unpacked_open(const View *view, Plan *unpacked) {
  const Plan *plan = view->plan;
  uint32_t count = plan->records_count;
  Packing p = {.view = view, .plan = plan, .out = unpacked};
  p.records = copied(view, plan->records, count, sizeof *plan->records, 0);
  p.operands =
      copied(view, plan->operands, plan->operands_count, sizeof *plan->operands, 4 * count);
  p.ints = copied(view, plan->ints, plan->ints_count, sizeof *plan->ints, 5 * count);
  p.reals = copied(view, plan->reals, plan->reals_count, sizeof *plan->reals, count);
  *unpacked = *plan;
  unpacked->records = p.records, unpacked->operands = p.operands;
  unpacked->ints = p.ints, unpacked->reals = p.reals;
  bool ready = p.records && p.operands && p.ints && p.reals;
  for (uint32_t s = 0; ready && s < plan->segments_count; s++) {
    p.segment = &plan->segments[s];
    unpack_segment(&p);
  }
  return ready;
}

void unpacked_close(const Plan *unpacked) {
  free((void *)unpacked->records), free((void *)unpacked->operands);
  free((void *)unpacked->ints), free((void *)unpacked->reals);
}

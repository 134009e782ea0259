/* packed.c -- a plan as it would be if collectives moved pieces.
 *
 * pack, a collective of one run a member and unpack do together what the collective with pieces
 * does. Here the three are held against each other, and what is left to judge is that collective:
 * who follows values need not know that they were packed on the way. Records stand where they
 * stood; pack and unpack never run. What they hand on stands in buffers of its own (memory.c), for
 * types do not see it. */
#include <stdlib.h>
#include <string.h>

#include "compiler/prove/walk.h"

typedef struct Packing {
  const View *view;
  const Plan *plan;
  const KernelContract **contracts;
  const PlanSegment *segment;
  Unpacked *out;
  Plan *plan_out; /* its tables have room for what is added */
  PlanRecord *records;
  PlanOperand *operands;
  int64_t *ints;
  double *reals;
} Packing;

/* The record at this place of the segment, if it packs or unpacks; NULL: it does not. */
static const PlanRecord *mover_at(const Packing *p, uint32_t position) {
  if (position >= p->segment->records_count) return NULL;
  const PlanRecord *record = &p->plan->records[p->segment->records_first + position];
  if (record->kind != RECORD_KERNEL || p->contracts[record->kernel] == NULL) return NULL;
  return p->contracts[record->kernel]->row->role == ROLE_PACK ? record : NULL;
}

static const PlanRecord *beside(const Packing *p, uint32_t position, KernelId kernel) {
  const PlanRecord *mover = mover_at(p, position);
  return mover != NULL && p->contracts[mover->kernel]->id == kernel ? mover : NULL;
}

static const PlanOperand *operand_of(const Packing *p, const PlanRecord *record, uint32_t i) {
  return &p->plan->operands[record->operands_first + i];
}

static bool same_place(const PlanOperand *a, const PlanOperand *b) {
  return a->base == b->base && a->offset == b->offset && a->size_bytes == b->size_bytes &&
         a->member_stride == b->member_stride && a->by == b->by && a->dtype == b->dtype;
}

static bool hands_on(const Packing *p, const PlanRecord *from, uint32_t out, const PlanRecord *to) {
  const PlanOperand *left = operand_of(p, from, out);
  return from->lane == to->lane && from->when_all == to->when_all &&
         from->when_none == to->when_none && same_place(left, operand_of(p, to, 0));
}

/* Elements that a member has of a collective of one piece; 0: it has several. */
static int64_t flat_share(const Plan *plan, const PlanRecord *record) {
  const int64_t *dims = plan->ints + record->dims_first;
  if (record->flat_calls != 1) return 0;
  if (record->kind == RECORD_ALL_TO_ALL) return dims[3] * dims[4];
  bool has_pieces = record->kind == RECORD_ALL_GATHER || record->kind == RECORD_REDUCE_SCATTER;
  return has_pieces ? dims[1] : 0;
}

/* Whether the dims of a mover (members, k, k pairs) are the members and the share of the
 * collective: no more than plan_check and the contract let through, so nothing overflows. */
static bool fits(const Packing *p, const PlanRecord *mover, const PlanRecord *flat) {
  const int64_t *dims = p->plan->ints + mover->dims_first;
  const KernelContract *contract = p->contracts[mover->kernel];
  int64_t share = 0;
  if (mover->operands_count != 2 || mover->accumulate != 0 ||
      !contract_dims_fit(contract, dims, mover->dims_count) ||
      contract_elements(contract, 0, dims) < 0 ||
      dims[0] != (int64_t)plan_comm_size(p->plan, flat->comm))
    return false;
  for (int64_t i = 0; i < dims[1]; i++)
    share += dims[2 + 2 * i] * dims[3 + 2 * i];
  return share == flat_share(p->plan, flat);
}

/* ---- the collective that they are together */

static void add_operand(Packing *p, const PlanOperand *operand, Access access) {
  PlanOperand *added = &p->operands[p->plan_out->operands_count++];
  *added = *operand;
  added->access = access;
}

/* Pieces are those of the side that has the parts of all members; in place, both sides have. */
static bool join_pieces(Packing *p, PlanRecord *record, const PlanRecord *pack,
                        const PlanRecord *unpack) {
  const PlanRecord *whole = record->kind == RECORD_ALL_GATHER ? unpack : pack;
  const PlanRecord *share = whole == pack ? unpack : pack;
  bool in_place = record->operands_count == 1;
  if (whole == NULL || in_place != (share != NULL)) return false;
  record->dims_first = whole->dims_first + 2, record->dims_count = whole->dims_count - 2;
  return !in_place || (whole->dims_count == share->dims_count &&
                       memcmp(p->plan->ints + whole->dims_first, p->plan->ints + share->dims_first,
                              whole->dims_count * sizeof(int64_t)) == 0 &&
                       same_place(operand_of(p, pack, 0), operand_of(p, unpack, 1)));
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
  record->dims_first = p->plan_out->ints_count, record->dims_count = 5;
  memcpy(p->ints + p->plan_out->ints_count, dims, sizeof dims);
  p->plan_out->ints_count += record->dims_count;
  record->attrs_first = p->plan_out->reals_count++, record->attrs_count = 1;
  p->reals[record->attrs_first] = back;
  return true;
}

/* A mover that belongs to a collective runs no more. `packed`: its operand that is. */
static void leave_out(Packing *p, const PlanRecord *mover, uint32_t packed) {
  if (mover == NULL) return;
  p->out->use[p->segment->bases_first + operand_of(p, mover, packed)->base] |= BASE_PACKS;
  PlanRecord *record = &p->records[mover - p->plan->records];
  record->when_all = record->when_none = CALL_FIRST_MICROBATCH;
}

/* The record at `position` becomes what it is together with the movers around it, if it is a
 * collective and they belong to it. */
static void join(Packing *p, uint32_t position) {
  PlanRecord *record = &p->records[p->segment->records_first + position];
  const PlanRecord flat = *record;
  const PlanRecord *pack = position > 0 ? beside(p, position - 1, KERNEL_pack) : NULL;
  const PlanRecord *unpack = beside(p, position + 1, KERNEL_unpack);
  uint32_t last = flat.operands_count - 1;
  if ((pack == NULL && unpack == NULL) || flat_share(p->plan, &flat) == 0 ||
      (pack != NULL && (!fits(p, pack, &flat) || !hands_on(p, pack, 1, &flat))) ||
      (unpack != NULL && (!fits(p, unpack, &flat) || !hands_on(p, &flat, last, unpack))))
    return;
  record->operands_first = p->plan_out->operands_count;
  add_operand(p, operand_of(p, pack != NULL ? pack : &flat, 0),
              last == 0 ? ACCESS_UPDATE : ACCESS_READ);
  if (last == 1) add_operand(p, operand_of(p, unpack != NULL ? unpack : &flat, 1), ACCESS_WRITE);
  if (flat.kind == RECORD_ALL_TO_ALL ? join_turn(p, record, pack, unpack)
                                     : join_pieces(p, record, pack, unpack))
    leave_out(p, pack, 1), leave_out(p, unpack, 0);
}

static void unpack_segment(Packing *p) {
  Walk walk = walk_segment(p->view, p->segment);
  for (uint32_t i = 0; i < p->segment->records_count; i++)
    join(p, i);
  for (uint32_t i = 0; i < p->segment->records_count; i++) {
    const PlanRecord *record = &p->records[p->segment->records_first + i];
    if ((record->when_all & record->when_none) != 0) continue;
    for (uint32_t k = 0; k < record->operands_count; k++)
      p->out->use[p->segment->bases_first + p->operands[record->operands_first + k].base] |=
          BASE_HOLDS;
    if (mover_at(p, i) != NULL)
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

/* Of each record at most two operands, five dims and a direction are added. */
bool unpacked_open(const View *view, Unpacked *unpacked) {
  const Plan *plan = view->plan;
  Plan *out = &unpacked->plan;
  uint32_t count = plan->records_count;
  Packing p = {.view = view, .plan = plan, .contracts = prove_contracts(view)};
  p.out = unpacked, p.plan_out = out;
  p.records = copied(view, plan->records, count, sizeof *plan->records, 0);
  p.operands =
      copied(view, plan->operands, plan->operands_count, sizeof *plan->operands, 2 * count);
  p.ints = copied(view, plan->ints, plan->ints_count, sizeof *plan->ints, 5 * count);
  p.reals = copied(view, plan->reals, plan->reals_count, sizeof *plan->reals, count);
  unpacked->use = prove_array(view, plan->bases_count, sizeof *unpacked->use);
  *out = *plan;
  out->records = p.records, out->operands = p.operands, out->ints = p.ints, out->reals = p.reals;
  bool ready = p.contracts && p.records && p.operands && p.ints && p.reals && unpacked->use;
  for (uint32_t s = 0; ready && s < plan->segments_count; s++) {
    p.segment = &plan->segments[s];
    unpack_segment(&p);
  }
  free(p.contracts);
  return ready;
}

void unpacked_close(Unpacked *unpacked) {
  const Plan *plan = &unpacked->plan;
  free((void *)plan->records), free((void *)plan->operands);
  free((void *)plan->ints), free((void *)plan->reals), free(unpacked->use);
}

#include "compiler/prove/packed.h"

#include <stdlib.h>
#include <string.h>

typedef struct Packing {
  const View *view;
  const KernelContract **contracts;
  Unpacked *out;
  const PlanSegment *segment;
  uint32_t operands_count, ints_count, reals_count;
} Packing;

/* The number of the kernel that the record at this place of the segment runs; KERNEL_COUNT: none of
 * pack and unpack. */
static KernelId mover_at(const Packing *p, uint32_t position) {
  if (position >= p->segment->records_count) return KERNEL_COUNT;
  const PlanRecord *record = &p->view->plan->records[p->segment->records_first + position];
  if (record->kind != RECORD_KERNEL || p->contracts[record->kernel] == NULL) return KERNEL_COUNT;
  const KernelContract *contract = p->contracts[record->kernel];
  return contract->row->role == ROLE_PACK ? contract->id : KERNEL_COUNT;
}

static void find(const Packing *p, uint32_t position, const char *what) {
  PlanCall call = {.segment = (uint32_t)(p->segment - p->view->plan->segments), .layer = -1};
  PlanProgram program = {.calls_count = 1};
  Walk walk = {.view = p->view, .program = &program, .call = &call, .segment = p->segment};
  call.microbatch = -1;
  prove_finding(p->view, &walk, position, "packing", "%s", what);
}

/* ---- one of the three hands its bytes to the next */

static bool same_place(const PlanOperand *a, const PlanOperand *b) {
  return a->base == b->base && a->offset == b->offset && a->size_bytes == b->size_bytes &&
         a->member_stride == b->member_stride && a->by == b->by && a->dtype == b->dtype;
}

static bool runs_alike(const PlanRecord *a, const PlanRecord *b) {
  return a->lane == b->lane && a->when_all == b->when_all && a->when_none == b->when_none;
}

static const PlanOperand *operand_of(const Packing *p, const PlanRecord *record, uint32_t i) {
  return &p->view->plan->operands[record->operands_first + i];
}

/* In memory that holds nothing else: whoever reads it besides finds there what nobody wrote. */
static bool hands_on(const Packing *p, const PlanRecord *from, uint32_t out, const PlanRecord *to) {
  const PlanOperand *left = operand_of(p, from, out), *right = operand_of(p, to, 0);
  const PlanBase *base = &p->view->plan->bases[p->segment->bases_first + left->base];
  return runs_alike(from, to) && same_place(left, right) && base->kind == BUFFER_COMM;
}

/* ---- a collective and what stands around it */

/* Pieces of one side, as pairs; of a side that is not packed, one piece. */
typedef struct Side {
  const PlanRecord *mover; /* NULL: none */
  int64_t whole[2];
  const int64_t *pair;
  uint32_t count;
} Side;

static int64_t pair_elements(const int64_t *pair, uint32_t count) {
  int64_t share = 0;
  for (uint32_t i = 0; i < count; i++)
    share += pair[2 * i] * pair[2 * i + 1];
  return share;
}

/* Whether the dims of a mover are the members and the share of the collective: no more than
 * plan_check and the contract let through, so nothing overflows. */
static bool take_side(const Packing *p, const PlanRecord *mover, const PlanRecord *flat,
                      int64_t share, Side *side) {
  const Plan *plan = p->view->plan;
  *side = (Side){.mover = mover, .whole = {1, share}, .count = 1};
  if (mover == NULL) return true;
  const int64_t *dims = plan->ints + mover->dims_first;
  const KernelContract *contract = p->contracts[mover->kernel];
  int64_t elements = -1;
  if (mover->operands_count != 2 || mover->accumulate != 0) return false;
  if (contract_dims_fit(contract, dims, mover->dims_count))
    elements = contract_elements(contract, 0, dims);
  if (elements < 0 || dims[0] != (int64_t)plan_comm_size(plan, flat->comm)) return false;
  side->pair = dims + 2, side->count = (uint32_t)dims[1];
  return pair_elements(side->pair, side->count) == share;
}

/* Of a collective of one piece; 0: it has several. */
static int64_t flat_share(const Plan *plan, const PlanRecord *record) {
  const int64_t *dims = plan->ints + record->dims_first;
  if (record->flat_calls != 1) return 0;
  if (record->kind == RECORD_ALL_TO_ALL) return dims[3] * dims[4];
  bool has_pieces = record->kind == RECORD_ALL_GATHER || record->kind == RECORD_REDUCE_SCATTER;
  return has_pieces ? dims[1] : 0;
}

/* ---- the collective that they are together */

static void add_operand(Packing *p, const PlanOperand *operand, Access access) {
  PlanOperand *added = &p->out->operands[p->operands_count++];
  *added = *operand;
  added->access = access;
}

static void add_pieces(Packing *p, PlanRecord *record, const Side *side) {
  const int64_t *pair = side->pair != NULL ? side->pair : side->whole;
  record->dims_count = 2 * side->count;
  for (uint32_t i = 0; i < record->dims_count; i++)
    p->out->ints[p->ints_count++] = pair[i];
}

/* Many pieces on one side, fewer on the other, each of as many of them. False: they do not fit. */
static bool add_turn(Packing *p, PlanRecord *record, const Side *x, const Side *y) {
  const int64_t *from = x->pair != NULL ? x->pair : x->whole;
  const int64_t *to = y->pair != NULL ? y->pair : y->whole;
  bool back = from[0] < to[0];
  const int64_t *many = back ? to : from, *few = back ? from : to;
  if (x->count != 1 || y->count != 1 || many[0] % few[0] != 0) return false;
  const int64_t dims[5] = {few[0], many[0] / few[0], 1, 1, many[1]};
  memcpy(p->out->ints + p->ints_count, dims, sizeof dims);
  p->ints_count += 5;
  record->dims_count = 5;
  record->attrs_first = p->reals_count, record->attrs_count = 1;
  p->out->reals[p->reals_count++] = back;
  return true;
}

static bool add_operands(Packing *p, const PlanRecord *flat, const Side *x, const Side *y) {
  const PlanOperand *from = operand_of(p, x->mover != NULL ? x->mover : flat, 0);
  if (flat->operands_count == 2) {
    add_operand(p, from, ACCESS_READ);
    add_operand(p, operand_of(p, y->mover != NULL ? y->mover : flat, 1), ACCESS_WRITE);
    return true;
  }
  if (x->mover == NULL || y->mover == NULL) return false;
  add_operand(p, from, ACCESS_UPDATE);
  return same_place(from, operand_of(p, y->mover, 1));
}

static bool join(Packing *p, uint32_t position, const Side *x, const Side *y) {
  PlanRecord *record = &p->out->records[p->segment->records_first + position];
  const PlanRecord flat = *record;
  bool gathers = flat.kind == RECORD_ALL_GATHER;
  record->operands_first = p->operands_count;
  record->dims_first = p->ints_count;
  if (!add_operands(p, &flat, x, y)) return false;
  if (flat.kind == RECORD_ALL_TO_ALL) return add_turn(p, record, x, y);
  const Side *whole = gathers ? y : x, *share = gathers ? x : y;
  bool same = flat.operands_count == 2
                  ? share->mover == NULL
                  : share->pair != NULL && whole->pair != NULL && share->count == whole->count &&
                        memcmp(share->pair, whole->pair, 2 * sizeof(int64_t) * share->count) == 0;
  add_pieces(p, record, whole);
  return same;
}

/* The mover beside a collective, if it is one and they fit. */
static const PlanRecord *beside(const Packing *p, uint32_t position, KernelId kernel) {
  return mover_at(p, position) == kernel
             ? &p->view->plan->records[p->segment->records_first + position]
             : NULL;
}

/* Whether the movers around the collective at `position` belong to it; they never run from here on.
 */
static bool unpack(Packing *p, uint32_t position) {
  const PlanRecord *flat = &p->view->plan->records[p->segment->records_first + position];
  const PlanRecord *pack = position > 0 ? beside(p, position - 1, KERNEL_pack) : NULL;
  const PlanRecord *unpacks = beside(p, position + 1, KERNEL_unpack);
  int64_t share = flat_share(p->view->plan, flat);
  Side x, y;
  if ((pack == NULL && unpacks == NULL) || share == 0) return false;
  if (!take_side(p, pack, flat, share, &x) || !take_side(p, unpacks, flat, share, &y)) return false;
  if (pack != NULL && !hands_on(p, pack, 1, flat)) return false;
  if (unpacks != NULL && !hands_on(p, flat, flat->operands_count - 1, unpacks)) return false;
  if (!join(p, position, &x, &y)) return false;
  const PlanRecord *movers[2] = {pack, unpacks};
  for (uint32_t i = 0; i < 2; i++) {
    if (movers[i] == NULL) continue;
    PlanRecord *out = &p->out->records[movers[i] - p->view->plan->records];
    out->when_all = out->when_none = CALL_FIRST_MICROBATCH;
  }
  return true;
}

static bool is_left(const Packing *p, uint32_t position) {
  const PlanRecord *record = &p->out->records[p->segment->records_first + position];
  return mover_at(p, position) != KERNEL_COUNT &&
         (record->when_all == 0 || record->when_all != record->when_none);
}

static void unpack_segment(Packing *p) {
  for (uint32_t i = 0; i < p->segment->records_count; i++)
    (void)unpack(p, i);
  for (uint32_t i = 0; i < p->segment->records_count; i++)
    if (is_left(p, i))
      find(p, i, "no collective beside it moves what it packs, or what it would unpack");
}

/* ---- all of them */

static void *copied(const View *view, const void *items, uint32_t count, size_t item_bytes,
                    uint32_t more) {
  void *copy = prove_array(view, (size_t)count + more, item_bytes);
  if (copy != NULL && count > 0) memcpy(copy, items, count * item_bytes);
  return copy;
}

bool unpacked_open(const View *view, Unpacked *unpacked) {
  const Plan *plan = view->plan;
  /* Of each record at most two operands, pairs of one mover, and a direction are added. */
  uint32_t dims = 0;
  for (uint32_t i = 0; i < plan->records_count; i++)
    if (plan->records[i].kind == RECORD_KERNEL) dims += plan->records[i].dims_count;
  *unpacked = (Unpacked){.plan = *plan};
  unpacked->records = copied(view, plan->records, plan->records_count, sizeof *plan->records, 0);
  unpacked->operands = copied(view, plan->operands, plan->operands_count, sizeof *plan->operands,
                              2 * plan->records_count);
  unpacked->ints = copied(view, plan->ints, plan->ints_count, sizeof *plan->ints,
                          dims + 5 * plan->records_count);
  unpacked->reals =
      copied(view, plan->reals, plan->reals_count, sizeof *plan->reals, plan->records_count);
  Packing p = {view,
               prove_contracts(view),
               unpacked,
               NULL,
               plan->operands_count,
               plan->ints_count,
               plan->reals_count};
  bool ready = unpacked->records && unpacked->operands && unpacked->ints && unpacked->reals &&
               p.contracts != NULL;
  for (uint32_t s = 0; ready && s < plan->segments_count; s++) {
    p.segment = &plan->segments[s];
    unpack_segment(&p);
  }
  unpacked->plan.records = unpacked->records;
  unpacked->plan.operands = unpacked->operands, unpacked->plan.operands_count = p.operands_count;
  unpacked->plan.ints = unpacked->ints, unpacked->plan.ints_count = p.ints_count;
  unpacked->plan.reals = unpacked->reals, unpacked->plan.reals_count = p.reals_count;
  free(p.contracts);
  return ready;
}

void unpacked_close(Unpacked *unpacked) {
  free(unpacked->records);
  free(unpacked->operands);
  free(unpacked->ints);
  free(unpacked->reals);
}

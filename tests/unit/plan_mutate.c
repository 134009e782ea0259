#include <string.h>

#include "kernels/contract/contract.h"
#include "runtime/plan/plan_io.h"
#include "runtime/plan/plan_text.h"
#include "tests/unit/plan_mutator.h"

const char *const mutation_names[MUTATION_KIND_COUNT] = {
    "drop",    "duplicate",         "swap",  "retarget", "resize",  "reorder",
    "overlap", "change of meaning", "event", "kernel",   "constant"};

/* ---- drop */

/* A condition that no call meets: nothing moves, yet the record is gone. */
static void never(PlanRecord *record) {
  record->when_all |= CALL_GROUP_LAST;
  record->when_none |= CALL_GROUP_LAST;
}

static bool drop_record(Mutator *m) {
  PlanRecord *record = pick_record(m);
  if (record == NULL) return false;
  never(record);
  return mutant_said(m, "record %u (%s %s) is dropped", NUMBER(m, records, record),
                     mutant_record_name(m, record), m->b->strings + record->path);
}

/* A copy of the call's segment, with bases and records of its own. */
static PlanSegment *own_copy_of(Mutator *m, const PlanCall *call, uint32_t room) {
  PlanBuilder *b = m->b;
  PlanSegment copied = b->segments[call->segment], old = copied;
  copied.bases_first = b->bases_count;
  for (uint32_t i = 0; i < old.bases_count; i++)
    build_bases(b, b->bases[old.bases_first + i]);
  copied.records_first = b->records_count;
  copied.records_count = old.records_count + room;
  for (uint32_t i = 0; i < old.records_count + room; i++)
    build_record_like(b, old.records_first + (i < old.records_count ? i : 0));
  return &b->segments[build_segments(b, copied)];
}

/* A record that runs in this call; false: none found. */
static bool running_record(Mutator *m, const PlanCall *call, uint32_t *index) {
  const PlanSegment *segment = &m->b->segments[call->segment];
  for (int tries = 0; tries < 20 && segment->records_count > 0; tries++) {
    *index = pick_below(m, segment->records_count);
    const PlanRecord *record = &m->b->records[segment->records_first + *index];
    if (plan_runs(call, record)) return true;
  }
  return false;
}

static bool drop_call(Mutator *m) {
  PlanCall *call = pick_call(m);
  uint32_t any = 0;
  if (call == NULL || !running_record(m, call, &any)) return false;
  const char *name = mutant_call_name(m, call);
  const PlanSegment *copied = own_copy_of(m, call, 0);
  for (uint32_t i = 0; i < copied->records_count; i++)
    never(&m->b->records[copied->records_first + i]);
  call->segment = NUMBER(m, segments, copied);
  return mutant_said(m, "call %u (%s) does nothing", NUMBER(m, calls, call), name);
}

static bool drop_one_record_of_one_call(Mutator *m) {
  PlanCall *call = pick_call(m);
  uint32_t index = 0;
  if (call == NULL || !running_record(m, call, &index)) return false;
  const PlanSegment *copied = own_copy_of(m, call, 0);
  never(&m->b->records[copied->records_first + index]);
  call->segment = NUMBER(m, segments, copied);
  return mutant_said(m, "call %u (%s) leaves record %u (%s) out", NUMBER(m, calls, call),
                     mutant_call_name(m, call), index,
                     mutant_record_name(m, &m->b->records[copied->records_first + index]));
}

/* ---- duplicate */

static bool duplicate_call(Mutator *m) {
  const PlanCall *source = pick_call(m);
  PlanCall *target = pick_call(m);
  if (source == NULL || source == target) return false;
  uint32_t first = target->waits_first, count = target->waits_count;
  *target = *source;
  target->waits_first = first, target->waits_count = count; /* waits have one owner */
  return mutant_said(m, "call %u does what call %u (%s) does", NUMBER(m, calls, target),
                     NUMBER(m, calls, source), mutant_call_name(m, source));
}

static void shift_edges(Mutator *m, const PlanRecord *record, uint32_t from) {
  for (uint32_t i = 0; i < record->after_count; i++) {
    PlanEdge *edge = &m->b->edges[record->after_first + i];
    edge->record += edge->record > from;
  }
}

static bool duplicate_record(Mutator *m) {
  PlanCall *call = pick_call(m);
  uint32_t index = 0;
  if (call == NULL || !running_record(m, call, &index)) return false;
  const PlanSegment *copied = own_copy_of(m, call, 1);
  PlanRecord *records = &m->b->records[copied->records_first];
  for (uint32_t i = copied->records_count - 1; i > index; i--) {
    records[i] = records[i - 1];
    if (i > index + 1) shift_edges(m, &records[i], index);
  }
  call->segment = NUMBER(m, segments, copied);
  return mutant_said(m, "call %u (%s) runs record %u (%s) twice", NUMBER(m, calls, call),
                     mutant_call_name(m, call), index, mutant_record_name(m, &records[index]));
}

/* ---- swap */

/* Nothing but the order of two summands would change. */
static bool commutes(const Mutator *m, const PlanRecord *record, uint32_t i, uint32_t k) {
  const PlanOperand *operand = &m->b->operands[record->operands_first];
  if (record->kind != RECORD_KERNEL || i >= 2 || k >= 2) return false;
  const KernelContract *kernel = contract_find(mutant_record_name(m, record));
  return kernel != NULL && (kernel->id == KERNEL_add || kernel->id == KERNEL_multiply) &&
         operand[0].size_bytes == operand[1].size_bytes;
}

static bool swap_calls(Mutator *m) {
  PlanCall *x = pick_call(m), *y = pick_call(m);
  if (x == NULL || x == y || x->segment == y->segment) return false;
  PlanCall z = *x;
  *x = *y, *y = z;
  uint32_t first = x->waits_first, count = x->waits_count;
  x->waits_first = y->waits_first, x->waits_count = y->waits_count;
  y->waits_first = first, y->waits_count = count;
  return mutant_said(m, "calls %u and %u (%s, %s) change places", NUMBER(m, calls, x),
                     NUMBER(m, calls, y), mutant_call_name(m, y), mutant_call_name(m, x));
}

static bool swap_operands(Mutator *m) {
  const PlanRecord *record = pick_record(m);
  if (record == NULL || record->operands_count < 2) return false;
  uint32_t i = pick_below(m, record->operands_count), k = pick_below(m, record->operands_count);
  PlanOperand *x = &m->b->operands[record->operands_first + i];
  PlanOperand *y = &m->b->operands[record->operands_first + k];
  if (i == k || commutes(m, record, i, k)) return false;
  PlanOperand z = *x;
  *x = *y, *y = z;
  return mutant_said(m, "operands %u and %u of record %u (%s) change places", i, k,
                     NUMBER(m, records, record), mutant_record_name(m, record));
}

static bool swap_bindings(Mutator *m) {
  const PlanCall *call = pick_call(m);
  if (call == NULL || call->bindings_count < 2) return false;
  uint32_t i = pick_below(m, call->bindings_count), k = pick_below(m, call->bindings_count);
  PlanBinding *x = &m->b->bindings[call->bindings_first + i];
  PlanBinding *y = &m->b->bindings[call->bindings_first + k];
  if (i == k || x->offset == y->offset) return false;
  PlanBinding z = *x;
  *x = *y, *y = z;
  return mutant_said(m, "bindings %u and %u of call %u (%s) change places", i, k,
                     NUMBER(m, calls, call), mutant_call_name(m, call));
}

/* ---- retarget */

static bool retarget_binding(Mutator *m) {
  const PlanCall *call = pick_call(m), *from = pick_call(m);
  if (call == NULL || call->bindings_count == 0 || from->bindings_count == 0) return false;
  uint32_t index = pick_below(m, call->bindings_count);
  PlanBinding *to = &m->b->bindings[call->bindings_first + index];
  PlanBinding source = m->b->bindings[from->bindings_first + pick_below(m, from->bindings_count)];
  if (to->offset == source.offset) return false;
  *to = source;
  return mutant_said(m, "binding %u of call %u (%s) goes to %llu", index, NUMBER(m, calls, call),
                     mutant_call_name(m, call), (unsigned long long)source.offset);
}

static bool retarget_operand(Mutator *m) {
  const PlanSegment *segment = pick_segment(m);
  if (segment == NULL || segment->records_count == 0 || segment->bases_count < 2) return false;
  const PlanRecord *record =
      &m->b->records[segment->records_first + pick_below(m, segment->records_count)];
  if (record->operands_count == 0) return false;
  uint32_t index = pick_below(m, record->operands_count),
           base = pick_below(m, segment->bases_count);
  PlanOperand *operand = &m->b->operands[record->operands_first + index];
  if (base == operand->base) return false;
  operand->base = base;
  return mutant_said(m, "operand %u of record %u (%s) goes to base %u", index,
                     NUMBER(m, records, record), mutant_record_name(m, record), base);
}

static bool retarget_communicator(Mutator *m) {
  PlanRecord *record = pick_communication(m);
  if (record == NULL || m->b->comms_count < 2) return false;
  uint32_t comm = pick_below(m, m->b->comms_count);
  if (m->b->comms[comm].axes_mask == m->b->comms[record->comm].axes_mask) return false;
  record->comm = comm;
  return mutant_said(m, "record %u (%s) is of communicator %u", NUMBER(m, records, record),
                     mutant_record_name(m, record), comm);
}

static bool retarget_axes(Mutator *m) {
  if (m->b->comms_count == 0 || m->b->axes_count == 0) return false;
  PlanComm *comm = ANY(m, comms);
  uint32_t axis = pick_below(m, m->b->axes_count);
  if (m->b->axes[axis].size == 1) return false;
  comm->axes_mask ^= 1u << axis;
  return mutant_said(m, "communicator %u has axis %u, or has it no more", NUMBER(m, comms, comm),
                     axis);
}

static bool retarget_distance(Mutator *m) {
  for (int tries = 0; tries < 20; tries++) {
    const PlanRecord *record = pick_communication(m);
    if (record == NULL) return false;
    if (record->kind != RECORD_EXCHANGE || record->dims_count == 0) continue;
    uint32_t index = pick_below(m, record->dims_count);
    m->b->ints[record->dims_first + index] += 1;
    return mutant_said(m, "operand %u of record %u goes one further", index,
                       NUMBER(m, records, record));
  }
  return false;
}

static bool retarget_member(Mutator *m) {
  for (int tries = 0; tries < 100; tries++) {
    PlanOperand *operand = pick_operand(m);
    if (operand == NULL) return false;
    if (operand->by == PLAN_NONE) continue;
    if (pick_below(m, 2) == 0)
      operand->member_stride = 0;
    else
      operand->member_stride /= 2;
    return mutant_said(m, "operand %u moves by %lld a member", NUMBER(m, operands, operand),
                       (long long)operand->member_stride);
  }
  return false;
}

/* ---- resize */

static bool resize_operand(Mutator *m) {
  PlanOperand *operand = pick_operand(m);
  if (operand == NULL) return false;
  if (pick_below(m, 2) == 0) operand->offset += operand->size_bytes / 2 / 8 * 8;
  operand->size_bytes /= 2;
  return mutant_said(m, "operand %u is half as long", NUMBER(m, operands, operand));
}

static bool resize_buffer(Mutator *m) {
  PlanBuffer *buffer = ANY(m, buffers);
  if (buffer->size_bytes < 16) return false;
  buffer->size_bytes -= 8;
  return mutant_said(m, "buffer %u is 8 bytes shorter", NUMBER(m, buffers, buffer));
}

static bool resize_dim(Mutator *m) {
  const PlanRecord *record = pick_record(m);
  if (record == NULL || record->dims_count == 0) return false;
  uint32_t index = pick_below(m, record->dims_count);
  m->b->ints[record->dims_first + index] += pick_below(m, 2) == 0 ? 1 : -1;
  return mutant_said(m, "dim %u of record %u (%s) is %lld", index, NUMBER(m, records, record),
                     mutant_record_name(m, record),
                     (long long)m->b->ints[record->dims_first + index]);
}

/* One rank sends more and another less: the sum stays right. */
static bool resize_piece(Mutator *m) {
  for (int tries = 0; tries < 50; tries++) {
    const PlanRecord *record = pick_communication(m);
    if (record == NULL) return false;
    if (record->kind == RECORD_EXCHANGE || record->dims_count < 4) continue;
    int64_t *pair = &m->b->ints[record->dims_first + 2 * pick_below(m, record->dims_count / 2 - 1)];
    if (pair[0] != 1 || pair[2] != 1 || pair[1] < 2) continue;
    pair[1]--, pair[3]++;
    return mutant_said(m, "two pieces of record %u are of other sizes", NUMBER(m, records, record));
  }
  return false;
}

/* ---- reorder */

/* One writes what the other reads or writes: their order is not free. */
static bool conflict(const Mutator *m, const PlanRecord *x, const PlanRecord *y) {
  for (uint32_t i = 0; i < x->operands_count; i++) {
    const PlanOperand *a = &m->b->operands[x->operands_first + i];
    for (uint32_t k = 0; k < y->operands_count; k++) {
      const PlanOperand *c = &m->b->operands[y->operands_first + k];
      if (a->base == c->base && (a->access != ACCESS_READ || c->access != ACCESS_READ) &&
          a->offset < c->offset + c->size_bytes && c->offset < a->offset + a->size_bytes)
        return true;
    }
  }
  return false;
}

static bool reorder_records(Mutator *m) {
  const PlanSegment *segment = pick_segment(m);
  if (segment == NULL || segment->records_count < 2) return false;
  uint32_t i = pick_below(m, segment->records_count - 1), k = i + 1;
  if (pick_below(m, 2) == 0) k = i + 1 + pick_below(m, segment->records_count - 1 - i);
  PlanRecord *x = &m->b->records[segment->records_first + i];
  PlanRecord *y = &m->b->records[segment->records_first + k];
  bool alike = strcmp(mutant_record_name(m, x), mutant_record_name(m, y)) ==
               0; /* they may share scratch only */
  if (alike || !conflict(m, x, y)) return false;
  PlanRecord z = *x;
  *x = *y, *y = z;
  return mutant_said(m, "records %u and %u (%s, %s) change places", NUMBER(m, records, x),
                     NUMBER(m, records, y), mutant_record_name(m, y), mutant_record_name(m, x));
}

static bool reorder_calls(Mutator *m) {
  const PlanProgram *program = pick_program(m, PROGRAM_TRAIN_STEP);
  if (program->calls_count < 2) return false;
  PlanCall *x = &m->b->calls[program->calls_first + pick_below(m, program->calls_count - 1)],
           *y = x + 1;
  if (x->microbatch < 0 && x->segment == y->segment) return false; /* layers in another order */
  PlanCall z = *x;
  *x = *y, *y = z;
  uint32_t first = x->waits_first, count = x->waits_count;
  x->waits_first = y->waits_first, x->waits_count = y->waits_count;
  y->waits_first = first, y->waits_count = count;
  return mutant_said(m, "calls %u and %u (%s, %s) change places", NUMBER(m, calls, x),
                     NUMBER(m, calls, y), mutant_call_name(m, y), mutant_call_name(m, x));
}

/* One call more or less in a batch. */
static bool change_launch(Mutator *m) {
  if (m->b->launches_count == 0) return false;
  PlanLaunch *launch = ANY(m, launches);
  switch (pick_below(m, 4)) {
  case 0: launch->call_count++; break;
  case 1: launch->call_count--; break;
  case 2: launch->first_call++; break;
  default: launch->first_call--; break;
  }
  return mutant_said(m, "launch %u is of other calls", NUMBER(m, launches, launch));
}

/* A record may be fused with the record before it, or may no longer. */
static bool change_fuses(Mutator *m) {
  PlanRecord *record = ANY(m, records);
  record->fuses ^= 1;
  return mutant_said(m, "record %u (%s) %s what is before it", NUMBER(m, records, record),
                     mutant_record_name(m, record), record->fuses ? "joins" : "no longer joins");
}

/* ---- overlap */

static bool overlap_buffers(Mutator *m) {
  PlanBuffer *buffer = ANY(m, buffers);
  const PlanBuffer *other = ANY(m, buffers);
  if (buffer->offset == other->offset) return false;
  buffer->offset = other->offset;
  return mutant_said(m, "buffer %u is where %u does", NUMBER(m, buffers, buffer),
                     NUMBER(m, buffers, other));
}

static bool overlap_lifetimes(Mutator *m) {
  PlanBuffer *buffer = ANY(m, buffers);
  if (buffer->program == PLAN_NONE || buffer->first_call == buffer->last_call) return false;
  if (pick_below(m, 2) == 0)
    buffer->first_call++;
  else
    buffer->last_call--;
  return mutant_said(m, "buffer %u lives from call %u to %u", NUMBER(m, buffers, buffer),
                     buffer->first_call, buffer->last_call);
}

static bool overlap_tensors(Mutator *m) {
  PlanTensor *tensor = ANY(m, tensors);
  if (pick_below(m, 2) == 0)
    tensor->offset += PLAN_ALIGN_BYTES;
  else
    tensor->elements--;
  return mutant_said(m, "tensor %u has another place or size", NUMBER(m, tensors, tensor));
}

static bool overlap_peak(Mutator *m) {
  PlanProgram *program = ANY(m, programs);
  PlanPeak *peak = &m->b->peaks[program->peaks_first];
  *(pick_below(m, 2) ? &peak->live_bytes : &peak->peak_bytes) -= PLAN_ALIGN_BYTES;
  return mutant_said(m, "program %u needs less than it does", NUMBER(m, programs, program));
}

/* ---- change of meaning */

static bool change_access(Mutator *m) {
  PlanOperand *operand = pick_operand(m);
  if (operand == NULL) return false;
  operand->access = (operand->access + 1 + pick_below(m, 2)) % 3;
  return mutant_said(m, "operand %u is used in another way", NUMBER(m, operands, operand));
}

static bool change_flags(Mutator *m) {
  PlanCall *call = pick_call(m);
  if (call == NULL) return false;
  call->flags ^= 1u << pick_below(m, 2);
  return mutant_said(m, "call %u has other flags", NUMBER(m, calls, call));
}

/* Do the two conditions differ for any call of the record? */
static bool tells_apart(const Mutator *m, const PlanRecord *record, uint32_t all, uint32_t none) {
  uint32_t index = NUMBER(m, records, record);
  for (uint32_t i = 0; i < m->b->calls_count; i++) {
    const PlanSegment *segment = &m->b->segments[m->b->calls[i].segment];
    uint32_t flags = m->b->calls[i].flags;
    if (index - segment->records_first < segment->records_count &&
        plan_when(record->when_all, record->when_none, flags) != plan_when(all, none, flags))
      return true;
  }
  return false;
}

static bool change_condition(Mutator *m) {
  PlanRecord *record = pick_record(m);
  if (record == NULL) return false;
  uint32_t all = record->when_all, none = record->when_none;
  *(pick_below(m, 2) == 0 ? &all : &none) ^= 1u << pick_below(m, 2);
  if (!tells_apart(m, record, all, none)) return false;
  record->when_all = all, record->when_none = none;
  return mutant_said(m, "record %u (%s) runs at other times", NUMBER(m, records, record),
                     mutant_record_name(m, record));
}

static bool change_layer(Mutator *m) {
  PlanCall *call = pick_call(m);
  if (call == NULL || call->layer < 0) return false;
  call->layer = call->layer == 0 ? 1 : call->layer - 1;
  return mutant_said(m, "call %u is of another layer", NUMBER(m, calls, call));
}

static bool change_microbatch(Mutator *m) {
  PlanCall *call = pick_call(m);
  if (call == NULL || call->microbatch < 0) return false;
  call->microbatch = call->microbatch == 0 ? 1 : call->microbatch - 1;
  return mutant_said(m, "call %u (%s) is of another micro-batch", NUMBER(m, calls, call),
                     mutant_call_name(m, call));
}

static bool change_loop(Mutator *m) {
  if (m->b->loops_count == 0) return false;
  PlanLoop *loop = ANY(m, loops);
  switch (pick_below(m, 4)) {
  case 0: loop->times++; break;
  case 1: loop->times--; break;
  case 2: loop->first_call++; break;
  default: loop->microbatch_stride++; break;
  }
  return mutant_said(m, "loop %u is another", NUMBER(m, loops, loop));
}

static bool change_communication(Mutator *m) {
  PlanRecord *record = pick_communication(m);
  if (record == NULL) return false;
  switch (pick_below(m, 2)) {
  case 0: record->meaning = PLAN_NONE; break;
  default: record->kind = RECORD_ALL_REDUCE + (record->kind - RECORD_ALL_REDUCE + 1) % 5; break;
  }
  return mutant_said(m, "communication %u (now %s) is another", NUMBER(m, records, record),
                     mutant_record_name(m, record));
}

static bool change_reduction(Mutator *m) {
  const PlanRecord *record = pick_communication(m);
  if (record == NULL || record->meaning == PLAN_NONE) return false;
  if (record->kind != RECORD_ALL_REDUCE && record->kind != RECORD_REDUCE_SCATTER) return false;
  m->b->meanings[record->meaning].reduce ^= 1;
  return mutant_said(m, "record %u reduces otherwise", NUMBER(m, records, record));
}

static bool retype_tensor(Mutator *m) {
  PlanTensor *tensor = ANY(m, tensors);
  tensor->kind = (tensor->kind + 1) % 5;
  return mutant_said(m, "tensor %u is of another kind", NUMBER(m, tensors, tensor));
}

/* ---- */

enum { WAYS_MAX = 9, SEED_STRIDE = 8 }; /* a kind that is added leaves the others as they were */
static Mutate *const ways[MUTATION_EVENT][WAYS_MAX + 1] = {
    [MUTATION_DROP] = {drop_record, drop_call, drop_one_record_of_one_call, mutate_drop_edge,
                       mutate_drop_wait},
    [MUTATION_DUPLICATE] = {duplicate_call, duplicate_record},
    [MUTATION_SWAP] = {swap_calls, swap_operands, swap_bindings},
    [MUTATION_RETARGET] = {retarget_binding, retarget_operand, retarget_communicator, retarget_axes,
                           retarget_distance, retarget_member},
    [MUTATION_RESIZE] = {resize_operand, resize_buffer, resize_dim, resize_piece},
    [MUTATION_REORDER] = {reorder_records, reorder_calls, change_launch, change_fuses},
    [MUTATION_OVERLAP] = {overlap_buffers, overlap_lifetimes, overlap_tensors, overlap_peak},
    [MUTATION_MEANING] = {change_access, change_flags, change_condition, change_layer,
                          change_microbatch, change_loop, change_communication, change_reduction,
                          retype_tensor},
};

static Mutate *const *ways_of(MutationKind kind) {
  if (kind == MUTATION_EVENT) return mutate_event_ways;
  if (kind == MUTATION_KERNEL) return mutate_kernel_ways;
  return kind == MUTATION_CONSTANT ? mutate_constant_ways : ways[kind];
}

bool plan_mutate(const Plan *plan, uint64_t seed, MutationKind kind, PlanBuilder *mutant,
                 char text[MUTATION_TEXT_BYTES]) {
  Mutate *const *way = ways_of(kind);
  uint32_t count = 0;
  while (way[count] != NULL)
    count++;
  build_copy(mutant, plan);
  uint64_t before = plan_compute_id(plan);
  Mutator m = {mutant, (seed * SEED_STRIDE + (uint64_t)kind) * 977 + 1, text};
  for (int tries = 0; tries < 20; tries++) {
    if (!way[pick_below(&m, count)](&m)) continue;
    Plan changed = build_view(mutant);
    if (plan_compute_id(&changed) != before) return true;
  }
  build_free(mutant);
  return false;
}

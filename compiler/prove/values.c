/* values.c -- a value is read before it is gone, and never when a part of it is gone.
 *
 * Written bytes alone do not show that a record is missing: where buffers are reused, something
 * older lies in its place. But then the values it should have read go unread, and what is read in
 * place of its result is often a part of something. Followed are dense results in transient
 * buffers; views of strided rows, scratch and what only a backward pass needs are not. Staged
 * inputs may go unread. What follows from samples is read in its own micro-batch. */
#include <stdlib.h>
#include <string.h>

#include "compiler/prove/search.h"
#include "compiler/prove/walk.h"
#include "runtime/plan/plan_text.h"

typedef struct Value {
  uint64_t first, end;
  uint32_t position, record; /* who wrote it */
  bool read, cut;            /* cut: a part of it was overwritten */
  int32_t microbatch;        /* that it belongs to; -1: to none */
  bool loose;                /* a constant: each part of it is as good as the whole */
} Value;

/* The values of one buffer: disjoint, by offset. */
typedef struct Contents {
  Value *value;
  uint32_t count, capacity;
} Contents;

enum { USE_OPERANDS = 16 };

typedef enum Use {
  USE_READ,
  USE_RESULT,
  USE_UPDATE,
  USE_CONSTANT,
  USE_INPUT,   /* a result that may go unread */
  USE_SCRATCH, /* over what is needed no more */
  USE_BLUR     /* writes, not followed */
} Use;

typedef struct Values {
  const View *view;
  const Walk *walk;
  Walk walk_now;
  Contents *contents;           /* by buffer of the class */
  uint8_t (*use)[USE_OPERANDS]; /* by kernel */
  bool failed;
} Values;

static uint32_t find_value(const Contents *c, uint64_t offset) {
  return SEARCH(c->value, c->count, end, offset + 1);
}

/* Who wrote a value, as people know it: a kernel, or a kind of communication. */
static const char *writer_of(const Values *v, const Value *value) {
  const Plan *plan = v->view->plan;
  const PlanCall *call = &plan->calls[v->walk->program->calls_first + value->position];
  const PlanRecord *record =
      &plan->records[plan->segments[call->segment].records_first + value->record];
  return record->kind == RECORD_KERNEL ? plan_string(plan, plan->kernels[record->kernel].name)
                                       : RecordKind_names[record->kind];
}

static void report_unread(const Values *v, const Value *value, uint32_t buffer, int64_t record) {
  const Plan *plan = v->view->plan;
  const PlanCall *writer = &plan->calls[v->walk->program->calls_first + value->position];
  const PlanRecord *what =
      &plan->records[plan->segments[writer->segment].records_first + value->record];
  prove_finding(v->view, v->walk, record, "values",
                "what call %u record %u (%.24s %.60s) wrote to %.40s is gone, and was never read",
                value->position, value->record, writer_of(v, value), plan_string(plan, what->path),
                plan_string(plan, plan->buffers[buffer].name));
}

static bool make_room(Values *v, Contents *c, uint32_t at, uint32_t removed, uint32_t added) {
  uint32_t count = c->count - removed + added;
  if (count > c->capacity) {
    uint32_t capacity = count < 8 ? 8 : 2 * count;
    Value *grown = realloc(c->value, capacity * sizeof *grown);
    if (grown == NULL) {
      v->failed = true;
      return false;
    }
    c->value = grown, c->capacity = capacity;
  }
  uint32_t behind = c->count - at - removed;
  if (behind > 0)
    memmove(&c->value[at + added], &c->value[at + removed], behind * sizeof *c->value);
  c->count = count;
  return true;
}

/* Replaces what [first, end) held: whole values go, of others the rest stays, cut. `value` NULL: by
 * nothing. A view of strided rows `spares` the rows between its own: what is there may yet be read.
 */
static void replace(Values *v, uint32_t buffer, uint32_t record, uint64_t first, uint64_t end,
                    const Value *value, bool spares) {
  Contents *c = &v->contents[buffer - v->view->class->buffers_first];
  uint32_t at = find_value(c, first), stop = at, count = 0;
  Value put[3];
  for (; stop < c->count && c->value[stop].first < end; stop++) {
    Value *old = &c->value[stop];
    bool gone = !old->loose || (first <= old->first && old->end <= end);
    if (!old->read && !old->cut && !spares && gone) report_unread(v, old, buffer, record);
    old->cut = !old->loose;
  }
  if (stop > at && c->value[at].first < first) {
    put[count] = c->value[at];
    put[count++].end = first;
  }
  if (value != NULL) put[count++] = *value;
  if (stop > at && c->value[stop - 1].end > end) {
    put[count] = c->value[stop - 1];
    put[count++].first = end;
  }
  if ((count == 0 && stop == at) || !make_room(v, c, at, stop - at, count)) return;
  for (uint32_t i = 0; i < count; i++)
    c->value[at + i] = put[i];
}

/* Samples and what follows from them belong to one micro-batch; what parameters are gathered into
 * may serve several. */
static int32_t microbatch_of(const Values *v, uint32_t buffer, const PlanRecord *record) {
  uint32_t kind = v->view->plan->buffers[buffer].kind;
  bool samples = kind == BUFFER_ACTIVATION || kind == BUFFER_GRAD_ACTIVATION || kind == BUFFER_DATA;
  return samples && record->kind != RECORD_EXCHANGE ? v->walk->microbatch : -1;
}

static void read_bytes(Values *v, uint32_t buffer, uint32_t record, uint32_t operand,
                       uint64_t first, uint64_t end) {
  Contents *c = &v->contents[buffer - v->view->class->buffers_first];
  int32_t microbatch = microbatch_of(v, buffer, walk_record(v->walk, record));
  for (uint32_t i = find_value(c, first); i < c->count && c->value[i].first < end; i++) {
    c->value[i].read = true;
    if (c->value[i].cut)
      prove_finding(v->view, v->walk, record, "values",
                    "operand %u reads what is left of a value of call %u record %u (%.24s)",
                    operand, c->value[i].position, c->value[i].record, writer_of(v, &c->value[i]));
    if (c->value[i].microbatch >= 0 && microbatch >= 0 && c->value[i].microbatch != microbatch)
      prove_finding(v->view, v->walk, record, "values",
                    "operand %u reads what call %u record %u wrote in micro-batch %d", operand,
                    c->value[i].position, c->value[i].record, c->value[i].microbatch);
  }
}

/* A copy whose rows come to lie one behind the other leaves no gaps: it is followed. */
static bool is_dense_copy(const Values *v, const PlanRecord *record) {
  const Plan *plan = v->view->plan;
  const int64_t *dim = plan->ints + record->dims_first;
  return record->kind == RECORD_KERNEL && record->dims_count == 4 && dim[1] == dim[3] &&
         strcmp(plan_string(plan, plan->kernels[record->kernel].name), "copy") == 0;
}

static Use use_of(const Values *v, const PlanRecord *record, uint32_t index, uint32_t access) {
  if (access == ACCESS_READ) return USE_READ;
  if (access == ACCESS_UPDATE) return USE_UPDATE;
  if (record->kind == RECORD_LOAD) return USE_INPUT;
  if (is_dense_copy(v, record)) return USE_RESULT;
  return record->kind == RECORD_KERNEL && index < USE_OPERANDS ? (Use)v->use[record->kernel][index]
                                                               : USE_RESULT;
}

/* Transient, and the first of its story. */
static bool is_followed(const Values *v, uint32_t buffer) {
  return buffer != PLAN_NONE && v->view->plan->buffers[buffer].program != PLAN_NONE &&
         !v->view->repeats.told_buffer[buffer - v->view->class->buffers_first];
}

static void run_operand(Values *v, uint32_t index, uint32_t operand_index, bool writes) {
  const Plan *plan = v->view->plan;
  const PlanRecord *record = walk_record(v->walk, index);
  const PlanOperand *operand = &plan->operands[record->operands_first + operand_index];
  uint32_t buffer = walk_buffer(v->walk, operand->base);
  if ((operand->access == ACCESS_WRITE) != writes || operand->size_bytes == 0 ||
      !is_followed(v, buffer))
    return;
  uint64_t first = walk_base(v->walk, operand->base) + view_operand(v->view, operand);
  uint64_t end = first + operand->size_bytes;
  Value value = {
      first, end, v->walk->position, index, false, false, microbatch_of(v, buffer, record), false};
  switch (use_of(v, record, operand_index, operand->access)) {
  case USE_READ: read_bytes(v, buffer, index, operand_index, first, end); break;
  case USE_UPDATE:
    value.read = record->kind == RECORD_KERNEL && operand_index < USE_OPERANDS &&
                 v->use[record->kernel][operand_index] == USE_INPUT;
    read_bytes(v, buffer, index, operand_index, first, end);
    replace(v, buffer, index, first, end, &value, false);
    break;
  case USE_RESULT: replace(v, buffer, index, first, end, &value, false); break;
  case USE_CONSTANT:
    value.loose = true;
    replace(v, buffer, index, first, end, &value, false);
    break;
  case USE_INPUT:
    value.read = true;
    replace(v, buffer, index, first, end, &value, false);
    break;
  case USE_SCRATCH: replace(v, buffer, index, first, end, NULL, false); break;
  case USE_BLUR: replace(v, buffer, index, first, end, NULL, true); break;
  }
}

/* Gathers and scatters in place: own pieces go in, or come out and the rest is nothing. */
static void run_in_place(Values *v, uint32_t index) {
  const Plan *plan = v->view->plan;
  const PlanRecord *record = walk_record(v->walk, index);
  const PlanOperand *operand = &plan->operands[record->operands_first];
  uint32_t buffer = walk_buffer(v->walk, operand->base);
  if (!is_followed(v, buffer) || !pieces_are_few(v->walk, index)) return;
  uint64_t whole = walk_base(v->walk, operand->base) + view_operand(v->view, operand);
  uint64_t whole_end = whole + operand->size_bytes, first = 0, end = 0;
  Value value = {
      whole, whole_end, v->walk->position, index, false, false, microbatch_of(v, buffer, record),
      false};
  bool gathers = record->kind == RECORD_ALL_GATHER;
  if (!gathers) {
    read_bytes(v, buffer, index, 0, whole, whole_end);
    replace(v, buffer, index, whole, whole_end, NULL, false);
  }
  Pieces pieces = pieces_begin(v->walk, record, whole);
  while (pieces_range(&pieces, &first, &end)) {
    value.first = first, value.end = end;
    if (gathers)
      read_bytes(v, buffer, index, 0, first, end);
    else
      replace(v, buffer, index, first, end, &value, false);
  }
  value.first = whole, value.end = whole_end;
  if (gathers) replace(v, buffer, index, whole, whole_end, &value, false);
}

static void end_life(Values *v, uint32_t buffer) {
  Contents *c = &v->contents[buffer - v->view->class->buffers_first];
  for (uint32_t i = 0; i < c->count; i++)
    if (!c->value[i].read && !c->value[i].cut) report_unread(v, &c->value[i], buffer, -1);
  c->count = 0;
}

static void run_call(Values *v) {
  for (uint32_t r = 0; r < v->walk->segment->records_count; r++) {
    const PlanRecord *record = walk_record(v->walk, r);
    if (!walk_runs(v->walk, record)) continue;
    if (record_in_place(record)) run_in_place(v, r);
    for (int writes = 0; writes < 2 && !record_in_place(record); writes++)
      for (uint32_t i = 0; i < record->operands_count; i++) /* a record reads before it writes */
        run_operand(v, r, i, writes == 1);
  }
}

static void run_program(Values *v, const PlanProgram *program) {
  BufferOrder deaths = order_buffers(v->view, program, false);
  if (deaths.buffer == NULL) return;
  v->walk_now = walk_begin(v->view, program);
  v->walk = &v->walk_now;
  while (walk_next(&v->walk_now)) {
    uint32_t position = v->walk->position;
    if (!v->view->repeats.told_call[program->kind][position]) run_call(v);
    for (uint32_t i = deaths.first[position]; i < deaths.first[position + 1]; i++)
      end_life(v, deaths.buffer[i]);
  }
  free(deaths.buffer);
}

/* Operand by operand, as far as there is a contract. */
static void fill_use(uint8_t use[USE_OPERANDS], const KernelContract *contract) {
  uint32_t count = contract == NULL ? 0 : (uint32_t)contract->operand_count;
  for (uint32_t i = 0; i < USE_OPERANDS; i++) {
    const KernelOperand *operand = i < count ? &contract->operands[i] : NULL;
    use[i] = operand == NULL                                               ? USE_BLUR
             : operand->access == KERNEL_SCRATCH                           ? USE_SCRATCH
             : operand->access == KERNEL_SUM && operand->may_be_unread     ? USE_INPUT
             : contract->row->role == ROLE_FILL                            ? USE_CONSTANT
             : operand->may_be_unread || operand->shape.kind == SHAPE_VIEW ? USE_BLUR
                                                                           : USE_RESULT;
  }
}

void prove_values(const View *view) {
  const Plan *plan = view->plan;
  Values v = {.view = view};
  v.contents = prove_array(view, view->class->buffers_count, sizeof *v.contents);
  v.use = prove_array(view, plan->kernels_count, sizeof *v.use);
  if (v.contents != NULL && v.use != NULL) {
    for (uint32_t i = 0; i < plan->kernels_count; i++)
      fill_use(v.use[i], contract_find(plan_string(plan, plan->kernels[i].name)));
    for (uint32_t i = 0; i < view->class->programs_count; i++)
      run_program(&v, &plan->programs[view->class->programs_first + i]);
    if (v.failed) prove_finding(view, NULL, -1, "values", "out of memory while proving");
    for (uint32_t i = 0; i < view->class->buffers_count; i++)
      free(v.contents[i].value);
  }
  free(v.contents), free(v.use);
}

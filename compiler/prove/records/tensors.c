/* tensors.c -- what lasts: it is cut as updates have it, begins once, and is saved by every rank
 * that has its own. */
#include <stdlib.h>

#include "compiler/prove/hash.h"
#include "compiler/prove/records/case.h"
#include "compiler/prove/records/records.h"
#include "runtime/plan/plan_layout.h"
#include "runtime/plan/plan_text.h"

typedef struct Lasting {
  const Plan *plan;
  View view;
  uint32_t *update; /* by value: its update, as a record; PLAN_NONE */
  bool *has_master; /* by value */
  uint64_t *begun;  /* by value: sum of the hashes of layers that begin, of this class */
} Lasting;

static void report(const Lasting *l, const PlanTensor *tensor, const char *what) {
  prove_finding(&l->view, NULL, -1, "records", "%s %.80s: %s", BufferKind_names[tensor->kind],
                plan_string(l->plan, tensor->name), what);
}

/* The operand of an update that is of this kind; PLAN_NONE: none. */
static uint32_t operand_of(const Lasting *l, const PlanRecord *record, BufferKind kind) {
  static const char *const names[BufferKind_COUNT] = {[BUFFER_PARAM] = "param",
                                                      [BUFFER_GRAD] = "grad",
                                                      [BUFFER_MASTER] = "master",
                                                      [BUFFER_MOMENT1] = "m",
                                                      [BUFFER_MOMENT2] = "v"};
  const PlanKernel *kernel = &l->plan->kernels[record->kernel];
  const KernelContract *contract = contract_find(plan_string(l->plan, kernel->name));
  if (contract == NULL || kind >= BufferKind_COUNT || names[kind] == NULL) return PLAN_NONE;
  int32_t operand = contract_operand(contract, names[kind]);
  if (operand < 0 || (uint32_t)operand >= record->operands_count) return PLAN_NONE;
  return record->operands_first + (uint32_t)operand;
}

static bool same_dims(const Plan *plan, const PlanLayout *a, const PlanLayout *b) {
  if (a->dims_count != b->dims_count) return false;
  const Case c = {.plan = plan};
  for (uint32_t i = 0; i < a->dims_count; i++)
    if (!dims_are_cut_alike(&c, &plan->layout_dims[a->dims_first + i],
                            &plan->layout_dims[b->dims_first + i]))
      return false;
  return true;
}

/* Parameters and gradients may be there whole while each rank updates a piece of them. */
static void check_layout(const Lasting *l, const PlanTensor *tensor) {
  uint32_t update = tensor->value == PLAN_NONE ? PLAN_NONE : l->update[tensor->value];
  if (update == PLAN_NONE) {
    report(l, tensor, "nothing updates it");
    return;
  }
  uint32_t operand = operand_of(l, &l->plan->records[update], (BufferKind)tensor->kind);
  uint32_t wanted = operand == PLAN_NONE ? PLAN_NONE : l->plan->operands[operand].layout;
  if (wanted == PLAN_NONE) {
    report(l, tensor, "its update has no such operand");
    return;
  }
  const PlanLayout *has = &l->plan->layouts[tensor->layout], *as = &l->plan->layouts[wanted];
  bool whole = has->flat_axes == 0 && (tensor->kind == BUFFER_PARAM || tensor->kind == BUFFER_GRAD);
  if (!same_dims(l->plan, has, as) ||
      (!whole && (has->flat_axes != as->flat_axes || has->piece != as->piece)))
    report(l, tensor, "is said to be cut otherwise than its update has it");
}

/* Where layers differ from class to class, ranks along that axis have states of their own. */
static void check_state_axes(const Lasting *l, const PlanClass *class) {
  for (uint32_t axis = 0; axis < l->plan->axes_count; axis++) {
    const PlanBound *bound = &l->plan->bounds[class->bounds_first + axis];
    bool all = bound->first == 0 && bound->end == l->plan->axes[axis].size;
    if (!all && (l->plan->jobs[0].state_axes >> axis & 1u) == 0)
      prove_finding(&l->view, NULL, -1, "records",
                    "state_axes: leaves out %.16s, along which ranks have other layers",
                    plan_string(l->plan, l->plan->axes[axis].name));
  }
}

/* ---- initial values */

static void begin_call(Lasting *l, const Walk *walk) {
  for (uint32_t i = 0; i < walk->segment->records_count; i++) {
    const PlanRecord *record = walk_record(walk, i);
    if (record->purpose != PURPOSE_INIT || record->key == 0 || record->value == PLAN_NONE ||
        !walk_runs(walk, record))
      continue;
    l->begun[record->value] += hash_mix(5, (uint64_t)walk->call->layer + 1);
  }
}

/* Each layer of each tensor once: what is left of the sums is 0. */
static void check_begun(Lasting *l, const PlanClass *class) {
  for (uint32_t i = 0; i < class->tensors_count; i++) {
    const PlanTensor *tensor = &l->plan->tensors[class->tensors_first + i];
    if (tensor->value == PLAN_NONE) continue;
    if (tensor->kind != (l->has_master[tensor->value] ? BUFFER_MASTER : BUFFER_PARAM)) continue;
    for (uint32_t k = 0; k < tensor->layer_count; k++)
      l->begun[tensor->value] -= hash_mix(5, (uint64_t)(tensor->layer_first + (int32_t)k) + 1);
  }
  for (uint32_t i = 0; i < class->tensors_count; i++) {
    const PlanTensor *tensor = &l->plan->tensors[class->tensors_first + i];
    if (tensor->value == PLAN_NONE || l->begun[tensor->value] == 0) continue;
    report(l, tensor, "does not begin once in each of its layers");
    l->begun[tensor->value] = 0;
  }
}

static void check_class(Lasting *l, const PlanClass *class) {
  l->view.class = class;
  check_state_axes(l, class);
  for (uint32_t i = 0; i < class->tensors_count; i++)
    check_layout(l, &l->plan->tensors[class->tensors_first + i]);
  const PlanProgram *init = view_program(&l->view, PROGRAM_INIT);
  if (init == NULL) return;
  Walk walk = walk_begin(&l->view, init);
  while (walk_next(&walk))
    begin_call(l, &walk);
  check_begun(l, class);
}

static bool lasting_open(Lasting *l) {
  const Plan *plan = l->plan;
  l->update = prove_array(&l->view, plan->values_count, sizeof *l->update);
  l->has_master = prove_array(&l->view, plan->values_count, sizeof *l->has_master);
  l->begun = prove_array(&l->view, plan->values_count, sizeof *l->begun);
  if (l->update == NULL || l->has_master == NULL || l->begun == NULL) return false;
  for (uint32_t v = 0; v < plan->values_count; v++)
    l->update[v] = PLAN_NONE;
  for (uint32_t i = 0; i < plan->records_count; i++)
    if (plan->records[i].purpose == PURPOSE_UPDATE && plan->records[i].kind == RECORD_KERNEL &&
        plan->records[i].value != PLAN_NONE)
      l->update[plan->records[i].value] = i;
  for (uint32_t i = 0; i < plan->tensors_count; i++)
    if (plan->tensors[i].kind == BUFFER_MASTER && plan->tensors[i].value != PLAN_NONE)
      l->has_master[plan->tensors[i].value] = true;
  return true;
}

/* Losses are means over the samples of a step: there are as many as the job says. */
static void check_batch(const Lasting *l) {
  const PlanJob *job = l->plan->jobs;
  int64_t batch = 0, replicas = 1;
  for (uint32_t axis = 0; axis < l->plan->axes_count; axis++)
    if (l->plan->axes[axis].divides == DIVIDES_SAMPLES) replicas *= l->plan->axes[axis].size;
  if (__builtin_mul_overflow(job->microbatch_samples, job->accumulation, &batch) ||
      __builtin_mul_overflow(batch, replicas, &batch) || batch != job->batch_samples)
    prove_finding(&l->view, NULL, -1, "records",
                  "batch of %lld samples is not %lld a micro-batch * %lld * %lld replicas",
                  (long long)job->batch_samples, (long long)job->microbatch_samples,
                  (long long)job->accumulation, (long long)replicas);
}

void prove_tensors(const Plan *plan, ProveReport *report) {
  Lasting l = {.plan = plan, .view = {.plan = plan, .report = report}};
  check_batch(&l);
  if (lasting_open(&l))
    for (uint32_t i = 0; i < plan->classes_count; i++)
      check_class(&l, &plan->classes[i]);
  free(l.update), free(l.has_master), free(l.begun);
}

#include "compiler/prove/records/records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/prove/records/case.h"
#include "runtime/plan/plan_text.h"

typedef struct Records {
  View view;
  const KernelContract **contracts;
  Walk walk; /* the segment as of any call */
  uint32_t index;
} Records;

/* ---- findings */

static void report(const Records *r, const char *what) {
  prove_finding(&r->view, &r->walk, r->index, "records", "%s", what);
}

static void report_number(const Records *r, const char *kind, const char *name, double found,
                          double wanted) {
  char text[160];
  (void)snprintf(text, sizeof text, "%s %.24s is %.10g, and should be %.10g", kind, name, found,
                 wanted);
  report(r, text);
}

/* ---- what a record has */

static double attr_at(const Case *c, uint32_t attr) {
  const Plan *plan = c->plan;
  double value = plan->reals[c->record->attrs_first + attr];
  for (uint32_t i = 0; i < c->record->varies_count; i++) {
    const PlanVary *vary = &plan->varies[c->record->varies_first + i];
    if (vary->attr != attr) continue;
    uint32_t member = plan_member(plan, vary->by, (const int32_t *)c->coordinate);
    value += vary->stride * member;
    if (member < vary->values_count) value += plan->reals[vary->values_first + member];
  }
  return value;
}

static uint32_t varying_axes(const Case *c) {
  uint32_t axes = 0;
  for (uint32_t i = 0; i < c->record->varies_count; i++)
    axes |= c->plan->comms[c->plan->varies[c->record->varies_first + i].by].axes_mask;
  return axes;
}

/* The next coordinates along the axes of a mask; false behind the last. */
static bool next_coordinate(Case *c, uint32_t axes) {
  for (uint32_t axis = 0; axis < c->plan->axes_count; axis++) {
    if ((axes >> axis & 1u) == 0) continue;
    if (++c->coordinate[axis] < axis_size(c, axis)) return true;
    c->coordinate[axis] = 0;
  }
  return false;
}

/* ---- what it should have */

static bool is_of_node(const Case *c) {
  uint32_t purpose = c->record->purpose;
  return purpose == PURPOSE_NODE || purpose == PURPOSE_PART || purpose == PURPOSE_RECOMPUTE;
}

/* What is done again for backward may be a node, a part of one, or a conversion. */
static bool is_conversion(const Case *c) {
  if (c->record->purpose != PURPOSE_RECOMPUTE) return c->record->purpose == PURPOSE_CONVERSION;
  return c->record->kind != RECORD_KERNEL ||
         (c->contract != NULL && c->contract->id == KERNEL_slice);
}

static void run_rule(Case *c) {
  c->dims_count = c->attrs_count = 0;
  if (is_conversion(c)) {
    rule_of_conversion(c);
  } else if (!is_of_node(c)) {
    rule_of_role(c);
  } else if (c->node == NULL || c->contract == NULL) {
    case_wrong(c, "carries out no node");
  } else if (!rule_of_node(c)) {
    case_wrong(c, "no row of rows.def lets this kernel carry out the op %.24s",
               case_text(c, c->node->op));
  }
}

static const char *dim_name(const Case *c, uint32_t i) {
  bool named = c->contract != NULL && (int32_t)i < c->contract->dim_count;
  return named ? c->contract->dims[i].name : "";
}

/* A broadcast's sizes and strides may be merged, or not. */
static uint32_t dims_of(const Case *c, int64_t dims[KERNEL_DIMS_MAX]) {
  uint32_t count = c->record->dims_count;
  if (count > KERNEL_DIMS_MAX) return count;
  memcpy(dims, c->plan->ints + c->record->dims_first, count * sizeof *dims);
  if (c->contract != NULL && c->contract->is_broadcast && count > 0) broadcast_merge(dims, &count);
  return count;
}

static bool check_dims(const Records *r, const Case *c) {
  int64_t dims[KERNEL_DIMS_MAX] = {0};
  if (c->any_dims) return true;
  uint32_t count = dims_of(c, dims);
  if (count != c->dims_count) {
    report_number(r, "number of", "dims", count, c->dims_count);
    return false;
  }
  for (uint32_t i = 0; i < count; i++) {
    if (dims[i] == c->dims[i]) continue;
    report_number(r, "dim", dim_name(c, i), (double)dims[i], (double)c->dims[i]);
    return false;
  }
  return true;
}

static const char *attr_name(const Case *c, uint32_t i) {
  bool named = c->contract != NULL && (int32_t)i < c->contract->attr_count;
  return named ? c->contract->attrs[i].name : "";
}

/* The first attr that is another at this place of the mesh; attrs_count: none is. */
static uint32_t other_attr(const Case *c) {
  uint32_t i = 0;
  while (i < c->attrs_count && attr_at(c, i) == c->attrs[i])
    i++;
  return i;
}

/* Over all coordinates on which the record or the rule depends. */
static bool attrs_fit(Case *c, uint32_t axes) {
  memset(c->coordinate, 0, sizeof c->coordinate);
  do {
    run_rule(c);
    if (other_attr(c) < c->attrs_count) return false;
  } while (next_coordinate(c, axes));
  return true;
}

/* A block of keys in a ring may be that of any member, but of one. */
static bool any_turn_fits(Case *c, uint32_t axes) {
  int64_t turns = 1;
  bool turns_round = c->contract != NULL && c->contract->row->role == ROLE_ATTENTION;
  for (uint32_t axis = 0; turns_round && axis < c->plan->axes_count; axis++)
    if ((c->axes >> axis & 1u) != 0 && c->plan->axes[axis].divides == DIVIDES_TOKENS)
      turns = axis_size(c, axis);
  for (c->turn = 0; c->turn < turns; c->turn++)
    if (attrs_fit(c, axes)) return true;
  c->turn = 0;
  (void)attrs_fit(c, axes); /* what is told is about the first */
  return false;
}

static void check_attrs(const Records *r, Case *c) {
  if (c->record->attrs_count != c->attrs_count) {
    report_number(r, "number of", "attrs", c->record->attrs_count, c->attrs_count);
    return;
  }
  uint32_t axes = c->axes | varying_axes(c);
  if (c->attrs_count == 0 && c->record->varies_count == 0) return;
  if (any_turn_fits(c, axes)) return;
  uint32_t i = other_attr(c);
  report_number(r, "attr", attr_name(c, i), attr_at(c, i), c->attrs[i]);
}

/* ---- what else a kernel is told */

static bool sums_up(const Case *c) {
  for (int32_t i = 0; c->contract != NULL && i < c->contract->operand_count; i++)
    if (c->contract->operands[i].access == KERNEL_SUM) return true;
  return false;
}

/* The node's value that a record of it has as an operand: inputs, then outputs. */
static uint32_t value_at(const Case *c, uint32_t operand) {
  if (operand < c->node->inputs_count) return node_input(c, operand);
  operand -= c->node->inputs_count;
  return operand < c->node->outputs_count ? node_output(c, operand) : PLAN_NONE;
}

static bool is_among(const Case *c, uint32_t value) {
  for (uint32_t i = 0; i < c->node->inputs_count + c->node->outputs_count; i++)
    if (value_at(c, i) == value) return true;
  return false;
}

/* Operands are of values that the node has, in their dtype; sums over a ring may be wider. */
static void check_values(const Records *r, const Case *c) {
  for (uint32_t i = 0; i < c->record->operands_count; i++) {
    const PlanOperand *operand = case_operand(c, i);
    if (operand->value == PLAN_NONE) continue;
    const PlanValue *value = &c->plan->values[operand->value];
    char text[120];
    (void)snprintf(text, sizeof text, "operand %u, %.60s, ", i, case_text(c, value->name));
    size_t used = strlen(text);
    const char *wrong = NULL;
    bool wide = c->record->purpose != PURPOSE_NODE && operand->dtype == DTYPE_F32 &&
                strncmp(case_text(c, c->node->op), "attention", 9) == 0;
    if (!is_among(c, operand->value)) wrong = "is no value of the node";
    if (operand->dtype != value->dtype && !wide) wrong = "has another dtype than the value";
    if (wrong == NULL) continue;
    (void)snprintf(text + used, sizeof text - used, "%s", wrong);
    report(r, text);
    return;
  }
}

/* Its control slots are those of its kernel's row, in the row's order. */
static bool check_control(const Records *r, const Case *c) {
  const Plan *plan = c->plan;
  uint32_t wanted = c->contract != NULL ? (uint32_t)c->contract->control_count : 0;
  if (c->record->controls_count != wanted) {
    report_number(r, "number of", "control slots", c->record->controls_count, wanted);
    return false;
  }
  for (uint32_t i = 0; i < wanted; i++) {
    const KernelControl *row = &c->contract->controls[i];
    const PlanControl *control = &plan->controls[c->record->controls_first + i];
    const char *name = case_text(c, plan->slots[control->slot].name);
    if (strcmp(name, control_name(row->slot)) == 0 && control->access == (uint32_t)row->access)
      continue;
    char text[120];
    (void)snprintf(text, sizeof text, "control slot %u: %s %.24s; its kernel wants %s %s", i,
                   Access_names[control->access], name, Access_names[row->access],
                   control_name(row->slot));
    report(r, text);
    return false;
  }
  return true;
}

static void check_record(const Records *r, const PlanRecord *record) {
  const Plan *plan = r->view.plan;
  Case c = {.plan = plan,
            .record = record,
            .node = record->node == PLAN_NONE ? NULL : &plan->nodes[record->node],
            .contract = record->kind == RECORD_KERNEL ? r->contracts[record->kernel] : NULL};
  if (c.contract != NULL &&
      !contract_dims_fit(c.contract, plan->ints + record->dims_first, record->dims_count))
    return; /* shapes has said so */
  run_rule(&c);
  if (c.wrong[0] != '\0') {
    report(r, c.wrong);
    return;
  }
  if (!check_control(r, &c) || !check_dims(r, &c)) return;
  check_attrs(r, &c);
  if (record->key != c.key) report(r, "draws the random numbers of something else");
  if (record->accumulate != 0 && !sums_up(&c)) report(r, "adds to what its kernel assigns");
  if (is_of_node(&c) && !is_conversion(&c)) check_values(r, &c);
}

/* What never runs is what packs, judged with its collective: packed.h. */
void prove_records(const Plan *plan, ProveReport *report) {
  Records r = {.view = {.plan = plan, .report = report}};
  r.contracts = prove_contracts(&r.view);
  PlanCall call = {.layer = -1, .microbatch = -1};
  PlanProgram program = {.calls_count = 1};
  for (uint32_t s = 0; r.contracts != NULL && s < plan->segments_count; s++) {
    call.segment = s;
    r.walk =
        (Walk){.view = &r.view, .program = &program, .call = &call, .segment = &plan->segments[s]};
    for (r.index = 0; r.index < r.walk.segment->records_count; r.index++) {
      const PlanRecord *record = walk_record(&r.walk, r.index);
      if ((record->when_all & record->when_none) == 0) check_record(&r, record);
    }
  }
  free(r.contracts);
  prove_tensors(plan, report);
}

/* evaluation.c -- what is evaluated is what is trained: the same nodes by path, on the same values,
 * but nothing is dropped out. Nodes that lead nowhere may be left over. */
#include <stdlib.h>
#include <string.h>

#include "compiler/prove/derivatives/derivatives.h"
#include "compiler/prove/derivatives/expression.h"
#include "compiler/prove/walk.h"

typedef struct Evaluation {
  const Plan *plan;
  View view;
  const PlanRegion *eval, *train;
  uint32_t *as; /* by value: the value that it is in training; PLAN_NONE: none */
} Evaluation;

static bool is_op(const Plan *plan, const PlanNode *node, const char *op) {
  return strcmp(plan_string(plan, node->op), op) == 0;
}

static uint32_t input_of(const Plan *plan, const PlanNode *node, uint32_t i) {
  return plan->uses[node->inputs_first + i].value;
}

static uint32_t output_of(const Plan *plan, const PlanNode *node, uint32_t i) {
  return plan->uses[node->outputs_first + i].value;
}

static void report(const Evaluation *e, const PlanNode *node, const char *why) {
  const Plan *plan = e->plan;
  prove_finding(
      &e->view, NULL, -1, "derivatives", "evaluation of %.40s, %s of %.60s (%.80s:%u:%u): %s",
      plan_string(plan, e->eval->name), plan_string(plan, node->op), plan_string(plan, node->path),
      plan_string(plan, node->file), node->line, node->column, why);
}

/* Copies, and in training what drops out, are what they read. */
static void follow_copies(Evaluation *e, const PlanRegion *region, bool drops) {
  for (uint32_t i = 0; i < region->forward_count; i++) {
    const PlanNode *node = &e->plan->nodes[region->forward_first + i];
    if (is_op(e->plan, node, "copy") || (drops && is_op(e->plan, node, "dropout")))
      e->as[output_of(e->plan, node, 0)] = e->as[input_of(e->plan, node, 0)];
  }
}

/* The node of training with that op and path; NULL: none. */
static const PlanNode *trained(const Evaluation *e, const PlanNode *node) {
  for (uint32_t i = 0; i < e->train->forward_count; i++) {
    const PlanNode *other = &e->plan->nodes[e->train->forward_first + i];
    if (other->path == node->path && other->op == node->op) return other;
  }
  return NULL;
}

static bool same_attrs(const Plan *plan, const PlanNode *eval, const PlanNode *train) {
  const KernelContract *contract = contract_find(plan_string(plan, eval->op));
  for (uint32_t i = 0; i < EXPRESSION_ATTRS_MAX; i++) {
    bool named = contract != NULL && (int32_t)i < contract->attr_count;
    bool drops = named && strcmp(contract->attrs[i].name, "dropout") == 0;
    if (node_attr(plan, eval, i) != (drops ? 0 : node_attr(plan, train, i))) return false;
  }
  return true;
}

static bool same_inputs(const Evaluation *e, const PlanNode *eval, const PlanNode *train) {
  if (eval->inputs_count != train->inputs_count) return false;
  for (uint32_t i = 0; i < eval->inputs_count; i++) {
    uint32_t as = e->as[input_of(e->plan, eval, i)];
    if (as == PLAN_NONE || as != e->as[input_of(e->plan, train, i)]) return false;
  }
  return true;
}

static bool ends_in_loss(const Evaluation *e, const PlanNode *node) {
  for (uint32_t i = 0; i < node->outputs_count; i++)
    if (e->plan->values[output_of(e->plan, node, i)].kind == VALUE_LOSS) return true;
  return false;
}

static void evaluate(Evaluation *e, const PlanNode *node) {
  const Plan *plan = e->plan;
  if (is_op(plan, node, "copy")) {
    e->as[output_of(plan, node, 0)] = e->as[input_of(plan, node, 0)];
    return;
  }
  const PlanNode *train = trained(e, node);
  if (train == NULL) {
    if (ends_in_loss(e, node)) report(e, node, "is not the loss of training");
    return; /* what it makes is no value of training: whoever reads it is refused */
  }
  if (is_op(plan, node, "dropout")) report(e, node, "drops out in evaluation");
  if (!same_attrs(plan, node, train)) report(e, node, "has other attributes than in training");
  if (!same_inputs(e, node, train)) report(e, node, "reads other values than in training");
  for (uint32_t i = 0; i < node->outputs_count && i < train->outputs_count; i++)
    e->as[output_of(plan, node, i)] = output_of(plan, train, i);
}

static void evaluate_region(Evaluation *e) {
  if (e->eval->input != PLAN_NONE) e->as[e->eval->input] = e->train->input;
  follow_copies(e, e->train, true);
  for (uint32_t i = 0; i < e->eval->forward_count; i++)
    evaluate(e, &e->plan->nodes[e->eval->forward_first + i]);
  bool ends = e->eval->output == PLAN_NONE;
  uint32_t output = ends ? PLAN_NONE : e->as[e->eval->output];
  uint32_t wanted = e->train->output == PLAN_NONE ? PLAN_NONE : e->as[e->train->output];
  if (ends != (e->train->output == PLAN_NONE) || output != wanted ||
      e->eval->repeat != e->train->repeat || (output == PLAN_NONE && !ends))
    prove_finding(&e->view, NULL, -1, "derivatives", "evaluation of %.40s: is not what is trained",
                  plan_string(e->plan, e->eval->name));
}

/* Inputs and parameters go by name; everything of training is itself. */
static void name_values(Evaluation *e) {
  const Plan *plan = e->plan;
  for (uint32_t v = 0; v < plan->values_count; v++) {
    uint32_t kind = plan->values[v].kind;
    e->as[v] = v;
    for (uint32_t k = 0; k < v && (kind == VALUE_INPUT || kind == VALUE_PARAM); k++)
      if (plan->values[k].kind == kind && plan->values[k].name == plan->values[v].name) {
        e->as[v] = k;
        break;
      }
  }
}

/* Values of evaluation are those that no node of training makes. */
static void forget_evaluation(Evaluation *e, const PlanRegion *first, uint32_t count) {
  for (uint32_t r = 0; r < count; r++)
    for (uint32_t i = 0; i < first[r].forward_count; i++) {
      const PlanNode *node = &e->plan->nodes[first[r].forward_first + i];
      for (uint32_t k = 0; k < node->outputs_count; k++)
        e->as[output_of(e->plan, node, k)] = PLAN_NONE;
    }
}

void prove_evaluation(const Plan *plan, ProveReport *report) {
  Evaluation e = {.plan = plan, .view = {.plan = plan, .report = report}};
  uint32_t trains = 0;
  while (trains < plan->regions_count && plan->regions[trains].program == PROGRAM_TRAIN_STEP)
    trains++;
  uint32_t evaluates = plan->regions_count - trains;
  if (evaluates == 0) return;
  e.as = prove_array(&e.view, plan->values_count, sizeof *e.as);
  if (e.as == NULL) return;
  if (evaluates != trains)
    prove_finding(&e.view, NULL, -1, "derivatives", "%u regions are evaluated, %u trained",
                  evaluates, trains);
  name_values(&e);
  forget_evaluation(&e, &plan->regions[trains], evaluates);
  for (uint32_t r = 0; r < trains && evaluates == trains; r++) {
    e.train = &plan->regions[r];
    e.eval = &plan->regions[trains + r];
    evaluate_region(&e);
  }
  free(e.as);
}

/* evaluation.c -- what is evaluated is what is trained: from region to region the same results of
 * the same inputs and parameters, but nothing is dropped out. Nodes that lead nowhere may be left
 * over. */
#include <stdlib.h>
#include <string.h>

#include "compiler/prove/derivatives/gradients.h"
#include "compiler/prove/hash.h"
#include "compiler/prove/walk.h"
#include "kernels/contract/contract.h"

typedef struct Evaluation {
  const Plan *plan;
  View view;
  Sum *name; /* by value */
} Evaluation;

/* Where training drops out, it would be like evaluation if it did not. */
static void keep_all(Applied *applied) {
  const KernelContract *contract = contract_find(applied->op);
  if (strcmp(applied->op, "dropout") == 0) applied->op = "copy";
  for (int32_t i = 0; contract != NULL && i < contract->attr_count && i < APPLIED_ATTRS_MAX; i++)
    if (strcmp(contract->attrs[i].name, "dropout") == 0) applied->attrs[i] = 0;
}

/* What the region hands on, or the losses that it ends in. */
static Sum run(Evaluation *e, const PlanRegion *region, Sum input) {
  Sum losses = 0;
  if (region->input != PLAN_NONE) e->name[region->input] = input;
  for (uint32_t i = 0; i < region->forward_count; i++) {
    const PlanNode *node = &e->plan->nodes[region->forward_first + i];
    for (uint32_t k = 0; k < node->outputs_count; k++) {
      uint32_t value = node_output(e->plan, node, k);
      Applied applied = applied_of(e->plan, node, k, e->name);
      if (region->program == PROGRAM_TRAIN_STEP) keep_all(&applied);
      e->name[value] = apply(e->plan, &applied);
      if (e->plan->values[value].kind == VALUE_LOSS) losses += e->name[value];
    }
  }
  return region->output != PLAN_NONE ? e->name[region->output] : losses;
}

static bool makes(const Evaluation *e, const PlanRegion *region, Sum sum) {
  for (uint32_t i = 0; i < region->forward_count; i++) {
    const PlanNode *node = &e->plan->nodes[region->forward_first + i];
    for (uint32_t k = 0; k < node->outputs_count; k++)
      if (e->name[node_output(e->plan, node, k)] == sum) return true;
  }
  return false;
}

/* Names the first node that training does not have. */
static void report(const Evaluation *e, const PlanRegion *train, const PlanRegion *eval) {
  const Plan *plan = e->plan;
  for (uint32_t i = 0; i < eval->forward_count; i++) {
    const PlanNode *node = &plan->nodes[eval->forward_first + i];
    if (makes(e, train, e->name[node_output(plan, node, 0)])) continue;
    prove_finding(&e->view, NULL, -1, "derivatives",
                  "evaluation of %.40s, %s of %.60s (%.80s:%u:%u): is not computed in training",
                  plan_string(plan, eval->name), plan_string(plan, node->op),
                  plan_string(plan, node->path), plan_string(plan, node->file), node->line,
                  node->column);
    return;
  }
  prove_finding(&e->view, NULL, -1, "derivatives", "evaluation of %.40s: is not what is trained",
                plan_string(plan, eval->name));
}

/* Inputs and parameters go by name. */
static void name_values(const Evaluation *e) {
  for (uint32_t v = 0; v < e->plan->values_count; v++) {
    const PlanValue *value = &e->plan->values[v];
    bool is_named = value->kind == VALUE_INPUT || value->kind == VALUE_PARAM;
    e->name[v] = is_named ? hash_mix(value->kind, value->name) : hash_mix(3, v);
  }
}

void prove_evaluation(const Plan *plan, ProveReport *report_to) {
  Evaluation e = {.plan = plan, .view = {.plan = plan, .report = report_to}};
  uint32_t trains = 0;
  while (trains < plan->regions_count && plan->regions[trains].program == PROGRAM_TRAIN_STEP)
    trains++;
  uint32_t evaluates = plan->regions_count - trains;
  if (evaluates == 0) return;
  if (evaluates != trains) {
    prove_finding(&e.view, NULL, -1, "derivatives", "%u regions are evaluated, %u trained",
                  evaluates, trains);
    return;
  }
  e.name = prove_array(&e.view, plan->values_count, sizeof *e.name);
  if (e.name == NULL) return;
  name_values(&e);
  for (uint32_t r = 0; r < trains; r++) {
    const PlanRegion *train = &plan->regions[r], *eval = &plan->regions[trains + r];
    bool ends_alike = (train->output == PLAN_NONE) == (eval->output == PLAN_NONE);
    if (run(&e, train, hash_mix(5, r)) != run(&e, eval, hash_mix(5, r)) || !ends_alike ||
        train->repeat != eval->repeat)
      report(&e, train, eval);
  }
  free(e.name);
}

/* evaluation.c -- what is evaluated is what is trained: from region to region the same results of
 * the same inputs and parameters, but nothing is dropped out. Nodes that lead nowhere may be left
 * over. */
#include <stdlib.h>
#include <string.h>

#include "compiler/prove/derivatives/gradients.h"
#include "compiler/prove/hash.h"
#include "compiler/prove/walk.h"
#include "kernels/contract/contract.h"

/* Where training drops out, it would be like evaluation if it did not. */
static void keep_all(Applied *applied) {
  const KernelContract *contract = contract_find(applied->op);
  if (strcmp(applied->op, "dropout") == 0) applied->op = "copy";
  for (int32_t i = 0; contract != NULL && i < contract->attr_count && i < APPLIED_ATTRS_MAX; i++)
    if (strcmp(contract->attrs[i].name, "dropout") == 0) applied->attrs[i] = 0;
}

/* What the region hands on of its input, or the losses that it ends in. */
static Sum run(const Plan *plan, Sum *name, const PlanRegion *region, Sum input) {
  Sum losses = 0;
  if (region->input != PLAN_NONE) name[region->input] = input;
  for (uint32_t i = 0; i < region->forward_count; i++) {
    const PlanNode *node = &plan->nodes[region->forward_first + i];
    for (uint32_t k = 0; k < node->outputs_count; k++) {
      uint32_t value = node_output(plan, node, k);
      Applied applied = applied_of(plan, node, k, name);
      if (region->program == PROGRAM_TRAIN_STEP) keep_all(&applied);
      name[value] = apply(plan, &applied);
      if (plan->values[value].kind == VALUE_LOSS) losses += name[value];
    }
  }
  return region->output != PLAN_NONE ? name[region->output] : losses;
}

static bool is_in_both(const Plan *plan, const Sum *name, uint32_t value) {
  for (uint32_t v = 0; v < plan->values_count; v++)
    if (v != value && name[v] == name[value]) return true;
  return false;
}

/* Names the first node that training does not have. */
static void report(const View *view, const Sum *name, const PlanRegion *eval) {
  const Plan *plan = view->plan;
  const char *region = plan_string(plan, eval->name);
  for (uint32_t i = 0; i < eval->forward_count; i++) {
    const PlanNode *node = &plan->nodes[eval->forward_first + i];
    if (is_in_both(plan, name, node_output(plan, node, 0))) continue;
    prove_finding(view, NULL, -1, "derivatives",
                  "evaluation of %.40s, %s of %.60s (%.80s:%u:%u): is not computed in training",
                  region, plan_string(plan, node->op), plan_string(plan, node->path),
                  plan_string(plan, node->file), node->line, node->column);
    return;
  }
  prove_finding(view, NULL, -1, "derivatives", "evaluation of %.40s: is not what is trained",
                region);
}

/* Inputs and parameters go by name. */
void prove_evaluation(const Plan *plan, ProveReport *report_to) {
  View view = {.plan = plan, .report = report_to};
  uint32_t trained = regions_trained(plan), evaluated = plan->regions_count - trained;
  if (evaluated != 0 && evaluated != trained)
    prove_finding(&view, NULL, -1, "derivatives", "%u regions are evaluated, %u trained", evaluated,
                  trained);
  if (evaluated != trained) return;
  Sum *name = prove_array(&view, plan->values_count, sizeof *name);
  for (uint32_t v = 0; v < plan->values_count && name != NULL; v++) {
    const PlanValue *value = &plan->values[v];
    bool is_named = value->kind == VALUE_INPUT || value->kind == VALUE_PARAM;
    name[v] = is_named ? hash_mix(value->kind, value->name) : hash_mix(3, v);
  }
  for (uint32_t r = 0; r < trained && name != NULL; r++) {
    const PlanRegion *train = &plan->regions[r], *eval = train + trained;
    bool ends_alike = (train->output == PLAN_NONE) == (eval->output == PLAN_NONE);
    if (run(plan, name, train, hash_mix(5, r)) != run(plan, name, eval, hash_mix(5, r)) ||
        !ends_alike || train->repeat != eval->repeat)
      report(&view, name, eval);
  }
  free(name);
}

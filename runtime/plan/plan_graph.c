#include "runtime/plan/plan_graph.h"

#include <stdio.h>
#include <string.h>

#include "runtime/plan/plan_hash.h"
#include "runtime/plan/plan_job.h"

static void add_number(PlanHash *hash, uint64_t number) {
  plan_hash_add(hash, &number, sizeof number);
}

static void add_real(PlanHash *hash, double number) {
  number += 0.0; /* -0 is 0 */
  plan_hash_add(hash, &number, sizeof number);
}

static void add_word(PlanHash *hash, const char *text) {
  plan_hash_add(hash, text, strlen(text) + 1);
}

static void add_text(PlanHash *hash, const Plan *plan, uint32_t string) {
  add_word(hash, plan_string(plan, string));
}

static void add_uses(PlanHash *hash, const Plan *plan, uint32_t first, uint32_t count) {
  add_number(hash, count);
  for (uint32_t i = first; i < first + count; i++)
    add_number(hash, plan->uses[i].value);
}

/* Random numbers are drawn by the path. */
static void add_node(PlanHash *hash, const Plan *plan, const PlanNode *node) {
  add_text(hash, plan, node->op);
  add_text(hash, plan, node->path);
  add_uses(hash, plan, node->inputs_first, node->inputs_count);
  add_uses(hash, plan, node->outputs_first, node->outputs_count);
  add_number(hash, node->attrs_count);
  for (uint32_t i = 0; i < node->attrs_count; i++)
    add_real(hash, plan->reals[node->attrs_first + i]);
}

/* Padding depends on how the model is divided, so it does not count. */
static void add_parameter(PlanHash *hash, const Plan *plan, const PlanParameter *parameter) {
  const PlanValue *value = &plan->values[parameter->value];
  const PlanLayout *layout = &plan->layouts[value->layout];
  add_text(hash, plan, value->name);
  add_number(hash, parameter->value);
  add_number(hash, layout->dims_count);
  for (uint32_t i = 0; i < layout->dims_count; i++) {
    const PlanLayoutDim *dim = &plan->layout_dims[layout->dims_first + i];
    add_text(hash, plan, dim->name);
    add_number(hash, (uint64_t)dim->real_size);
  }
  add_number(hash, parameter->init);
  add_real(hash, parameter->init_a);
  add_real(hash, parameter->init_b);
  add_number(hash, parameter->decay);
}

uint64_t plan_graph_hash(const Plan *plan) {
  PlanHash hash;
  plan_hash_begin(&hash);
  if (plan_has_job(plan)) add_word(&hash, job_loss(plan));
  for (uint32_t r = 0; r < plan->regions_count; r++) {
    const PlanRegion *region = &plan->regions[r];
    if (!plan_is_main(plan, region)) continue;
    add_number(&hash, (uint64_t)region->repeat);
    add_number(&hash, region->input);
    add_number(&hash, region->output);
    for (uint32_t n = 0; n < region->forward_count; n++)
      add_node(&hash, plan, &plan->nodes[region->forward_first + n]);
  }
  for (uint32_t i = 0; i < plan->parameters_count; i++)
    add_parameter(&hash, plan, &plan->parameters[i]);
  return plan_hash_end(&hash);
}

const char *plan_graph_text(const Plan *plan, char text[PLAN_GRAPH_BYTES]) {
  (void)snprintf(text, PLAN_GRAPH_BYTES, "%016llx", (unsigned long long)plan_graph_hash(plan));
  return text;
}

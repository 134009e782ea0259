/* derivatives.c -- the backward nodes of a plan's model are the derivatives of its forward nodes.
 *
 * Forward nodes say what the gradient of everything is: the sum, over all uses, of what the rows of
 * derivatives.def say, from the loss on. Backward nodes must make exactly that of every parameter,
 * and of what goes from region to region. What has no row is refused by name. */
#include <stdlib.h>
#include <string.h>

#include "compiler/prove/derivatives/gradients.h"
#include "compiler/prove/hash.h"
#include "compiler/prove/walk.h"

typedef struct Model {
  const Plan *plan;
  View view;
  const PlanRegion *region;
  Sum *name;         /* by value: what it is made of */
  Sum *wanted;       /* by value: its gradient, as the rules have it */
  uint32_t *made_by; /* by value: the node that made it, and one; 0: none has */
  Asked asked;       /* of the region */
  uint32_t losses;
} Model;

/* ---- findings */

static void report(const Model *m, const PlanNode *node, const char *why, uint32_t value) {
  const Plan *plan = m->plan;
  const char *file = plan_string(plan, node->file);
  prove_finding(&m->view, NULL, -1, "derivatives", "%.40s, %s of %.60s (%.80s:%u:%u): %s%.60s",
                plan_string(plan, m->region->name), plan_string(plan, node->op),
                plan_string(plan, node->path), *file ? file : "made by lockstep", node->line,
                node->column, why,
                value == PLAN_NONE ? "" : plan_string(plan, plan->values[value].name));
}

static void report_region(const Model *m, const char *why, const char *of) {
  prove_finding(&m->view, NULL, -1, "derivatives", "%.40s: %s%.80s",
                plan_string(m->plan, m->region->name), why, of);
}

static void report_parameter(const Model *m, uint32_t value, const char *why) {
  prove_finding(&m->view, NULL, -1, "derivatives", "parameter %.80s %s",
                plan_string(m->plan, m->plan->values[value].name), why);
}

/* ---- what the rules ask for */

/* NULL: nobody has asked for it. */
static const struct AskedSum *asked_for(const Model *m, Sum sum) {
  const struct AskedSum *found = NULL;
  for (uint32_t i = 0; i < m->asked.count; i++)
    if (m->asked.at[i].sum == sum && (found == NULL || found->value == PLAN_NONE))
      found = &m->asked.at[i];
  return found;
}

/* What one use of a value adds to its gradient. */
static void want_of_use(Model *m, const PlanNode *node, uint32_t input) {
  uint32_t value = node_input(m->plan, node, input);
  Use use = {m->plan, node, input, m->name, m->wanted, &m->asked, false};
  Sum sum;
  if (!gradient_of(&use, &sum))
    report(m, node, "derivatives.def has no row for its input ", value);
  else if (use.lacks)
    report(m, node, "its row in derivatives.def asks for what it lacks, for ", value);
  if (sum == 0) return;
  ask(&m->asked, sum, value);
  m->wanted[value] += sum;
  ask(&m->asked, m->wanted[value], value);
}

/* A loss is the end of the model; other outputs beside the first are for backward alone. */
static bool leads_to_loss(Model *m, const PlanNode *node) {
  bool reached = false;
  for (uint32_t i = 0; i < node->outputs_count; i++) {
    uint32_t value = node_output(m->plan, node, i);
    bool loss = m->plan->values[value].kind == VALUE_LOSS;
    m->losses += loss;
    if (loss && m->wanted[value] != 0)
      report(m, node, "something is computed from the loss ", value);
    reached = reached || loss || m->wanted[value] != 0;
  }
  return reached;
}

static void want(Model *m) {
  const PlanRegion *region = m->region;
  m->asked.count = 0;
  if (region->output != PLAN_NONE && region->d_output != PLAN_NONE) {
    m->wanted[region->output] = hash_mix(11, region->output);
    ask(&m->asked, m->wanted[region->output], region->output);
  }
  for (uint32_t i = region->forward_count; i > 0; i--) {
    const PlanNode *node = &m->plan->nodes[region->forward_first + i - 1];
    if (!leads_to_loss(m, node)) continue;
    for (uint32_t k = 0; k < node->inputs_count; k++)
      want_of_use(m, node, k);
  }
}

/* ---- what nodes make */

/* Layers have parameters of their own, and nothing else has them. */
static void check_parameters_of(const Model *m, const PlanNode *node) {
  for (uint32_t i = 0; i < node->inputs_count; i++) {
    const PlanValue *of = &m->plan->values[node_input(m->plan, node, i)];
    if (of->kind != VALUE_PARAM || of->region == PLAN_NONE) continue;
    const PlanRegion *home = &m->plan->regions[of->region];
    if (home != m->region && (home->is_stack || m->region->is_stack))
      report(m, node, "reads a parameter of other layers: ", node_input(m->plan, node, i));
  }
}

/* Gradients of parameters are added up; everything else is made once. */
static void make(Model *m, const PlanNode *node, uint32_t value) {
  uint32_t kind = m->plan->values[value].kind;
  bool is_given = kind == VALUE_PARAM || kind == VALUE_INPUT || value == m->region->input;
  if (is_given || (kind != VALUE_PARAM_GRAD && m->made_by[value] != 0))
    report(m, node, "makes what is there already: ", value);
  m->made_by[value] = (uint32_t)(node - m->plan->nodes) + 1;
}

/* Copies are what they copy. */
static void go_forward(Model *m) {
  for (uint32_t i = 0; i < m->region->forward_count; i++) {
    const PlanNode *node = &m->plan->nodes[m->region->forward_first + i];
    check_parameters_of(m, node);
    for (uint32_t k = 0; k < node->outputs_count; k++)
      make(m, node, node_output(m->plan, node, k));
    if (strcmp(plan_string(m->plan, node->op), "copy") == 0 && node->inputs_count == 1)
      m->name[node_output(m->plan, node, 0)] = m->name[node_input(m->plan, node, 0)];
  }
}

/* What is wrong with a node that makes what no row asks for: more often than not, one of the
 * gradients that it reads is. */
static void report_unasked(const Model *m, const PlanNode *node) {
  for (uint32_t i = 0; i < node->inputs_count; i++) {
    uint32_t value = node_input(m->plan, node, i), by = m->made_by[value];
    bool backward = by != 0 && by - 1 >= m->region->backward_first &&
                    by - 1 < m->region->backward_first + m->region->backward_count;
    if (!backward || asked_for(m, m->name[value]) != NULL) continue;
    report(m, &m->plan->nodes[by - 1], "makes what is not a whole gradient: ", value);
    return;
  }
  report(m, node, "makes what no row of derivatives.def asks for: ", node_output(m->plan, node, 0));
}

/* A gradient is like what it is of. */
static void check_like(const Model *m, const PlanNode *node, uint32_t made, uint32_t of) {
  const PlanValue *gradient = &m->plan->values[made], *value = &m->plan->values[of];
  bool same = layouts_alike(m->plan, gradient->layout, value->layout) &&
              (gradient->kind == VALUE_PARAM_GRAD || gradient->dtype == value->dtype);
  if (!same) report(m, node, "its result has not the dims or the dtype of ", of);
}

/* Sums and multiples count where they are used: they need not be asked for. */
static bool is_sum(const char *op) {
  static const char *const sums[] = {"add", "subtract", "affine", "copy"};
  for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
    if (strcmp(op, sums[i]) == 0) return true;
  return false;
}

static void run_backward(Model *m, const PlanNode *node) {
  bool sums = is_sum(plan_string(m->plan, node->op)), told = false;
  check_parameters_of(m, node);
  for (uint32_t i = 0; i < node->outputs_count; i++) {
    uint32_t value = node_output(m->plan, node, i);
    Applied applied = applied_of(m->plan, node, i, m->name);
    Sum sum = apply(m->plan, &applied);
    const struct AskedSum *asked = sum == 0 || sums ? NULL : asked_for(m, sum);
    if (asked != NULL && asked->value != PLAN_NONE) check_like(m, node, value, asked->value);
    if (asked == NULL && sum != 0 && !sums && !told) report_unasked(m, node);
    told = told || asked == NULL;
    bool adds_up = m->plan->values[value].kind == VALUE_PARAM_GRAD; /* all uses */
    m->name[value] = sum + (adds_up ? m->name[value] : 0);
    make(m, node, value);
  }
}

static bool reads_parameters(const Model *m) {
  for (uint32_t i = 0; i < m->region->forward_count; i++) {
    const PlanNode *node = &m->plan->nodes[m->region->forward_first + i];
    for (uint32_t k = 0; k < node->inputs_count; k++)
      if (m->plan->values[node_input(m->plan, node, k)].kind == VALUE_PARAM) return true;
  }
  return false;
}

static void check_carried(const Model *m) {
  const PlanRegion *region = m->region;
  if (region->d_input == PLAN_NONE) {
    if (region->is_stack && region->repeat > 1 && reads_parameters(m))
      report_region(m, "makes no gradient for the layers before it", "");
    return;
  }
  if (region->input == PLAN_NONE || m->name[region->d_input] != m->wanted[region->input])
    report_region(m, "hands back what is not the gradient of its input, ",
                  plan_string(m->plan, m->plan->values[region->d_input].name));
}

static void go_backward(Model *m) {
  uint32_t d_output = m->region->d_output;
  if (d_output != PLAN_NONE) m->name[d_output] = m->wanted[m->region->output];
  for (uint32_t i = 0; i < m->region->backward_count; i++)
    run_backward(m, &m->plan->nodes[m->region->backward_first + i]);
  check_carried(m);
}

/* ---- regions and what they share */

/* Regions are one chain: what one returns, the next one takes; gradients go the same way back. */
static void check_chain(const Model *m, const PlanRegion *region, const PlanRegion *next) {
  const PlanValue *values = m->plan->values;
  bool last = next == NULL;
  if ((region->output == PLAN_NONE) != last || (!last && next->input == PLAN_NONE)) {
    report_region(m, "is not followed by what takes its result", "");
    return;
  }
  if (last) {
    if (region->d_output != PLAN_NONE) report_region(m, "has a gradient from nowhere", "");
    return;
  }
  if (!layouts_alike(m->plan, values[region->output].layout, values[next->input].layout) ||
      values[region->output].dtype != values[next->input].dtype)
    report_region(m, "returns something else than is taken by ", plan_string(m->plan, next->name));
  if (region->d_output != next->d_input && region->d_output != PLAN_NONE)
    report_region(m, "does not take the gradient that comes from ",
                  plan_string(m->plan, next->name));
}

static bool is_chain_ready(const PlanRegion *region) {
  return region->d_output == PLAN_NONE || region->output != PLAN_NONE;
}

static bool is_gradient_of(const Model *m, uint32_t gradient, uint32_t parameter) {
  const PlanValue *d = &m->plan->values[gradient], *of = &m->plan->values[parameter];
  return of->kind == VALUE_PARAM && d->kind == VALUE_PARAM_GRAD && d->name == of->name &&
         d->region == of->region;
}

static void check_parameters(const Model *m) {
  const Plan *plan = m->plan;
  for (uint32_t v = 0; v < plan->values_count; v++) {
    const PlanValue *value = &plan->values[v];
    if (value->kind != VALUE_PARAM || value->region == PLAN_NONE ||
        plan->regions[value->region].program != PROGRAM_TRAIN_STEP)
      continue;
    uint32_t d = 0;
    while (d < plan->values_count && !is_gradient_of(m, d, v))
      d++;
    if (d == plan->values_count || m->made_by[d] == 0)
      report_parameter(m, v, "has no gradient");
    else if (m->name[d] != m->wanted[v])
      report_parameter(m, v, "has a gradient that is not the sum over its uses");
  }
}

static void prove_model(Model *m, const PlanRegion *first, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    m->region = &first[i];
    check_chain(m, &first[i], i + 1 < count ? &first[i + 1] : NULL);
    if (!is_chain_ready(m->region)) return;
    go_forward(m);
  }
  for (uint32_t i = count; i > 0; i--) {
    m->region = &first[i - 1];
    want(m);
    go_backward(m);
  }
  if (m->losses != 1)
    prove_finding(&m->view, NULL, -1, "derivatives", "%u losses instead of one", m->losses);
  check_parameters(m);
}

static bool model_open(Model *m) {
  const Plan *plan = m->plan;
  m->name = prove_array(&m->view, plan->values_count, sizeof *m->name);
  m->wanted = prove_array(&m->view, plan->values_count, sizeof *m->wanted);
  m->made_by = prove_array(&m->view, plan->values_count, sizeof *m->made_by);
  if (!m->name || !m->wanted || !m->made_by) return false;
  for (uint32_t v = 0; v < plan->values_count; v++)
    if (plan->values[v].kind != VALUE_PARAM_GRAD) m->name[v] = hash_mix(3, v);
  return true;
}

void prove_derivatives(const Plan *plan, ProveReport *report) {
  Model m = {.plan = plan, .view = {.plan = plan, .report = report}};
  uint32_t first = 0, count = 0;
  while (first < plan->regions_count && plan->regions[first].program != PROGRAM_TRAIN_STEP)
    first++;
  while (first + count < plan->regions_count &&
         plan->regions[first + count].program == PROGRAM_TRAIN_STEP)
    count++;
  const PlanRegion *trained = plan->regions + first;
  if (model_open(&m) && count > 0) prove_model(&m, trained, count);
  if (m.asked.out_of_memory)
    prove_finding(&m.view, NULL, -1, "derivatives", "out of memory while proving");
  free(m.name), free(m.wanted), free(m.made_by), free(m.asked.at);
}

#include "compiler/prove/derivatives/derivatives.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/prove/derivatives/expression.h"
#include "compiler/prove/hash.h"
#include "compiler/prove/walk.h"

/* What the rules have asked for: open addressing. */
typedef struct Asked {
  Sum *sum;
  uint32_t *value; /* whose gradient it is; PLAN_NONE: a part of one */
  uint32_t capacity;
} Asked;

typedef struct Model {
  const Plan *plan;
  View view;
  const PlanRegion *region;
  Sum *name;         /* by value: what it is made of */
  Sum *wanted;       /* by value: its gradient, as the rules have it */
  uint8_t *made;     /* by value: MADE_* */
  uint32_t *made_by; /* by value: the node that made it */
  Asked asked;
  uint32_t losses;
} Model;

enum { MADE_NOT, MADE_FORWARD, MADE_BACKWARD };

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

static uint32_t slot_of(const Asked *asked, Sum sum) {
  uint32_t at = (uint32_t)(hash_mix(7, sum) % asked->capacity);
  while (asked->sum[at] != 0 && asked->sum[at] != sum)
    at = (at + 1) % asked->capacity;
  return at;
}

static void ask(Asked *asked, Sum sum, uint32_t value) {
  if (sum == 0) return;
  uint32_t at = slot_of(asked, sum);
  if (asked->sum[at] == 0) asked->value[at] = PLAN_NONE;
  asked->sum[at] = sum;
  if (value != PLAN_NONE) asked->value[at] = value;
}

static void ask_part(void *model, Sum sum) {
  ask(&((Model *)model)->asked, sum, PLAN_NONE);
}

static bool is_asked(const Model *m, Sum sum) {
  return sum == 0 || m->asked.sum[slot_of(&m->asked, sum)] == sum;
}

static uint32_t use(const Model *m, uint32_t first, uint32_t index) {
  return m->plan->uses[first + index].value;
}

typedef struct Row {
  const char *op;
  uint32_t input;
  const char *gradient; /* NULL: none */
} Row;

static const Row rows[] = {
#define GRADIENT(op, input, expression) {#op, input, expression},
#define NO_GRADIENT(op, input)          {#op, input, NULL},
#include "compiler/prove/derivatives/derivatives.def"
};

static const Row *row_of(const char *op, uint32_t input) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].input == input && strcmp(rows[i].op, op) == 0) return &rows[i];
  return NULL;
}

/* What one use of a value adds to its gradient. */
static void want_of_use(Model *m, const PlanNode *node, uint32_t input) {
  const Plan *plan = m->plan;
  uint32_t value = use(m, node->inputs_first, input);
  const Row *row = row_of(plan_string(plan, node->op), input);
  if (row == NULL) {
    report(m, node, "derivatives.def has no row for its input ", value);
    return;
  }
  bool ids = plan->values[value].dtype == DTYPE_I32;
  if (ids != (row->gradient == NULL)) report(m, node, "ids and numbers are mixed up in ", value);
  if (ids || row->gradient == NULL) return;
  Around around = {plan, node, m->name, m->wanted, ask_part, m};
  Sum sum;
  if (!expression_read(&around, row->gradient, input, &sum)) {
    report(m, node, "its row in derivatives.def asks for what it lacks, for ", value);
    return;
  }
  ask(&m->asked, sum, value);
  m->wanted[value] += sum;
  ask(&m->asked, m->wanted[value], value);
}

/* A loss is the end of the model; other outputs beside the first are for backward alone. */
static bool leads_to_loss(Model *m, const PlanNode *node) {
  bool reached = false;
  for (uint32_t i = 0; i < node->outputs_count; i++) {
    uint32_t value = use(m, node->outputs_first, i);
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

static bool is_given(const Model *m, uint32_t value) {
  uint32_t kind = m->plan->values[value].kind;
  return kind == VALUE_PARAM || kind == VALUE_INPUT || value == m->region->input;
}

/* Layers have parameters of their own, and nothing else has them. */
static void check_parameter(const Model *m, const PlanNode *node, uint32_t value) {
  const PlanValue *of = &m->plan->values[value];
  if (of->kind != VALUE_PARAM || of->region == PLAN_NONE) return;
  const PlanRegion *home = &m->plan->regions[of->region];
  if (home != m->region && (home->is_stack || m->region->is_stack))
    report(m, node, "reads a parameter of other layers: ", value);
}

static void check_reads(const Model *m, const PlanNode *node, bool backward) {
  for (uint32_t i = 0; i < node->inputs_count; i++) {
    uint32_t value = use(m, node->inputs_first, i);
    bool there = is_given(m, value) || m->made[value] == MADE_FORWARD ||
                 (backward && (m->made[value] == MADE_BACKWARD || value == m->region->d_output));
    if (!there) report(m, node, "reads what is not made before it: ", value);
    check_parameter(m, node, value);
  }
}

static void make(Model *m, const PlanNode *node, uint32_t value, uint8_t made) {
  bool sums_up = made == MADE_BACKWARD && m->plan->values[value].kind == VALUE_PARAM_GRAD;
  if (!sums_up && (m->made[value] != MADE_NOT || is_given(m, value)))
    report(m, node, "makes what is there already: ", value);
  m->made[value] = made;
  m->made_by[value] = (uint32_t)(node - m->plan->nodes);
}

/* Copies are what they copy. */
static void go_forward(Model *m) {
  for (uint32_t i = 0; i < m->region->forward_count; i++) {
    const PlanNode *node = &m->plan->nodes[m->region->forward_first + i];
    check_reads(m, node, false);
    for (uint32_t k = 0; k < node->outputs_count; k++)
      make(m, node, use(m, node->outputs_first, k), MADE_FORWARD);
    if (strcmp(plan_string(m->plan, node->op), "copy") == 0 && node->inputs_count == 1)
      m->name[use(m, node->outputs_first, 0)] = m->name[use(m, node->inputs_first, 0)];
  }
}

static Applied applied_of(const Model *m, const PlanNode *node, uint32_t output) {
  const Plan *plan = m->plan;
  Applied applied = {.op = plan_string(plan, node->op),
                     .path = node->path,
                     .output = output,
                     .to = plan->values[use(m, node->outputs_first, output)].layout};
  for (uint32_t i = 0; i < node->inputs_count && i < EXPRESSION_INPUTS_MAX; i++)
    applied.inputs[applied.input_count++] = m->name[use(m, node->inputs_first, i)];
  for (uint32_t i = 0; i < EXPRESSION_ATTRS_MAX; i++)
    applied.attrs[i] = node_attr(plan, node, i);
  if (node->inputs_count == 0) return applied;
  applied.from = plan->values[use(m, node->inputs_first, 0)].layout;
  if (node->inputs_count > 1) {
    uint32_t second = plan->values[use(m, node->inputs_first, 1)].layout;
    applied.broadcasts = !layouts_alike(plan, applied.from, second);
  }
  return applied;
}

/* What is wrong with a node that makes what no row asks for: more often than not, one of the
 * gradients that it reads is. */
static void report_unasked(const Model *m, const PlanNode *node) {
  for (uint32_t i = 0; i < node->inputs_count; i++) {
    uint32_t value = use(m, node->inputs_first, i);
    if (m->made[value] != MADE_BACKWARD || is_asked(m, m->name[value])) continue;
    report(m, &m->plan->nodes[m->made_by[value]], "makes what is not a whole gradient: ", value);
    return;
  }
  report(m, node,
         "makes what no row of derivatives.def asks for: ", use(m, node->outputs_first, 0));
}

/* A gradient is like what it is of. */
static void check_like(const Model *m, const PlanNode *node, uint32_t made, uint32_t of) {
  const PlanValue *gradient = &m->plan->values[made], *value = &m->plan->values[of];
  bool same = layouts_alike(m->plan, gradient->layout, value->layout) &&
              (gradient->kind == VALUE_PARAM_GRAD || gradient->dtype == value->dtype);
  if (!same) report(m, node, "its result has not the dims or the dtype of ", of);
}

/* False: reported. */
static bool check_asked(const Model *m, const PlanNode *node, uint32_t made, Sum sum) {
  if (!is_asked(m, sum)) {
    report_unasked(m, node);
    return false;
  }
  uint32_t of = m->asked.value[slot_of(&m->asked, sum)];
  if (sum == 0 || of == PLAN_NONE) return true;
  check_like(m, node, made, of);
  return true;
}

static void run_backward(Model *m, const PlanNode *node) {
  check_reads(m, node, true);
  bool sums = expression_is_sum(plan_string(m->plan, node->op)), told = false;
  for (uint32_t i = 0; i < node->outputs_count; i++) {
    uint32_t value = use(m, node->outputs_first, i);
    Applied applied = applied_of(m, node, i);
    Sum sum = expression_apply(m->plan, &applied);
    if (!sums && !told) told = !check_asked(m, node, value, sum);
    if (m->plan->values[value].kind == VALUE_PARAM_GRAD)
      m->name[value] += sum; /* all uses add up */
    else
      m->name[value] = sum;
    make(m, node, value, MADE_BACKWARD);
  }
}

static bool reads_parameters(const Model *m) {
  for (uint32_t i = 0; i < m->region->forward_count; i++) {
    const PlanNode *node = &m->plan->nodes[m->region->forward_first + i];
    for (uint32_t k = 0; k < node->inputs_count; k++)
      if (m->plan->values[use(m, node->inputs_first, k)].kind == VALUE_PARAM) return true;
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
  if (m->made[region->d_input] != MADE_BACKWARD && region->d_input != region->d_output)
    report_region(m, "hands back a gradient that it has not made", "");
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
    if (d == plan->values_count || m->made[d] != MADE_BACKWARD)
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
  m->asked.capacity = 8 * (plan->uses_count + plan->regions_count) + 64;
  m->name = prove_array(&m->view, plan->values_count, sizeof *m->name);
  m->wanted = prove_array(&m->view, plan->values_count, sizeof *m->wanted);
  m->made = prove_array(&m->view, plan->values_count, sizeof *m->made);
  m->made_by = prove_array(&m->view, plan->values_count, sizeof *m->made_by);
  m->asked.sum = prove_array(&m->view, m->asked.capacity, sizeof *m->asked.sum);
  m->asked.value = prove_array(&m->view, m->asked.capacity, sizeof *m->asked.value);
  if (!m->name || !m->wanted || !m->made || !m->made_by || !m->asked.sum || !m->asked.value)
    return false;
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
  free(m.name), free(m.wanted), free(m.made), free(m.made_by);
  free(m.asked.sum), free(m.asked.value);
}

/* derivatives.c -- the backward nodes of a plan's model are the derivatives of its forward nodes.
 *
 * The forward nodes determine the gradient of every value: starting at the loss, the sum over all
 * its uses of what the rows of derivatives.def say. The backward nodes must make exactly that for
 * every parameter, and for what goes from region to region. An op without a row is refused by name.
 */
#include <string.h>

#include "compiler/plan/prove/derivatives/gradients.h"
#include "compiler/plan/prove/walk.h"
#include "kernels/contract/contract.h"
#include "runtime/plan/plan_losses.h"
#include "runtime/plan/plan_text.h"

typedef struct DerivedModel {
  const Plan *plan;
  View view;
  const PlanRegion *region;
  Sum *name;         /* by value: how it was computed */
  Sum *wanted;       /* by value: its gradient according to the rows */
  uint32_t *made_by; /* by value: number of the node that made it, plus one; 0: none */
  WantedSums asked;  /* of the region */
  WantedSums again;  /* of the region: what makes values of forward once more, tagged with them */
  uint32_t losses;
} DerivedModel;

/* ---- findings */

static const char *name_of(const DerivedModel *m, uint32_t value) {
  return plan_string(m->plan, m->plan->values[value].name);
}

/* About a node, or (NULL) the region. The reason ends in a name, or "". */
static void report(const DerivedModel *m, const PlanNode *node, const char *why, const char *of) {
  const Plan *plan = m->plan;
  const char *region = plan_string(plan, m->region->name);
  if (node == NULL)
    prove_finding(&m->view, NULL, -1, "derivatives", "%.40s: %s%.80s", region, why, of);
  else
    prove_finding(&m->view, NULL, -1, "derivatives", "%.40s, %s of %.60s%s: %s%.60s", region,
                  plan_string(plan, node->op), plan_string(plan, node->path),
                  node_source(&m->view, node), why, of);
}

/* ---- gradients that the rows of derivatives.def require */

/* Notes the term that one use of a value adds to the value's gradient. */
static void want_of_use(DerivedModel *m, const PlanNode *node, uint32_t input) {
  uint32_t value = node_input(m->plan, node, input);
  Use use = {m->plan, node, input, m->name, m->wanted, &m->asked, false};
  Sum sum;
  if (!gradient_of(&use, &sum))
    report(m, node, "derivatives.def has no row for its input ", name_of(m, value));
  else if (use.lacks)
    report(m, node, "its row in derivatives.def asks for what it lacks, for ", name_of(m, value));
  if (sum == 0) return;
  ask(&m->asked, sum, value);
  m->wanted[value] += sum;
  ask(&m->asked, m->wanted[value], value);
}

/* Notes what makes the node's results once more in backward. */
static void want_again(DerivedModel *m, const PlanNode *node) {
  Use use = {m->plan, node, 0, m->name, m->wanted, &m->asked, false};
  for (uint32_t k = 0; k < node->outputs_count; k++) {
    const Sum sum = again_of(&use, k);
    if (sum != 0) ask(&m->again, sum, node_output(m->plan, node, k));
  }
}

/* A loss ends the model. Outputs other than the first are for backward only. */
static bool leads_to_loss(DerivedModel *m, const PlanNode *node) {
  bool reached = false;
  for (uint32_t i = 0; i < node->outputs_count; i++) {
    uint32_t value = node_output(m->plan, node, i);
    bool loss = m->plan->values[value].kind == VALUE_LOSS;
    m->losses += loss;
    if (loss && m->wanted[value] != 0)
      report(m, node, "something is computed from the loss ", name_of(m, value));
    reached = reached || loss || m->wanted[value] != 0;
  }
  return reached;
}

static void want(DerivedModel *m) {
  const PlanRegion *region = m->region;
  if (region->output != PLAN_NONE && region->d_output != PLAN_NONE) {
    m->wanted[region->output] = m->name[region->d_output] = hash_mix(11, region->output);
    ask(&m->asked, m->wanted[region->output], region->output);
  }
  for (uint32_t i = region->forward_count; i > 0; i--) {
    const PlanNode *node = &m->plan->nodes[region->forward_first + i - 1];
    if (!leads_to_loss(m, node)) continue;
    for (uint32_t k = 0; k < node->inputs_count; k++)
      want_of_use(m, node, k);
    want_again(m, node);
  }
}

/* ---- results of nodes */

/* The parameters of a layer are read by that layer only. */
static void check_parameters_of(const DerivedModel *m, const PlanNode *node) {
  for (uint32_t i = 0; i < node->inputs_count; i++) {
    const PlanValue *of = &m->plan->values[node_input(m->plan, node, i)];
    if (of->kind == VALUE_PARAM_GRAD || of->kind == VALUE_LOSS)
      report(m, node, "reads a sum that is not complete: ", plan_string(m->plan, of->name));
    if (of->kind != VALUE_PARAM || of->region == PLAN_NONE) continue;
    const PlanRegion *home = &m->plan->regions[of->region];
    if (home != m->region && (home->is_stack || m->region->is_stack))
      report(m, node, "reads a parameter of other layers: ", plan_string(m->plan, of->name));
  }
}

/* The part has the dims of the whole without the divided one, whose size is the number of parts. */
static bool is_part_of(const Plan *plan, uint32_t part, uint32_t whole, uint32_t count,
                       double divided) {
  const PlanLayout *a = &plan->layouts[plan->values[part].layout];
  const PlanLayout *b = &plan->layouts[plan->values[whole].layout];
  bool fits = a->dims_count + 1 == b->dims_count && divided >= 0 && divided < b->dims_count &&
              plan->values[part].dtype == plan->values[whole].dtype;
  for (uint32_t i = 0, k = 0; i < b->dims_count && fits; i++) {
    const PlanLayoutDim *of = &plan->layout_dims[b->dims_first + i];
    if (i == divided) {
      fits = of->size == count && of->real_size == count;
      continue;
    }
    const PlanLayoutDim *at = &plan->layout_dims[a->dims_first + k++];
    fits = at->size == of->size && at->real_size == of->real_size && at->name == of->name;
  }
  return fits;
}

/* A split names the parts of a value, and a join puts them together: the dims of a part are those
 * of the whole, but for the one that is divided. These nodes have no records that tell. */
static void check_parts(const DerivedModel *m, const PlanNode *node) {
  const Plan *plan = m->plan;
  bool splits = strcmp(plan_string(plan, node->op), "split") == 0;
  if (!splits && strcmp(plan_string(plan, node->op), "join") != 0) return;
  const uint32_t first = splits ? node->outputs_first : node->inputs_first;
  const uint32_t count = splits ? node->outputs_count : node->inputs_count;
  bool fits = (splits ? node->inputs_count : node->outputs_count) == 1 && node->attrs_count == 1;
  for (uint32_t i = 0; i < count && fits; i++)
    fits = is_part_of(plan, plan->uses[first + i].value,
                      splits ? node_input(plan, node, 0) : node_output(plan, node, 0), count,
                      plan->reals[node->attrs_first]);
  if (!fits) report(m, node, "its parts are not equal parts of one dim of the whole", "");
}

/* Parameter gradients accumulate; every other value is made once. */
static void make(DerivedModel *m, const PlanNode *node, uint32_t value) {
  uint32_t kind = m->plan->values[value].kind;
  bool is_given = kind == VALUE_PARAM || kind == VALUE_INPUT || value == m->region->input;
  if (is_given || (kind != VALUE_PARAM_GRAD && m->made_by[value] != 0))
    report(m, node, "makes what is there already: ", name_of(m, value));
  m->made_by[value] = (uint32_t)(node - m->plan->nodes) + 1;
}

/* A copy has the name of the value that it copies. */
static void go_forward(DerivedModel *m) {
  for (uint32_t i = 0; i < m->region->forward_count; i++) {
    const PlanNode *node = &m->plan->nodes[m->region->forward_first + i];
    check_parameters_of(m, node);
    check_parts(m, node);
    for (uint32_t k = 0; k < node->outputs_count; k++)
      make(m, node, node_output(m->plan, node, k));
    if (strcmp(plan_string(m->plan, node->op), "copy") == 0 && node->inputs_count == 1)
      m->name[node_output(m->plan, node, 0)] = m->name[node_input(m->plan, node, 0)];
  }
}

/* The reason why no row asks for what a node makes: usually one of the gradients that it reads is
 * wrong. */
static void report_unasked(DerivedModel *m, const PlanNode *node) {
  for (uint32_t i = 0; i < node->inputs_count; i++) {
    uint32_t value = node_input(m->plan, node, i);
    uint32_t number =
        m->made_by[value] - 1 - m->region->backward_first; /* not made: a large number */
    if (number >= m->region->backward_count || asked_for(&m->asked, m->name[value]) != 0) continue;
    report(m, &m->plan->nodes[m->made_by[value] - 1],
           "makes what is not a whole gradient: ", name_of(m, value));
    return;
  }
  report(m, node, "makes what no row of derivatives.def asks for: ",
         name_of(m, node_output(m->plan, node, 0)));
}

/* A gradient has the dims and dtype of its value. */
static void check_like(const DerivedModel *m, const PlanNode *node, uint32_t made, uint32_t of) {
  const PlanValue *gradient = &m->plan->values[made], *value = &m->plan->values[of];
  bool same = layouts_alike(m->plan, gradient->layout, value->layout) &&
              (gradient->kind == VALUE_PARAM_GRAD || gradient->dtype == value->dtype);
  if (!same) report(m, node, "its result has not the dims or the dtype of ", name_of(m, of));
}

/* Each use of a parameter adds to a gradient with the parameter's dims. */
static void check_gradient(const DerivedModel *m, const PlanNode *node, uint32_t made) {
  const uint32_t parameter = value_named(&m->view, made, VALUE_PARAM);
  if (parameter != PLAN_NONE) check_like(m, node, made, parameter);
}

/* Sums and multiples are judged where they are used: no row needs to ask for them. */
static void run_backward(DerivedModel *m, const PlanNode *node) {
  bool told = false;
  check_parameters_of(m, node);
  check_parts(m, node);
  for (uint32_t i = 0; i < node->outputs_count; i++) {
    uint32_t value = node_output(m->plan, node, i);
    Applied applied = applied_of(m->plan, node, i, m->name);
    Sum sum = apply(m->plan, &applied);
    const uint32_t again = sum == 0 ? 0 : asked_for(&m->again, sum);
    if (again != 0) { /* backward computes again what forward has made */
      check_like(m, node, value, again - 1);
      m->name[value] = m->name[again - 1];
      make(m, node, value);
      continue;
    }
    bool counts = sum != 0 && !applied.is_sum;
    uint32_t asked = counts ? asked_for(&m->asked, sum) : 0;
    if (asked != 0 && asked != PLAN_NONE) check_like(m, node, value, asked - 1);
    if (m->plan->values[value].kind == VALUE_PARAM_GRAD) check_gradient(m, node, value);
    if (asked == 0 && counts && !told) report_unasked(m, node);
    told = told || asked == 0;
    bool adds_up = m->plan->values[value].kind == VALUE_PARAM_GRAD; /* the sum over all uses */
    m->name[value] = sum + (adds_up ? m->name[value] : 0);
    make(m, node, value);
  }
}

static void go_backward(DerivedModel *m) {
  const PlanRegion *region = m->region;
  for (uint32_t i = 0; i < region->backward_count; i++)
    run_backward(m, &m->plan->nodes[region->backward_first + i]);
  /* When a region hands back no gradient, the layers before it have none to read, which types find.
   */
  if (region->d_input != PLAN_NONE &&
      (region->input == PLAN_NONE || m->name[region->d_input] != m->wanted[region->input]))
    report(m, NULL, "hands back what is not the gradient of its input, ",
           name_of(m, region->d_input));
}

/* ---- regions and what they share */

/* Regions form one chain: what one returns, the next takes, and gradients go back the same way.
 * False: they do not. */
static bool check_chain(const DerivedModel *m, const PlanRegion *next) {
  const PlanRegion *region = m->region;
  const PlanValue *values = m->plan->values;
  if (region->output == PLAN_NONE && region->d_output != PLAN_NONE)
    report(m, NULL, "has a gradient from nowhere", "");
  else if ((region->output == PLAN_NONE) != (next == NULL) ||
           (next != NULL && next->input == PLAN_NONE))
    report(m, NULL, "is not followed by what takes its result", "");
  else if (next != NULL &&
           (!layouts_alike(m->plan, values[region->output].layout, values[next->input].layout) ||
            values[region->output].dtype != values[next->input].dtype))
    report(m, NULL, "returns something else than is taken by ", plan_string(m->plan, next->name));
  else if (next != NULL && region->d_output != next->d_input && region->d_output != PLAN_NONE)
    report(m, NULL, "does not take the gradient that comes from ",
           plan_string(m->plan, next->name));
  else
    return true;
  return false;
}

static void check_parameters(const DerivedModel *m) {
  const Plan *plan = m->plan;
  for (uint32_t v = 0; v < plan->values_count; v++) {
    const PlanValue *of = &plan->values[v];
    if (of->kind != VALUE_PARAM ||
        (of->region != PLAN_NONE && plan->regions[of->region].program != PROGRAM_TRAIN_STEP))
      continue;
    uint32_t d = value_named(&m->view, v, VALUE_PARAM_GRAD);
    const char *why = d == PLAN_NONE || m->made_by[d] == 0 ? "has no gradient"
                      : m->name[d] != m->wanted[v]
                          ? "has a gradient that is not the sum over its uses"
                          : NULL;
    if (why != NULL)
      prove_finding(&m->view, NULL, -1, "derivatives", "parameter %.80s %s", name_of(m, v), why);
  }
}

/* Counts the losses of a region without backward. */
static uint32_t losses_of(const Plan *plan, const PlanRegion *region) {
  uint32_t losses = 0;
  for (uint32_t i = 0; i < region->forward_count; i++) {
    const PlanNode *node = &plan->nodes[region->forward_first + i];
    for (uint32_t k = 0; k < node->outputs_count; k++)
      losses += plan->values[node_output(plan, node, k)].kind == VALUE_LOSS;
  }
  return losses;
}

static void prove_model(DerivedModel *m, uint32_t count) {
  const bool trains = regions_trained(m->plan) > 0;
  bool is_chain = true;
  for (uint32_t i = 0; i < count; i++) {
    m->region = &m->plan->regions[i];
    is_chain = check_chain(m, i + 1 < count ? m->region + 1 : NULL) && is_chain;
    go_forward(m);
    if (!trains) m->losses += losses_of(m->plan, m->region);
  }
  for (uint32_t i = count; i-- > 0 && is_chain && trains;) {
    m->region = &m->plan->regions[i];
    m->asked = (WantedSums){.arena = m->view.arena};
    m->again = (WantedSums){.arena = m->view.arena};
    want(m);
    go_backward(m);
  }
  const uint32_t losses = (uint32_t)plan_losses(m->plan).count;
  if (is_chain && m->losses != losses)
    prove_finding(&m->view, NULL, -1, "derivatives", "%u losses instead of %s", m->losses,
                  m->losses > LOSSES_MAX ? "8 at most" : "one");
  if (is_chain && trains) check_parameters(m);
}

void prove_derivatives(const View *view) {
  const Plan *plan = view->plan;
  DerivedModel m = {.plan = plan, .view = *view};
  const uint32_t count = regions_main(plan);
  m.name = ARENA_ARRAY(view->arena, Sum, plan->values_count);
  m.wanted = ARENA_ARRAY(view->arena, Sum, plan->values_count);
  m.made_by = ARENA_ARRAY(view->arena, uint32_t, plan->values_count);
  for (uint32_t v = 0; v < plan->values_count; v++)
    if (plan->values[v].kind != VALUE_PARAM_GRAD) m.name[v] = hash_mix(3, v);
  if (count > 0) prove_model(&m, count);
}

/* ---- evaluation: region by region the same results from the same inputs and parameters as in
 * training, without dropout; of a sampled model decode as prefill. Nodes whose results are not used
 * may remain. */

/* A dropout node of training is compared as if its rate were 0. */
static void keep_all(Applied *applied) {
  const KernelContract *contract = contract_find(applied->op);
  if (strcmp(applied->op, "dropout") == 0) applied->op = "copy";
  for (int32_t i = 0; contract != NULL && i < contract->attr_count && i < APPLIED_ATTRS_MAX; i++)
    if (strcmp(contract->attrs[i].name, "dropout") == 0) applied->attrs[i] = 0;
}

/* The value that the region passes on, and its losses, each under its path. */
static Sum run(const DerivedModel *m, const PlanRegion *region, Sum input) {
  Sum losses = 0;
  if (region->input != PLAN_NONE) m->name[region->input] = input;
  for (uint32_t i = 0; i < region->forward_count; i++) {
    const PlanNode *node = &m->plan->nodes[region->forward_first + i];
    if (region->program != PROGRAM_TRAIN_STEP) check_parts(m, node);
    for (uint32_t k = 0; k < node->outputs_count; k++) {
      uint32_t value = node_output(m->plan, node, k);
      Applied applied = applied_of(m->plan, node, k, m->name);
      if (region->program == PROGRAM_TRAIN_STEP) keep_all(&applied);
      Sum sum = apply(m->plan, &applied);
      m->name[value] = sum != 0 ? sum : hash_mix(7, 0); /* unlike a gradient, zero is a value */
      if (m->plan->values[value].kind == VALUE_LOSS) losses += hash_mix(m->name[value], node->path);
    }
  }
  return losses + (region->output != PLAN_NONE ? m->name[region->output] : 0);
}

static bool is_in_both(const DerivedModel *m, uint32_t value) {
  for (uint32_t v = 0; v < m->plan->values_count; v++)
    if (v != value && m->name[v] == m->name[value]) return true;
  return false;
}

/* Reports the first node that training does not have. */
static void report_other(const DerivedModel *m) {
  const PlanNode *node = &m->plan->nodes[m->region->forward_first];
  const PlanNode *end = node + m->region->forward_count;
  while (node < end && is_in_both(m, node_output(m->plan, node, 0)))
    node++;
  if (node < end)
    report(m, node, "is evaluated, but is not computed in training", "");
  else
    report(m, NULL, "what is evaluated is not what is trained", "");
}

/* A decode has one token of each sample: the other dims are those of prefill. */
static bool is_one_token_of(const Plan *plan, uint32_t layout, uint32_t first) {
  const PlanLayout *a = &plan->layouts[layout], *b = &plan->layouts[first];
  bool is_it = a->dims_count == b->dims_count;
  for (uint32_t i = 0; is_it && i < a->dims_count; i++) {
    const PlanLayoutDim *one = &plan->layout_dims[a->dims_first + i];
    const PlanLayoutDim *all = &plan->layout_dims[b->dims_first + i];
    const bool is_seq = strcmp(plan_string(plan, one->name), "seq") == 0;
    is_it = strcmp(plan_string(plan, one->name), plan_string(plan, all->name)) == 0 &&
            (is_seq ? one->size == 1 : one->size == all->size);
  }
  return is_it;
}

/* A parameter or an input that training and evaluation both have is one: the same dims and dtype
 * under one name. */
static void check_shared(const DerivedModel *m) {
  const Plan *plan = m->plan;
  for (uint32_t v = 0; v < plan->values_count; v++) {
    const PlanValue *value = &plan->values[v];
    if (value->kind != VALUE_INPUT && value->kind != VALUE_PARAM && value->kind != VALUE_CACHE)
      continue;
    const PlanValue *first = &plan->values[value_named(&m->view, v, (ValueKind)value->kind)];
    const bool is_of_decode = value->kind == VALUE_INPUT && value != first && plan_samples(plan);
    if (value->dtype != first->dtype ||
        !(is_of_decode ? is_one_token_of(plan, value->layout, first->layout)
                       : layouts_alike(plan, value->layout, first->layout)))
      prove_finding(&m->view, NULL, -1, "derivatives", "%s %.80s is stated with two sets of dims",
                    ValueKind_names[value->kind], name_of(m, v));
  }
}

/* Inputs and parameters are matched by name. */
void prove_evaluation(const View *view) {
  const Plan *plan = view->plan;
  DerivedModel m = {.plan = plan, .view = *view};
  uint32_t trained = regions_main(plan), evaluated = plan->regions_count - trained;
  check_shared(&m);
  if (evaluated != 0 && trained != 0 && evaluated != trained)
    prove_finding(&m.view, NULL, -1, "derivatives", "%u regions are evaluated, %u trained",
                  evaluated, trained);
  if (evaluated != trained) return;
  m.name = ARENA_ARRAY(view->arena, Sum, plan->values_count);
  for (uint32_t v = 0; v < plan->values_count; v++) {
    const PlanValue *value = &plan->values[v];
    bool is_named = value->kind == VALUE_INPUT || value->kind == VALUE_PARAM;
    m.name[v] = is_named ? hash_mix(value->kind, value->name) : hash_mix(3, v);
  }
  for (uint32_t r = 0; r < trained; r++) {
    const PlanRegion *train = &plan->regions[r];
    m.region = train + trained;
    bool ends_alike = (train->output == PLAN_NONE) == (m.region->output == PLAN_NONE);
    if (run(&m, train, hash_mix(5, r)) != run(&m, m.region, hash_mix(5, r)) || !ends_alike ||
        train->repeat != m.region->repeat)
      report_other(&m);
  }
}

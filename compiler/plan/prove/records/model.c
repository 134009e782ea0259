/* model.c -- what the settings and the names of a plan say of its model: the model is the one that
 * checkpoints are compared by, masters exist where the job wants them, and no two draw the same
 * random numbers. */
#include <string.h>

#include "compiler/plan/prove/pool.h"
#include "compiler/plan/prove/records/rules.h"
#include "runtime/plan/plan_graph.h"
#include "runtime/plan/plan_text.h"

/* Ops, paths, numbers, dims, initial values and decay are those of the model that was traced. */
static void check_graph(const View *view) {
  char stated[PLAN_GRAPH_BYTES];
  const char *said = job_setting(view->plan, PLAN_GRAPH_KEY);
  if (strcmp(plan_graph_text(view->plan, stated), said) != 0)
    prove_finding(view, NULL, -1, "records",
                  "expected the model of %s %.40s, found one of %s: other nodes, dims, initial "
                  "values or decay",
                  PLAN_GRAPH_KEY, said, stated);
}

/* How the truth of parameters is kept; updates follow (rules.c). */
static void check_truths(const View *view) {
  static const char *const masters[] = {"none", "fp32", "split", "none"};
  const Plan *plan = view->plan;
  const char *said = job_setting(plan, "precision.master");
  const bool is_kahan = strcmp(job_setting(plan, "precision.update"), "kahan") == 0;
  for (uint32_t i = 0; i < plan->parameters_count; i++) {
    const uint32_t value = plan->parameters[i].value;
    const TruthStorage truth = view->rows[value].truth;
    const char *name = plan_string(plan, plan->values[value].name);
    if (strcmp(masters[truth], said) != 0)
      prove_finding(view, NULL, -1, "records", "expected a master of %.80s: %s, found %s", name,
                    said, masters[truth]);
    if ((truth == TRUTH_KAHAN) != is_kahan)
      prove_finding(view, NULL, -1, "records", "expected %s of %.80s, found %s: precision.update",
                    is_kahan ? "a compensation" : "no compensation", name,
                    is_kahan ? "none" : "one");
  }
}

/* True if rows of the parameter are looked up by ids. */
static bool is_looked_up(const Plan *plan, uint32_t value) {
  for (uint32_t i = 0; i < plan->nodes_count; i++) {
    const PlanNode *node = &plan->nodes[i];
    if (node->inputs_count > 0 && plan->uses[node->inputs_first].value == value &&
        strcmp(plan_string(plan, node->op), "embedding") == 0)
      return true;
  }
  return false;
}

static int64_t whole_elements(const Plan *plan, uint32_t value) {
  const PlanLayout *layout = &plan->layouts[plan->values[value].layout];
  int64_t elements = 1;
  for (uint32_t i = 0; i < layout->dims_count; i++)
    elements *= plan->layout_dims[layout->dims_first + i].size;
  return elements;
}

/* The dtype of the moments of a parameter, by the job's word. */
static DType moments_of(const Plan *plan, const char *word, uint32_t value) {
  enum { CODES_LEAST_ELEMENTS = 4096 };
  if (strcmp(word, "bf16") == 0) return DTYPE_BF16;
  const bool has_codes = strcmp(word, "int8") == 0 &&
                         whole_elements(plan, value) >= CODES_LEAST_ELEMENTS &&
                         !is_looked_up(plan, value);
  return has_codes ? DTYPE_U8 : DTYPE_F32;
}

static void check_moments(const View *view) {
  const Plan *plan = view->plan;
  const char *said = job_setting(plan, "precision.moments");
  for (uint32_t i = 0; i < plan->tensors_count; i++) {
    const PlanTensor *tensor = &plan->tensors[i];
    const bool is_moment = tensor->kind == BUFFER_MOMENT1 || tensor->kind == BUFFER_MOMENT2;
    if (!is_moment || tensor->value == PLAN_NONE) continue;
    const DType wanted = moments_of(plan, said, tensor->value);
    if (tensor->dtype != (uint32_t)wanted)
      prove_finding(view, NULL, -1, "records",
                    "expected %s of %.80s in %s: precision.moments %s, "
                    "found %s",
                    BufferKind_names[tensor->kind], plan_string(plan, tensor->name),
                    dtype_name(wanted), said, dtype_name((DType)tensor->dtype));
  }
}

/* True if this node draws numbers when it runs. */
static bool draws(const Plan *plan, const PlanNode *node) {
  const KernelContract *contract = contract_find(plan_string(plan, node->op));
  if (contract == NULL || (contract_control_reads(contract) & CONTROL_BIT(CONTROL_seed)) == 0)
    return false;
  for (int32_t i = 0; i < contract->attr_count; i++)
    if (strcmp(contract->attrs[i].name, "dropout") == 0)
      return (uint32_t)i < node->attrs_count && plan->reals[node->attrs_first + (uint32_t)i] > 0;
  return true;
}

/* Numbers are drawn by these keys: each has one owner. */
static void take_stream(const View *view, Pool *streams, uint64_t key, const char *owner,
                        const char *what) {
  const uint32_t number = pool_number(view->arena, streams, &key, sizeof key);
  if (streams->row[number].tag != 0)
    prove_finding(view, NULL, -1, "records",
                  "expected random numbers of its own for %s %.80s, found those of another", what,
                  *owner == '\0' ? "without a path" : owner);
  streams->row[number].tag = 1;
}

static void check_streams(const View *view) {
  const Plan *plan = view->plan;
  Pool initial = {0}, drawn = {0};
  for (uint32_t i = 0; i < plan->parameters_count; i++)
    take_stream(view, &initial, plan->parameters[i].key,
                plan_string(plan, plan->values[plan->parameters[i].value].name), "parameter");
  for (uint32_t r = 0; r < plan->regions_count; r++) {
    const PlanRegion *region = &plan->regions[r];
    if (!plan_is_main(plan, region)) continue;
    for (uint32_t n = region->forward_first; n < region->forward_first + region->forward_count; n++)
      if (draws(plan, &plan->nodes[n]))
        take_stream(view, &drawn, plan->nodes[n].key, plan_string(plan, plan->nodes[n].path),
                    plan_string(plan, plan->nodes[n].op));
  }
}

/* A plan that does not train has weights, and nothing that only updates need. */
static void check_weights_alone(const View *view) {
  const Plan *plan = view->plan;
  for (uint32_t i = 0; i < plan->tensors_count; i++)
    if (plan->tensors[i].kind != BUFFER_PARAM &&
        !(plan->tensors[i].kind == BUFFER_CACHE && plan_samples(plan)))
      prove_finding(view, NULL, -1, "records", "nothing is trained, and there is %s of %.80s",
                    BufferKind_names[plan->tensors[i].kind],
                    plan_string(plan, plan->tensors[i].name));
}

void prove_model(const View *view) {
  check_graph(view);
  if (plan_trains(view->plan))
    check_truths(view);
  else
    check_weights_alone(view);
  check_moments(view);
  check_streams(view);
}

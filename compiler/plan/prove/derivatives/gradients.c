#include "compiler/plan/prove/derivatives/gradients.h"

#include <math.h>
#include <string.h>

#include "compiler/plan/prove/walk.h"
#include "kernels/contract/contract.h"

/* ---- what an op makes of its inputs */

static uint64_t hash_real(uint64_t hash, double value) {
  uint64_t bits;
  value += 0.0; /* -0 is 0 */
  memcpy(&bits, &value, sizeof bits);
  return hash_mix(hash, bits);
}

static uint64_t hash_dims(const Plan *plan, uint64_t hash, uint32_t layout) {
  const PlanLayout *of = &plan->layouts[layout];
  for (uint32_t i = 0; i < of->dims_count; i++)
    hash = hash_mix(hash, plan->layout_dims[of->dims_first + i].name);
  return hash;
}

static bool is_op(const Applied *applied, const char *op) {
  return strcmp(applied->op, op) == 0;
}

/* Attrs beyond those of a backward op's kernel were copied from the forward node and are ignored.
 * An op without a kernel, such as split, has other numbers. */
static uint64_t hash_numbers(uint64_t hash, const Applied *applied) {
  const KernelContract *contract = contract_find(applied->op);
  for (uint32_t i = 0; i < APPLIED_ATTRS_MAX && (contract == NULL || contract->attr_count > 0); i++)
    hash = hash_real(hash, applied->attrs[i]);
  bool draws =
      contract != NULL && (contract_control_reads(contract) & CONTROL_BIT(CONTROL_seed)) != 0;
  return draws ? hash_mix(hash_mix(hash, applied->path), applied->key) : hash;
}

/* A result made from a gradient that is zero is zero; one joined from several is zero if all of
 * them are. */
static bool is_zero(const Applied *applied) {
  uint32_t zeros = 0;
  for (uint32_t i = 0; i < applied->input_count; i++)
    zeros += applied->inputs[i] == 0;
  return is_op(applied, "join") ? zeros == applied->input_count : zeros > 0;
}

/* True if the node makes a sum of its inputs, or an integer multiple of one of them. Dims are not
 * compared. */
static bool add_up(const Plan *plan, const Applied *applied, Sum *sum) {
  enum { WHOLE_MAX = 1 << 20 };
  const Sum *in = applied->inputs;
  double scale = applied->attrs[0];
  if (is_op(applied, "copy") ||
      (is_op(applied, "sum_to") && layouts_alike(plan, applied->from, applied->to)))
    *sum = in[0];
  else if (is_op(applied, "add") && !applied->broadcasts)
    *sum = in[0] + in[1];
  else if (is_op(applied, "subtract") && !applied->broadcasts)
    *sum = in[0] - in[1];
  else if (is_op(applied, "affine") && applied->attrs[1] == 0 && fabs(scale) < WHOLE_MAX &&
           scale == nearbyint(scale))
    *sum = in[0] * (uint64_t)(int64_t)scale;
  else
    return false;
  return true;
}

Sum apply(const Plan *plan, Applied *applied) {
  const Sum *in = applied->inputs;
  Sum sum = 0;
  applied->is_sum = add_up(plan, applied, &sum);
  if (applied->is_sum || is_zero(applied)) return sum;
  uint64_t hash = hash_text(applied->op);
  if (is_op(applied, "sum_to")) hash = hash_dims(plan, hash, applied->to);
  hash = hash_mix(hash_numbers(hash, applied), applied->output);
  if (is_op(applied, "multiply")) return hash_mix(hash, hash_mix(1, in[0]) + hash_mix(1, in[1]));
  for (uint32_t i = 0; i < applied->input_count; i++)
    hash = hash_mix(hash, in[i]);
  return hash;
}

Applied applied_of(const Plan *plan, const PlanNode *node, uint32_t output, const Sum *name) {
  Applied applied = {.op = plan_string(plan, node->op),
                     .path = node->path,
                     .key = node->key,
                     .output = output,
                     .to = plan->values[node_output(plan, node, output)].layout};
  for (uint32_t i = 0; i < node->inputs_count && i < APPLIED_INPUTS_MAX; i++)
    applied.inputs[applied.input_count++] = name[node_input(plan, node, i)];
  for (uint32_t i = 0; i < node->attrs_count && i < APPLIED_ATTRS_MAX; i++)
    applied.attrs[i] = plan->reals[node->attrs_first + i];
  if (node->inputs_count > 0) applied.from = plan->values[node_input(plan, node, 0)].layout;
  if (node->inputs_count > 1)
    applied.broadcasts =
        !layouts_alike(plan, applied.from, plan->values[node_input(plan, node, 1)].layout);
  return applied;
}

static uint32_t *tag_of(WantedSums *asked, Sum sum) {
  const uint32_t number = pool_number(asked->arena, &asked->sums, &sum, sizeof sum);
  return &asked->sums.row[number].tag;
}

void ask(WantedSums *asked, Sum sum, uint32_t value) {
  uint32_t *tag = tag_of(asked, sum);
  if (*tag == 0 || *tag == PLAN_NONE) *tag = value == PLAN_NONE ? PLAN_NONE : value + 1;
}

uint32_t asked_for(WantedSums *asked, Sum sum) {
  return *tag_of(asked, sum);
}

/* ---- the words of derivatives.def */

static Sum x(Use *use, uint32_t i) {
  use->lacks = use->lacks || i >= use->node->inputs_count;
  return use->lacks ? 0 : use->name[node_input(use->plan, use->node, i)];
}

static Sum of_output(Use *use, uint32_t i, const Sum *of) {
  use->lacks = use->lacks || i >= use->node->outputs_count;
  return use->lacks ? 0 : of[node_output(use->plan, use->node, i)];
}

static double a(const Use *use, uint32_t i) {
  return i < use->node->attrs_count ? use->plan->reals[use->node->attrs_first + i] : 0;
}

static Sum make(Use *use, Applied applied, const double *attrs, const Sum *inputs) {
  const Plan *plan = use->plan;
  if (use->lacks || applied.input_count > APPLIED_INPUTS_MAX) return 0;
  applied.path = use->node->path;
  applied.key = use->node->key;
  applied.from = plan->values[node_output(plan, use->node, 0)].layout;
  applied.to = plan->values[node_input(plan, use->node, use->input)].layout;
  memcpy(applied.attrs, attrs, sizeof applied.attrs);
  memcpy(applied.inputs, inputs, applied.input_count * sizeof *inputs);
  Sum sum = apply(plan, &applied);
  ask(use->asked, sum, PLAN_NONE);
  return sum;
}

static Sum join(Use *use) {
  Sum dy[APPLIED_INPUTS_MAX] = {0};
  uint32_t count = use->node->outputs_count;
  for (uint32_t i = 0; i < count && i < APPLIED_INPUTS_MAX; i++)
    dy[i] = of_output(use, i, use->wanted);
  return make(use, (Applied){.op = "join", .input_count = count},
              (double[APPLIED_ATTRS_MAX]){a(use, 0)}, dy);
}

/* An activation's row in kernels.def names the kernel of its gradient; the operands of that kernel
 * are d_y and, by their names, x or y of the forward kernel. False: the op is not an activation. */
static bool gradient_of_activation(Use *use, const char *op, Sum *sum) {
  const KernelContract *forward = contract_find(op);
  if (forward == NULL || forward->row->role != ROLE_ACTIVATION || forward->row->backward == NULL)
    return false;
  const char *read = contract_find(forward->row->backward)->operands[1].name;
  bool is_x = strcmp(read, forward->operands[0].name) == 0;
  Sum inputs[APPLIED_INPUTS_MAX] = {of_output(use, 0, use->wanted),
                                    is_x ? x(use, 0) : of_output(use, 0, use->name)};
  *sum = make(use, (Applied){.op = forward->row->backward, .input_count = 2},
              (double[APPLIED_ATTRS_MAX]){0}, inputs);
  return true;
}

/* The order of summands does not matter. */
bool gradient_of(Use *use, Sum *sum) {
  const char *op = plan_string(use->plan, use->node->op);
  *sum = 0;
#define DY           of_output(use, 0, use->wanted)
#define X(i)         x(use, i)
#define Y(i)         of_output(use, i, use->name)
#define A(i)         a(use, i)
#define JOIN         join(use)
#define NUMBERS(...) ((const double[APPLIED_ATTRS_MAX]){__VA_ARGS__})
#define MAKE_WITH(kernel, number, attrs, ...)                                                      \
  make(use,                                                                                        \
       (Applied){.op = #kernel,                                                                    \
                 .output = number,                                                                 \
                 .input_count = sizeof((const Sum[]){__VA_ARGS__}) / sizeof(Sum)},                 \
       attrs, (const Sum[]){__VA_ARGS__})
#define MAKE(kernel, ...) MAKE_WITH(kernel, 0, NUMBERS(0), __VA_ARGS__)
#define GRADIENT(name, number, expression)                                                         \
  if (use->input == (number) && strcmp(op, #name) == 0) {                                          \
    *sum = expression;                                                                             \
    return true;                                                                                   \
  }
#define AGAIN(name, number, expression)
#include "compiler/plan/prove/derivatives/derivatives.def"
  return gradient_of_activation(use, op, sum);
}

Sum again_of(Use *use, uint32_t output) {
  const char *op = plan_string(use->plan, use->node->op);
#define AGAIN(name, number, expression)                                                            \
  if (output == (number) && strcmp(op, #name) == 0) return expression;
#define GRADIENT(name, number, expression)
#include "compiler/plan/prove/derivatives/derivatives.def"
  return 0;
}

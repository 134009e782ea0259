/* rules.c -- what adjoint.c knows of kernels: which go forward, which make whose gradients, and
 * which hand values on. */
#include "compiler/prove/rules.h"

#include <string.h>

#define NO NO_OPERAND
#define END_PAIR                                                                                   \
  { NO, NO }
#define NONE_ON                                                                                    \
  { END_PAIR }

static const ForwardRule forward_rules[] = {
    {"embedding", 2, NONE_ON},
    {"linear", 2, NONE_ON},
    {"linear_bias", 3, NONE_ON},
    {"layernorm", 3, NONE_ON},
    {"rmsnorm", 2, NONE_ON},
    {"rope", 1, NONE_ON},
    {"attention", 3, NONE_ON},
    {"gelu", 1, NONE_ON},
    {"silu", 1, NONE_ON},
    {"relu", 1, NONE_ON},
    {"tanh", 1, NONE_ON},
    {"multiply", 2, NONE_ON},
    {"dropout", 1, NONE_ON},
    {"cross_entropy_train", 0, NONE_ON},
    {"cross_entropy_parts_train", 0, NONE_ON},
    {"mse_train", 3, NONE_ON},
    {"add", 2, {{0, 2}, {1, 2}, END_PAIR}},
    {"subtract", 2, {{0, 2}, {1, 2}, END_PAIR}},
    {"affine", 1, {{0, 1}, END_PAIR}},
    {"cast", 1, {{0, 1}, END_PAIR}},
    {"slice", 1, {{0, 1}, END_PAIR}},
    {"attention_merge", 0, {{0, 0}, {2, 0}, {1, 1}, {3, 1}}},
};

static const BackwardRule backward_rules[] = {
    /* clang-format off */
    {"linear_dx", "linear", "linear_bias", 0, {{1, 1}, END_PAIR}, {{2, 0}, END_PAIR}, {END_PAIR}, 4, 0},
    {"linear_dw", "linear", "linear_bias", 1, {{0, 0}, END_PAIR}, {END_PAIR}, {{2, 1}, END_PAIR}, 4, 0},
    {"linear_db", "linear_bias", "add", 0, {END_PAIR}, {END_PAIR}, {{1, 2}, END_PAIR}, 0, 0},
    {"layernorm_backward", "layernorm", "", 0, {{1, 0}, {2, 1}, {3, 4}, END_PAIR}, {{4, 0}, END_PAIR}, {{5, 1}, {6, 2}}, 2, 0},
    {"rmsnorm_backward", "rmsnorm", "", 0, {{1, 0}, {2, 1}, {3, 3}, END_PAIR}, {{4, 0}, END_PAIR}, {{5, 1}, END_PAIR}, 2, 0},
    {"attention_backward", "attention", "", 0, {{1, 0}, {2, 1}, {3, 2}, {4, 3}, {5, 4}}, {{6, 0}, {7, 1}, {8, 2}}, {END_PAIR}, 8, 10},
    {"gelu_backward", "gelu", "", 0, {{1, 0}, END_PAIR}, {{2, 0}, END_PAIR}, {END_PAIR}, 1, 0},
    {"silu_backward", "silu", "", 0, {{1, 0}, END_PAIR}, {{2, 0}, END_PAIR}, {END_PAIR}, 1, 0},
    {"relu_backward", "relu", "", 0, {{1, 0}, END_PAIR}, {{2, 0}, END_PAIR}, {END_PAIR}, 1, 0},
    {"tanh_backward", "tanh", "", 0, {{1, 0}, END_PAIR}, {{2, 0}, END_PAIR}, {END_PAIR}, 1, 0},
    {"embedding_backward", "embedding", "", 0, {{1, 1}, END_PAIR}, {END_PAIR}, {{2, 0}, END_PAIR}, 3, 1},
    /* clang-format on */
};

static const struct {
  const char *name;
  Motion motion;
} motions[] = {
    {"add", MOTION_ADD},           {"subtract", MOTION_ADD},  {"cast", MOTION_SAME},
    {"sum_to", MOTION_SAME},       {"slice", MOTION_SAME},    {"copy", MOTION_COPY},
    {"rope", MOTION_AGAIN},        {"dropout", MOTION_AGAIN}, {"affine", MOTION_SCALE},
    {"multiply", MOTION_MULTIPLY},
};

#define COUNT(table) (sizeof(table) / sizeof *(table))

/* Two numbers of rows, two of what a row holds, one stride. */
static void read_view(const KernelShape *shape, uint8_t view[5]) {
  memset(view, NO, 5);
  for (uint32_t i = 0; i < shape->rows_count && i < 2; i++)
    view[i] = shape->rows[i];
  for (uint32_t i = 0; i < shape->inner_count && i < 2; i++)
    view[2 + i] = shape->inner[i];
  view[4] = shape->stride;
}

static void read_contract(Rule *rule, const KernelContract *contract) {
  for (int32_t i = 0; contract != NULL && i < contract->operand_count; i++) {
    const KernelOperand *operand = &contract->operands[i];
    if (operand->access == KERNEL_SCRATCH) rule->scratch |= 1u << i;
    if (operand->over & 1u) rule->in_place = (uint8_t)i;
    if (operand->shape.kind != SHAPE_VIEW) continue;
    rule->views |= 1u << i;
    read_view(&operand->shape, rule->view[i]);
  }
}

static uint32_t kernel_named(const Plan *plan, const char *name) {
  for (uint32_t k = 0; k < plan->kernels_count; k++)
    if (strcmp(plan_string(plan, plan->kernels[k].name), name) == 0) return k;
  return PLAN_NONE;
}

/* Operands of a kernel whose gradients the backward kernels of the table make for a tensor. */
static uint32_t parameters_of(const char *name) {
  uint32_t operands = 0;
  for (size_t k = 0; k < COUNT(backward_rules); k++) {
    const BackwardRule *rule = &backward_rules[k];
    bool other = strcmp(rule->other, name) == 0 && strcmp(name, "add") != 0;
    if (strcmp(rule->forward, name) != 0 && !other) continue;
    for (uint32_t i = 0; i < PARAMETERS_MAX && rule->parameters[i][0] != NO; i++)
      operands |= 1u << rule->parameters[i][1];
  }
  return operands;
}

static Rule rule_of(const Plan *plan, const char *name) {
  Rule rule = {.backward_of = {PLAN_NONE, PLAN_NONE}, .in_place = NO};
  for (size_t i = 0; i < COUNT(forward_rules); i++)
    if (strcmp(name, forward_rules[i].name) == 0) rule.forward = &forward_rules[i];
  for (size_t i = 0; i < COUNT(backward_rules); i++)
    if (strcmp(name, backward_rules[i].name) == 0) rule.backward = &backward_rules[i];
  for (size_t i = 0; i < COUNT(motions); i++)
    if (strcmp(name, motions[i].name) == 0) rule.motion = motions[i].motion;
  read_contract(&rule, contract_find(name));
  rule.parameters = parameters_of(name);
  rule.slices = strcmp(name, "slice") == 0;
  rule.casts = strcmp(name, "cast") == 0;
  rule.subtracts = strcmp(name, "subtract") == 0;
  bool entropy = strncmp(name, "cross_entropy", 13) == 0;
  rule.slope = strstr(name, "_train") != NULL;
  rule.differs = strcmp(name, "mse_train") == 0;
  rule.silent = entropy && !rule.slope;
  rule.wants_targets = entropy;
  rule.wants_ids = strncmp(name, "embedding", 9) == 0;
  rule.counts = strcmp(name, "positions") == 0;
  rule.turns = strcmp(name, "rope") == 0;
  if (rule.backward == NULL) return rule;
  rule.backward_of[0] = kernel_named(plan, rule.backward->forward);
  rule.backward_of[1] = kernel_named(plan, rule.backward->other);
  rule.biased = strcmp(rule.backward->other, "add") == 0;
  return rule;
}

Rule *rules_find(const View *view) {
  const Plan *plan = view->plan;
  Rule *rules = prove_array(view, plan->kernels_count, sizeof *rules);
  for (uint32_t k = 0; rules != NULL && k < plan->kernels_count; k++)
    rules[k] = rule_of(plan, plan_string(plan, plan->kernels[k].name));
  return rules;
}

/* roles.c -- what the numbers of a record are that carries out no node: how parameters begin, how
 * they are updated, what is cleared, added up and sent. */
#include <string.h>

#include "compiler/prove/records/case.h"
#include "runtime/plan/plan_text.h"

static const PlanParameter *parameter_of(Case *c) {
  for (uint32_t i = 0; i < c->plan->parameters_count; i++)
    if (c->plan->parameters[i].value == c->record->value) return &c->plan->parameters[i];
  case_wrong(c, "is about no parameter");
  return NULL;
}

static bool is_kernel(const Case *c, KernelId kernel) {
  return c->contract != NULL && c->contract->id == kernel;
}

static int64_t operand_elements(const Case *c, uint32_t operand) {
  if (operand >= c->record->operands_count) return 0;
  const PlanOperand *of = case_operand(c, operand);
  return (int64_t)(of->size_bytes / (uint64_t)dtype_bytes((DType)of->dtype));
}

/* Elements that the rank has of a parameter: of its part, or of an equal piece of that. */
static int64_t own_elements(Case *c, uint32_t operand) {
  Part part = case_part(c, operand);
  if (operand < c->record->operands_count && case_operand(c, operand)->value != c->record->value)
    case_wrong(c, "operand %u is of another parameter", operand);
  return part.layout->flat_axes != 0 ? part.layout->piece : part_elements(c, &part);
}

/* ---- initial values */

/* One dim at most is cut, and what is padding stands at the end: init kernels know no more. */
static uint32_t cut_dim(Case *c, const Part *part) {
  uint32_t cut = part->count;
  for (uint32_t i = 0; i < part->count; i++) {
    if (i > 0 && part->dim[i].real_size != part->dim[i].size)
      case_wrong(c, "padding is not at the end");
    if (part->dim[i].cuts_count == 0) continue;
    if (cut != part->count) case_wrong(c, "two dims are cut");
    cut = i;
  }
  return cut;
}

static int64_t flat_member(Case *c, uint32_t axes) {
  int64_t member = 0;
  c->axes |= axes;
  for (uint32_t axis = 0; axis < c->plan->axes_count; axis++)
    if (axes >> axis & 1u) member = member * axis_size(c, axis) + c->coordinate[axis];
  return member;
}

static void init_numbers(Case *c, const PlanParameter *parameter) {
  Part part = case_part(c, 0);
  uint32_t cut = cut_dim(c, &part);
  int64_t elements = part_elements(c, &part), real = 1;
  int64_t behind = cut < part.count ? part_product(c, &part, cut + 1, part.count) : elements;
  for (uint32_t i = 0; i < part.count; i++)
    real *= part.dim[i].real_size;
  bool is_cut = cut < part.count;
  case_dim(c, own_elements(c, 0));
  case_dim(c, elements);
  case_dim(c, is_cut ? dim_local(c, &part.dim[cut]) * behind : elements);
  case_dim(c, is_cut ? part.dim[cut].size * behind : elements);
  case_dim(c, real);
  int64_t first = is_cut ? dim_first(c, &part.dim[cut], 0, part.dim[cut].cuts_count) * behind : 0;
  case_attr(c, parameter->init_a);
  case_attr(c, parameter->init_b);
  case_attr(c, (double)(flat_member(c, part.layout->flat_axes) * part.layout->piece));
  case_attr(c, (double)first);
}

static void init(Case *c) {
  static const KernelId kernels[InitKind_COUNT] = {KERNEL_init_normal, KERNEL_init_uniform,
                                                   KERNEL_init_constant};
  const PlanParameter *parameter = parameter_of(c);
  if (parameter == NULL) return;
  if (is_kernel(c, KERNEL_cast)) { /* the rounding of a master */
    case_dim(c, own_elements(c, 0));
    return;
  }
  if (!is_kernel(c, kernels[parameter->init]))
    case_wrong(c, "the parameter begins %s", InitKind_names[parameter->init]);
  else
    init_numbers(c, parameter);
  c->key = parameter->key;
}

/* What is cleared is zero, all of it. */
static void clear(Case *c) {
  if (!is_kernel(c, KERNEL_init_constant)) {
    case_wrong(c, "what must be zero is filled with something else");
    return;
  }
  for (int32_t i = 0; i < c->contract->dim_count; i++)
    case_dim(c, operand_elements(c, 0));
  for (int32_t i = 0; i < c->contract->attr_count; i++)
    case_attr(c, 0);
}

/* ---- norm and update */

static bool has_master(const Case *c) {
  for (uint32_t i = 0; i < c->plan->tensors_count; i++)
    if (c->plan->tensors[i].kind == BUFFER_MASTER && c->plan->tensors[i].value == c->record->value)
      return true;
  return false;
}

static void update(Case *c) {
  static const KernelId kernels[Optimizer_COUNT][2] = {{KERNEL_adamw, KERNEL_adamw_master},
                                                       {KERNEL_sgd, KERNEL_sgd_master}};
  const PlanJob *job = &c->plan->jobs[0];
  const PlanParameter *parameter = parameter_of(c);
  if (parameter == NULL) return;
  if (!is_kernel(c, kernels[job->optimizer][has_master(c)]))
    case_wrong(c, "the job's optimizer is %s%s", Optimizer_names[job->optimizer],
               has_master(c) ? ", of a master" : "");
  case_dim(c, own_elements(c, 0));
  for (uint32_t i = 1; i < c->record->operands_count; i++)
    if (own_elements(c, i) != c->dims[0]) case_wrong(c, "operand %u has other elements", i);
  if (job->optimizer == OPTIMIZER_ADAMW) {
    case_attr(c, job->beta1);
    case_attr(c, job->beta2);
    case_attr(c, job->eps);
  } else {
    case_attr(c, job->momentum);
  }
  case_attr(c, parameter->decay ? job->weight_decay : 0);
}

static void norm(Case *c) {
  if (c->record->value != PLAN_NONE) {
    if (!is_kernel(c, KERNEL_square_sum)) case_wrong(c, "adds up no squares");
    case_dim(c, parameter_of(c) != NULL ? own_elements(c, 0) : 0);
  } else if (is_kernel(c, KERNEL_sum) || is_kernel(c, KERNEL_grad_norm)) {
    case_dim(c, operand_elements(c, 0));
    if (is_kernel(c, KERNEL_grad_norm)) case_attr(c, c->plan->jobs[0].clip);
  } else if (c->record->kind != RECORD_ALL_REDUCE) {
    case_wrong(c, "is no part of a norm");
  }
}

/* ---- what is moved */

/* Shares of parameters, one piece each, make up the whole. */
static void pieces(Case *c, uint32_t whole) {
  const PlanRecord *record = c->record;
  const int64_t *dim = c->plan->ints + record->dims_first;
  int64_t members = record->comm == PLAN_NONE ? 1 : plan_comm_size(c->plan, record->comm);
  int64_t elements = 0;
  for (uint32_t i = 0; i + 1 < record->dims_count; i += 2) {
    if (dim[i] != 1) case_wrong(c, "a parameter moves in %lld pieces", (long long)dim[i]);
    elements += dim[i] * dim[i + 1];
  }
  if (elements * members != operand_elements(c, whole))
    case_wrong(c, "its pieces do not make up the whole");
  c->any_dims = true;
}

/* Both ends of the model hold a tied parameter: its gradients meet over the whole depth. */
static void join(Case *c) {
  int64_t depth = 1;
  for (uint32_t axis = 0; axis < c->plan->axes_count; axis++)
    if (c->plan->axes[axis].divides == DIVIDES_DEPTH) depth *= axis_size(c, axis);
  int64_t first = c->record->dims_count > 0 ? c->plan->ints[c->record->dims_first] : 0;
  int64_t distance = first < 0 ? 1 - depth : depth - 1;
  for (uint32_t i = 0; i < c->record->operands_count; i++)
    case_dim(c, distance);
}

static void add_dense(Case *c) {
  case_dim(c, 1);
  case_dim(c, operand_elements(c, 0));
  case_dim(c, 1);
  broadcast_merge(c->dims, &c->dims_count);
}

static void reduce(Case *c) {
  switch ((RecordKind)c->record->kind) {
  case RECORD_ALL_REDUCE: return;
  case RECORD_REDUCE_SCATTER: pieces(c, 0); return;
  case RECORD_EXCHANGE: join(c); return;
  case RECORD_KERNEL:
    if (is_kernel(c, KERNEL_cast)) {
      case_dim(c, operand_elements(c, 0));
      return;
    }
    if (is_kernel(c, KERNEL_add)) {
      add_dense(c);
      return;
    }
    break;
  default: break;
  }
  case_wrong(c, "is no part of a reduction");
}

static void gather(Case *c) {
  if (c->record->kind != RECORD_ALL_GATHER)
    case_wrong(c, "gathers nothing");
  else
    pieces(c, c->record->operands_count - 1);
}

/* Losses, weights and requests of all ranks. */
static void control(Case *c) {
  uint32_t all = 0;
  for (uint32_t axis = 0; axis < c->plan->axes_count; axis++)
    if (axis_size(c, axis) > 1) all |= 1u << axis;
  if (c->record->kind != RECORD_ALL_REDUCE || c->record->comm == PLAN_NONE ||
      c->plan->comms[c->record->comm].axes_mask != all)
    case_wrong(c, "does not reach every rank");
}

static void expect_kind(Case *c, RecordKind kind) {
  if (c->record->kind != (uint32_t)kind)
    case_wrong(c, "a %s should be there", RecordKind_names[kind]);
}

void rule_of_role(Case *c) {
  switch ((Purpose)c->record->purpose) {
  case PURPOSE_INIT: init(c); return;
  case PURPOSE_CLEAR: clear(c); return;
  case PURPOSE_NORM: norm(c); return;
  case PURPOSE_UPDATE: update(c); return;
  case PURPOSE_GATHER: gather(c); return;
  case PURPOSE_REDUCE: reduce(c); return;
  case PURPOSE_CONTROL: control(c); return;
  case PURPOSE_LOAD: expect_kind(c, RECORD_LOAD); return;
  case PURPOSE_TRANSFER:
    expect_kind(c, RECORD_EXCHANGE);
    c->any_dims = true;
    return;
  default: case_wrong(c, "there is no rule for its purpose");
  }
}

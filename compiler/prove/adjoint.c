/* adjoint.c -- what goes backward is what went forward, turned round.
 *
 * Every value is named by what made it (adjoint.h). An operation that goes forward is remembered by
 * its path, layer and micro-batch with the names of its operands, and each value with its uses.
 * Then
 *
 * - an operation that goes backward has gone forward, and reads the values, sizes and attributes
 *   that it had then, computed once or again;
 * - the gradient that it reads is the sum of one part from each use of what it made: no use is left
 *   out, none counts twice. Additions, casts and collectives hand gradients on as they are;
 * - the gradients of parameters that it makes are of those that it read;
 * - a loss reads targets, and an embedding no targets.
 *
 * What other classes use of a value, and what is copied to other strides, is not followed: of such
 * values the gradient is not judged. Parameters that are gathered, and gradients in blocks of one
 * layer, are not matched with each other. */
#include "compiler/prove/adjoint.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/plan/limits.h"

enum { NO = 255 };

/* Operations that go forward: what they make, and which operands have its gradient for theirs. */
static const struct ForwardKernel {
  const char *name;
  uint8_t output;
  bool hands_on;
} forward_kernels[] = {
    {"embedding", 2, false},
    {"linear", 2, false},
    {"linear_bias", 3, false},
    {"layernorm", 3, false},
    {"rmsnorm", 2, false},
    {"rope", 1, false},
    {"attention", 3, false},
    {"gelu", 1, false},
    {"silu", 1, false},
    {"relu", 1, false},
    {"tanh", 1, false},
    {"multiply", 2, false},
    {"affine", 1, false},
    {"dropout", 1, false},
    {"cross_entropy_train", 0, false},
    {"cross_entropy_parts_train", 0, false},
    {"mse_train", 3, false},
    {"add", 2, true},
    {"cast", 1, true},
};

/* Pairs are (operand backward, operand forward); NO: none. */
static const struct BackwardKernel {
  const char *name, *forward, *other; /* kernels */
  uint8_t gradient;                   /* operand: of what the operation made */
  uint8_t reads[3][2], makes[3][2], parameters[2][2];
  uint8_t dims, attrs; /* that are those of the operation */
} backward_kernels[] = {
/* clang-format off */
#define END_PAIR {NO, NO}
    {"linear_dx", "linear", "linear_bias", 0, {{1, 1}, END_PAIR}, {{2, 0}, END_PAIR}, {END_PAIR}, 4, 0},
    {"linear_dw", "linear", "linear_bias", 1, {{0, 0}, END_PAIR}, {END_PAIR}, {{2, 1}, END_PAIR}, 4, 0},
    {"linear_db", "linear_bias", "add", 0, {END_PAIR}, {END_PAIR}, {{1, 2}, END_PAIR}, 0, 0},
    {"layernorm_backward", "layernorm", "", 0, {{1, 0}, {2, 1}, {3, 4}}, {{4, 0}, END_PAIR}, {{5, 1}, {6, 2}}, 2, 0},
    {"rmsnorm_backward", "rmsnorm", "", 0, {{1, 0}, {2, 1}, {3, 3}}, {{4, 0}, END_PAIR}, {{5, 1}, END_PAIR}, 2, 0},
    {"attention_backward", "attention", "", 0, {{1, 0}, {2, 1}, {3, 2}}, {{6, 0}, {7, 1}, {8, 2}}, {END_PAIR}, 8, 10},
    {"gelu_backward", "gelu", "", 0, {{1, 0}, END_PAIR}, {{2, 0}, END_PAIR}, {END_PAIR}, 1, 0},
    {"silu_backward", "silu", "", 0, {{1, 0}, END_PAIR}, {{2, 0}, END_PAIR}, {END_PAIR}, 1, 0},
    {"relu_backward", "relu", "", 0, {{1, 0}, END_PAIR}, {{2, 0}, END_PAIR}, {END_PAIR}, 1, 0},
    {"tanh_backward", "tanh", "", 0, {{1, 0}, END_PAIR}, {{2, 0}, END_PAIR}, {END_PAIR}, 1, 0},
    {"embedding_backward", "embedding", "", 0, {{1, 1}, END_PAIR}, {END_PAIR}, {{2, 0}, END_PAIR}, 3, 1},
/* clang-format on */
#undef END_PAIR
};

#define FINDING(a, ...)                                                                            \
  prove_finding((a)->view, (a)->walk, (a)->record_index, "adjoint", __VA_ARGS__)

/* ---- naming */

static uint64_t here(const Adjoint *a) {
  uint64_t name = adjoint_mix(a->record->path + 1, (uint64_t)a->walk->call->layer + 2);
  return adjoint_mix(name, (uint64_t)a->walk->microbatch + 2);
}

static const char *kernel_name(const Adjoint *a) {
  return plan_string(a->view->plan, a->view->plan->kernels[a->record->kernel].name);
}

static uint64_t use_here(const Adjoint *a, uint32_t operand) {
  return adjoint_mix(adjoint_mix(5, here(a)), operand + 1);
}

/* Everything that decides what an operation makes. */
static uint64_t name_of(const Adjoint *a, const Worth *worth) {
  const Plan *plan = a->view->plan;
  uint64_t name = adjoint_mix(here(a), a->record->kernel);
  for (uint32_t i = 0; i < a->record->operands_count && i < KERNEL_OPERANDS_MAX; i++)
    if (operand_of(a, i)->access != ACCESS_WRITE) name = adjoint_mix(name, worth[i].name);
  for (uint32_t i = 0; i < a->record->dims_count; i++)
    name = adjoint_mix(name, (uint64_t)plan->ints[a->record->dims_first + i]);
  return name;
}

/* ---- forward */

static bool is_scratch(const Adjoint *a, uint32_t index) {
  const char *at = kernel_contract(kernel_name(a));
  for (; at != NULL && index > 0; index--) {
    at += strcspn(at, " ");
    at += *at == ' ';
  }
  return at != NULL && *at == 'S';
}

static void write_results(Adjoint *a, uint64_t name, Worth worth) {
  for (uint32_t i = 0; i < a->record->operands_count; i++) {
    Place p = adjoint_place(a, i);
    if (p.access == ACCESS_READ) continue;
    if (is_scratch(a, i)) {
      adjoint_drop(a, &p);
      continue;
    }
    worth.name = adjoint_mix(name, i);
    adjoint_write(a, &p, worth);
  }
}

/* Operands of a kernel whose gradients the backward kernels of the table make for a tensor. */
static uint32_t parameters_of(const char *name) {
  uint32_t operands = 0;
  for (size_t k = 0; k < sizeof backward_kernels / sizeof *backward_kernels; k++) {
    const BackwardKernel *kernel = &backward_kernels[k];
    bool other = strcmp(kernel->other, name) == 0 && strcmp(name, "add") != 0;
    if (strcmp(kernel->forward, name) != 0 && !other) continue;
    for (uint32_t i = 0; i < 2 && kernel->parameters[i][0] != NO; i++)
      operands |= 1u << kernel->parameters[i][1];
  }
  return operands;
}

static void check_are_parameters(const Adjoint *a, const Forward *forward) {
  uint32_t operands = parameters_of(kernel_name(a));
  for (uint32_t i = 0; i < FORWARD_OPERANDS; i++)
    if (operands >> i & 1u && forward->parameter[i] == 0)
      FINDING(a, "operand %u should be a parameter", i);
}

/* At the end: every parameter that was read has its gradient from there. */
static void check_turned(const Adjoint *a) {
  const Plan *plan = a->view->plan;
  for (size_t k = 0; k < a->uses.forward_count; k++) {
    const Forward *f = &a->uses.forwards[k];
    const PlanRecord *record = &plan->records[f->record];
    const char *name = plan_string(plan, plan->kernels[record->kernel].name);
    if (parameters_of(name) & ~f->turned)
      prove_finding(a->view, NULL, -1, "adjoint",
                    "%.24s %.60s read parameters, and makes no gradient of them", name,
                    plan_string(plan, record->path));
  }
}

static void remember(Adjoint *a, const ForwardKernel *kernel, uint64_t name, const Worth *worth,
                     const bool *exact) {
  Forward forward = {.place = here(a),
                     .record = (uint32_t)(a->record - a->view->plan->records),
                     .output = kernel->output};
  for (uint32_t i = 0; i < a->record->operands_count && i < FORWARD_OPERANDS; i++) {
    Place p = adjoint_place(a, i);
    forward.name[i] = p.access == ACCESS_READ ? worth[i].name : adjoint_mix(name, i);
    forward.parameter[i] = adjoint_parameter(a, &p);
    if (is_scratch(a, i)) forward.name[i] = 0;
  }
  if (!uses_forward(&a->uses, forward)) return; /* again, the same */
  check_are_parameters(a, &forward);
  bool views = strcmp(kernel->name, "attention") == 0;
  for (uint32_t i = 0; i < a->record->operands_count; i++) {
    Place p = adjoint_place(a, i);
    if (p.access == ACCESS_WRITE || is_scratch(a, i) || p.stands == NULL) continue;
    if (!kernel->hands_on)
      adjoint_use(a, &p, exact[i], views, use_here(a, i));
    else if (exact[i])
      uses_alias(&a->uses, worth[i].name, adjoint_mix(name, kernel->output));
    else
      adjoint_unclear(a, &p);
  }
}

/* What is known to be data is used as such. */
static void check_inputs(const Adjoint *a, const Worth *worth) {
  const Plan *plan = a->view->plan;
  const char *name = kernel_name(a);
  uint32_t input = a->record->operands_count > 1 ? worth[1].input : 0;
  bool targets = input != 0 && plan->inputs[input - 1].role == INPUT_TARGETS;
  if (strncmp(name, "cross_entropy", 13) == 0 && !targets)
    FINDING(a, "operand 1 should be targets");
  if (strncmp(name, "embedding", 9) == 0 && targets) FINDING(a, "operand 1 should be no targets");
}

/* A loss that is trained leaves the slope in place of what it read, or in an operand of its own. */
static bool makes_slope(const ForwardKernel *kernel) {
  return strstr(kernel->name, "_train") != NULL;
}

static void go_forward(Adjoint *a, const ForwardKernel *kernel, const Worth *worth,
                       const bool *exact) {
  uint64_t name = name_of(a, worth);
  remember(a, kernel, name, worth, exact);
  Worth result = {.nature = NATURE_VALUE};
  if (makes_slope(kernel))
    result = (Worth){.nature = NATURE_GRADIENT, .known = true, .sum = use_here(a, 0)};
  write_results(a, name, result);
}

/* ---- backward */

static bool same_numbers(const Adjoint *a, const BackwardKernel *kernel, const PlanRecord *then) {
  const Plan *plan = a->view->plan;
  const PlanRecord *now = a->record;
  if (now->dims_count < kernel->dims || then->dims_count < kernel->dims ||
      now->attrs_count < kernel->attrs || then->attrs_count < kernel->attrs)
    return false;
  return memcmp(&plan->ints[now->dims_first], &plan->ints[then->dims_first],
                kernel->dims * sizeof *plan->ints) == 0 &&
         memcmp(&plan->reals[now->attrs_first], &plan->reals[then->attrs_first],
                kernel->attrs * sizeof *plan->reals) == 0;
}

static bool is_kernel(const Adjoint *a, const PlanRecord *record, const char *name) {
  return strcmp(plan_string(a->view->plan, a->view->plan->kernels[record->kernel].name), name) == 0;
}

static bool is_of(const Adjoint *a, const BackwardKernel *kernel, const PlanRecord *then) {
  return is_kernel(a, then, kernel->forward) || is_kernel(a, then, kernel->other);
}

/* The operation whose gradient this is; NULL and a finding: there is none. Rows of its result may
 * be cut out, and those of what it read with them. */
static Forward *find_forward(const Adjoint *a, const BackwardKernel *kernel, const Worth *worth) {
  bool any = false;
  for (Forward *f = uses_find(&a->uses, here(a)); f != NULL; f = uses_next(&a->uses, f)) {
    const PlanRecord *then = &a->view->plan->records[f->record];
    if (!is_of(a, kernel, then)) continue;
    any = true;
    bool same = true, sliced = false;
    for (uint32_t i = 0; i < 3 && kernel->reads[i][0] != NO; i++) {
      const Worth *now = &worth[kernel->reads[i][0]];
      uint64_t name = f->name[kernel->reads[i][1]];
      same = same && (now->name == name || (now->whole != 0 && now->whole == name));
      sliced = sliced || now->name != name;
    }
    if (same && (sliced || same_numbers(a, kernel, then))) return f;
  }
  if (any)
    FINDING(a,
            "reads other values, sizes or attributes than the operation whose gradient it makes");
  else
    FINDING(a, "makes the gradient of what has not been computed");
  return NULL;
}

static void check_gradient(Adjoint *a, const Forward *f, const Worth *gradient) {
  uint64_t sum = 0;
  if (!uses_sum(&a->uses, f->name[f->output], &sum)) return;
  if (!gradient->known || gradient->nature != NATURE_GRADIENT)
    FINDING(a, "reads no gradient of what the operation made");
  else if (gradient->sum != sum)
    FINDING(a, "reads a gradient that has not one part from each use of what the operation made");
}

static void check_parameters(const Adjoint *a, const BackwardKernel *kernel, Forward *f) {
  for (uint32_t i = 0; i < 2 && kernel->parameters[i][0] != NO; i++) {
    Place made = adjoint_place(a, kernel->parameters[i][0]);
    /* A bias of a sum over ranks is added behind it. */
    bool adds = is_kernel(a, &a->view->plan->records[f->record], "add");
    uint32_t then = adds ? 1 : kernel->parameters[i][1];
    uint64_t tensor = adjoint_tensor(a, &made), read = f->parameter[then];
    if (f->turned >> then & 1u) FINDING(a, "makes the gradient of operand %u again", then);
    f->turned |= 1u << then;
    if (tensor != 0 && read > 1 && tensor != read)
      FINDING(a, "operand %u: the gradient of another tensor than the operation read",
              kernel->parameters[i][0]);
  }
}

static void go_backward(Adjoint *a, const BackwardKernel *kernel, const Worth *worth) {
  Forward *f = find_forward(a, kernel, worth);
  if (f != NULL) {
    check_gradient(a, f, &worth[kernel->gradient]);
    check_parameters(a, kernel, f);
  }
  uint64_t name = name_of(a, worth);
  write_results(a, name, (Worth){.nature = NATURE_GRADIENT});
  for (uint32_t i = 0; i < 3 && kernel->makes[i][0] != NO; i++) {
    Place p = adjoint_place(a, kernel->makes[i][0]);
    if (p.stands != NULL) stands_remove(p.stands, p.first, p.end);
  }
  for (uint32_t i = 0; i < 3 && kernel->makes[i][0] != NO; i++) {
    Place p = adjoint_place(a, kernel->makes[i][0]);
    adjoint_write(a, &p,
                  (Worth){.name = adjoint_mix(name, i),
                          .nature = NATURE_GRADIENT,
                          .known = true,
                          .sum = use_here(a, kernel->makes[i][1])});
  }
}

/* A product's gradient with respect to one factor is its own gradient times the other. */
static uint32_t factor_of(const Forward *f, const Worth *worth) {
  if (worth[1].name == f->name[1] || worth[0].name == f->name[1]) return 0;
  return worth[1].name == f->name[0] || worth[0].name == f->name[0] ? 1 : NO;
}

/* Kernels that go both ways. */
/* rows cols x_stride y_stride: all of one to all of the other. */
static bool copies_all(const Adjoint *a) {
  const int64_t *dim = a->view->plan->ints + a->record->dims_first;
  return strcmp(kernel_name(a), "copy") == 0 && dim[1] == dim[2] && dim[1] == dim[3];
}

static void pass_gradient(Adjoint *a, const Worth *worth) {
  static const char *const same_again[] = {"rope", "affine", "dropout"};
  const char *name = kernel_name(a);
  uint64_t made = name_of(a, worth);
  Worth result = {.nature = NATURE_GRADIENT};
  if (strcmp(name, "add") == 0)
    result.known = worth[0].known && worth[1].known, result.sum = worth[0].sum + worth[1].sum;
  if (strcmp(name, "cast") == 0 || strcmp(name, "sum_to") == 0 || copies_all(a))
    result.known = worth[0].known, result.sum = worth[0].sum;
  for (const Forward *f = uses_find(&a->uses, here(a)); f != NULL; f = uses_next(&a->uses, f)) {
    if (!is_kernel(a, &a->view->plan->records[f->record], name)) continue;
    const Worth *gradient = &worth[0];
    uint32_t operand = NO;
    for (size_t i = 0; i < sizeof same_again / sizeof *same_again; i++)
      if (strcmp(name, same_again[i]) == 0) operand = 0;
    if (strcmp(name, "multiply") == 0) {
      operand = factor_of(f, worth);
      if (worth[1].nature == NATURE_GRADIENT) gradient = &worth[1];
      if (operand == NO)
        FINDING(a, "multiplies by other values than the operation whose gradient it makes");
    }
    if (operand == NO) continue;
    check_gradient(a, f, gradient);
    result.known = true;
    result.sum = use_here(a, operand);
    break;
  }
  write_results(a, made, result);
}

/* ---- what is not followed */

static void go_unclear(Adjoint *a, const Worth *worth, bool gradient) {
  static const char *const silent[] = {"cross_entropy_stats", "cross_entropy",
                                       "cross_entropy_parts"};
  static const char *const moves[] = {"slice", "copy"};
  const char *name = kernel_name(a);
  bool counts = true;
  for (size_t i = 0; i < sizeof silent / sizeof *silent; i++)
    counts = counts && strcmp(name, silent[i]) != 0;
  bool known = true;
  Worth result = {.nature = gradient ? NATURE_GRADIENT : NATURE_VALUE};
  for (size_t i = 0; i < sizeof moves / sizeof *moves; i++)
    if (strcmp(name, moves[i]) == 0) result.input = worth[0].input, result.whole = worth[0].name;
  for (uint32_t i = 0; i < a->record->operands_count; i++) {
    Place p = adjoint_place(a, i);
    if (p.access == ACCESS_WRITE || is_scratch(a, i)) continue;
    if (counts) adjoint_unclear(a, &p);
    known = known && worth[i].nature != NATURE_UNKNOWN;
  }
  if (!known) result.nature = NATURE_UNKNOWN;
  write_results(a, name_of(a, worth), result);
}

static void run_kernel(Adjoint *a) {
  Worth worth[KERNEL_OPERANDS_MAX] = {{0}};
  bool exact[KERNEL_OPERANDS_MAX] = {false}, gradient = false, clear = true;
  for (uint32_t i = 0; i < a->record->operands_count && i < KERNEL_OPERANDS_MAX; i++) {
    Place p = adjoint_place(a, i);
    if (p.access == ACCESS_WRITE || is_scratch(a, i)) continue;
    worth[i] = adjoint_worth(&p, &exact[i]);
    gradient = gradient || worth[i].nature == NATURE_GRADIENT;
    clear = clear && worth[i].nature != NATURE_UNKNOWN;
  }
  const ForwardKernel *forward = a->forward[a->record->kernel];
  const BackwardKernel *backward = a->backward[a->record->kernel];
  check_inputs(a, worth);
  if (backward != NULL)
    go_backward(a, backward, worth);
  else if (gradient)
    pass_gradient(a, worth);
  else if (forward != NULL && clear)
    go_forward(a, forward, worth, exact);
  else
    go_unclear(a, worth, gradient);
}

/* ---- communication */

/* What a communication hands on unchanged, however often it does so. */
static void alias_once(Adjoint *a, uint64_t name, uint64_t of) {
  bool fresh = false;
  const Known *known = uses_of(&a->uses, adjoint_mix(of, 3), &fresh);
  if (known != NULL && fresh) uses_alias(&a->uses, name, of);
}

static bool is_within(const Adjoint *a, uint32_t operand) {
  const Plan *plan = a->view->plan;
  uint32_t self = (uint32_t)(a->view->class - plan->classes);
  return class_at_distance(plan, self, a->record->comm,
                           plan->ints[a->record->dims_first + operand]) == self;
}

/* The k-th operand that comes is what another rank's k-th that goes is here. */
static void run_exchange(Adjoint *a) {
  const Plan *plan = a->view->plan;
  Worth sent[KERNEL_OPERANDS_MAX];
  uint32_t count = 0, taken = 0;
  for (uint32_t i = 0; i < a->record->operands_count && i < KERNEL_OPERANDS_MAX; i++) {
    Place p = adjoint_place(a, i);
    bool exact = false;
    if (p.access != ACCESS_READ) continue;
    Worth worth = adjoint_worth(&p, &exact);
    uint64_t before = worth.name;
    worth.name = adjoint_mix(before, (uint64_t)plan->ints[a->record->dims_first + i]);
    if (is_within(a, i)) sent[count++] = worth;
    if (is_within(a, i) && exact && worth.nature == NATURE_VALUE)
      alias_once(a, before, worth.name);
    else
      adjoint_unclear(a, &p);
  }
  for (uint32_t i = 0; i < a->record->operands_count; i++) {
    Place p = adjoint_place(a, i);
    if (p.access == ACCESS_READ || p.buffer == PLAN_NONE) continue;
    uint32_t kind = plan->buffers[p.buffer].kind;
    Worth came = {.name = adjoint_mix(adjoint_mix(a->walk->position, a->record_index), i),
                  .nature = kind == BUFFER_ACTIVATION        ? NATURE_VALUE
                            : kind == BUFFER_GRAD_ACTIVATION ? NATURE_GRADIENT
                                                             : NATURE_UNKNOWN};
    came.name = adjoint_mix(came.name, a->walk->iteration + 13);
    if (is_within(a, i) && taken < count) came = sent[taken++];
    came.input = 0;
    adjoint_write(a, &p, came);
  }
}

/* In place, what goes into a gather is the rank's own pieces. */
static Worth pieces_at(Adjoint *a, const Place *p) {
  Worth all = {.nature = NATURE_VALUE};
  Pieces pieces = pieces_begin(a->walk, a->record, p->first);
  Place piece = *p;
  bool exact = false;
  while (pieces_range(&pieces, &piece.first, &piece.end)) {
    Worth worth = adjoint_worth(&piece, &exact);
    all.name = adjoint_mix(all.name, worth.name);
    all.nature = worth.nature;
    adjoint_unclear(a, &piece);
  }
  return all;
}

/* Shards of tensors become a block of rows: a row is named by its shard, whatever is gathered along
 * with it. */
static void gather_tensors(Adjoint *a, const Place *from, const Place *to) {
  const Plan *plan = a->view->plan;
  const int64_t *pair = plan->ints + a->record->dims_first;
  uint64_t unit = (uint64_t)dtype_bytes((DType)operand_of(a, 0)->dtype);
  uint64_t members = plan_comm_size(plan, a->record->comm);
  Place row = *to, share = *from;
  for (uint32_t i = 0; i + 1 < a->record->dims_count; i += 2) {
    uint64_t bytes = (uint64_t)pair[i] * (uint64_t)pair[i + 1] * unit;
    bool exact = false;
    share.end = share.first + bytes, row.end = row.first + bytes * members;
    Worth worth = adjoint_worth(&share, &exact);
    worth.name = adjoint_mix(worth.name, plan->comms[a->record->comm].axes_mask);
    adjoint_write(a, &row, worth);
    share.first = share.end, row.first = row.end;
  }
}

static void run_collective(Adjoint *a) {
  const Plan *plan = a->view->plan;
  Place from = adjoint_place(a, 0), to = adjoint_place(a, a->record->operands_count - 1);
  bool exact = false, gathers = a->record->kind == RECORD_ALL_GATHER && record_in_place(a->record);
  if (gathers && from.stands == NULL) return; /* tensors stay what they are */
  if (a->record->kind == RECORD_ALL_GATHER && from.stands == NULL && to.stands != NULL) {
    gather_tensors(a, &from, &to);
    return;
  }
  if (gathers && !pieces_are_few(a->walk, a->record_index)) return;
  Worth worth = gathers ? pieces_at(a, &from) : adjoint_worth(&from, &exact);
  uint64_t before = worth.name;
  worth.name = adjoint_mix(adjoint_mix(before, a->record->kind + 17),
                           plan->comms[a->record->comm].axes_mask);
  for (uint32_t i = 0; i < a->record->dims_count; i++)
    worth.name = adjoint_mix(worth.name, (uint64_t)plan->ints[a->record->dims_first + i]);
  if (worth.nature == NATURE_VALUE && from.stands != NULL) {
    if (exact)
      alias_once(a, before, worth.name);
    else
      adjoint_unclear(a, &from);
  }
  adjoint_write(a, &to, worth);
}

static void run_load(Adjoint *a) {
  for (uint32_t i = 0; i < a->record->operands_count; i++) {
    Place p = adjoint_place(a, i);
    uint64_t name = adjoint_mix(adjoint_mix(19, i), (uint64_t)a->walk->microbatch + 2);
    adjoint_write(a, &p, (Worth){.name = name, .nature = NATURE_VALUE, .input = i + 1});
  }
}

/* ---- */

static void run_program(Adjoint *a, const PlanProgram *program) {
  a->walk_now = walk_begin(a->view, program);
  a->walk = &a->walk_now;
  while (walk_next(&a->walk_now)) {
    for (a->record_index = 0; a->record_index < a->walk->segment->records_count;
         a->record_index++) {
      a->record = walk_record(a->walk, a->record_index);
      if (!walk_runs(a->walk, a->record) || a->record->operands_count == 0) continue;
      switch ((RecordKind)a->record->kind) {
      case RECORD_KERNEL: run_kernel(a); break;
      case RECORD_LOAD: run_load(a); break;
      case RECORD_EXCHANGE: run_exchange(a); break;
      default: run_collective(a); break;
      }
    }
  }
}

static void find_kernels(Adjoint *a) {
  const Plan *plan = a->view->plan;
  for (uint32_t k = 0; k < plan->kernels_count; k++) {
    const char *name = plan_string(plan, plan->kernels[k].name);
    for (size_t i = 0; i < sizeof forward_kernels / sizeof *forward_kernels; i++)
      if (strcmp(name, forward_kernels[i].name) == 0) a->forward[k] = &forward_kernels[i];
    for (size_t i = 0; i < sizeof backward_kernels / sizeof *backward_kernels; i++)
      if (strcmp(name, backward_kernels[i].name) == 0) a->backward[k] = &backward_kernels[i];
  }
}

void prove_adjoint(const View *view) {
  const PlanProgram *program = view_program(view, PROGRAM_TRAIN_STEP);
  if (program == NULL) return;
  Adjoint a = {.view = view};
  a.stands = prove_array(view, view->class->buffers_count, sizeof *a.stands);
  a.forward = prove_array(view, view->plan->kernels_count, sizeof *a.forward);
  a.backward = prove_array(view, view->plan->kernels_count, sizeof *a.backward);
  if (a.stands != NULL && a.forward != NULL && a.backward != NULL) {
    find_kernels(&a);
    run_program(&a, program);
    check_turned(&a);
    if (a.failed || a.uses.failed)
      prove_finding(view, NULL, -1, "adjoint", "out of memory while proving");
    for (uint32_t i = 0; i < view->class->buffers_count; i++)
      free(a.stands[i].at);
  }
  uses_close(&a.uses);
  free(a.stands), free(a.forward), free(a.backward);
}

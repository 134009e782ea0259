/* adjoint.c -- what goes backward is what went forward, turned round.
 *
 * Every value is named by what made it, or by which part of another it is (adjoint.h). An operation
 * that goes forward is remembered by its path, layer and micro-batch with the names of its
 * operands, and each value with its uses. Then
 *
 * - an operation that goes backward has gone forward, and reads the values, sizes and attributes
 *   that it had then, computed once or again;
 * - the gradient that it reads is the sum of one part from each use of what it made: no use is left
 *   out, none counts twice, none stands where another part of the value belongs. Additions, casts,
 *   copies and communications hand gradients on as they are;
 * - the gradients of parameters that it makes are of those that it read, wherever they were
 *   gathered to and however they travel home;
 * - a loss reads targets, and an embedding tokens or positions;
 * - what a record writes is nothing else that it reads or writes, but where a kernel may.
 *
 * A value that goes to another class has one use there: the gradient that comes back, which must be
 * what is missing. What came from another class has its whole gradient sent back, once. */
#include "compiler/prove/adjoint.h"

#include <stdlib.h>
#include <string.h>

enum { NO = NO_OPERAND };

/* ---- naming */

static uint64_t here(const Adjoint *a) {
  uint64_t name = hash_mix(a->record->path + 1, (uint64_t)a->walk->call->layer + 2);
  return hash_mix(name, (uint64_t)a->walk->microbatch + 2);
}

static uint64_t use_of(uint64_t op, uint32_t operand) {
  return hash_mix(hash_mix(5, op), operand + 1);
}

static uint64_t bits_of(double number) {
  uint64_t bits = 0;
  memcpy(&bits, &number, sizeof bits);
  return bits;
}

/* Everything that decides what an operation makes. */
static uint64_t name_of(const Adjoint *a, const Worth *worth) {
  const Plan *plan = a->view->plan;
  uint64_t name = hash_mix(hash_mix(here(a), a->record->kernel), a->record->key);
  for (uint32_t i = 0; i < a->record->operands_count; i++)
    if (a->place[i].access != ACCESS_WRITE) name = hash_mix(name, worth[i].name);
  for (uint32_t i = 0; i < a->record->dims_count; i++)
    name = hash_mix(name, (uint64_t)plan->ints[a->record->dims_first + i]);
  for (uint32_t i = 0; i < a->record->attrs_count; i++)
    name = hash_mix(name, bits_of(plan->reals[a->record->attrs_first + i]));
  return name;
}

static const Rule *rule_of(const Adjoint *a, const PlanRecord *record) {
  return &a->rules[record->kernel];
}

static bool is_scratch(const Adjoint *a, uint32_t index) {
  return rule_of(a, a->record)->scratch >> index & 1u;
}

/* ---- forward */

static void write_results(Adjoint *a, uint64_t name, Worth worth) {
  for (uint32_t i = 0; i < a->record->operands_count; i++) {
    if (a->place[i].access == ACCESS_READ) continue;
    worth.name = hash_mix(name, i);
    if (is_scratch(a, i))
      adjoint_drop(a, &a->place[i]);
    else
      adjoint_write(a, &a->place[i], worth);
  }
}

static void check_are_parameters(const Adjoint *a, const Forward *forward) {
  for (uint32_t i = 0; i < FORWARD_OPERANDS; i++)
    if (rule_of(a, a->record)->parameters >> i & 1u && forward->tensor[i] == 0)
      ADJOINT_FINDING(a, "operand %u should be a parameter", i);
}

/* At the end: every parameter that was read has its gradient from there. */
static void check_turned(const Adjoint *a) {
  const Plan *plan = a->view->plan;
  for (size_t k = 0; k < a->uses.forward_count; k++) {
    const Forward *f = &a->uses.forwards[k];
    const PlanRecord *record = &plan->records[f->record];
    if (rule_of(a, record)->parameters & ~f->turned)
      prove_finding(a->view, NULL, -1, "adjoint",
                    "%.24s %.60s read parameters, and makes no gradient of them",
                    plan_string(plan, plan->kernels[record->kernel].name),
                    plan_string(plan, record->path));
  }
}

/* What a sum of y = scale x + shift does to gradients: nothing that another number would. */
static uint64_t scale_factor(double scale) {
  if (scale == 0 || scale == 1) return scale == 1;
  return scale == -1 ? UINT64_MAX : hash_mix(37, bits_of(scale)) | 1;
}

/* The gradient of an operand that is handed on, in gradients of the result. */
static uint64_t factor_of(const Adjoint *a, uint32_t operand) {
  const Plan *plan = a->view->plan;
  const Rule *rule = rule_of(a, a->record);
  if (rule->motion == MOTION_SCALE) return scale_factor(plan->reals[a->record->attrs_first]);
  return rule->subtracts && operand == 1 ? scale_factor(-1) : 1;
}

/* The result of which an operand is a summand, or all; NO: of none. */
static uint32_t handed_on_to(const ForwardRule *rule, uint32_t operand) {
  for (uint32_t i = 0; i < 4 && rule->handed_on[i][0] != NO; i++)
    if (rule->handed_on[i][0] == operand) return rule->handed_on[i][1];
  return NO;
}

/* Of a squared difference, the gradients of the two are opposite. The factors of a square are one
 * value, whose gradient is twice that of a factor. */
static uint64_t use_by(const Adjoint *a, uint64_t name, uint32_t operand, const Worth *worth) {
  const Rule *rule = rule_of(a, a->record);
  bool square = rule->motion == MOTION_MULTIPLY && worth[0].name == worth[1].name;
  if (square) return operand == 0 ? scale_factor(2) * use_of(name, 0) : 0;
  return rule->differs && operand == 1 ? 0 - use_of(name, 0) : use_of(name, operand);
}

static Forward forward_of(const Adjoint *a, uint64_t name, const Worth *worth) {
  Forward forward = {.place = here(a),
                     .op = name,
                     .record = (uint32_t)(a->record - a->view->plan->records),
                     .output = rule_of(a, a->record)->forward->output};
  for (uint32_t i = 0; i < a->record->operands_count && i < FORWARD_OPERANDS; i++) {
    const Place *p = &a->place[i];
    if (is_scratch(a, i)) continue;
    forward.name[i] = p->access == ACCESS_READ ? worth[i].name : hash_mix(name, i);
    if (p->access != ACCESS_READ) continue;
    forward.tensor[i] = p->stands == NULL ? adjoint_tensor(a, p->first, p->end) : worth[i].tensor;
  }
  return forward;
}

static void remember(Adjoint *a, uint64_t name, const Worth *worth, const bool *followed) {
  Forward forward = forward_of(a, name, worth);
  if (!uses_forward(&a->uses, forward)) return; /* again, the same */
  check_are_parameters(a, &forward);
  for (uint32_t i = 0; i < a->record->operands_count; i++) {
    const Place *p = &a->place[i];
    if (p->access == ACCESS_WRITE || is_scratch(a, i) || p->stands == NULL) continue;
    uint32_t to = handed_on_to(rule_of(a, a->record)->forward, i);
    if (!followed[i])
      adjoint_unclear(a, p, &worth[i], false);
    else if (to != NO)
      uses_alias(&a->uses, worth[i].name, hash_mix(name, to), factor_of(a, i));
    else
      uses_add(&a->uses, worth[i].name, use_by(a, name, i, worth));
  }
}

/* What is known to be data is used as such. */
static void check_inputs(const Adjoint *a, const Worth *worth) {
  const Rule *rule = rule_of(a, a->record);
  if (!rule->wants_targets && !rule->wants_ids) return;
  uint32_t input = a->record->operands_count > 1 ? worth[1].input : 0;
  bool loaded = input != 0 && input != POSITIONS;
  bool targets = loaded && a->view->plan->inputs[input - 1].role == INPUT_TARGETS;
  bool columns = loaded && a->view->plan->inputs[input - 1].role == INPUT_COLUMNS;
  if (rule->wants_targets && !targets && !columns)
    ADJOINT_FINDING(a, "operand 1 should be targets");
  int64_t vocab = targets || columns ? a->view->plan->inputs[input - 1].vocab : 0;
  int64_t classes = rule->wants_targets ? a->view->plan->ints[a->record->dims_first + 2] : vocab;
  if (vocab > classes)
    ADJOINT_FINDING(a, "%lld classes for ids below %lld", (long long)classes, (long long)vocab);
  if (rule->wants_ids && (input == 0 || targets))
    ADJOINT_FINDING(a, "operand 1 should be tokens or positions");
}

static void go_forward(Adjoint *a, const Worth *worth, const bool *followed) {
  const Rule *rule = rule_of(a, a->record);
  uint64_t name = name_of(a, worth);
  remember(a, name, worth, followed);
  Worth result = {.nature = NATURE_VALUE};
  if (rule->slices) result.whole = worth[0].name, result.input = worth[0].input;
  if (rule->slope)
    result = (Worth){.nature = NATURE_GRADIENT, .known = true, .sum = use_of(name, 0)};
  write_results(a, name, result);
}

/* ---- backward */

static bool same_vary(const Plan *plan, const PlanVary *now, const PlanVary *then) {
  return now->attr == then->attr && now->by == then->by && now->stride == then->stride &&
         now->values_count == then->values_count &&
         memcmp(&plan->reals[now->values_first], &plan->reals[then->values_first],
                now->values_count * sizeof *plan->reals) == 0;
}

/* The first dims and attributes, on every rank; and the random stream. */
static bool same_numbers(const Adjoint *a, uint32_t dims, uint32_t attrs, const PlanRecord *then) {
  const Plan *plan = a->view->plan;
  const PlanRecord *now = a->record;
  if (now->dims_count < dims || then->dims_count < dims || now->attrs_count < attrs ||
      then->attrs_count < attrs || now->key != then->key)
    return false;
  if (attrs > 0 && now->varies_count != then->varies_count) return false;
  for (uint32_t i = 0; attrs > 0 && i < now->varies_count; i++)
    if (!same_vary(plan, &plan->varies[now->varies_first + i],
                   &plan->varies[then->varies_first + i]))
      return false;
  return memcmp(&plan->ints[now->dims_first], &plan->ints[then->dims_first],
                dims * sizeof *plan->ints) == 0 &&
         memcmp(&plan->reals[now->attrs_first], &plan->reals[then->attrs_first],
                attrs * sizeof *plan->reals) == 0;
}

static bool is_of(const Adjoint *a, const PlanRecord *then) {
  const uint32_t *of = rule_of(a, a->record)->backward_of;
  return then->kernel == of[0] || then->kernel == of[1];
}

/* Is the gradient the sum of what it should be, as far as that is known? */
static bool right_sum(Adjoint *a, const Forward *f, const Worth *gradient) {
  uint64_t sum = 0;
  return !uses_sum(&a->uses, f->name[f->output], &sum) || carry_right_sum(a, gradient, sum);
}

/* Does the operation read what it read then? What it read of others' results may have been handed
 * on since; rows may be cut out of it, and of its result. */
static bool reads_same(const Adjoint *a, const BackwardRule *rule, const Forward *f,
                       const Worth *worth) {
  const PlanRecord *then = &a->view->plan->records[f->record];
  bool sliced = false;
  for (uint32_t i = 0; i < READS_MAX && rule->reads[i][0] != NO; i++) {
    const Worth *now = &worth[rule->reads[i][0]];
    uint64_t name = f->name[rule->reads[i][1]];
    bool own = rule->reads[i][1] >= f->output;
    if (now->name == name || (own && uses_reach(&a->uses, name, now->name))) continue;
    if (now->whole == 0 || now->whole != name) return false;
    sliced = true;
  }
  return sliced || same_numbers(a, rule->dims, rule->attrs, then);
}

/* The operation whose gradient this is; NULL and a finding: there is none. */
static Forward *find_forward(Adjoint *a, const BackwardRule *rule, const Worth *worth) {
  Forward *found = NULL;
  bool any = false;
  for (Forward *f = uses_find(&a->uses, here(a)); f != NULL; f = uses_next(&a->uses, f)) {
    if (!is_of(a, &a->view->plan->records[f->record])) continue;
    any = true;
    if (!reads_same(a, rule, f, worth)) continue;
    found = f;
    if (right_sum(a, f, &worth[rule->gradient])) return f;
  }
  if (found == NULL && any)
    ADJOINT_FINDING(
        a, "reads other values, sizes or attributes than the operation whose gradient it makes");
  else if (found == NULL)
    ADJOINT_FINDING(a, "makes the gradient of what has not been computed");
  return found;
}

static void check_gradient(Adjoint *a, const Forward *f, const Worth *gradient) {
  if (right_sum(a, f, gradient)) return;
  if (!gradient->known || gradient->nature != NATURE_GRADIENT)
    ADJOINT_FINDING(a, "reads no gradient of what the operation made");
  else
    ADJOINT_FINDING(
        a, "reads a gradient that has not one part from each use of what the operation made");
}

/* The operand of the operation whose gradient operand `made` is, a parameter's; NO: none. */
static uint32_t parameter_of(const Adjoint *a, const BackwardRule *rule, const Forward *f,
                             uint32_t made) {
  for (uint32_t i = 0; i < PARAMETERS_MAX && rule->parameters[i][0] != NO; i++) {
    if (rule->parameters[i][0] != made) continue;
    /* A bias of a sum over ranks is added behind it. */
    bool adds = rule_of(a, &a->view->plan->records[f->record])->motion == MOTION_ADD;
    return adds ? 1 : rule->parameters[i][1];
  }
  return NO;
}

static void make_parameter(Adjoint *a, Forward *f, uint32_t made, uint32_t then, uint64_t name) {
  const Place *p = &a->place[made];
  uint64_t tensor = p->stands == NULL ? adjoint_tensor(a, p->first, p->end) : f->tensor[then];
  if (f->turned >> then & 1u) ADJOINT_FINDING(a, "makes the gradient of operand %u again", then);
  f->turned |= 1u << then;
  if (tensor != f->tensor[then])
    ADJOINT_FINDING(a, "operand %u: the gradient of another tensor than the operation read", made);
  adjoint_write(
      a, p,
      (Worth){.name = hash_mix(name, made), .nature = NATURE_GRADIENT, .tensor = f->tensor[then]});
}

static void make(Adjoint *a, const BackwardRule *rule, Forward *f, uint32_t made, uint64_t name) {
  uint32_t parameter = parameter_of(a, rule, f, made);
  Worth worth = {.name = hash_mix(name, made), .nature = NATURE_GRADIENT};
  if (parameter != NO) {
    make_parameter(a, f, made, parameter, name);
    return;
  }
  for (uint32_t i = 0; i < MAKES_MAX && rule->makes[i][0] != NO; i++)
    if (rule->makes[i][0] == made) worth.known = true, worth.sum = use_of(f->op, rule->makes[i][1]);
  adjoint_write(a, &a->place[made], worth);
}

static void go_backward(Adjoint *a, const Worth *worth) {
  const BackwardRule *rule = rule_of(a, a->record)->backward;
  Forward *f = find_forward(a, rule, worth);
  if (f == NULL) return; /* and nothing more is to be learned */
  check_gradient(a, f, &worth[rule->gradient]);
  uint64_t name = name_of(a, worth);
  for (uint32_t i = 0; i < a->record->operands_count; i++) {
    if (a->place[i].access == ACCESS_READ) continue;
    if (is_scratch(a, i))
      adjoint_drop(a, &a->place[i]);
    else
      make(a, rule, f, i, name);
  }
}

/* ---- kernels that go both ways */

/* A product's gradient with respect to one factor is its own gradient times the other. */
static uint32_t factor_read(const Forward *f, const Worth *worth) {
  if (worth[1].name == f->name[1] || worth[0].name == f->name[1]) return 0;
  return worth[1].name == f->name[0] || worth[0].name == f->name[0] ? 1 : NO;
}

/* What goes backward as it went forward does so by the same numbers; strides may differ, and what
 * turns, turns back. Heads turn alike, so a rank may turn some of them. */
static bool goes_again(const Adjoint *a, const PlanRecord *then) {
  enum { TOKEN_DIMS = 2, HEAD = 3, SIGN = 1 };
  const Plan *plan = a->view->plan;
  const PlanRecord *now = a->record;
  if (!rule_of(a, now)->turns) return same_numbers(a, now->dims_count, now->attrs_count, then);
  const int64_t *dims = &plan->ints[now->dims_first], *dims_then = &plan->ints[then->dims_first];
  const double *to = &plan->reals[now->attrs_first], *from = &plan->reals[then->attrs_first];
  bool same = same_numbers(a, TOKEN_DIMS, 1, then) && dims[HEAD] == dims_then[HEAD] &&
              now->attrs_count == then->attrs_count;
  for (uint32_t i = SIGN + 1; same && i < now->attrs_count; i++)
    same = to[i] == from[i];
  return same && to[SIGN] == -from[SIGN];
}

/* The operation that went forward here by the same kernel, and the operand whose gradient this is.
 * NULL: there was none. */
static Forward *find_same(Adjoint *a, const Worth *worth, uint32_t *operand) {
  bool product = rule_of(a, a->record)->motion == MOTION_MULTIPLY;
  const Worth *gradient = product && worth[1].nature == NATURE_GRADIENT ? &worth[1] : &worth[0];
  Forward *found = NULL;
  bool any = false;
  for (Forward *f = uses_find(&a->uses, here(a)); f != NULL; f = uses_next(&a->uses, f)) {
    const PlanRecord *then = &a->view->plan->records[f->record];
    if (then->kernel != a->record->kernel) continue;
    any = true;
    uint32_t of = product ? factor_read(f, worth) : 0;
    if (of == NO || (!product && !goes_again(a, then))) continue;
    found = f, *operand = of;
    if (right_sum(a, f, gradient)) return f;
  }
  if (found != NULL) check_gradient(a, found, gradient);
  if (found == NULL && !any)
    ADJOINT_FINDING(a, "makes the gradient of what has not been computed");
  else if (found == NULL)
    ADJOINT_FINDING(a,
                    "goes by other values or numbers than the operation whose gradient it makes");
  return found;
}

/* Sums over rows may be the gradient of a parameter: of one that an operation here read. */
static uint64_t parameter_here(const Adjoint *a, const Place *p) {
  uint64_t tensor = p->stands == NULL ? adjoint_tensor(a, p->first, p->end) : 0;
  bool any = false;
  for (const Forward *f = uses_find(&a->uses, here(a)); f != NULL; f = uses_next(&a->uses, f))
    for (uint32_t i = 0; i < FORWARD_OPERANDS; i++) {
      if (f->tensor[i] != 0 && (p->stands != NULL || f->tensor[i] == tensor)) return f->tensor[i];
      any = any || f->tensor[i] != 0;
    }
  if (any && tensor != 0)
    ADJOINT_FINDING(a, "makes the gradient of another tensor than the operation read");
  return 0;
}

static bool is_for_parameters(const Adjoint *a, const Place *p) {
  if (p->stands == NULL) return true;
  return a->view->plan->buffers[p->buffer].kind == BUFFER_GRAD;
}

static void pass_gradient(Adjoint *a, const Worth *worth) {
  Worth result = {.nature = NATURE_GRADIENT};
  const Place *place = a->place;
  switch (rule_of(a, a->record)->motion) {
  case MOTION_ADD:
    result.known = worth[0].known && worth[1].known, result.sum = worth[0].sum + worth[1].sum;
    result.came = carry_came(&worth[0], &worth[1]);
    break;
  case MOTION_SCALE: {
    uint64_t factor = factor_of(a, 0);
    result.known = worth[0].known || factor == 0, result.sum = worth[0].sum * factor;
    if (worth[0].came != 0 && factor != 0) result.came = factor == 1 ? worth[0].came : CAME_SEVERAL;
    break;
  }
  case MOTION_SAME:
    result.known = worth[0].known, result.sum = worth[0].sum, result.came = worth[0].came;
    break;
  case MOTION_AGAIN:
  case MOTION_MULTIPLY: {
    uint32_t operand = NO;
    const Forward *f = find_same(a, worth, &operand);
    if (f == NULL) break;
    result.known = true, result.sum = use_of(f->op, operand);
    break;
  }
  default: break;
  }
  const Place *last = &place[a->record->operands_count - 1];
  if (is_for_parameters(a, last)) result.tensor = parameter_here(a, last);
  write_results(a, name_of(a, worth), result);
}

/* What comes out is what went in. */
static void go_copy(Adjoint *a, const Worth *worth, bool followed) {
  Worth copy = worth[0];
  if (copy.nature == NATURE_VALUE && !followed) {
    adjoint_unclear(a, &a->place[0], &copy, false);
    copy.name = name_of(a, worth);
  }
  adjoint_write(a, &a->place[1], copy);
}

/* ---- what is not followed */

static void go_unclear(Adjoint *a, const Worth *worth, const bool *followed, bool gradient) {
  bool known = true;
  Worth result = {.nature = gradient ? NATURE_GRADIENT : NATURE_VALUE};
  for (uint32_t i = 0; i < a->record->operands_count; i++) {
    if (a->place[i].access == ACCESS_WRITE || is_scratch(a, i)) continue;
    if (!rule_of(a, a->record)->silent) adjoint_unclear(a, &a->place[i], &worth[i], followed[i]);
    known = known && worth[i].nature != NATURE_UNKNOWN;
  }
  if (!known) result.nature = NATURE_UNKNOWN;
  if (rule_of(a, a->record)->slices) result.input = worth[0].input;
  if (rule_of(a, a->record)->counts) result.input = POSITIONS;
  write_results(a, name_of(a, worth), result);
}

/* Padding between rows is no gradient, and does not keep them from moving. */
static bool go_by_rows(Adjoint *a, const Rule *rule) {
  const Place *place = a->place;
  if (rule->casts) return carry_rows(a, &place[0], &place[1]);
  return rule->motion == MOTION_ADD && carry_sum(a, &place[2], &place[1]);
}

static void run_kernel(Adjoint *a) {
  const Rule *rule = rule_of(a, a->record);
  if (go_by_rows(a, rule)) return;
  Worth worth[KERNEL_OPERANDS_MAX] = {{0}};
  bool followed[KERNEL_OPERANDS_MAX] = {false}, gradient = false, clear = true;
  for (uint32_t i = 0; i < a->record->operands_count; i++) {
    if (a->place[i].access == ACCESS_WRITE || is_scratch(a, i)) continue;
    worth[i] = adjoint_worth(a, &a->place[i], &followed[i]);
    gradient = gradient || worth[i].nature == NATURE_GRADIENT;
    clear = clear && worth[i].nature != NATURE_UNKNOWN;
  }
  check_inputs(a, worth);
  if (rule->motion == MOTION_COPY)
    go_copy(a, worth, followed[0]);
  else if (rule->backward != NULL)
    go_backward(a, worth);
  else if (gradient)
    pass_gradient(a, worth);
  else if (rule->forward != NULL && clear)
    go_forward(a, worth, followed);
  else
    go_unclear(a, worth, followed, gradient);
}

static void run_load(Adjoint *a) {
  for (uint32_t i = 0; i < a->record->operands_count; i++) {
    uint64_t name = hash_mix(hash_mix(19, i), (uint64_t)a->walk->microbatch + 2);
    adjoint_write(a, &a->place[i], (Worth){.name = name, .nature = NATURE_VALUE, .input = i + 1});
  }
}

/* ---- */

static void run_program(Adjoint *a, const PlanProgram *program) {
  a->walk_now = walk_begin(a->view, program);
  a->walk = &a->walk_now;
  while (walk_next(&a->walk_now)) {
    if (a->view->repeats.again[a->walk->position]) continue;
    for (a->record_index = 0; a->record_index < a->walk->segment->records_count;
         a->record_index++) {
      a->record = walk_record(a->walk, a->record_index);
      if (!walk_runs(a->walk, a->record) || a->record->operands_count == 0) continue;
      adjoint_places(a);
      adjoint_check_apart(a);
      switch ((RecordKind)a->record->kind) {
      case RECORD_KERNEL: run_kernel(a); break;
      case RECORD_LOAD: run_load(a); break;
      case RECORD_EXCHANGE: carry_exchange(a); break;
      default: carry_collective(a); break;
      }
    }
  }
}

void prove_adjoint(const View *view) {
  const PlanProgram *program = view_program(view, PROGRAM_TRAIN_STEP);
  if (program == NULL) return;
  Adjoint a = {.view = view};
  a.stands = prove_array(view, view->class->buffers_count, sizeof *a.stands);
  a.rules = rules_find(view);
  if (a.stands != NULL && a.rules != NULL && homes_open(&a)) {
    run_program(&a, program);
    check_turned(&a);
    if (a.failed || a.uses.failed)
      prove_finding(view, NULL, -1, "adjoint", "out of memory while proving");
    for (uint32_t i = 0; i < view->class->buffers_count; i++)
      free(a.stands[i].at);
  }
  uses_close(&a.uses);
  free(a.stands), free(a.rules), free(a.homes), free(a.came), free(a.guests);
}

/* types.c -- the proof by types: the plan computes the model that it states.
 *
 * Memory is typed: every span of a buffer holds a value of the model, of some layer and micro-batch
 * and with a layout along each axis of the mesh, or nothing that may be read. Every record is a
 * typing rule: its operands must hold its node's values, and its results then hold the node's
 * results. A record without a rule is refused. The nodes are the model. Other properties show that
 * backward nodes are the derivatives of forward nodes, and that a record is a faithful call of its
 * node's kernel.
 *
 * Before a step every parameter, master and moment is old; at its end each is new, at the same
 * address. */

#include <string.h>

#include "compiler/plan/prove/types/typing.h"
#include "runtime/plan/plan_control.h"
#include "runtime/plan/plan_job.h"
#include "runtime/plan/plan_text.h"

/* ---- persistent tensors, between programs: by the plan's table of tensors */

static bool is_maxima(const PlanTensor *tensor) {
  return tensor->kind == BUFFER_MOMENT1_MAX || tensor->kind == BUFFER_MOMENT2_MAX;
}

/* The layout of the rank's elements that a tensor is about: that of the codes for their maxima. */
static uint32_t elements_layout(const Typing *t, const PlanTensor *tensor) {
  const PlanClass *class = t->view->class;
  for (uint32_t i = class->tensors_first;
       is_maxima(tensor) && i < class->tensors_first + class->tensors_count; i++)
    if (t->plan->tensors[i].kind == BUFFER_MOMENT1 && t->plan->tensors[i].value == tensor->value)
      return t->plan->tensors[i].layout;
  return tensor->layout;
}

/* The type that the table of tensors gives. */
static Type tensor_type(const Typing *t, const Standing *at) {
  const PlanTensor *tensor = &t->plan->tensors[at->tensor];
  const uint32_t layout = elements_layout(t, tensor);
  Type type = {.kind = TYPE_STATE,
               .dtype = (uint8_t)tensor->dtype,
               .state = (uint8_t)tensor->kind,
               .ref = tensor->value,
               .layer = at->layer < 0 ? TYPE_ANY : at->layer,
               .microbatch = TYPE_ANY};
  type.piece = t->plan->layouts[layout].piece;
  layout_places(t->plan, layout, type.place);
  return type;
}

/* True if the tensor's facts for checkpoints are those of its value. plan_check counts maxima. */
static bool is_of_value(const Plan *plan, const PlanTensor *tensor) {
  const PlanValue *value = &plan->values[tensor->value];
  return (is_maxima(tensor) || layouts_alike(plan, tensor->layout, value->layout)) &&
         strcmp(plan_string(plan, tensor->name), plan_string(plan, value->name)) == 0;
}

static void check_tensor(Typing *t, const Standing *at, uint64_t start, Spans *spans) {
  const PlanTensor *tensor = &t->plan->tensors[at->tensor];
  const ProgramKind kind = (ProgramKind)t->call.walk.program->kind;
  const Type state = tensor_type(t, at);
  const bool is_zero = tensor->kind == BUFFER_MOMENT1 || tensor->kind == BUFFER_MOMENT2 ||
                       is_maxima(tensor) || tensor->kind == BUFFER_COMPENSATION ||
                       (tensor->kind == BUFFER_MASTER && tensor->dtype == DTYPE_I16);
  Type wanted = kind == PROGRAM_INIT && is_zero ? zeros((DType)tensor->dtype) : state;
  const TypeSpan bytes = {.first = at->first, .end = at->first + tensor->size_bytes};
  const uint64_t first = bytes.first - start, end = bytes.end - start;
  const Type found = found_in(t, spans, first, end);
  if (tensor->kind == BUFFER_GRAD) return; /* a later step does not read it */
  if (tensor->value == PLAN_NONE || !is_of_value(t->plan, tensor)) {
    REFUSE(t, "tensor %.60s is saved as another", plan_string(t->plan, tensor->name));
    return;
  }
  wanted.is_new = tensor->kind == BUFFER_CACHE || kind == PROGRAM_TRAIN_STEP;
  const bool is_empty = tensor->kind == BUFFER_CACHE && kind == PROGRAM_INIT;
  if (!is_empty && memcmp(&found, &wanted, sizeof wanted) != 0)
    (void)refuse_at(t, &state, &bytes, "after %s tensor %.60s: expected %s, found %s",
                    ProgramKind_names[kind], plan_string(t->plan, tensor->name), told(t, &wanted),
                    told(t, &found));
  put(t, spans, first, end, &state);
}

/* Checks the types that a program leaves in memory at its end: after init every tensor has its
 * initial values; moments, maxima, compensations and lower halves are zeros, and caches have no
 * position yet; after a step everything is updated, and becomes the old state of the next;
 * evaluation changes nothing, and a pass of a sampled model has been appended to every cache.
 * Refuses anything else. */
static void tensors_check(Typing *t, Held *held) {
  const Cells *cells = &t->class.cells;
  Spans spans = {0};
  for (uint32_t i = 0; i < cells->standing_count && !t->class.refused;) {
    const Interval *in = lasting_cell(cells, cells->standing[i].first);
    contents_spans(&t->proof.types, held[in->number], 0, 0, &spans);
    for (; i < cells->standing_count && cells->standing[i].first < in->end; i++)
      check_tensor(t, &cells->standing[i], in->first, &spans);
    held[in->number] = contents_keep(&t->proof.types, &spans);
  }
}

/* The type at these addresses, relative to the micro-batch after the last one. */
static Type found_at(Typing *t, const Held *held, const TypeSpan *bytes) {
  const Interval *in = lasting_cell(&t->class.cells, bytes->first);
  Spans spans = {0};
  if (in == NULL) return (Type){0};
  contents_spans(&t->proof.types, held[in->number], 0, -1, &spans);
  return found_in(t, &spans, bytes->first - in->first, bytes->end - in->first);
}

uint64_t loss_address(const Typing *t, int32_t number) {
  return plan_address(plan_tier(t->plan, TIER_DEVICE), job_control_offset(t->plan)) +
         plan_slot(t->plan, CONTROL_loss)->offset + (uint64_t)number * 2 * CONTROL_SLOT_BYTES;
}

/* The value of a loss in a program, whose nodes have the paths of the main one's. */
static uint32_t loss_value(const Typing *t, int32_t number, uint32_t program) {
  const uint32_t made = t->proof.losses_made.at[number].node;
  const Plan *plan = t->plan;
  for (uint32_t r = 0; r < plan->regions_count && made != PLAN_NONE; r++) {
    const PlanRegion *region = &plan->regions[r];
    for (uint32_t i = 0; i < region->forward_count && region->program == program; i++) {
      const PlanNode *node = &plan->nodes[region->forward_first + i];
      if (node->path == plan->nodes[made].path && plan_makes_loss(plan, node))
        return t->proof.meaning.value[plan->uses[node->outputs_first].value].same;
    }
  }
  return PLAN_NONE;
}

/* The control block holds each loss of every micro-batch followed by its weight, summed over all
 * ranks. */
static void loss_check(Typing *t, const Held *held, int32_t number) {
  const uint64_t first = loss_address(t, number);
  const int32_t count = t->proof.losses_made.count;
  const uint64_t size = plan_loss_bytes(t->plan) / (uint64_t)count;
  const TypeSpan bytes = {.first = first, .end = first + size};
  const Type found = found_at(t, held, &bytes);
  t->call.walk.microbatch = -1;
  bool is_loss = found.kind == TYPE_SUM && t->plan->values[found.ref].kind == VALUE_LOSS &&
                 (count == 1 || found.ref == loss_value(t, number, t->call.walk.program->kind)) &&
                 sum_is_complete(t, &found);
  for (uint32_t axis = 0; axis < t->plan->axes_count; axis++)
    is_loss = is_loss && found.place[axis].kind == PLACE_WHOLE;
  bool elsewhere =
      /* a stage without the loss gets it with the sum of control values */
      found.kind == TYPE_NOTHING && has_stages(t);
  const char *program = ProgramKind_names[t->call.walk.program->kind];
  if (is_loss) t->proof.losses |= LOSS_BIT(t->call.walk.program->kind, number);
  if (t->call.walk.program->kind == PROGRAM_TRAIN_STEP && (t->class.made & MADE_SCALE) == 0 &&
      plan_slot(t->plan, CONTROL_loss_scale) != NULL)
    refuse_at(t, &found, NULL, "after %s the loss scale is that of the step before", program);
  else if (!has_totals(t))
    refuse_at(t, &found, NULL, "after %s the control values are of one rank alone", program);
  else if (!is_loss && !elsewhere)
    refuse_at(
        t, &found, &bytes,
        "after %s the control block: expected the loss%s%.40s of %lld micro-batch%s, found %s",
        program, count > 1 ? " " : "", count > 1 ? t->proof.losses_made.at[number].name : "",
        (long long)t->class.microbatches, plural_es(t->class.microbatches), told(t, &found));
}

/* Puts into `both` the persistent contents (states and zeros) that `from` and the other have in
 * common. */
static void keep_common(Types *types, const Spans *from, const Spans *other, Spans *both) {
  for (uint32_t i = 0; i < from->count; i++) {
    const TypeSpan *span = &from->at[i];
    const TypeKind kind = type_kind(types, span->type);
    if ((kind == TYPE_ZERO || kind == TYPE_STATE) &&
        same_type(spans_read(types, other, span->first, span->end), span->type))
      spans_write(types, both, *span);
  }
}

/* A step may read only types that both leave; where they differ it may read nothing. True:
 * `start` changed. */
static bool tensors_meet(Typing *t, Held *start, const Held *end) {
  bool changed = false;
  Spans mine = {0}, other = {0}, both = {0};
  for (uint32_t i = 0; i < t->class.cells.lasting_count; i++) {
    if (memcmp(&start[i], &end[i], sizeof start[i]) == 0) continue;
    contents_spans(&t->proof.types, start[i], 0, 0, &mine);
    contents_spans(&t->proof.types, end[i], 0, 0, &other);
    both.count = 0;
    keep_common(&t->proof.types, &mine, &other, &both);
    keep_common(&t->proof.types, &other, &mine,
                &both); /* zeros of one program may be part of zeros of the other */
    Held now = contents_keep(&t->proof.types, &both);
    changed = changed || memcmp(&now, &start[i], sizeof now) != 0;
    start[i] = now;
  }
  return changed;
}

/* ---- programs of a class */

static void run(Typing *t, ProgramKind kind, Held *held) {
  const PlanProgram *program = plan_program(t->plan, t->view->class, kind);
  if (program == NULL) {
    REFUSE(t, "there is no %s", ProgramKind_names[kind]);
    return;
  }
  t->class.microbatches = kind == PROGRAM_TRAIN_STEP ? job_accumulation(t->plan) : 1;
  run_program(t, program, held);
  for (int32_t i = 0; i < t->proof.losses_made.count && kind != PROGRAM_INIT; i++)
    if (!t->class.refused) loss_check(t, held, i);
  if (!t->class.refused) tensors_check(t, held);
}

/* The programs that run the model. */
static const ProgramKind kinds[] = {PROGRAM_TRAIN_STEP, PROGRAM_EVAL_STEP, PROGRAM_PREFILL,
                                    PROGRAM_DECODE};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Runs these programs until each begins with what init and all of them leave. */
static void run_steps(Typing *t, Held *start, Held *held) {
  const ProgramKind purpose = plan_purpose(t->plan);
  for (bool changed = true; changed && !t->class.refused;) {
    changed = false;
    for (uint32_t i = 0; i < KINDS && !t->class.refused; i++) {
      if (kinds[i] != purpose && plan_program(t->plan, t->view->class, kinds[i]) == NULL) continue;
      memcpy(held, start, t->class.cells.count * sizeof *held);
      run(t, kinds[i], held);
      changed = (!t->class.refused && tensors_meet(t, start, held)) || changed;
    }
  }
}

static bool has_regions(const Plan *plan, ProgramKind kind) {
  for (uint32_t i = 0; i < plan->regions_count; i++)
    if (plan->regions[i].program == (uint32_t)kind) return true;
  return false;
}

/* Checks that need all stages together. */
static void check_stages(Typing *t, uint64_t squares, const uint32_t losses[][LOSSES_MAX]) {
  t->call.walk.call = NULL;
  t->call.at = NULL;
  check_joins(t);
  if (!t->class.refused && plan_trains(t->plan) && squares != all_squares(t))
    REFUSE(t, "the norm is not of the square of each gradient once, over all stages");
  for (uint32_t i = 0; i < KINDS; i++)
    for (int32_t k = 0; k < t->proof.losses_made.count && !t->class.refused; k++)
      if (losses[kinds[i]][k] != has_regions(t->plan, kinds[i]))
        REFUSE(t, "%u classes of ranks make the loss of %s, not one", losses[kinds[i]][k],
               ProgramKind_names[kinds[i]]);
}

static void run_class(Typing *t) {
  t->class.cells = cells_open(t->view);
  t->class.refused = false;
  Held *start = ARENA_ARRAY(t->view->arena, Held, t->class.cells.count);
  Held *held = ARENA_ARRAY(t->view->arena, Held, t->class.cells.count);
  if (!t->class.refused) run(t, PROGRAM_INIT, start);
  if (!t->class.refused) run_steps(t, start, held);
}

/* Collectives meet between classes only where stages are added up: all ranks of a stage do the
 * same. */
static bool are_stages(const Plan *plan) {
  for (const PlanClass *class = plan->classes; class < plan->classes + plan->classes_count;
       class ++)
    for (uint32_t axis = 0; axis < plan->axes_count; axis++) {
      const PlanBound *bound = &plan->bounds[class->bounds_first + axis];
      bool is_depth = plan->axes[axis].divides == DIVIDES_DEPTH;
      if (bound->end - bound->first != (is_depth ? 1 : plan->axes[axis].size)) return false;
    }
  return true;
}

void prove_types(const View *views, uint32_t count) {
  const char *why =
      views[0].plan->axes_count > TYPE_AXES_MAX ? "the mesh has too many axes"
      : views[0].plan->regions_count == 0       ? "the plan does not say what it should compute"
      : !are_stages(views[0].plan)              ? "a class of ranks is not one stage, and all of it"
                                                : NULL;
  if (why != NULL) {
    prove_finding(&views[0], NULL, -1, "types", "%s", why);
    return;
  }
  Typing *t = ARENA_NEW(views->arena, Typing);
  t->view = &views[0];
  t->plan = views[0].plan;
  t->proof.meaning = meaning_open(&views[0]);
  t->proof.types = types_open(views->arena);
  t->proof.losses_made = plan_losses(t->plan);
  uint64_t squares = 0;
  uint32_t losses[ProgramKind_COUNT][LOSSES_MAX] = {0};
  bool refused = false;
  for (uint32_t i = 0; i < count; i++) {
    t->view = &views[i];
    t->proof.squares = 0;
    t->proof.losses = 0;
    run_class(t);
    squares += t->proof.squares;
    for (uint32_t kind = 0; kind < ProgramKind_COUNT; kind++)
      for (int32_t k = 0; k < LOSSES_MAX; k++)
        losses[kind][k] += (t->proof.losses & LOSS_BIT(kind, k)) != 0;
    refused = refused || t->class.refused;
  }
  if (!refused) check_stages(t, squares, losses);
}

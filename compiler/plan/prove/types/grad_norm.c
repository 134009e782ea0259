/* grad_norm.c -- the gradient norm: it has the square of every gradient exactly once, over all
 * layers, ranks and stages.
 *
 * A number that holds squares is treated as a set; its hash is the sum of the hashes of its
 * elements. */
#include <string.h>

#include "compiler/plan/prove/types/typing.h"

/* The hash of one layer's square of a parameter, relative to that layer. The hash of a set is the
 * sum over its elements. */
static uint64_t square_hash(uint32_t parameter, bool has_layers) {
  return hash_mix(hash_mix(0x5155415245u, parameter), has_layers);
}

/* The hash of the same set shifted by this many layers: multiplied by a power of an odd number,
 * which is invertible. */
static uint64_t squares_shifted(uint64_t squares, int32_t layers) {
  uint64_t factor = 0x9e3779b97f4a7c15u;
  for (; layers > 0; layers /= 2, factor *= factor)
    if (layers % 2 == 1) squares *= factor;
  return squares;
}

uint64_t all_squares(const Typing *t) {
  uint64_t sum = 0;
  for (uint32_t v = 0; v < t->plan->values_count; v++) {
    const PlanValue *value = &t->plan->values[v];
    if (value->kind != VALUE_PARAM || t->proof.meaning.value[v].same != v) continue;
    const PlanRegion *region = value->region == PLAN_NONE ? NULL : &t->plan->regions[value->region];
    bool has_layers = region != NULL && region->is_stack;
    for (int32_t layer = 0; layer < (has_layers ? region->repeat : 1); layer++)
      sum += squares_shifted(square_hash(v, has_layers), layer);
  }
  return sum;
}

/* ---- squares of one gradient */

/* Adjacent spans that hold squares of layers become one set, so that all layers leave one span,
 * however many there are. */
static void join_neighbours(Typing *t, Spans *spans, uint32_t first) {
  if (first + 1 >= spans->count || spans->at[first].end != spans->at[first + 1].first) return;
  const Type a = type_at(&t->proof.types, spans->at[first].type);
  const Type b = type_at(&t->proof.types, spans->at[first + 1].type);
  if (a.kind != TYPE_SQUARES || b.kind != TYPE_SQUARES || a.layer == TYPE_ANY ||
      b.layer == TYPE_ANY || memcmp(a.place, b.place, sizeof a.place) != 0)
    return;
  Type both = a;
  both.ref = PLAN_NONE;
  both.layer = a.layer < b.layer ? a.layer : b.layer;
  both.squares = squares_shifted(a.squares, a.layer - both.layer) +
                 squares_shifted(b.squares, b.layer - both.layer);
  put(t, spans, spans->at[first].first, spans->at[first + 1].end, &both);
}

static void write_squares(Typing *t, const Type *squares) {
  Where at = all_of(t, 1);
  TypeSpan met;
  if (next_span(t, &at, at.first, &met) && type_kind(&t->proof.types, met.type) == TYPE_SQUARES)
    REFUSE(t, "squares that no sum has read are overwritten");
  write_type(t, 1, squares);
  uint32_t here = spans_find(&at.reached->spans, at.first);
  join_neighbours(t, &at.reached->spans, here);
  if (here > 0) join_neighbours(t, &at.reached->spans, here - 1);
}

/* A rank squares the elements that it updates, which are those whose moments it holds. So each
 * piece of a row is squared by exactly one rank, and only after its reduction.
 */
static bool is_updated_here(Typing *t, const Type *gradient) {
  const PlanClass *class = t->view->class;
  Type wanted = *gradient;
  uint32_t i = class->tensors_first;
  while (i < class->tensors_first + class->tensors_count &&
         (t->plan->tensors[i].kind != BUFFER_MOMENT1 ||
          t->plan->tensors[i].value != t->call.at->value))
    i++;
  if (i == class->tensors_first + class->tensors_count)
    return REFUSE(t, "expected a gradient of a parameter that the rank updates");
  layout_places(t->plan, t->plan->tensors[i].layout, wanted.place);
  wanted.piece = t->plan->layouts[t->plan->tensors[i].layout].piece;
  return memcmp(gradient, &wanted, sizeof wanted) == 0 || refuse_operand(t, 0, gradient, &wanted);
}

static void square(Typing *t) {
  const Place owed = {.kind = PLACE_OWED, .style = REDUCE_SUM};
  Type gradient;
  if (!read_gradient(t, 0, &gradient)) return;
  for (uint32_t axis = 0; axis < t->plan->axes_count; axis++)
    if (gradient.place[axis].kind == PLACE_OWED)
      refuse_found(t, &gradient, "squares of partial sums");
  if (t->class.refused || !is_updated_here(t, &gradient)) return;
  Type squares = {.kind = TYPE_SQUARES,
                  .dtype = DTYPE_F64,
                  .ref = t->call.at->value,
                  .layer = gradient.layer,
                  .microbatch = TYPE_ANY,
                  .squares = square_hash(t->call.at->value, gradient.layer != TYPE_ANY)};
  const uint32_t stages = axes_dividing(t, DIVIDES_DEPTH);
  for (uint32_t axis = 0; axis < t->plan->axes_count; axis++)
    if (gradient.place[axis].kind != PLACE_WHOLE || (stages >> axis & 1) != 0)
      squares.place[axis] = owed;
  write_squares(t, &squares);
}

/* ---- sums of them */

/* Adds up the sets that some numbers hold. False: they are not squares, or are of other ranks. */
static bool add_squares(const Type *item, Type *sum) {
  if (item->kind == TYPE_ZERO) return true;
  if (item->kind != TYPE_SQUARES || (item->layer != TYPE_ANY && item->layer < 0) ||
      (sum->squares != 0 && memcmp(item->place, sum->place, sizeof sum->place) != 0))
    return false;
  memcpy(sum->place, item->place, sizeof sum->place);
  sum->squares += squares_shifted(item->squares, item->layer == TYPE_ANY ? 0 : item->layer);
  return true;
}

/* Every number of the operand must be a sum of squares, or zero. False: refused. */
static bool sum_squares(Typing *t, Type *sum) {
  Where at = all_of(t, 0);
  uint64_t next = at.first;
  *sum = (Type){.kind = TYPE_SQUARES,
                .dtype = DTYPE_F64,
                .ref = PLAN_NONE,
                .layer = TYPE_ANY,
                .microbatch = TYPE_ANY};
  for (TypeSpan span; next < at.end && next_span(t, &at, next, &span); next = span.end) {
    const Type item = type_at(&t->proof.types, span.type);
    if (span.first != next || span.end > at.end || !add_squares(&item, sum)) break;
  }
  const uint64_t start = at.reached->start;
  const TypeSpan bytes = {.first = start + next, .end = start + next + 1};
  if (next < at.end)
    (void)refuse_at(t, sum, &bytes,
                    "byte %llu of operand 0 is no sum of squares that the others can be added to",
                    (unsigned long long)(next - at.first));
  return !t->class.refused;
}

/* A hash of which numbers are summed over which ranks before the norm is taken. A stage has zeros
 * where others have squares, so its own types cannot show that a sum over stages is missing. */
static uint64_t norm_story(Typing *t) {
  const Where at = where(t, 0);
  const uint32_t norm = t->call.record;
  uint64_t story = hash_mix(1, at.end - at.first);
  for (t->call.record = 0; t->call.record < norm; t->call.record++) {
    t->call.at = walk_record(&t->call.walk, t->call.record);
    if (t->call.at->purpose != PURPOSE_NORM || t->call.at->kind != RECORD_ALL_REDUCE ||
        !walk_runs(&t->call.walk, t->call.at))
      continue;
    const Where sum = where(t, 0);
    story = hash_mix(hash_mix(story, sum.first - at.first), sum.end - sum.first);
    story = hash_mix(story, axes_of_comm(t, t->call.at->comm));
  }
  t->call.at = walk_record(&t->call.walk, norm);
  return story;
}

static void take_root(Typing *t) {
  Type sum;
  if (!sum_squares(t, &sum)) return;
  for (uint32_t axis = 0; axis < t->plan->axes_count; axis++)
    if (sum.place[axis].kind == PLACE_OWED)
      (void)refuse_along(t, axis, "the norm lacks the squares of other ranks", NULL);
  bool is_all = has_stages(t) || sum.squares == all_squares(t);
  if (t->call.walk.call->layer >= 0 || (t->class.made & MADE_NORM) != 0 || !is_all)
    REFUSE(t, "the norm is not of the square of each gradient once");
  uint64_t story = norm_story(t);
  if (t->proof.norm_story != 0 && t->proof.norm_story != story)
    REFUSE(t, "squares are summed over other ranks than on another stage");
  t->class.made |= MADE_NORM;
  t->call.tells_class = true;
  t->proof.squares = sum.squares;
  t->proof.norm_story = story;
}

/* The scale of the next step: written once, after the norm. All losses come before the norm,
 * because the gradients that it is of begin with their slopes. */
static void move_loss_scale(Typing *t) {
  if ((t->class.made & MADE_NORM) == 0)
    REFUSE(t, "the loss scale is changed before the norm has read it");
  if ((t->class.made & MADE_SCALE) != 0) REFUSE(t, "the loss scale is changed twice in a step");
  t->class.made |= MADE_SCALE;
  t->call.tells_class = true;
}

void type_grad_norm(Typing *t) {
  KernelRole role = t->call.at->kind == RECORD_KERNEL ? record_contract(t)->row->role : ROLE_NONE;
  Type sum;
  if (t->call.at->kind == RECORD_ALL_REDUCE)
    type_all_reduce(t);
  else if (role == ROLE_SQUARE_SUM)
    square(t);
  else if (role == ROLE_GRAD_NORM)
    take_root(t);
  else if (role == ROLE_LOSS_SCALE)
    move_loss_scale(t);
  else if (role != ROLE_SUM || t->call.walk.call->layer >= 0)
    REFUSE(t, "no rule says what it adds to the norm");
  else if (sum_squares(t, &sum))
    write_type(t, 1, &sum);
}

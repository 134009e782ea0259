/* transfers.c -- what goes from stage to stage. Both ends are held against the call's posts, which
 * are the same on both: communication.c compares them. */
#include <string.h>

#include "compiler/prove/types/typing.h"
#include "runtime/plan/plan_text.h"

/* What the post says of the operand. */
static Type posted(const Typing *t, uint32_t operand, const PlanPost *post) {
  const PlanMeaning *meaning = &t->plan->meanings[t->at->meaning];
  bool is_gradient = post->kind == BUFFER_GRAD_ACTIVATION;
  int32_t layer = t->walk.call->layer < 0 ? 0 : t->walk.call->layer;
  Type type = {.kind = TYPE_VALUE,
               .dtype = (uint8_t)t->plan->operands[t->at->operands_first + operand].dtype,
               .ref = meaning_carried(&t->meaning, (ProgramKind)t->walk.program->kind, post->depth,
                                      is_gradient),
               .layer = (int32_t)post->depth - layer,
               .microbatch = (int32_t)(post->microbatch + t->added) - t->walk.microbatch};
  layout_places(t->plan, meaning->before, type.place);
  for (uint32_t axis = 0; axis < t->plan->axes_count && axis < TYPE_AXES_MAX; axis++)
    if (t->plan->axes[axis].divides == DIVIDES_SAMPLES && t->plan->axes[axis].size > 1)
      type.place[axis] = (Place){.kind = PLACE_CUT};
  return type;
}

void type_transfer(Typing *t) {
  if (t->at->kind != RECORD_EXCHANGE) {
    refuse(t, "no rule says what it transfers");
    return;
  }
  for (uint32_t i = 0; i < t->at->operands_count && !t->refused; i++) {
    const PlanPost *post = &t->plan->posts[t->walk.call->posts_first + t->next_post];
    if (t->next_post++ >= t->walk.call->posts_count) {
      refuse(t, "operand %u has no post", i);
      return;
    }
    Type wanted = posted(t, i, post), found = read_type(t, i);
    if (wanted.ref == PLAN_NONE) {
      refuse(t, "operand %u is said to be behind layer %u, where nothing is carried", i,
             post->depth);
      return;
    }
    if (t->plan->operands[t->at->operands_first + i].access != ACCESS_READ)
      write_type(t, i, &wanted);
    else if (memcmp(&found, &wanted, sizeof found) != 0)
      refuse_operand(t, i, &found, &wanted);
  }
}

/* ---- a tied tensor: two stages each send the other what their uses add up to */

/* The uses that are in a sum, all of the step. */
static bool uses_of(const Typing *t, const Type *sum, uint64_t *uses) {
  bool all = sum->use_count == 1 && sum->use[0].first == USE_FROM_START &&
             (int64_t)sum->use[0].end + t->walk.microbatch == t->microbatches;
  *uses = all ? sum->use[0].nodes : 0;
  return all;
}

/* A step is looked at more than once. */
static void add_join(Typing *t, Join join) {
  for (uint32_t i = 0; i < t->join_count; i++)
    if (t->join[i].class == join.class && t->join[i].ref == join.ref &&
        t->join[i].uses == join.uses)
      return;
  t->join[t->join_count++] = join;
}

void type_join(Typing *t) {
  Type sum = t->at->operands_count == 2 ? read_type(t, 0) : (Type){0};
  uint64_t uses = 0;
  if (sum.kind != TYPE_SUM || sum.layer != TYPE_ANY || !uses_of(t, &sum, &uses) ||
      t->join_count == TYPING_JOINS_MAX) {
    char holds[TYPE_TEXT_BYTES];
    refuse(t, "it sends no gradient of a whole step to the other stage: %s",
           type_text(t->plan, &sum, holds));
    return;
  }
  add_join(t, (Join){t->view->class, sum.ref, uses});
  sum.use[0].nodes = all_uses(&t->meaning, sum.ref) & ~uses;
  write_type(t, 1, &sum);
}

/* Two stages for each tied tensor, which have all of its uses between them, each once. */
void check_joins(Typing *t) {
  for (uint32_t i = 0; i < t->join_count && !t->refused; i++) {
    uint64_t all = all_uses(&t->meaning, t->join[i].ref), others = 0;
    for (uint32_t k = 0; k < t->join_count; k++)
      if (k != i && t->join[k].ref == t->join[i].ref) others += t->join[k].uses;
    if (others != (all & ~t->join[i].uses))
      refuse(t, "stages do not have each use of %.60s once",
             plan_string(t->plan, t->plan->values[t->join[i].ref].name));
  }
}

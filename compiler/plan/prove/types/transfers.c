/* transfers.c -- transfers between stages. Both ends are checked against the call's posts, which
 * communication.c has shown to be the same on both. */
#include <string.h>

#include "compiler/plan/prove/types/typing.h"
#include "runtime/plan/plan_place.h"
#include "runtime/plan/plan_text.h"

/* The type that the post gives for the operand. */
static Type posted(const Typing *t, uint32_t operand, const PlanPost *post) {
  const PlanMeaning *meaning = &t->plan->meanings[t->call.at->meaning];
  bool is_gradient = post->kind == BUFFER_GRAD_ACTIVATION;
  int32_t layer = t->call.walk.call->layer < 0 ? 0 : t->call.walk.call->layer;
  Type type = {.kind = TYPE_VALUE,
               .dtype = (uint8_t)operand_at(t, operand)->dtype,
               .ref = meaning_carried(&t->proof.meaning, (ProgramKind)t->call.walk.program->kind,
                                      post->depth, is_gradient),
               .layer = (int32_t)post->depth - layer,
               .microbatch = (int32_t)(post->microbatch + walk_grown(&t->call.walk)) -
                             t->call.walk.microbatch};
  layout_places(t->plan, meaning->before, type.place);
  cut_samples(t, &type);
  return type;
}

static void transfer(Typing *t, uint32_t operand, const PlanPost *post) {
  const Type wanted = posted(t, operand, post), found = read_type(t, operand);
  if (wanted.ref == PLAN_NONE)
    REFUSE(t, "operand %u is stated to follow layer %u, where nothing is carried", operand,
           post->depth);
  else if (operand_at(t, operand)->access != ACCESS_READ)
    write_type(t, operand, &wanted);
  else if (memcmp(&found, &wanted, sizeof found) != 0)
    refuse_operand(t, operand, &found, &wanted);
}

/* plan_check: the exchange is alone in its segment and has a post for each operand. */
void type_transfer(Typing *t) {
  for (uint32_t i = 0; i < t->call.at->operands_count && !t->class.refused; i++)
    transfer(t, i, &t->plan->posts[t->call.walk.call->posts_first + i]);
}

/* ---- a tied tensor: two stages send each other the gradient of their own uses */

static bool has_join(const Typing *t, TiedPart wanted) {
  for (uint32_t i = 0; i < t->proof.join_count; i++)
    if (memcmp(&t->proof.join[i], &wanted, sizeof wanted) == 0) return true;
  return false;
}

/* Both stages add up the same two numbers: gradients are sent in the dtype in which they are kept,
 * so neither stage rounds the sent or the received one. */
void type_join(Typing *t) {
  Type sum = t->call.at->operands_count == 2 ? read_type(t, 0) : (Type){0};
  if (sum.kind != TYPE_SUM || sum.layer != TYPE_ANY || !is_whole_step(t, &sum) ||
      t->proof.join_count == TYPING_JOINS_MAX) {
    refuse_found(t, &sum, "it sends no gradient of a whole step to the other stage");
    return;
  }
  const DType kept = (DType)t->plan->values[sum.ref].dtype;
  if (sum.dtype != kept || sum.is_joined) {
    refuse_found(t, &sum,
                 sum.is_joined ? "expected the gradient of its own uses, found"
                               : arena_printf(t->view->arena, "expected a gradient in %s, found",
                                              dtype_name(kept)));
    return;
  }
  uint32_t own = (uint32_t)(t->view->class - t->plan->classes);
  uint32_t to = plan_class_at_distance(t->plan, own, t->call.at->comm, record_dims(t)[0]);
  if (to == PLAN_NONE ||
      plan_class_at_distance(t->plan, own, t->call.at->comm, record_dims(t)[1]) != to) {
    REFUSE(t, "it sends to one stage and receives from another");
    return;
  }
  t->call.tells_class = true;
  Type like = sum;
  like.use_count = 0;
  memset(like.use, 0, sizeof like.use);
  const TiedPart join = {own, to, sum.ref, type_of(&t->proof.types, &like).number,
                         sum.use[0].nodes};
  if (!has_join(t, join))
    t->proof.join[t->proof.join_count++] = join; /* a step is checked more than once */
  sum.is_joined = 1;
  write_type(t, 0, &sum);
  sum.use[0].nodes = all_uses(&t->proof.meaning, sum.ref) & ~sum.use[0].nodes;
  write_type(t, 1, &sum);
}

/* Each tied tensor has two stages, which together have all of its uses, each once, and send to each
 * other. */
void check_joins(Typing *t) {
  for (uint32_t i = 0; i < t->proof.join_count && !t->class.refused; i++) {
    const TiedPart *join = &t->proof.join[i];
    uint64_t others = all_uses(&t->proof.meaning, join->ref) & ~join->uses;
    if (!has_join(t, (TiedPart){join->peer, join->class, join->ref, join->like, others}))
      REFUSE(t, "stages do not have each use of %.60s exactly once and send it to each other alike",
             plan_string(t->plan, t->plan->values[join->ref].name));
  }
}

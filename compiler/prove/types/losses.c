/* losses.c -- a loss over classes that ranks share: each finds what its own say of a row, they tell
 * each other, and each makes its part of the loss. */
#include <string.h>

#include "compiler/prove/types/forms.h"

bool is_shared_loss(const Typing *t) {
  KernelId id = record_contract(t)->id;
  return id == KERNEL_cross_entropy_stats || id == KERNEL_cross_entropy_parts ||
         id == KERNEL_cross_entropy_parts_train;
}

/* Statistics of these logits. Along the axes that cut classes, ranks have their own in `own`, and
 * all ranks' in `all`. The classes are the last dim. */
static bool statistics(Typing *t, const NodeCall *c, Type *own, Type *all) {
  uint32_t count = 0;
  (void)meaning_dims(&t->meaning, input_of(t, c->node, 0), &count);
  *own = c->in[0];
  own->kind = TYPE_VALUE;
  own->part = PART_STATISTICS;
  own->dtype = DTYPE_F32;
  *all = *own;
  bool shared = false;
  for (uint32_t axis = 0; axis < TYPE_AXES_MAX; axis++)
    if (own->place[axis].kind == PLACE_CUT && own->place[axis].dim + 1u == count) {
      all->place[axis] = (Place){0};
      shared = true;
    }
  if (!shared) refuse(t, "ranks share no classes here");
  return shared;
}

/* Rows are cut alike in logits and targets. */
static bool rows_alike(Typing *t, const NodeCall *c) {
  uint32_t count = 0;
  (void)meaning_dims(&t->meaning, input_of(t, c->node, 1), &count);
  for (uint32_t axis = 0; axis < TYPE_AXES_MAX; axis++) {
    Place logits = c->in[0].place[axis], targets = c->in[1].place[axis];
    if (logits.kind == PLACE_CUT && logits.dim >= count) logits = (Place){0};
    if (logits.kind != PLACE_OWED && memcmp(&logits, &targets, sizeof logits) == 0) continue;
    refuse(t, "logits and targets are not of the same rows");
    return false;
  }
  return true;
}

void type_shared_loss(Typing *t, NodeCall *c) {
  Type own, all, out = {0}, loss = {.dtype = DTYPE_F64};
  if (!read_value(t, c, 0, input_of(t, c->node, 0)) ||
      !read_value(t, c, 1, input_of(t, c->node, 1)) || !rows_alike(t, c) ||
      !statistics(t, c, &own, &all))
    return;
  if (record_contract(t)->id == KERNEL_cross_entropy_stats) {
    write_type(t, 2, &own);
    return;
  }
  Type found = read_type(t, 2);
  if (memcmp(&found, &all, sizeof found) != 0) {
    refuse_operand(t, 2, &found, &all);
    return;
  }
  out = c->in[0];
  if (c->node->outputs_count == 2) {
    meaning_name(&t->meaning, c->region, output_of(t, c->node, 1), &out);
    write_type(t, 0, &out);
  }
  meaning_name(&t->meaning, c->region, output_of(t, c->node, 0), &loss);
  for (uint32_t axis = 0; axis < TYPE_AXES_MAX; axis++)
    if (all.place[axis].kind == PLACE_CUT)
      loss.place[axis] = (Place){.kind = PLACE_OWED, .style = REDUCE_SUM};
  add_to_sum(t, 3, &loss, t->at->node);
}

/* match.c -- whether a checkpoint has the state of a plan: all of it, and no more. Where its
 * elements are does not matter. */
#include <stdio.h>
#include <string.h>

#include "runtime/manifest/compare.h"

enum { DIMS_TEXT_BYTES = 128 };

uint32_t checkpoint_source(const State *from, const char *name, const PlanTensor *tensor) {
  uint32_t item = state_find(from, name, tensor->kind);
  if (item < from->item_count) return item;
  if (tensor->kind == BUFFER_PARAM) return state_find(from, name, BUFFER_MASTER);
  if (tensor->kind == BUFFER_MASTER) return state_find(from, name, BUFFER_PARAM);
  return from->item_count;
}

static const char *dims_text(char text[DIMS_TEXT_BYTES], const Plan *plan, uint32_t layout) {
  const PlanLayout *of = &plan->layouts[layout];
  size_t used = 0;
  text[0] = '\0';
  for (uint32_t i = 0; i < of->dims_count && used < DIMS_TEXT_BYTES - 24; i++)
    used += (size_t)snprintf(text + used, DIMS_TEXT_BYTES - used, "%s%lld", i > 0 ? " x " : "",
                             (long long)plan->layout_dims[of->dims_first + i].real_size);
  return text;
}

static bool same_shape(const Plan *a, uint32_t x, const Plan *b, uint32_t y) {
  const PlanLayout *p = &a->layouts[x], *q = &b->layouts[y];
  if (p->dims_count != q->dims_count) return false;
  for (uint32_t i = 0; i < p->dims_count; i++)
    if (a->layout_dims[p->dims_first + i].real_size != b->layout_dims[q->dims_first + i].real_size)
      return false;
  return true;
}

/* ---- blocks of codes */

static bool same_cuts(const Plan *a, const PlanLayoutDim *x, const Plan *b,
                      const PlanLayoutDim *y) {
  uint32_t i = 0, j = 0;
  for (;; i++, j++) {
    while (i < x->cuts_count && a->axes[a->cuts[x->cuts_first + i].axis].size == 1)
      i++;
    while (j < y->cuts_count && b->axes[b->cuts[y->cuts_first + j].axis].size == 1)
      j++;
    if (i == x->cuts_count || j == y->cuts_count) return i == x->cuts_count && j == y->cuts_count;
    const PlanCut *p = &a->cuts[x->cuts_first + i], *q = &b->cuts[y->cuts_first + j];
    if (a->axes[p->axis].size != b->axes[q->axis].size || p->style != q->style ||
        strcmp(plan_string(a, a->axes[p->axis].name), plan_string(b, b->axes[q->axis].name)) != 0)
      return false;
  }
}

/* The buffer kind of the codes that belong to maxima of this kind; BufferKind_COUNT: it is no kind
 * of maxima. */
static uint32_t codes_kind(uint32_t kind) {
  return kind == BUFFER_MOMENT1_MAX   ? BUFFER_MOMENT1
         : kind == BUFFER_MOMENT2_MAX ? BUFFER_MOMENT2
                                      : BufferKind_COUNT;
}

bool checkpoint_same_blocks(const State *from, const char *name, const Plan *plan,
                            const PlanTensor *tensor) {
  const uint32_t codes = tensor->dtype == DTYPE_U8 ? tensor->kind : codes_kind(tensor->kind);
  const uint32_t source = state_find(from, name, codes);
  if (codes == BufferKind_COUNT || source == from->item_count) return true;
  /* Maxima are a row of numbers for each part of the tensor: which parts, only the layout of the
   * codes says. */
  const PlanTensor *to = tensor;
  for (uint32_t i = 0; codes != tensor->kind && i < plan->tensors_count; i++)
    if (plan->tensors[i].kind == codes && plan->tensors[i].name == tensor->name)
      to = &plan->tensors[i];
  const PlanLayout *p = &from->plan->layouts[state_tensor(from, &from->item[source])->layout];
  const PlanLayout *q = &plan->layouts[to->layout];
  bool same = p->dims_count == q->dims_count;
  for (uint32_t i = 0; same && i < p->dims_count; i++) {
    const PlanLayoutDim *x = &from->plan->layout_dims[p->dims_first + i];
    const PlanLayoutDim *y = &plan->layout_dims[q->dims_first + i];
    same = x->size == y->size && same_cuts(from->plan, x, plan, y);
  }
  return same;
}

/* ---- tensors */

static bool is_real(DType dtype) {
  return dtype == DTYPE_F32 || dtype == DTYPE_BF16 || dtype == DTYPE_F16;
}

/* A weight is made of a master, and a master of a weight; other dtypes must agree. */
static bool is_convertible(const PlanTensor *from, const PlanTensor *to) {
  DType before = state_saved_dtype(from), after = state_saved_dtype(to);
  return before == after || (from->kind != to->kind && is_real(before) && is_real(after));
}

static const char *kind_text(const PlanTensor *tensor) {
  return state_kind_of(tensor->kind)->name;
}

static bool match_item(const Checkpoint *checkpoint, const State *plan, const StateItem *item,
                       Status *status) {
  const State *saved = &checkpoint->manifest.state;
  const PlanTensor *to = state_tensor(plan, item);
  uint32_t source = checkpoint_source(saved, item->name, to);
  if (source == saved->item_count)
    return status_fail(status, STATUS_USER, "%s: lacks %s of tensor %s, which the plan has",
                       checkpoint->path, kind_text(to), item->name);
  const PlanTensor *from = state_tensor(saved, &saved->item[source]);
  char before[DIMS_TEXT_BYTES], after[DIMS_TEXT_BYTES];
  bool is_recoded = codes_kind(to->kind) != BufferKind_COUNT &&
                    !checkpoint_same_blocks(saved, item->name, plan->plan, to);
  if (!is_recoded && !same_shape(saved->plan, from->layout, plan->plan, to->layout))
    return status_fail(status, STATUS_USER, "%s: tensor %s has %s elements there, %s in the plan",
                       checkpoint->path, item->name, dims_text(before, saved->plan, from->layout),
                       dims_text(after, plan->plan, to->layout));
  if (is_convertible(from, to)) return true;
  return status_fail(status, STATUS_USER, "%s: %s of tensor %s is %s there, %s in the plan",
                     checkpoint->path, kind_text(to), item->name,
                     dtype_name(state_saved_dtype(from)), dtype_name(state_saved_dtype(to)));
}

/* Nothing of a checkpoint is dropped: a weight counts as used by its master, and the other way
 * round. */
static bool is_used(const State *plan, const StateItem *item, const PlanTensor *tensor) {
  if (state_find(plan, item->name, tensor->kind) < plan->item_count) return true;
  BufferKind other = tensor->kind == BUFFER_PARAM    ? BUFFER_MASTER
                     : tensor->kind == BUFFER_MASTER ? BUFFER_PARAM
                                                     : BufferKind_COUNT;
  return state_find(plan, item->name, other) < plan->item_count;
}

static bool match_items(const Checkpoint *checkpoint, const State *plan, Status *status) {
  const State *saved = &checkpoint->manifest.state;
  for (uint32_t i = 0; i < plan->item_count; i++)
    if (!match_item(checkpoint, plan, &plan->item[i], status)) return false;
  for (uint32_t i = 0; i < saved->item_count; i++) {
    const StateItem *item = &saved->item[i];
    const PlanTensor *tensor = state_tensor(saved, item);
    if (!is_used(plan, item, tensor))
      return status_fail(status, STATUS_USER, "%s: has %s of tensor %s, which the plan lacks",
                         checkpoint->path, kind_text(tensor), item->name);
  }
  return true;
}

/* Other tensors follow from keys of the job, which is what the user can change. */
bool checkpoint_match(const Checkpoint *checkpoint, const Plan *plan,
                      const CheckpointChanges *changes, Status *status) {
  State state;
  if (!state_open(&state, plan, status)) return false;
  bool matches = match_items(checkpoint, &state, status);
  state_close(&state);
  if (matches) return true;
  char experiment[STATUS_TEXT_BYTES / 3], why[STATUS_TEXT_BYTES / 3];
  uint32_t other = 1u << SETTING_EXPERIMENT | 1u << SETTING_MODEL;
  int32_t count = checkpoint_changes_text(changes, other, false, experiment, sizeof experiment);
  if (status->code != STATUS_USER || count == 0) return false;
  size_t path = strlen(checkpoint->path) + 2;
  (void)snprintf(why, sizeof why, "%s", strlen(status->text) > path ? status->text + path : "");
  return status_fail(status, STATUS_USER,
                     "%s: %s: the state has other tensors: %s. Resume with what it was saved with, "
                     "or start anew: -D name=..., or --resume never",
                     checkpoint->path, experiment, why);
}

/* saves.c -- a checkpoint has each element of the state once, from a rank that has it.
 *
 * The bytes that a rank saves follow from the tables of a plan by arithmetic (state/rows.h). The
 * set is exact if three properties of these tables hold, which are shown here; that memory holds
 * what the tables say is shown by types.
 *
 *   elements   the pieces of a layout, over the ranks of a class, have each element of the whole
 *   names      no class has two tensors of one name, kind and layer
 *   ties       a tensor that is left out, because an earlier class has its name and layer, has a
 *              twin of the same kind, dtype and shape there */
#include <stdlib.h>
#include <string.h>

#include "compiler/plan/prove/walk.h"
#include "runtime/plan/plan_text.h"
#include "runtime/state/rows.h"

/* ---- the elements of a layout */

static int64_t real_elements(const Plan *plan, const PlanLayout *layout) {
  int64_t elements = 1;
  for (uint32_t i = 0; i < layout->dims_count; i++)
    elements *= plan->layout_dims[layout->dims_first + i].real_size;
  return elements;
}

/* The next member of the axes; false after the last one. */
static bool next_member(const Plan *plan, uint32_t axes, int32_t *coordinate) {
  for (uint32_t i = plan->axes_count; i-- > 0;) {
    if ((axes >> i & 1u) == 0) continue;
    if (++coordinate[i] < (int32_t)plan->axes[i].size) return true;
    coordinate[i] = 0;
  }
  return false;
}

/* An axis divides a layout once (plan_check), so pieces never overlap, and it is enough to count.
 */
static bool has_all_elements(const Plan *plan, uint32_t index) {
  const PlanLayout *layout = &plan->layouts[index];
  int32_t coordinate[PLAN_AXES_MAX] = {0};
  int64_t elements = 0;
  uint32_t axes = layout->flat_axes;
  for (uint32_t d = 0; d < layout->dims_count; d++) {
    const PlanLayoutDim *dim = &plan->layout_dims[layout->dims_first + d];
    for (uint32_t i = 0; i < dim->cuts_count; i++)
      axes |= 1u << plan->cuts[dim->cuts_first + i].axis;
  }
  do {
    StatePiece piece;
    if (!state_piece(plan, index, coordinate, &piece)) return false;
    elements += piece.range_count;
  } while (next_member(plan, axes, coordinate));
  return elements == real_elements(plan, layout);
}

static void check_layouts(const View *whole) {
  const Plan *plan = whole->plan;
  bool *is_known = ARENA_ARRAY(whole->arena, bool, plan->layouts_count + 1);
  for (const PlanTensor *tensor = plan->tensors; tensor < plan->tensors + plan->tensors_count;
       tensor++) {
    if (state_kind_of(tensor->kind) == NULL || is_known[tensor->layout]) continue;
    is_known[tensor->layout] = true;
    if (plan->layouts[tensor->layout].dims_count > 0 && !has_all_elements(plan, tensor->layout))
      prove_finding(whole, NULL, -1, "saves",
                    "the pieces of %.60s, over all ranks, are not each of its elements once",
                    plan_string(plan, tensor->name));
  }
}

/* ---- names */

typedef struct Named {
  const char *name;
  const PlanTensor *tensor;
  uint32_t class;
} Named;

static int compare_named(const void *a, const void *b) {
  const Named *x = a, *y = b;
  const int names = x->name == y->name ? 0 : strcmp(x->name, y->name);
  if (names != 0) return names;
  if (x->tensor->layer_first != y->tensor->layer_first)
    return x->tensor->layer_first < y->tensor->layer_first ? -1 : 1;
  if (x->class != y->class) return x->class < y->class ? -1 : 1;
  return x->tensor->kind < y->tensor->kind ? -1 : x->tensor->kind > y->tensor->kind;
}

static uint32_t list_named(const View *whole, Named *named) {
  const Plan *plan = whole->plan;
  uint32_t count = 0;
  for (uint32_t c = 0; c < plan->classes_count; c++)
    for (uint32_t i = 0; i < plan->classes[c].tensors_count; i++) {
      const PlanTensor *tensor = &plan->tensors[plan->classes[c].tensors_first + i];
      if (state_kind_of(tensor->kind) == NULL) continue;
      named[count++] = (Named){plan_string(plan, tensor->name), tensor, c};
    }
  if (count > 0) qsort(named, count, sizeof *named, compare_named);
  return count;
}

static int32_t layer_end(const PlanTensor *tensor) {
  return tensor->layer_first < 0 ? 0 : tensor->layer_first + (int32_t)tensor->layer_count;
}

/* A block whose layers are in several tiers has a row for each tier. */
static bool shares_layers(const PlanTensor *a, const PlanTensor *b) {
  return a->layer_first < 0 || b->layer_first < 0 ||
         (a->layer_first < layer_end(b) && b->layer_first < layer_end(a));
}

static bool is_twin(const Plan *plan, const PlanTensor *a, const PlanTensor *b) {
  return a->kind == b->kind && state_saved_dtype(a) == state_saved_dtype(b) &&
         a->layer_first == b->layer_first && a->layer_count == b->layer_count &&
         real_elements(plan, &plan->layouts[a->layout]) ==
             real_elements(plan, &plan->layouts[b->layout]);
}

/* `at` and the rows [first, end) have one name and share layers: the first class that is among them
 * saves these. */
static void check_ties(const View *whole, const Named *first, const Named *end, const Named *at) {
  const char *why = NULL;
  bool has_twin = false;
  for (const Named *other = first; other < end && why == NULL; other++) {
    const bool is_same_kind = other->tensor->kind == at->tensor->kind;
    if (other != at && other->class == at->class && is_same_kind &&
        shares_layers(other->tensor, at->tensor))
      why = "is in the table twice, so two tensors would have one key";
    if (other->class == first->class) has_twin |= is_twin(whole->plan, other->tensor, at->tensor);
  }
  if (why == NULL && at->class != first->class && !has_twin)
    why = "is left out, because an earlier stage has its name, and that stage has no such tensor";
  if (why != NULL)
    prove_finding(whole, NULL, -1, "saves", "%s of %.60s %s", BufferKind_names[at->tensor->kind],
                  at->name, why);
}

/* Rows of one name whose layers meet, from `first` on. */
static const Named *group_end(const Named *first, const Named *end) {
  int32_t until = layer_end(first->tensor);
  const Named *at = first + 1;
  for (; at < end && strcmp(at->name, first->name) == 0; at++) {
    const bool meets = first->tensor->layer_first < 0 ? at->tensor->layer_first < 0
                                                      : at->tensor->layer_first < until;
    if (!meets) break;
    if (layer_end(at->tensor) > until) until = layer_end(at->tensor);
  }
  return at;
}

static void check_names(const View *whole) {
  Named *named = ARENA_ARRAY(whole->arena, Named, whole->plan->tensors_count + 1);
  const Named *end = named + list_named(whole, named);
  for (const Named *first = named, *next; first < end; first = next) {
    next = group_end(first, end);
    for (const Named *at = first; at < next; at++)
      check_ties(whole, first, next, at);
  }
}

void prove_saves(const View *whole) {
  check_layouts(whole);
  check_names(whole);
}

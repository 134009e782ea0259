/* tied.c -- tensors that several classes hold, and what only all classes together show.
 *
 * A tensor that stands on several pipeline stages has one gradient: the sum of what each stage
 * makes. Each sends its part to the others and adds theirs. A class by itself shows that something
 * is received and added; that it is the same tensor's gradient, summed over the same ranks and
 * divided alike, shows when the claims of both ends are put side by side. */
#include <stdlib.h>
#include <string.h>

#include "compiler/prove/step.h"

void tied_claim(Step *s, const Cell *cell, Claim claim) {
  Classes *all = s->classes;
  if (all->claim_count == all->claim_capacity) {
    uint32_t capacity = all->claim_capacity ? 2 * all->claim_capacity : 16;
    Claim *grown = realloc(all->claims, capacity * sizeof *grown);
    if (grown == NULL) {
      all->failed = true;
      return;
    }
    all->claims = grown, all->claim_capacity = capacity;
  }
  claim.class = (uint32_t)(s->view->class - s->view->plan->classes);
  claim.tensor = cell->tensor;
  claim.layer = cell->layer;
  all->claims[all->claim_count++] = claim;
}

static bool same_tensor(const Plan *plan, uint32_t a, uint32_t b) {
  return plan->tensors[a].kind == plan->tensors[b].kind &&
         strcmp(plan_string(plan, plan->tensors[a].name),
                plan_string(plan, plan->tensors[b].name)) == 0;
}

static bool holds_layer(const PlanTensor *tensor, int32_t layer) {
  return layer < 0 ? tensor->layer_first < 0
                   : tensor->layer_first >= 0 && layer >= tensor->layer_first &&
                         layer - tensor->layer_first < (int64_t)tensor->layer_count;
}

/* Is `b` another pipeline stage of the replicas of `a`? */
static bool other_stage(const Classes *all, uint32_t a, uint32_t b) {
  const Plan *plan = all->plan;
  const PlanBound *x = plan->bounds + plan->classes[a].bounds_first;
  const PlanBound *y = plan->bounds + plan->classes[b].bounds_first;
  bool other = false;
  for (uint32_t axis = 0; axis < plan->axes_count; axis++) {
    bool same = x[axis].first == y[axis].first && x[axis].end == y[axis].end;
    if (all->stage_axes >> axis & 1)
      other = other || !same;
    else if (!same)
      return false;
  }
  return other;
}

/* Other stages that hold the tensor's layer. */
static uint32_t other_holders(const Step *s, const Cell *cell) {
  const Plan *plan = s->view->plan;
  uint32_t holders = 0, self = (uint32_t)(s->view->class - plan->classes);
  for (uint32_t c = 0; c < plan->classes_count; c++) {
    if (!other_stage(s->classes, self, c)) continue;
    for (uint32_t i = 0; i < plan->classes[c].tensors_count; i++) {
      uint32_t tensor = plan->classes[c].tensors_first + i;
      if (!holds_layer(&plan->tensors[tensor], cell->layer) ||
          !same_tensor(plan, tensor, cell->tensor))
        continue;
      holders++;
      break;
    }
  }
  return holders;
}

static void check_gradient(Step *s, const Cell *cell) {
  uint32_t others = s->stage_axes != 0 ? other_holders(s, cell) : 0;
  if (cell->joined != others)
    prove_finding(s->view, s->walk, -1, "step",
                  "gradient of %.60s (layer %d): %u other stages hold it, it has joined %u",
                  cell_name(s, cell), cell->layer, others, cell->joined);
  const Gradient *g = &cell->gradient;
  if (g->parts_each != 0 && g->parts != g->parts_each)
    prove_finding(s->view, s->walk, -1, "step",
                  "gradient of %.60s (layer %d): %u contributions of the last micro-batch, %u of "
                  "those before",
                  cell_name(s, cell), cell->layer, g->parts, g->parts_each);
  if (others > 0) tied_claim(s, cell, (Claim){.kind = CLAIM_HOLD, .squared = cell->squared});
  if (!gradient_complete(s, cell) || (others == 0 && cell->squared != 1) || cell->updated != 1)
    prove_finding(s->view, s->walk, -1, "step",
                  "gradient of %.60s (layer %d): last micro-batch %d, reduced over axes 0x%x, in "
                  "the norm %u, used by %u updates",
                  cell_name(s, cell), cell->layer, cell->gradient.microbatch_last,
                  cell->gradient.reduced, cell->squared, cell->updated);
}

void tied_finish(Step *s) {
  for (uint32_t i = 0; i < s->cell_count; i++)
    if (cell_kind(s, &s->cells[i]) == BUFFER_GRAD) check_gradient(s, &s->cells[i]);
}

/* ---- claims */

static bool of_one(const Classes *all, const Claim *a, const Claim *b) {
  return a->layer == b->layer && same_tensor(all->plan, a->tensor, b->tensor);
}

static const Claim *find_send(const Classes *all, const Claim *join) {
  for (uint32_t i = 0; i < all->links->count; i++) {
    const Link *link = &all->links->link[i];
    if (link->to_class != join->class || link->to_record != join->record ||
        link->to_operand != join->operand)
      continue;
    for (uint32_t k = 0; k < all->claim_count; k++) {
      const Claim *send = &all->claims[k];
      if (send->kind == CLAIM_SEND && send->class == link->from_class &&
          send->record == link->from_record && send->operand == link->from_operand &&
          of_one(all, send, join))
        return send;
    }
  }
  return NULL;
}

static void check_join(const Classes *all, const View *view, const Claim *join) {
  const Claim *send = find_send(all, join);
  const char *name = plan_string(all->plan, all->plan->tensors[join->tensor].name);
  if (send == NULL)
    prove_finding(view, NULL, -1, "step",
                  "what is added to the gradient of %.60s is not another stage's part of it", name);
  else if (send->reduced != join->reduced || send->split != join->split)
    prove_finding(view, NULL, -1, "step",
                  "the stages' parts of the gradient of %.60s are summed over different ranks, or "
                  "divided differently",
                  name);
}

static void check_hold(const Classes *all, const View *view, const Claim *hold) {
  uint32_t squared = hold->squared;
  for (uint32_t i = 0; i < all->claim_count; i++)
    if (all->claims[i].kind == CLAIM_HOLD && of_one(all, &all->claims[i], hold) &&
        other_stage(all, hold->class, all->claims[i].class))
      squared += all->claims[i].squared;
  if (squared != 1)
    prove_finding(view, NULL, -1, "step",
                  "the gradient of %.60s is in the norm %u times, of all stages",
                  plan_string(all->plan, all->plan->tensors[hold->tensor].name), squared);
}

void tied_prove(const Classes *all) {
  View view = {.plan = all->plan, .report = all->report};
  for (uint32_t i = 0; i < all->claim_count; i++) {
    const Claim *claim = &all->claims[i];
    view.class = &all->plan->classes[claim->class];
    if (claim->kind == CLAIM_JOIN) check_join(all, &view, claim);
    if (claim->kind == CLAIM_HOLD) check_hold(all, &view, claim);
  }
}

/* norm.c -- the norm of all gradients: every element of every gradient once.
 *
 * A sum of squares remembers how many gradients are in it, and along which axes these differ from
 * rank to rank: where ranks have pieces or parts of a tensor, and where classes have tensors of
 * their own. It may be added up over an axis only if everything in it differs along that axis, for
 * what ranks have in common would count once for each; and the norm may read it when nothing in it
 * differs any more. */
#include <stdlib.h>
#include <string.h>

#include "compiler/prove/search.h"
#include "compiler/prove/step.h"

/* The first slot at or behind `at`. */
static uint32_t find_slot(const Step *s, uint64_t at) {
  return SEARCH(s->slots, s->slot_count, at, at);
}

static void put_slot(Step *s, Slot slot) {
  uint32_t index = find_slot(s, slot.at);
  if (index < s->slot_count && s->slots[index].at == slot.at) {
    if (s->slots[index].squares > 0 && !s->slots[index].used)
      FINDING(s, "a sum of squares is lost");
    s->slots[index] = slot;
    return;
  }
  if (s->slot_count == s->slot_capacity) {
    uint32_t capacity = s->slot_capacity ? 2 * s->slot_capacity : 256;
    Slot *grown = realloc(s->slots, capacity * sizeof *grown);
    if (grown == NULL) {
      s->failed = true;
      return;
    }
    s->slots = grown, s->slot_capacity = capacity;
  }
  memmove(&s->slots[index + 1], &s->slots[index], (s->slot_count - index) * sizeof *s->slots);
  s->slots[index] = slot;
  s->slot_count++;
}

static uint32_t cut_of(const Step *s, const Cell *gradient) {
  const Cell *parameter = find_sibling(s, gradient, BUFFER_PARAM);
  return parameter == NULL ? 0 : parameter->cut;
}

void norm_square(Step *s) {
  Reach r = reach(s, 0), to = reach(s, 1);
  if (r.cell_count != 1 || cell_kind(s, r.cell) != BUFFER_GRAD) {
    FINDING(s, "should read one gradient");
    return;
  }
  const Gradient *g = &r.cell->gradient;
  const PlanTensor *tensor = &s->view->plan->tensors[r.cell->tensor];
  if (!gradient_complete(s, r.cell) || r.cell->updated)
    FINDING(s, "the gradient of %.60s is not complete here", cell_name(s, r.cell));
  gradient_check_taken(s, g, &r);
  if (s->record->dims_count < 1 || r.first != r.cell->first ||
      (r.split == 0 && s->view->plan->ints[s->record->dims_first] != tensor->elements))
    FINDING(s, "the norm should read every element of %.60s once", cell_name(s, r.cell));
  if (r.cell->squared++ > 0)
    FINDING(s, "the gradient of %.60s enters the norm twice", cell_name(s, r.cell));
  uint32_t axes = g->split | cut_of(s, r.cell) | s->stage_axes;
  put_slot(s, (Slot){.at = to.first, .squares = 1, .all = axes, .any = axes});
  s->squared++;
}

bool norm_zero(Step *s, const Reach *to) {
  enum { ZEROS_MAX = 1 << 16 };
  if (to->unit != sizeof(double) || (to->end - to->first) / sizeof(double) > ZEROS_MAX)
    return false;
  for (uint64_t at = to->first; at + sizeof(double) <= to->end; at += sizeof(double))
    put_slot(s, (Slot){.at = at, .all = UINT32_MAX});
  return true;
}

/* All slots of a range, added up and used. */
static Slot take_slots(Step *s, const Reach *r) {
  Slot sum = {.all = UINT32_MAX};
  uint64_t at = r->first;
  for (uint32_t i = find_slot(s, at); at + sizeof(double) <= r->end; i++, at += sizeof(double)) {
    if (i == s->slot_count || s->slots[i].at != at) {
      FINDING(s, "adds up what is no sum of squares");
      return sum;
    }
    Slot *slot = &s->slots[i];
    if (slot->squares > 0 && slot->used) FINDING(s, "a sum of squares counts twice");
    slot->used = true;
    sum.squares += slot->squares;
    sum.all &= slot->all;
    sum.any |= slot->any;
  }
  return sum;
}

void norm_sum(Step *s) {
  Reach r = reach(s, 0), to = reach(s, 1);
  Slot sum = take_slots(s, &r);
  sum.at = to.first;
  put_slot(s, sum);
}

bool norm_reduce(Step *s) {
  const Plan *plan = s->view->plan;
  Reach r = reach(s, 0);
  uint32_t i = find_slot(s, r.first), axes = comm_axes(s, s->record->comm);
  if (r.unit != sizeof(double) || i == s->slot_count || s->slots[i].at >= r.end) return false;
  if (s->record->meaning == PLAN_NONE || plan->meanings[s->record->meaning].reduce != REDUCE_SUM)
    FINDING(s, "sums of squares must be summed, and say so");
  if (s->record->operands_count != 1) FINDING(s, "sums of squares are added up in place");
  for (; i < s->slot_count && s->slots[i].at < r.end; i++) {
    if (axes & ~s->slots[i].all)
      FINDING(s, "adds up over %.40s squares that its ranks have in common",
              plan_string(plan, plan->comms[s->record->comm].name));
    /* What is zero here may be squares of another class. */
    if (s->slots[i].squares > 0) s->slots[i].all &= ~axes;
    s->slots[i].any &= ~axes;
  }
  return true;
}

void norm_read(Step *s) {
  Reach r = reach(s, 0);
  Slot sum = take_slots(s, &r);
  if (s->norms++ > 0) FINDING(s, "a second norm in one step");
  if (s->updating) FINDING(s, "the norm comes after an update");
  if (sum.squares != (uint64_t)s->squared)
    FINDING(s, "the norm takes the squares of %u gradients, of %lld they were made", sum.squares,
            (long long)s->squared);
  if (sum.any != 0) FINDING(s, "squares of other ranks are not in the norm");
}

/* norm.c -- the norm of all gradients: every element of every gradient once.
 *
 * A sum of squares remembers how many gradients are in it, and along which axes these differ from
 * rank to rank: where ranks have pieces or parts of a tensor, and where classes have tensors of
 * their own. It may be added up over an axis only if everything in it differs along that axis, for
 * what ranks have in common would count once for each; and the norm may read it when nothing in it
 * differs any more. */
#include "compiler/prove/step.h"

static const SortedKind slot_kind = SORTED_KIND(Slot, at);

/* The first slot at or behind `at`. */
static uint32_t find_slot(const Step *s, uint64_t at) {
  return sorted_find(&slot_kind, &s->slots, at);
}

/* NULL behind the last one. */
static Slot *slot_at(const Step *s, uint32_t index) {
  return index < s->slots.count ? sorted_at(&slot_kind, &s->slots, index) : NULL;
}

static void put_slot(Step *s, Slot slot) {
  uint32_t index = find_slot(s, slot.at);
  const Slot *old = slot_at(s, index);
  bool again = old != NULL && old->at == slot.at;
  if (again && old->squares > 0 && !old->used) FINDING(s, "a sum of squares is lost");
  s->failed |= !sorted_replace(&slot_kind, &s->slots, index, again, &slot, 1);
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
    Slot *slot = slot_at(s, i);
    if (slot == NULL || slot->at != at) {
      FINDING(s, "adds up what is no sum of squares");
      return sum;
    }
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
  Slot *slot = slot_at(s, i);
  if (r.unit != sizeof(double) || slot == NULL || slot->at >= r.end) return false;
  if (s->record->meaning == PLAN_NONE || plan->meanings[s->record->meaning].reduce != REDUCE_SUM)
    FINDING(s, "sums of squares must be summed, and say so");
  if (s->record->operands_count != 1) FINDING(s, "sums of squares are added up in place");
  for (; slot != NULL && slot->at < r.end; slot = slot_at(s, ++i)) {
    if (axes & ~slot->all)
      FINDING(s, "adds up over %.40s squares that its ranks have in common",
              plan_string(plan, plan->comms[s->record->comm].name));
    /* What is zero here may be squares of another class. */
    if (slot->squares > 0) slot->all &= ~axes;
    slot->any &= ~axes;
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

/* meet.c -- communications of several classes: a collective begins when all members have reached
 * it, an exchange when both sides of its transfers have. */
#include "compiler/plan/simulate/runner.h"
#include "runtime/plan/plan_place.h"

bool meet_is_wide(const Plan *plan, uint32_t comm) {
  for (uint32_t c = 0; c < plan->classes_count; c++)
    for (uint32_t a = 0; a < plan->axes_count; a++) {
      const PlanBound *bound = &plan->bounds[plan->classes[c].bounds_first + a];
      bool whole = bound->first == 0 && bound->end == plan->axes[a].size;
      if ((plan->comms[comm].axes_mask >> a & 1U) != 0 && !whole) return true;
    }
  return false;
}

static Times *times_of(const Simulation *s, bool sends, uint32_t class, uint32_t peer) {
  return &(sends ? s->sends : s->receives)[class * s->plan->classes_count + peer];
}

void meet_exchange_begin(const Simulation *s, uint32_t class, const PlanRecord *record) {
  Runner *r = &s->runners[class];
  r->pending.count = 0;
  for (uint32_t i = 0; i < record->operands_count; i++) {
    int64_t distance = s->plan->ints[record->dims_first + i];
    uint32_t peer = plan_class_at_distance(s->plan, class, record->comm, distance);
    if (peer == PLAN_NONE || peer == class) continue;
    bool is_send = s->plan->operands[record->operands_first + i].access == ACCESS_READ;
    Times *times = times_of(s, is_send, class, peer);
    VEC_PUSH(s->arena, &r->pending, (Pending){peer, times->at.count, is_send});
    VEC_PUSH(s->arena, &times->at, r->start_ns);
  }
}

static void meet_exchange(const Simulation *s, uint32_t class) {
  Runner *r = &s->runners[class];
  r->met_ns = r->start_ns;
  for (int32_t i = 0; i < r->pending.count; i++) {
    const Pending *p = &r->pending.at[i];
    const Times *others = times_of(s, !p->is_send, p->peer, class);
    if (others->at.count <= p->number) return;
    r->met_ns = later(r->met_ns, others->at.at[p->number]);
  }
  r->has_met = true;
}

/* True if ranks of both classes are members of one communicator of this kind. */
static bool together(const Simulation *s, uint32_t a, uint32_t b, uint32_t comm) {
  for (uint32_t axis = 0; axis < s->plan->axes_count; axis++)
    if ((s->plan->comms[comm].axes_mask >> axis & 1U) == 0 &&
        s->runners[a].coordinate[axis] != s->runners[b].coordinate[axis])
      return false;
  return true;
}

/* The communication that a class has come to; NULL: none. */
static const PlanRecord *awaited(const Simulation *s, const Runner *r) {
  if (!r->has_come) return NULL;
  return &s->plan
              ->records[s->plan->segments[current_call(s, r)->segment].records_first + r->record];
}

static void meet_collective(const Simulation *s, uint32_t class, uint32_t comm) {
  int64_t met = 0;
  for (uint32_t c = 0; c < s->plan->classes_count; c++) {
    Runner *other = &s->runners[c];
    if (!together(s, class, c, comm)) continue;
    const PlanRecord *record = awaited(s, other);
    bool waits_here = record != NULL && record->kind != RECORD_EXCHANGE && record->comm == comm;
    /* has_met: it is still in an earlier communication */
    if (!waits_here || other->has_met) return;
    met = later(met, other->start_ns);
  }
  for (uint32_t c = 0; c < s->plan->classes_count; c++) {
    if (!together(s, class, c, comm)) continue;
    s->runners[c].has_met = true;
    s->runners[c].met_ns = met;
  }
}

void meet_others(const Simulation *s, uint32_t class, const PlanRecord *record) {
  if (record->kind == RECORD_EXCHANGE)
    meet_exchange(s, class);
  else
    meet_collective(s, class, record->comm);
}

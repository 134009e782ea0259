/* communication.c -- one order of communications.
 *
 * Ranks of one class issue the same lists, so classes are what is compared. Two classes share a
 * communicator when some group of it has ranks of both: when their boxes meet on every axis that
 * the communicator holds fixed. Whatever communicators two classes share, collectives on them come
 * in one order, equal one by one. Exchanges match transfer by transfer, where they meet:
 * timeline.c. */
#include <stdlib.h>
#include <string.h>

#include "compiler/prove/events.h"
#include "runtime/plan/plan_text.h"

typedef struct Communication {
  const Plan *plan;
  ProveReport *report;
  ProgramKind kind;
  Sequence *sequences; /* by class */
  uint32_t *group;     /* by comm and class: classes that must come together have one number */
} Communication;

/* Numbers the classes of every communicator: sharing is passed on, as waiting is. */
static void number_groups(Communication *c) {
  uint32_t classes = c->plan->classes_count;
  for (uint32_t comm = 0; comm < c->plan->comms_count; comm++) {
    uint32_t *group = c->group + (size_t)comm * classes;
    for (uint32_t i = 0; i < classes; i++)
      group[i] = i;
    for (uint32_t i = 0; i < classes; i++) {
      for (uint32_t k = 0; k < i; k++) {
        uint32_t from = group[i], to = group[k];
        if (from == to || !classes_share(c->plan, i, k, comm)) continue;
        for (uint32_t j = 0; j <= i; j++)
          if (group[j] == from) group[j] = to;
      }
    }
  }
}

/* The next collective, from `at`, that class `a` shares with class `b`. */
static uint32_t next_shared(const Communication *c, uint32_t a, uint32_t b, uint32_t at) {
  const Sequence *s = &c->sequences[a];
  while (at < s->count && (s->events[at].kind == RECORD_EXCHANGE ||
                           !classes_share(c->plan, a, b, s->events[at].comm)))
    at++;
  return at;
}

static bool same_text(const Plan *plan, uint32_t a, uint32_t b) {
  return a == b || strcmp(plan_string(plan, a), plan_string(plan, b)) == 0;
}

static bool same_meaning(const Plan *plan, uint32_t a, uint32_t b) {
  if (a == b || a == PLAN_NONE || b == PLAN_NONE) return a == b;
  const PlanMeaning *x = &plan->meanings[a], *y = &plan->meanings[b];
  return x->reduce == y->reduce && x->direction == y->direction &&
         same_text(plan, x->value, y->value) && x->before == y->before && x->after == y->after;
}

static bool same_event(const Plan *plan, const Event *a, const Event *b) {
  return a->comm == b->comm && a->kind == b->kind && a->lane == b->lane && a->dtype == b->dtype &&
         same_meaning(plan, a->meaning, b->meaning) && a->bytes[0] == b->bytes[0] &&
         a->bytes[1] == b->bytes[1] && a->layer == b->layer && a->microbatch == b->microbatch;
}

static void compare(const Communication *c, uint32_t a, uint32_t b) {
  uint32_t at = 0, other = 0;
  const Sequence *x = &c->sequences[a], *y = &c->sequences[b];
  for (;; at++, other++) {
    at = next_shared(c, a, b, at);
    other = next_shared(c, b, a, other);
    if (at == x->count && other == y->count) return;
    if (at < x->count && other < y->count && same_event(c->plan, &x->events[at], &y->events[other]))
      continue;
    char left[EVENT_TEXT_BYTES], right[EVENT_TEXT_BYTES];
    event_describe(c->plan, x, a, at, left);
    event_describe(c->plan, y, b, other, right);
    View view = {.plan = c->plan, .report = c->report};
    prove_finding(&view, NULL, -1, "communication", "%s, but %s", left, right);
    return;
  }
}

static bool share_any(const Communication *c, uint32_t a, uint32_t b) {
  for (uint32_t comm = 0; comm < c->plan->comms_count; comm++)
    if (classes_share(c->plan, a, b, comm)) return true;
  return false;
}

static bool prepare(Communication *c) {
  bool ready = true;
  for (uint32_t k = 0; k < c->plan->classes_count && ready; k++) {
    View view = {.plan = c->plan, .report = c->report, .class = &c->plan->classes[k]};
    ready = sequence_collect(&view, c->kind, &c->sequences[k]);
  }
  return ready;
}

static void prove_kind(Communication *c) {
  View whole = {.plan = c->plan, .report = c->report};
  uint32_t classes = c->plan->classes_count;
  if (prepare(c)) {
    for (uint32_t a = 0; a < classes; a++) {
      if ((c->sequences[a].program == NULL) != (c->sequences[0].program == NULL))
        prove_finding(&whole, NULL, -1, "communication", "classes[%u] has no %s, or alone has one",
                      a, ProgramKind_names[c->kind]);
      for (uint32_t b = a + 1; b < classes; b++)
        if (share_any(c, a, b)) compare(c, a, b);
    }
    timeline_run(c->plan, c->report, c->kind, c->sequences, c->group);
  } else {
    prove_finding(&whole, NULL, -1, "communication",
                  "%s: too many communications to prove, or out of memory",
                  ProgramKind_names[c->kind]);
  }
  for (uint32_t k = 0; k < classes; k++)
    sequence_close(&c->sequences[k]);
}

void prove_communication(const Plan *plan, ProveReport *report) {
  View whole = {.plan = plan, .report = report};
  Communication c = {.plan = plan, .report = report};
  c.sequences = prove_array(&whole, plan->classes_count, sizeof *c.sequences);
  c.group = prove_array(&whole, (size_t)plan->comms_count * plan->classes_count, sizeof *c.group);
  if (c.sequences != NULL && c.group != NULL) {
    number_groups(&c);
    for (c.kind = 0; c.kind < ProgramKind_COUNT; c.kind++)
      prove_kind(&c);
  }
  free(c.sequences), free(c.group);
}

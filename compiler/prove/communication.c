/* communication.c -- one order of communications, and one end for all.
 *
 * Ranks of one class issue the same lists, so classes are what is compared. Two classes share a
 * communicator when some group of it has ranks of both: when their boxes meet on every axis that
 * the communicator holds fixed. The transport assumed is the weakest: a rank runs its
 * communications one at a time, in list order, each blocking until every member has come. Edges and
 * lanes only point back in that order, so what ends here ends with more freedom. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/prove/walk.h"
#include "runtime/plan/plan_text.h"

typedef struct Event {
  uint32_t comm, kind; /* kind RecordKind_COUNT: the end of a loop whose body communicates */
  uint32_t dtype, meaning;
  uint64_t bytes[2];
  int32_t layer, microbatch;
  uint32_t position, record; /* where it stands, for people */
  uint64_t times;            /* of a loop */
} Event;

typedef struct Sequence {
  Event *events;
  uint32_t count, capacity;
  uint32_t head; /* of the simulation */
  const PlanProgram *program;
} Sequence;

typedef struct Communication {
  const Plan *plan;
  ProveReport *report;
  ProgramKind kind;
  Sequence *sequences; /* by class */
  uint32_t *group;     /* by comm and class: classes that must come together have one number */
} Communication;

static bool add_event(Sequence *sequence, Event event) {
  if (sequence->count == sequence->capacity) {
    uint32_t capacity = sequence->capacity ? 2 * sequence->capacity : 64;
    Event *grown = realloc(sequence->events, capacity * sizeof *grown);
    if (grown == NULL) return false;
    sequence->events = grown, sequence->capacity = capacity;
  }
  sequence->events[sequence->count++] = event;
  return true;
}

static Event make_event(const Walk *walk, uint32_t index) {
  const Plan *plan = walk->view->plan;
  const PlanRecord *record = walk_record(walk, index);
  Event event = {.comm = record->comm,
                 .kind = record->kind,
                 .meaning = record->meaning,
                 .layer = walk->call->layer,
                 .microbatch = walk->microbatch,
                 .position = walk->position,
                 .record = index};
  for (uint32_t i = 0; i < record->operands_count && i < 2; i++) {
    event.bytes[i] = plan->operands[record->operands_first + i].size_bytes;
    event.dtype = plan->operands[record->operands_first + i].dtype;
  }
  return event;
}

static bool collect(const View *view, Sequence *sequence) {
  Walk walk = walk_begin(view, sequence->program);
  uint32_t body_first = 0;
  const PlanLoop *loop = NULL;
  bool ok = true;
  while (walk_next(&walk) && ok) {
    if (walk.loop != loop) {
      if (loop != NULL && sequence->count > body_first)
        ok = add_event(sequence, (Event){.kind = RecordKind_COUNT, .times = loop->times});
      loop = walk.loop;
      body_first = sequence->count;
    }
    for (uint32_t i = 0; i < walk.segment->records_count && ok; i++) {
      const PlanRecord *record = walk_record(&walk, i);
      if (!record_is_communication(record) || !walk_runs(&walk, record)) continue;
      if (record->kind == RECORD_EXCHANGE)
        prove_finding(view, &walk, i, "communication", "exchange: not provable yet");
      if (record->meaning == PLAN_NONE)
        prove_finding(view, &walk, i, "communication", "does not say what it means");
      ok = add_event(sequence, make_event(&walk, i));
    }
  }
  if (ok && loop != NULL && sequence->count > body_first)
    ok = add_event(sequence, (Event){.kind = RecordKind_COUNT, .times = loop->times});
  return ok;
}

/* ---- who shares what */

static bool shares(const Plan *plan, uint32_t a, uint32_t b, uint32_t comm) {
  for (uint32_t axis = 0; axis < plan->axes_count; axis++) {
    if (plan->comms[comm].axes_mask >> axis & 1) continue;
    const PlanBound *x = &plan->bounds[plan->classes[a].bounds_first + axis];
    const PlanBound *y = &plan->bounds[plan->classes[b].bounds_first + axis];
    if (x->end <= y->first || y->end <= x->first) return false;
  }
  return true;
}

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
        if (from == to || !shares(c->plan, i, k, comm)) continue;
        for (uint32_t j = 0; j <= i; j++)
          if (group[j] == from) group[j] = to;
      }
    }
  }
}

static bool together(const Communication *c, uint32_t a, uint32_t b, uint32_t comm) {
  const uint32_t *group = c->group + (size_t)comm * c->plan->classes_count;
  return group[a] == group[b];
}

/* ---- one order */

/* The next event, from `at`, that class `a` shares with class `b`. */
static uint32_t next_shared(const Communication *c, uint32_t a, uint32_t b, uint32_t at) {
  const Sequence *s = &c->sequences[a];
  while (at < s->count && s->events[at].kind != RecordKind_COUNT &&
         !shares(c->plan, a, b, s->events[at].comm))
    at++;
  return at;
}

static bool same_event(const Event *a, const Event *b) {
  return a->comm == b->comm && a->kind == b->kind && a->dtype == b->dtype &&
         a->meaning == b->meaning && a->bytes[0] == b->bytes[0] && a->bytes[1] == b->bytes[1] &&
         a->layer == b->layer && a->microbatch == b->microbatch && a->times == b->times;
}

static void describe(const Communication *c, uint32_t class, uint32_t at, char text[128]) {
  const Sequence *s = &c->sequences[class];
  const char *name = plan_string(c->plan, c->plan->classes[class].name);
  if (at == s->count) {
    snprintf(text, 128, "classes[%u] %.30s has no more", class, name);
    return;
  }
  const Event *event = &s->events[at];
  if (event->kind == RecordKind_COUNT) {
    snprintf(text, 128, "classes[%u] %.30s ends a loop of %llu", class, name,
             (unsigned long long)event->times);
    return;
  }
  const char *about = event->meaning == PLAN_NONE
                          ? "?"
                          : plan_string(c->plan, c->plan->meanings[event->meaning].value);
  snprintf(text, 128, "classes[%u] %.20s: call %u record %u: %s of %.30s, %llu bytes", class, name,
           event->position, event->record, RecordKind_names[event->kind], about,
           (unsigned long long)event->bytes[0]);
}

static void compare(const Communication *c, uint32_t a, uint32_t b) {
  uint32_t at = 0, other = 0;
  const Sequence *x = &c->sequences[a], *y = &c->sequences[b];
  for (;; at++, other++) {
    at = next_shared(c, a, b, at);
    other = next_shared(c, b, a, other);
    if (at == x->count && other == y->count) return;
    if (at < x->count && other < y->count && same_event(&x->events[at], &y->events[other]))
      continue;
    char left[128], right[128];
    describe(c, a, at, left);
    describe(c, b, other, right);
    View view = {.plan = c->plan, .report = c->report};
    prove_finding(&view, NULL, -1, "communication", "%s, but %s", left, right);
    return;
  }
}

static bool share_any(const Communication *c, uint32_t a, uint32_t b) {
  for (uint32_t comm = 0; comm < c->plan->comms_count; comm++)
    if (shares(c->plan, a, b, comm)) return true;
  return false;
}

/* ---- one end: run all classes, blocking */

/* All classes of the group stand at this communication. */
static bool all_have_come(const Communication *c, uint32_t class, const Event *event) {
  for (uint32_t k = 0; k < c->plan->classes_count; k++) {
    const Sequence *s = &c->sequences[k];
    if (!together(c, class, k, event->comm)) continue;
    if (s->events == NULL || s->head == s->count || s->events[s->head].comm != event->comm ||
        s->events[s->head].kind != event->kind)
      return false;
  }
  return true;
}

static bool step_class(Communication *c, uint32_t class) {
  Sequence *s = &c->sequences[class];
  bool moved = false;
  while (s->head < s->count) {
    const Event *event = &s->events[s->head];
    if (event->kind == RecordKind_COUNT) {
      s->head++;
    } else {
      if (!all_have_come(c, class, event)) return moved;
      uint32_t comm = event->comm;
      for (uint32_t k = 0; k < c->plan->classes_count; k++)
        if (together(c, class, k, comm)) c->sequences[k].head++;
    }
    moved = true;
  }
  return moved;
}

static void simulate(Communication *c) {
  bool moved = true;
  while (moved) {
    moved = false;
    for (uint32_t k = 0; k < c->plan->classes_count; k++)
      moved = step_class(c, k) || moved;
  }
  for (uint32_t k = 0; k < c->plan->classes_count; k++) {
    if (c->sequences[k].head == c->sequences[k].count) continue;
    char text[128];
    describe(c, k, c->sequences[k].head, text);
    View view = {.plan = c->plan, .report = c->report};
    prove_finding(&view, NULL, -1, "timeline", "%s does not end: %s waits for ever",
                  ProgramKind_names[c->kind], text);
  }
}

/* ---- */

static bool prepare(Communication *c) {
  bool ready = true;
  for (uint32_t k = 0; k < c->plan->classes_count && ready; k++) {
    View view = {.plan = c->plan, .report = c->report, .class = &c->plan->classes[k]};
    c->sequences[k] = (Sequence){.program = view_program(&view, c->kind)};
    if (c->sequences[k].program != NULL) ready = collect(&view, &c->sequences[k]);
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
    simulate(c);
  } else {
    prove_finding(&whole, NULL, -1, "communication", "out of memory while proving");
  }
  for (uint32_t k = 0; k < classes; k++)
    free(c->sequences[k].events);
  memset(c->sequences, 0, classes * sizeof *c->sequences);
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

/* timeline.c -- one end for all: every class runs its list, and waits where the others are not yet.
 *
 * The transport assumed is the weakest: a rank runs its communications one at a time, in list
 * order, a collective blocks until every member has come, an exchange until every one of its
 * transfers has met its other half in an exchange that the partner has come to. Lanes and edges
 * order a part of what the list orders, so what ends here ends with more freedom, and two lanes
 * that would wait for each other across ranks do so here. As replay is deterministic, one run that
 * ends is enough.
 *
 * It is run on the quotient mesh, one walker for each class: collectives come together in groups
 * that include whoever some rank of a class waits for, and an exchange leads all ranks of a class
 * to ranks of one class (events.c checks it). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/prove/events.h"
#include "runtime/plan/plan_text.h"

enum { POST_TEXT_BYTES = 80 };

typedef struct Timeline {
  const Plan *plan;
  ProveReport *report;
  ProgramKind kind;
  Sequence *sequences;
  const uint32_t *group;
} Timeline;

static Event *head_of(const Timeline *t, uint32_t class) {
  Sequence *s = &t->sequences[class];
  return s->head < s->count ? &s->events[s->head] : NULL;
}

static bool together(const Timeline *t, uint32_t a, uint32_t b, uint32_t comm) {
  const uint32_t *group = t->group + (size_t)comm * t->plan->classes_count;
  return group[a] == group[b];
}

/* All classes of the group stand at this collective. */
static bool all_have_come(const Timeline *t, uint32_t class, const Event *event) {
  for (uint32_t k = 0; k < t->plan->classes_count; k++) {
    if (!together(t, class, k, event->comm)) continue;
    const Event *other = head_of(t, k);
    if (other == NULL || other->comm != event->comm || other->kind != event->kind) return false;
  }
  return true;
}

/* ---- exchanges */

static bool alike(const Transfer *send, const Transfer *receive) {
  return send->bytes == receive->bytes && send->dtype == receive->dtype;
}

/* "activations after 3 layers, micro-batch 2" */
static void describe_post(const Transfer *transfer, char text[POST_TEXT_BYTES]) {
  (void)snprintf(text, POST_TEXT_BYTES, "%s after %u layers, micro-batch %u",
                 BufferKind_names[transfer->post.kind], transfer->post.depth,
                 transfer->post.microbatch);
}

static void compare_posts(const Timeline *t, uint32_t from, const Transfer *send, uint32_t to,
                          const Transfer *receive) {
  if (memcmp(&send->post, &receive->post, sizeof send->post) == 0) return;
  char sent[POST_TEXT_BYTES], awaited[POST_TEXT_BYTES];
  char sender[EVENT_TEXT_BYTES], receiver[EVENT_TEXT_BYTES];
  describe_post(send, sent);
  describe_post(receive, awaited);
  event_describe(t->plan, &t->sequences[from], from, t->sequences[from].head, sender);
  event_describe(t->plan, &t->sequences[to], to, t->sequences[to].head, receiver);
  View view = {.plan = t->plan, .report = t->report};
  prove_finding(&view, NULL, -1, "communication", "%s meets %s: %s, and %s", sent, awaited, sender,
                receiver);
}

static void meet(const Timeline *t, uint32_t from, Transfer *send, uint32_t to, Transfer *receive) {
  send->done = receive->done = true;
  const Event *left = head_of(t, from), *right = head_of(t, to);
  compare_posts(t, from, send, to, receive);
  if (alike(send, receive) && left->lane == right->lane) return;
  char sender[EVENT_TEXT_BYTES], receiver[EVENT_TEXT_BYTES];
  event_describe(t->plan, &t->sequences[from], from, t->sequences[from].head, sender);
  event_describe(t->plan, &t->sequences[to], to, t->sequences[to].head, receiver);
  View view = {.plan = t->plan, .report = t->report};
  prove_finding(&view, NULL, -1, "communication",
                "%s: operand %u (%llu bytes) meets operand %u (%llu bytes) of %s", sender,
                send->operand, (unsigned long long)send->bytes, receive->operand,
                (unsigned long long)receive->bytes, receiver);
}

/* The first transfer of `class` to or from `peer` that has not met its other half. */
static Transfer *open_transfer(const Timeline *t, uint32_t class, uint32_t peer, bool is_send) {
  const Event *event = head_of(t, class);
  for (uint32_t i = 0; i < event->transfer_count; i++) {
    Transfer *transfer = &t->sequences[class].transfers[event->transfer_first + i];
    if (!transfer->done && transfer->peer == peer && transfer->is_send == is_send) return transfer;
  }
  return NULL;
}

/* True when every transfer of the exchange is over. */
static bool exchange(const Timeline *t, uint32_t class, const Event *event) {
  bool over = true;
  for (uint32_t i = 0; i < event->transfer_count; i++) {
    Transfer *own = &t->sequences[class].transfers[event->transfer_first + i];
    if (own->done) continue;
    const Event *other = head_of(t, own->peer);
    bool there = other != NULL && other->kind == RECORD_EXCHANGE && other->comm == event->comm;
    Transfer *half = there ? open_transfer(t, own->peer, class, !own->is_send) : NULL;
    if (half == NULL)
      over = false;
    else if (own->is_send)
      meet(t, class, own, own->peer, half);
    else
      meet(t, own->peer, half, class, own);
  }
  return over;
}

/* ---- */

static bool step_class(const Timeline *t, uint32_t class) {
  Sequence *s = &t->sequences[class];
  bool moved = false;
  while (s->head < s->count) {
    const Event *event = &s->events[s->head];
    if (event->kind == RECORD_EXCHANGE) {
      if (!exchange(t, class, event)) return moved;
      s->head++;
    } else {
      if (!all_have_come(t, class, event)) return moved;
      uint32_t comm = event->comm;
      for (uint32_t k = 0; k < t->plan->classes_count; k++)
        if (together(t, class, k, comm)) t->sequences[k].head++;
    }
    moved = true;
  }
  return moved;
}

void timeline_run(const Plan *plan, ProveReport *report, ProgramKind kind, Sequence *sequences,
                  const uint32_t *group) {
  Timeline t = {plan, report, kind, sequences, group};
  for (bool moved = true; moved;) {
    moved = false;
    for (uint32_t k = 0; k < plan->classes_count; k++)
      moved = step_class(&t, k) || moved;
  }
  for (uint32_t k = 0; k < plan->classes_count; k++) {
    if (sequences[k].head == sequences[k].count) continue;
    char text[EVENT_TEXT_BYTES];
    event_describe(plan, &sequences[k], k, sequences[k].head, text);
    View view = {.plan = plan, .report = report};
    prove_finding(&view, NULL, -1, "timeline", "%s does not end: %s waits for ever",
                  ProgramKind_names[kind], text);
  }
}

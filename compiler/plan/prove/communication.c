/* communication.c -- ranks agree on the order of communications, and every program ends: each class
 * runs its list and waits where its partners have not arrived yet.
 *
 * The weakest transport is assumed: a rank runs its communications one at a time, in list order; a
 * collective blocks until every member has reached it, an exchange until each of its transfers has
 * met its other half in an exchange that the partner has reached. Lanes and edges impose only a
 * part of the list's order, so a program that ends here also ends when lanes run side by side, and
 * two lanes that would deadlock across ranks deadlock here. Replay is deterministic, so one run
 * that ends is enough.
 *
 * The walk has one walker for each class, because ranks of one class issue the same list: a
 * communication among them always finds its partners at the same place of the same list. So walkers
 * stop only at communications between classes, and only loops that contain one are walked to their
 * end; an exchange among them meets itself. Two classes share a communicator when some group of it
 * has ranks of both, that is, when their boxes overlap on every axis that the communicator holds
 * fixed. All classes that a rank of the class waits for arrive together; collectives on which
 * classes meet must be equal. An exchange leads all ranks of a class to ranks of one class. */
#include <stdio.h>
#include <string.h>

#include "compiler/plan/prove/walk.h"
#include "runtime/plan/plan_layout.h"
#include "runtime/plan/plan_place.h"
#include "runtime/plan/plan_text.h"

enum { CROSSINGS_MAX = 1 << 21, HEAD_TEXT_BYTES = 160 };

/* The progress of a class: its next communication with other classes. */
typedef struct NextMeeting {
  View view;
  Walk walk;
  const PlanRecord *record;             /* NULL: the program has ended */
  uint32_t index;                       /* of the record in its segment */
  uint32_t crossings, crossings_before; /* met so far; met before the loop */
  uint32_t met; /* mask: operands of an exchange that have met their other half */
} NextMeeting;

typedef struct Communication {
  View view; /* without a class */
  const Plan *plan;
  NextMeeting *heads; /* by class */
  uint32_t *group; /* by comm and class: equal for classes that must arrive together; NONE: alone */
} Communication;

/* ---- which classes meet */

/* Numbers the groups of classes of a communicator. Sharing is transitive, as waiting is. */
static void number_groups(const Communication *c, uint32_t comm) {
  const PlanClass *class = c->plan->classes;
  uint32_t classes = c->plan->classes_count, *group = c->group + (size_t)comm * classes;
  for (uint32_t i = 0; i < classes; i++) {
    group[i] = PLAN_NONE;
    for (uint32_t k = 0; k < i; k++) {
      if (!plan_classes_meet(c->plan, &class[i], &class[k], ~c->plan->comms[comm].axes_mask))
        continue;
      if (group[k] == PLAN_NONE) group[k] = k;
      uint32_t from = group[i], to = group[k];
      group[i] = to;
      for (uint32_t j = 0; j < i && from != PLAN_NONE; j++)
        if (group[j] == from) group[j] = to;
    }
  }
}

static uint32_t group_of(const Communication *c, uint32_t class, uint32_t comm) {
  return c->group[(size_t)comm * c->plan->classes_count + class];
}

static int64_t modulo(int64_t value, int64_t size) {
  return ((value % size) + size) % size;
}

/* The class that an operand of an exchange goes to, or comes from. */
static uint32_t peer_of(const Plan *plan, uint32_t class, const PlanRecord *record, uint32_t i) {
  return plan_class_at_distance(plan, class, record->comm, plan->ints[record->dims_first + i]);
}

/* Does the communication of this class concern another class? */
static bool crosses(const Communication *c, uint32_t class, const PlanRecord *record) {
  if (record->kind != RECORD_EXCHANGE) return group_of(c, class, record->comm) != PLAN_NONE;
  for (uint32_t i = 0; i < record->operands_count; i++)
    if (peer_of(c->plan, class, record, i) != class) return true;
  return false;
}

/* ---- transfers: what is sent over a distance is received over the same distance; the n-th send
 * meets the n-th receive */

static bool is_sent(const Plan *plan, const PlanRecord *record, uint32_t i) {
  return record_operand(plan, record, i)->access == ACCESS_READ;
}

/* The other half of operand `i` among the operands of `other` that have met none yet, or PLAN_NONE.
 */
static uint32_t half_of(const Plan *plan, const PlanRecord *record, uint32_t i,
                        const PlanRecord *other, uint32_t met) {
  int64_t distance = plan->ints[record->dims_first + i], size = plan_comm_size(plan, record->comm);
  for (uint32_t k = 0; k < other->operands_count; k++)
    if ((met >> k & 1) == 0 && is_sent(plan, other, k) != is_sent(plan, record, i) &&
        modulo(distance + modulo(plan->ints[other->dims_first + k], size), size) == 0)
      return k;
  return PLAN_NONE;
}

static bool same_bytes(const PlanOperand *a, const PlanOperand *b) {
  return a->size_bytes == b->size_bytes && a->dtype == b->dtype;
}

/* ---- what can be checked of a communication by itself */

/* A layout changes along the axes over which ranks communicate, and along no other. An exchange
 * does not change it. */
static void check_meaning(const Walk *walk, uint32_t index) {
  const Plan *plan = walk->view->plan;
  const PlanRecord *record = walk_record(walk, index);
  if (!plan_is_communication(record) || (record->when_all & record->when_none) != 0) return;
  if (record->meaning == PLAN_NONE) {
    prove_finding(walk->view, walk, index, "communication", "does not say what it means");
    return;
  }
  const PlanMeaning *meaning = &plan->meanings[record->meaning];
  uint32_t used = mesh_axes(plan), over = plan->comms[record->comm].axes_mask & used;
  uint32_t changes = plan_layout_changes(plan, meaning->before, meaning->after);
  char text[PLAN_LAYOUT_BYTES];
  if ((changes & used) != over && !(record->kind == RECORD_EXCHANGE && changes == 0))
    prove_finding(walk->view, walk, index, "communication", "of %.40s, but over %.40s",
                  plan_layout_text(plan, meaning->before, changes, text),
                  plan_string(plan, plan->comms[record->comm].name));
}

static void check_meanings(const View *view, const PlanSegment *segment) {
  const Walk walk = walk_segment(view, segment);
  for (uint32_t i = 0; i < segment->records_count; i++)
    check_meaning(&walk, i);
}

/* ---- where classes are */

/* "classes[1] stage 1: call 3 record 2: exchange of h, 512 bytes" */
static void describe_head(const Communication *c, uint32_t class, char text[HEAD_TEXT_BYTES]) {
  const Plan *plan = c->plan;
  const NextMeeting *h = &c->heads[class];
  const char *name = plan_string(plan, plan->classes[class].name), *about = "?";
  if (h->record == NULL) {
    snprintf(text, HEAD_TEXT_BYTES, "classes[%u] %.30s has no more", class, name);
    return;
  }
  if (h->record->meaning != PLAN_NONE)
    about = plan_string(plan, plan->meanings[h->record->meaning].value);
  snprintf(text, HEAD_TEXT_BYTES, "classes[%u] %.20s: call %u record %u: %s of %.30s, %llu bytes",
           class, name, h->walk.position, h->index, RecordKind_names[h->record->kind], about,
           (unsigned long long)record_operand(plan, h->record, 0)->size_bytes);
}

/* "A, but B": where two classes are. */
static void find(const Communication *c, uint32_t a, const char *what, uint32_t b) {
  char one[HEAD_TEXT_BYTES], other[HEAD_TEXT_BYTES];
  describe_head(c, a, one);
  describe_head(c, b, other);
  prove_finding(&c->view, NULL, -1, "communication", "%s, but %s%s", one, what, other);
}

/* ---- exchanges */

static bool same_meaning(const Plan *plan, uint32_t a, uint32_t b) {
  if (a == b || a == PLAN_NONE || b == PLAN_NONE) return a == b;
  const PlanMeaning *x = &plan->meanings[a], *y = &plan->meanings[b];
  return x->reduce == y->reduce && x->direction == y->direction && x->before == y->before &&
         x->after == y->after &&
         strcmp(plan_string(plan, x->value), plan_string(plan, y->value)) == 0;
}

/* The call's post of the operand. plan_check: every operand has one, except in exchanges within
 * a stage. */
static PlanPost post_of(const NextMeeting *h, uint32_t operand) {
  if (h->walk.call->posts_count == 0) return (PlanPost){0};
  PlanPost post = h->view.plan->posts[h->walk.call->posts_first + operand];
  post.microbatch += walk_grown(&h->walk);
  return post;
}

/* "activations after 3 layers, micro-batch 2 meets activations after ...: " */
static void meet(const Communication *c, uint32_t from, uint32_t i, uint32_t to, uint32_t k) {
  const NextMeeting *a = &c->heads[from], *b = &c->heads[to];
  const PlanOperand *send = record_operand(c->plan, a->record, i);
  const PlanOperand *receive = record_operand(c->plan, b->record, k);
  PlanPost sent = post_of(a, i), awaited = post_of(b, k);
  char text[HEAD_TEXT_BYTES];
  if (memcmp(&sent, &awaited, sizeof sent) != 0) {
    (void)snprintf(
        text, sizeof text,
        "%s after %u layer%s, micro-batch %u meets %s after %u layer%s, micro-batch %u: ",
        BufferKind_names[sent.kind], sent.depth, plural(sent.depth), sent.microbatch,
        BufferKind_names[awaited.kind], awaited.depth, plural(awaited.depth), awaited.microbatch);
    find(c, from, text, to);
  }
  if (!same_meaning(c->plan, a->record->meaning, b->record->meaning))
    find(c, from, "it meets another value or layout of ", to);
  if (same_bytes(send, receive) && a->record->lane == b->record->lane) return;
  (void)snprintf(text, sizeof text, "operand %u (%llu bytes) meets operand %u (%llu bytes) of ", i,
                 (unsigned long long)send->size_bytes, k, (unsigned long long)receive->size_bytes);
  find(c, from, text, to);
}

/* Marks operands of the class's exchange that meet their other half, in its own record or where
 * another class waits. False: one does not. */
static bool meets(const Communication *c, uint32_t class) {
  NextMeeting *own = &c->heads[class];
  bool over = true;
  for (uint32_t i = 0; i < own->record->operands_count; i++) {
    if ((own->met >> i & 1) != 0) continue;
    uint32_t peer = peer_of(c->plan, class, own->record, i);
    if (peer == PLAN_NONE) {
      prove_finding(&own->view, &own->walk, own->index, "communication",
                    "operand %u does not lead all ranks to ranks of one class", i);
      own->met |= 1u << i;
      continue;
    }
    NextMeeting *other = &c->heads[peer];
    bool there = other->record != NULL && other->record->kind == RECORD_EXCHANGE &&
                 other->record->comm == own->record->comm;
    uint32_t half = there ? half_of(c->plan, own->record, i, other->record, other->met) : PLAN_NONE;
    over = over && half != PLAN_NONE;
    if (half == PLAN_NONE) continue;
    own->met |= 1u << i, other->met |= 1u << half;
    if (is_sent(c->plan, own->record, i))
      meet(c, class, i, peer, half);
    else
      meet(c, peer, half, class, i);
  }
  return over;
}

/* ---- walkers */

/* The next record. A loop whose first iteration has no communication with other classes has none in
 * the others. */
static bool next_record(const Communication *c, uint32_t class) {
  NextMeeting *h = &c->heads[class];
  h->index++;
  while (h->walk.segment == NULL || h->index >= h->walk.segment->records_count) {
    const PlanLoop *loop = h->walk.loop;
    h->walk.iterations = h->crossings > h->crossings_before ? WALK_ALL : WALK_ONCE;
    if (!walk_next(&h->walk)) return false;
    if (h->walk.loop != loop) h->crossings_before = h->crossings;
    h->index = 0;
  }
  return true;
}

static void advance(const Communication *c, uint32_t class) {
  NextMeeting *h = &c->heads[class];
  h->record = NULL;
  while (h->record == NULL && next_record(c, class)) {
    const PlanRecord *record = walk_record(&h->walk, h->index);
    if (!plan_is_communication(record) || !walk_runs(&h->walk, record)) continue;
    const bool is_crossing = crosses(c, class, record);
    h->met = 0;
    if (is_crossing || record->kind == RECORD_EXCHANGE) h->record = record;
    if (h->record != NULL && !is_crossing && meets(c, class)) h->record = NULL;
  }
  if (h->record == NULL || ++h->crossings < CROSSINGS_MAX) return;
  prove_finding(&h->view, NULL, -1, "communication", "too many communications to prove");
  h->record = NULL;
}

/* ---- collectives */

static bool same_collective(const Plan *plan, const NextMeeting *a, const NextMeeting *b) {
  const PlanRecord *x = a->record, *y = b->record;
  bool same = x->kind == y->kind && x->lane == y->lane && x->operands_count == y->operands_count &&
              same_meaning(plan, x->meaning, y->meaning) &&
              a->walk.call->layer == b->walk.call->layer &&
              a->walk.microbatch == b->walk.microbatch;
  for (uint32_t i = 0; i < x->operands_count && same; i++)
    same = same_bytes(record_operand(plan, x, i), record_operand(plan, y, i));
  return same;
}

/* Moves on when all classes of the group are at a collective of this communicator; it should be the
 * same one. False: not all have arrived. */
static bool collective(const Communication *c, uint32_t class) {
  uint32_t comm = c->heads[class].record->comm, group = group_of(c, class, comm);
  for (uint32_t k = 0; k < c->plan->classes_count; k++) {
    const PlanRecord *other = c->heads[k].record;
    if (group_of(c, k, comm) == group &&
        (other == NULL || other->comm != comm || other->kind == RECORD_EXCHANGE))
      return false;
  }
  for (uint32_t k = 0; k < c->plan->classes_count; k++)
    if (group_of(c, k, comm) == group && !same_collective(c->plan, &c->heads[class], &c->heads[k]))
      find(c, class, "", k);
  for (uint32_t k = 0; k < c->plan->classes_count; k++)
    if (group_of(c, k, comm) == group) advance(c, k);
  return true;
}

/* ---- all classes */

/* True: the class has moved on. */
static bool step(const Communication *c, uint32_t class) {
  const NextMeeting *h = &c->heads[class];
  bool moved = false, goes_on = true;
  while (goes_on && h->record != NULL) {
    const bool is_exchange = h->record->kind == RECORD_EXCHANGE;
    goes_on = is_exchange ? meets(c, class) : collective(c, class);
    if (goes_on && is_exchange) advance(c, class);
    moved = moved || goes_on;
  }
  return moved;
}

static void prove_kind(const Communication *c, ProgramKind kind) {
  for (uint32_t k = 0; k < c->plan->classes_count; k++) {
    NextMeeting *h = &c->heads[k];
    *h = (NextMeeting){.view = c->view, .index = UINT32_MAX};
    h->view.class = &c->plan->classes[k];
    const PlanProgram *program = plan_program(c->plan, h->view.class, kind);
    h->walk = walk_begin(&h->view, program, WALK_ONCE);
    if (program != NULL) advance(c, k);
    if ((program == NULL) != (c->heads[0].walk.program == NULL))
      prove_finding(&c->view, NULL, -1, "communication", "classes[%u] has no %s, or alone has one",
                    k, ProgramKind_names[kind]);
  }
  for (bool moved = true; moved;) {
    moved = false;
    for (uint32_t k = 0; k < c->plan->classes_count; k++)
      moved = step(c, k) || moved;
  }
  for (uint32_t k = 0; k < c->plan->classes_count; k++) {
    char text[HEAD_TEXT_BYTES];
    describe_head(c, k, text);
    if (c->heads[k].record != NULL)
      prove_finding(&c->view, NULL, -1, "timeline", "%s does not end: %s waits forever",
                    ProgramKind_names[kind], text);
  }
}

void prove_communication(const View *view) {
  const Plan *plan = view->plan;
  Communication c = {.view = *view, .plan = plan};
  const size_t classes = plan->classes_count;
  c.heads = ARENA_ARRAY(view->arena, NextMeeting, classes);
  c.group = ARENA_ARRAY(view->arena, uint32_t, classes * plan->comms_count);
  for (uint32_t comm = 0; comm < plan->comms_count; comm++)
    number_groups(&c, comm);
  for (uint32_t i = 0; i < plan->segments_count; i++)
    check_meanings(view, &plan->segments[i]);
  for (ProgramKind kind = 0; kind < ProgramKind_COUNT; kind++)
    prove_kind(&c, kind);
}

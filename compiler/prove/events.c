#include "compiler/prove/events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/plan/plan_layout.h"
#include "runtime/plan/plan_text.h"

enum { EVENTS_MAX = 1 << 21 };

/* ---- a place in the order in which calls run, every iteration of every loop being one */

typedef struct Cursor {
  const View *view;
  const PlanProgram *program;
  uint32_t position, iteration;
  uint32_t loop; /* that holds the position, or the next one behind it */
} Cursor;

static const PlanLoop *loop_of(const Cursor *at, uint32_t index) {
  return index < at->program->loops_count ? &at->view->plan->loops[at->program->loops_first + index]
                                          : NULL;
}

static const PlanLoop *loop_here(const Cursor *at) {
  const PlanLoop *loop = loop_of(at, at->loop);
  return loop != NULL && at->position >= loop->first_call ? loop : NULL;
}

static bool go_on(Cursor *at) {
  const PlanLoop *loop = loop_here(at);
  at->position++;
  if (loop != NULL && at->position == loop->first_call + loop->call_count) {
    if (at->iteration + 1 < loop->times) {
      at->iteration++;
      at->position = loop->first_call;
    } else {
      at->iteration = 0;
      at->loop++;
    }
  }
  return at->position < at->program->calls_count;
}

static Walk walk_at(const Cursor *at) {
  const Plan *plan = at->view->plan;
  const PlanLoop *loop = loop_here(at);
  Walk walk = {.view = at->view, .program = at->program, .position = at->position, .loop = loop};
  walk.call = &plan->calls[at->program->calls_first + at->position];
  walk.segment = &plan->segments[walk.call->segment];
  walk.microbatch = walk.call->microbatch;
  if (loop != NULL && walk.microbatch >= 0)
    walk.microbatch += (int32_t)(at->iteration * loop->microbatch_stride); /* plan_check: it fits */
  return walk;
}

/* ---- classes */

bool classes_share(const Plan *plan, uint32_t a, uint32_t b, uint32_t comm) {
  for (uint32_t axis = 0; axis < plan->axes_count; axis++) {
    if (plan->comms[comm].axes_mask >> axis & 1) continue;
    const PlanBound *x = &plan->bounds[plan->classes[a].bounds_first + axis];
    const PlanBound *y = &plan->bounds[plan->classes[b].bounds_first + axis];
    if (x->end <= y->first || y->end <= x->first) return false;
  }
  return true;
}

static int64_t modulo(int64_t value, int64_t size) {
  return ((value % size) + size) % size;
}

uint32_t class_at_distance(const Plan *plan, uint32_t class, uint32_t comm, int64_t distance) {
  uint32_t axis = 0;
  while ((plan->comms[comm].axes_mask >> axis & 1) == 0)
    axis++;
  int64_t size = plan->axes[axis].size;
  const PlanBound *from = &plan->bounds[plan->classes[class].bounds_first];
  if (modulo(distance, size) == 0 || from[axis].end - from[axis].first == size) return class;
  int64_t first = modulo(from[axis].first + modulo(distance, size), size);
  for (uint32_t k = 0; k < plan->classes_count; k++) {
    const PlanBound *to = &plan->bounds[plan->classes[k].bounds_first];
    bool same = to[axis].first == first &&
                to[axis].end - to[axis].first == from[axis].end - from[axis].first;
    for (uint32_t i = 0; i < plan->axes_count && same; i++)
      same = i == axis || (to[i].first == from[i].first && to[i].end == from[i].end);
    if (same) return k;
  }
  return PLAN_NONE;
}

static uint32_t class_number(const View *view) {
  return (uint32_t)(view->class - view->plan->classes);
}

/* Does the communication of this class concern another class? */
static bool crosses(const View *view, const PlanRecord *record) {
  const Plan *plan = view->plan;
  if (record->kind != RECORD_EXCHANGE) {
    for (uint32_t k = 0; k < plan->classes_count; k++)
      if (k != class_number(view) && classes_share(plan, class_number(view), k, record->comm))
        return true;
    return false;
  }
  for (uint32_t i = 0; i < record->dims_count; i++)
    if (class_at_distance(plan, class_number(view), record->comm,
                          plan->ints[record->dims_first + i]) != class_number(view))
      return true;
  return false;
}

/* ---- transfers */

static bool grow(void **items, uint32_t count, uint32_t *capacity, size_t item_bytes) {
  if (count < *capacity) return true;
  uint32_t more = *capacity ? 2 * *capacity : 64;
  void *grown = realloc(*items, more * item_bytes);
  if (grown == NULL) return false;
  *items = grown, *capacity = more;
  return true;
}

static bool add_transfers(const Walk *walk, uint32_t index, Sequence *s) {
  const Plan *plan = walk->view->plan;
  const PlanRecord *record = walk_record(walk, index);
  uint32_t self = class_number(walk->view);
  for (uint32_t i = 0; i < record->operands_count; i++) {
    const PlanOperand *operand = &plan->operands[record->operands_first + i];
    uint32_t peer = class_at_distance(plan, self, record->comm, plan->ints[record->dims_first + i]);
    if (peer == self || peer == PLAN_NONE) continue;
    Transfer transfer = {.peer = peer,
                         .is_send = operand->access == ACCESS_READ,
                         .dtype = operand->dtype,
                         .operand = i,
                         .bytes = operand->size_bytes};
    /* plan_check: a post for each operand, but for exchanges within stages */
    if (walk->call->posts_count > 0) transfer.post = plan->posts[walk->call->posts_first + i];
    if (!grow((void **)&s->transfers, s->transfer_count, &s->transfer_capacity,
              sizeof *s->transfers))
      return false;
    s->transfers[s->transfer_count++] = transfer;
    s->events[s->count - 1].transfer_count++;
  }
  return true;
}

static bool add_event(const Walk *walk, uint32_t index, Sequence *s) {
  const Plan *plan = walk->view->plan;
  const PlanRecord *record = walk_record(walk, index);
  if (s->count == EVENTS_MAX ||
      !grow((void **)&s->events, s->count, &s->capacity, sizeof *s->events))
    return false;
  Event event = {.comm = record->comm,
                 .kind = record->kind,
                 .lane = record->lane,
                 .meaning = record->meaning,
                 .layer = walk->call->layer,
                 .microbatch = walk->microbatch,
                 .position = walk->position,
                 .record = index,
                 .transfer_first = s->transfer_count};
  for (uint32_t i = 0; i < record->operands_count && i < 2; i++) {
    event.bytes[i] = plan->operands[record->operands_first + i].size_bytes;
    event.dtype = plan->operands[record->operands_first + i].dtype;
  }
  s->events[s->count++] = event;
  return record->kind != RECORD_EXCHANGE || add_transfers(walk, index, s);
}

/* ---- what can be said of a communication by itself, whatever the call */

/* Within a class, distances are as symmetric as the class: the k-th operand sent so far ahead
 * becomes the k-th one received from so far behind. */
static void check_symmetry(const Walk *walk, uint32_t index) {
  const Plan *plan = walk->view->plan;
  const PlanRecord *record = walk_record(walk, index);
  const PlanOperand *operand = plan->operands + record->operands_first;
  const int64_t *distance = plan->ints + record->dims_first;
  int64_t size = plan_comm_size(plan, record->comm);
  uint32_t self = class_number(walk->view), sends = 0, receives = 0;
  bool taken[32] = {false};
  for (uint32_t i = 0; i < record->operands_count && i < 32; i++) {
    uint32_t peer = class_at_distance(plan, self, record->comm, distance[i]);
    if (peer == PLAN_NONE)
      prove_finding(walk->view, walk, index, "communication",
                    "distance %lld does not lead all ranks to ranks of one class",
                    (long long)distance[i]);
    if (peer != self) continue;
    *(operand[i].access == ACCESS_READ ? &sends : &receives) += 1;
    if (operand[i].access != ACCESS_READ) continue;
    uint32_t k = 0;
    while (k < record->operands_count && k < 32 &&
           (taken[k] || operand[k].access == ACCESS_READ ||
            modulo(distance[i], size) != modulo(-modulo(distance[k], size), size)))
      k++;
    bool met = k < record->operands_count && k < 32;
    if (met) taken[k] = true;
    if (!met || operand[k].size_bytes != operand[i].size_bytes ||
        operand[k].dtype != operand[i].dtype)
      prove_finding(walk->view, walk, index, "communication",
                    "operand %u is sent %lld ahead, and nothing alike is received from there", i,
                    (long long)distance[i]);
  }
  if (sends != receives)
    prove_finding(walk->view, walk, index, "communication",
                  "%u operands are sent within the class, %u received", sends, receives);
}

/* Summands are summed. */
static void check_reduction(const Walk *walk, uint32_t index) {
  const Plan *plan = walk->view->plan;
  const PlanRecord *record = walk_record(walk, index);
  const PlanMeaning *meaning = &plan->meanings[record->meaning];
  const PlanLayout *before = &plan->layouts[meaning->before];
  if (record->kind != RECORD_ALL_REDUCE && record->kind != RECORD_REDUCE_SCATTER) return;
  char text[PLAN_LAYOUT_BYTES];
  if (before->owed_axes != 0 && before->owed != meaning->reduce)
    prove_finding(walk->view, walk, index, "communication", "%s of %.40s",
                  ReduceOp_names[meaning->reduce],
                  plan_layout_text(plan, meaning->before, before->owed_axes, text));
}

/* Layouts change along the axes over which ranks communicate, and along no other. An exchange moves
 * what stays as it is. */
static void check_axes(const Walk *walk, uint32_t index) {
  const Plan *plan = walk->view->plan;
  const PlanRecord *record = walk_record(walk, index);
  const PlanMeaning *meaning = &plan->meanings[record->meaning];
  uint32_t changes = plan_layout_changes(plan, meaning->before, meaning->after), used = 0;
  for (uint32_t axis = 0; axis < plan->axes_count; axis++)
    if (plan->axes[axis].size > 1) used |= 1u << axis;
  uint32_t over = plan->comms[record->comm].axes_mask & used;
  char text[PLAN_LAYOUT_BYTES];
  if ((changes & used) != over && !(record->kind == RECORD_EXCHANGE && changes == 0))
    prove_finding(walk->view, walk, index, "communication", "of %.40s, but over %.40s",
                  plan_layout_text(plan, meaning->before, changes, text),
                  plan_string(plan, plan->comms[record->comm].name));
}

static void check_record(const Walk *walk, uint32_t index) {
  const PlanRecord *record = walk_record(walk, index);
  if (record->meaning == PLAN_NONE) {
    prove_finding(walk->view, walk, index, "communication", "does not say what it means");
  } else {
    check_reduction(walk, index);
    check_axes(walk, index);
  }
  if (record->kind == RECORD_EXCHANGE) check_symmetry(walk, index);
}

/* What the records of a class are: by record of the plan. */
typedef enum Talk {
  TALK_UNSEEN,
  TALK_NONE,   /* no communication */
  TALK_INSIDE, /* within the class */
  TALK_CROSSES
} Talk;

static Talk talk_of(const Walk *walk, uint32_t index) {
  const PlanRecord *record = walk_record(walk, index);
  if (!record_is_communication(record)) return TALK_NONE;
  check_record(walk, index);
  return crosses(walk->view, record) ? TALK_CROSSES : TALK_INSIDE;
}

/* Each record that runs is looked at once. Marks the segments of which one crosses. */
static void look_at_records(const View *view, const PlanProgram *program, uint8_t *talk,
                            bool *segment_crosses) {
  PlanProgram straight = *program;
  straight.loops_count = 0;
  Walk walk = walk_begin(view, &straight);
  while (walk_next(&walk)) {
    for (uint32_t i = 0; i < walk.segment->records_count; i++) {
      uint8_t *known = &talk[walk.segment->records_first + i];
      if (*known != TALK_UNSEEN || !walk_runs(&walk, walk_record(&walk, i))) continue;
      *known = (uint8_t)talk_of(&walk, i);
      if (*known == TALK_CROSSES) segment_crosses[walk.call->segment] = true;
    }
  }
}

/* ---- the list */

static bool collect_call(const Cursor *at, const uint8_t *talk, Sequence *s) {
  Walk walk = walk_at(at);
  for (uint32_t i = 0; i < walk.segment->records_count; i++)
    if (talk[walk.segment->records_first + i] == TALK_CROSSES &&
        walk_runs(&walk, walk_record(&walk, i)) && !add_event(&walk, i, s))
      return false;
  return true;
}

/* A loop that lists nothing in one iteration lists nothing in the others. */
static void leave_out(Cursor *at, uint32_t events_before, const Sequence *s) {
  const PlanLoop *loop = loop_here(at);
  if (loop == NULL || at->iteration > 0 || s->count > events_before) return;
  if (at->position + 1 == loop->first_call + loop->call_count) at->iteration = loop->times - 1;
}

static bool collect(const View *view, const uint8_t *talk, const bool *segment_crosses,
                    Sequence *sequence) {
  Cursor at = {.view = view, .program = sequence->program};
  uint32_t before = 0;
  do {
    const PlanLoop *loop = loop_here(&at);
    uint32_t segment = view->plan->calls[at.program->calls_first + at.position].segment;
    if (loop != NULL && at.position == loop->first_call) before = sequence->count;
    if (segment_crosses[segment] && !collect_call(&at, talk, sequence)) return false;
    leave_out(&at, before, sequence);
  } while (go_on(&at));
  return true;
}

bool sequence_collect(View *view, ProgramKind kind, Sequence *sequence) {
  *sequence = (Sequence){.program = view_program(view, kind)};
  const PlanProgram *program = sequence->program;
  if (program == NULL || program->calls_count == 0) return true;
  for (uint32_t axis = 0; axis < view->plan->axes_count; axis++)
    view->coordinate[axis] = view->plan->bounds[view->class->bounds_first + axis].first;
  uint8_t *talk = prove_array(view, view->plan->records_count, sizeof *talk);
  bool *segment_crosses = prove_array(view, view->plan->segments_count, sizeof *segment_crosses);
  bool done = talk != NULL && segment_crosses != NULL;
  if (done) {
    look_at_records(view, program, talk, segment_crosses);
    done = collect(view, talk, segment_crosses, sequence);
  }
  free(talk), free(segment_crosses);
  return done;
}

void sequence_close(Sequence *sequence) {
  free(sequence->events), free(sequence->transfers);
  *sequence = (Sequence){0};
}

void event_describe(const Plan *plan, const Sequence *sequence, uint32_t class, uint32_t at,
                    char text[EVENT_TEXT_BYTES]) {
  const char *name = plan_string(plan, plan->classes[class].name);
  if (at == sequence->count) {
    snprintf(text, EVENT_TEXT_BYTES, "classes[%u] %.30s has no more", class, name);
    return;
  }
  const Event *event = &sequence->events[at];
  const char *about =
      event->meaning == PLAN_NONE ? "?" : plan_string(plan, plan->meanings[event->meaning].value);
  snprintf(text, EVENT_TEXT_BYTES, "classes[%u] %.20s: call %u record %u: %s of %.30s, %llu bytes",
           class, name, event->position, event->record, RecordKind_names[event->kind], about,
           (unsigned long long)event->bytes[0]);
}

/* timeline.c -- the boxes of a train step: every class runs its list and waits where it must.
 *
 * A class is seen as the rank at its first coordinates. */
#include <stdlib.h>
#include <string.h>

#include "compiler/explain/timeline_boxes.h"

/* One end of a transfer that has begun, and its number among those between the two rows. */
typedef struct Pending {
  int32_t peer, number;
  bool is_send;
} Pending;

typedef struct Times {
  VEC(int64_t) at;
} Times;

/* A class on its way through its calls. */
typedef struct Runner {
  const PlanProgram *program; /* NULL: it has no train step */
  int32_t *coordinate;
  uint32_t call, record, iteration, loop; /* of the program, its segment; loop: next or current */
  int64_t now;
  bool has_come; /* to the communication it stands at */
  bool has_met;  /* and so have the others, at `met` */
  int64_t met;
  VEC(Pending) pending; /* of the exchange it stands at */
} Runner;

typedef struct Simulation {
  Arena *arena;
  const Plan *plan;
  Timeline *timeline;
  Runner *runners;
  Times *sends, *receives; /* when each began, by row * rows + peer */
} Simulation;

/* ---- the plan */

static const PlanProgram *train_step_of(const Plan *plan, const PlanClass *class) {
  for (uint32_t i = 0; i < class->programs_count; i++)
    if (plan->programs[class->programs_first + i].kind == PROGRAM_TRAIN_STEP)
      return &plan->programs[class->programs_first + i];
  return NULL;
}

static const PlanCall *current_call(const Simulation *s, const Runner *r) {
  if (r->program == NULL || r->call >= r->program->calls_count) return NULL;
  return &s->plan->calls[r->program->calls_first + r->call];
}

/* The loop that the runner's call is in; NULL: none. Loops ascend. */
static const PlanLoop *current_loop(const Simulation *s, const Runner *r) {
  if (r->loop >= r->program->loops_count) return NULL;
  const PlanLoop *loop = &s->plan->loops[r->program->loops_first + r->loop];
  return r->call >= loop->first_call ? loop : NULL;
}

static void next_call(const Simulation *s, Runner *r) {
  const PlanLoop *loop = current_loop(s, r);
  r->record = 0;
  r->call++;
  if (loop == NULL || r->call < loop->first_call + loop->call_count) return;
  if (++r->iteration < loop->times) {
    r->call = loop->first_call;
    return;
  }
  r->iteration = 0;
  r->loop++;
}

/* The record that the runner stands at, after those that do not run in this call; NULL: at the end
 * of its program. */
static const PlanRecord *current_record(const Simulation *s, Runner *r) {
  for (const PlanCall *call; (call = current_call(s, r)) != NULL; next_call(s, r)) {
    const PlanSegment *segment = &s->plan->segments[call->segment];
    for (; r->record < segment->records_count; r->record++) {
      const PlanRecord *record = &s->plan->records[segment->records_first + r->record];
      if (plan_when(record->when_all, record->when_none, call->flags)) return record;
    }
  }
  return NULL;
}

static bool is_communication(const PlanRecord *record) {
  return record->kind != RECORD_KERNEL && record->kind != RECORD_LOAD;
}

/* ---- how long, and what */

static TimelineUnit choose_unit(const Plan *plan) {
  TimelineUnit unit = UNIT_KERNELS;
  for (uint32_t c = 0; c < plan->classes_count; c++) {
    const PlanProgram *program = train_step_of(plan, &plan->classes[c]);
    for (uint32_t i = 0; program != NULL && i < program->calls_count; i++) {
      const PlanCall *call = &plan->calls[program->calls_first + i];
      const PlanSegment *segment = &plan->segments[call->segment];
      for (uint32_t k = 0; k < segment->records_count; k++) {
        const PlanRecord *record = &plan->records[segment->records_first + k];
        if (!plan_when(record->when_all, record->when_none, call->flags)) continue;
        if (record->predicted_ns > 0) return UNIT_NS;
        if (record->flops > 0) unit = UNIT_FLOPS;
      }
    }
  }
  return unit;
}

static int64_t length_of(TimelineUnit unit, const PlanRecord *record) {
  int64_t length = unit == UNIT_NS      ? record->predicted_ns
                   : unit == UNIT_FLOPS ? record->flops
                                        : record->kind == RECORD_KERNEL;
  return length > 0 ? length : 0;
}

/* Segments are named for what they do, last: "h.forward", "layer backward", "wte.weight.update". */
static BoxKind kind_by_name(const char *name, int32_t microbatch) {
  static const struct {
    const char *word;
    BoxKind kind;
  } words[] = {
      {"forward", BOX_FORWARD},     {"backward", BOX_BACKWARD},    {"weight", BOX_WEIGHT},
      {"recompute", BOX_RECOMPUTE}, {"reduce", BOX_COMMUNICATION}, {"gather", BOX_COMMUNICATION},
      {"first", BOX_COMMUNICATION}, /* "join.first" */
      {"last", BOX_COMMUNICATION},  {"update", BOX_UPDATE},        {"square_sum", BOX_UPDATE},
      {"clip", BOX_UPDATE},         {"clear", BOX_UPDATE},         {"norm", BOX_UPDATE}};
  const char *last = name;
  for (const char *at = name; *at != '\0'; at++)
    if (*at == '.' || *at == ' ') last = at + 1;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcmp(last, words[i].word) == 0) return words[i].kind;
  return microbatch >= 0 ? BOX_FORWARD : BOX_UPDATE;
}

/* A call that only communicates is a communication, one that only loads a load. */
static BoxKind kind_of_call(const Plan *plan, const PlanCall *call) {
  const PlanSegment *segment = &plan->segments[call->segment];
  bool computes = false, communicates = false;
  for (uint32_t i = 0; i < segment->records_count; i++) {
    const PlanRecord *record = &plan->records[segment->records_first + i];
    if (!plan_when(record->when_all, record->when_none, call->flags)) continue;
    computes |= record->kind == RECORD_KERNEL;
    communicates |= is_communication(record);
  }
  if (!computes) return communicates ? BOX_COMMUNICATION : BOX_LOAD;
  return kind_by_name(plan_string(plan, segment->name), call->microbatch);
}

/* The runner's clock goes on by `length`: its last box grows, or a new one begins. */
static void pass_time(const Simulation *s, int32_t row, int64_t length) {
  Runner *r = &s->runners[row];
  TimelineRow *out = &s->timeline->rows[row];
  const PlanCall *call = current_call(s, r);
  int64_t start = r->now;
  r->now += length;
  if (length == 0) return;
  out->busy += length;
  if (r->now > s->timeline->span) s->timeline->span = r->now;
  const PlanLoop *loop = current_loop(s, r);
  int64_t grown = loop == NULL ? 0 : (int64_t)r->iteration * loop->microbatch_stride;
  Box box = {start,       r->now,     kind_of_call(s->plan, call), call->microbatch,
             call->layer, call->layer};
  if (box.microbatch >= 0) box.microbatch += (int32_t)grown;
  Box *last = out->boxes.count > 0 ? &out->boxes.at[out->boxes.count - 1] : NULL;
  if (last == NULL || last->end != start || last->kind != box.kind ||
      last->microbatch != box.microbatch) {
    VEC_PUSH(s->arena, &out->boxes, box);
    return;
  }
  last->end = box.end;
  if (box.layer_first < 0) return;
  if (last->layer_first < 0 || box.layer_first < last->layer_first)
    last->layer_first = box.layer_first;
  if (box.layer_last > last->layer_last) last->layer_last = box.layer_last;
}

/* ---- exchanges */

static int32_t row_at(const Plan *plan, const int32_t *coordinate) {
  for (uint32_t c = 0; c < plan->classes_count; c++) {
    bool inside = true;
    for (uint32_t a = 0; a < plan->axes_count; a++) {
      const PlanBound *bound = &plan->bounds[plan->classes[c].bounds_first + a];
      inside &= bound->first <= (uint32_t)coordinate[a] && (uint32_t)coordinate[a] < bound->end;
    }
    if (inside) return (int32_t)c;
  }
  return -1;
}

static int32_t row_at_distance(const Simulation *s, int32_t row, uint32_t comm, int64_t distance) {
  const Plan *plan = s->plan;
  int32_t *coordinate = s->runners[row].coordinate, peer = -1;
  for (uint32_t a = 0; a < plan->axes_count; a++) {
    if (!(plan->comms[comm].axes_mask >> a & 1u)) continue;
    int64_t size = plan->axes[a].size, here = coordinate[a];
    coordinate[a] = (int32_t)(((here + distance) % size + size) % size);
    peer = row_at(plan, coordinate);
    coordinate[a] = (int32_t)here;
  }
  return peer;
}

static Times *times_of(const Simulation *s, bool sends, int32_t row, int32_t peer) {
  return &(sends ? s->sends : s->receives)[row * s->timeline->row_count + peer];
}

/* Begins the transfers. Ranks of one class exchange among themselves without waiting. */
static void begin_exchange(const Simulation *s, int32_t row, const PlanRecord *record) {
  Runner *r = &s->runners[row];
  r->pending.count = 0;
  for (uint32_t i = 0; i < record->operands_count; i++) {
    int64_t distance = s->plan->ints[record->dims_first + i];
    int32_t peer = row_at_distance(s, row, record->comm, distance);
    if (peer < 0 || peer == row) continue;
    bool is_send = s->plan->operands[record->operands_first + i].access == ACCESS_READ;
    Times *times = times_of(s, is_send, row, peer);
    VEC_PUSH(s->arena, &r->pending, (Pending){peer, times->at.count, is_send});
    VEC_PUSH(s->arena, &times->at, r->now);
  }
}

static void meet_exchange(const Simulation *s, int32_t row) {
  Runner *r = &s->runners[row];
  int64_t met = r->now;
  for (int32_t i = 0; i < r->pending.count; i++) {
    const Pending *p = &r->pending.at[i];
    const Times *others = times_of(s, !p->is_send, p->peer, row);
    if (others->at.count <= p->number) return;
    if (others->at.at[p->number] > met) met = others->at.at[p->number];
  }
  r->has_met = true;
  r->met = met;
}

/* ---- collectives */

/* Whether both rows' ranks are members of one communicator of this kind. */
static bool together(const Simulation *s, int32_t a, int32_t b, uint32_t comm) {
  for (uint32_t axis = 0; axis < s->plan->axes_count; axis++)
    if (!(s->plan->comms[comm].axes_mask >> axis & 1u) &&
        s->runners[a].coordinate[axis] != s->runners[b].coordinate[axis])
      return false;
  return true;
}

static void meet_collective(const Simulation *s, int32_t row, uint32_t comm) {
  int64_t met = 0;
  for (int32_t i = 0; i < s->timeline->row_count; i++) {
    Runner *other = &s->runners[i];
    if (!together(s, row, i, comm)) continue;
    const PlanRecord *record = current_record(s, other);
    bool stands_here = record != NULL && record->kind != RECORD_EXCHANGE &&
                       is_communication(record) && record->comm == comm;
    if (!stands_here || !other->has_come || other->has_met) return; /* met: not gone on yet */
    if (other->now > met) met = other->now;
  }
  for (int32_t i = 0; i < s->timeline->row_count; i++) {
    if (!together(s, row, i, comm)) continue;
    s->runners[i].has_met = true;
    s->runners[i].met = met;
  }
}

/* ---- the run */

/* Begins or ends the communication that the runner stands at; false: it has to wait. */
static bool communicate(const Simulation *s, int32_t row, const PlanRecord *record) {
  Runner *r = &s->runners[row];
  bool is_exchange = record->kind == RECORD_EXCHANGE, moved = false;
  if (!r->has_come) {
    r->has_come = moved = true;
    if (is_exchange) begin_exchange(s, row, record);
  }
  if (!r->has_met) {
    if (is_exchange)
      meet_exchange(s, row);
    else
      meet_collective(s, row, record->comm);
  }
  if (!r->has_met) return moved;
  r->now = r->met;
  r->has_come = r->has_met = false;
  pass_time(s, row, length_of(s->timeline->unit, record));
  r->record++;
  return true;
}

static bool run_until_wait(const Simulation *s, int32_t row) {
  bool moved = false;
  for (;;) {
    Runner *r = &s->runners[row];
    const PlanRecord *record = current_record(s, r);
    if (record == NULL) return moved;
    if (is_communication(record)) {
      if (!communicate(s, row, record)) return moved;
      moved = true;
      if (r->has_come) return true;
      continue;
    }
    pass_time(s, row, length_of(s->timeline->unit, record));
    r->record++;
    moved = true;
  }
}

static void run(const Simulation *s) {
  for (bool moved = true; moved;) {
    moved = false;
    for (int32_t row = 0; row < s->timeline->row_count; row++)
      moved |= run_until_wait(s, row);
  }
  for (int32_t row = 0; row < s->timeline->row_count; row++)
    s->timeline->is_stuck |= current_record(s, &s->runners[row]) != NULL;
}

Timeline *timeline_make(Arena *arena, const Plan *plan) {
  Timeline *timeline = ARENA_NEW(arena, Timeline);
  int32_t rows = timeline->row_count = (int32_t)plan->classes_count;
  timeline->rows = ARENA_ARRAY(arena, TimelineRow, rows);
  timeline->unit = choose_unit(plan);
  Simulation s = {.arena = arena, .plan = plan, .timeline = timeline};
  s.runners = ARENA_ARRAY(arena, Runner, rows);
  s.sends = ARENA_ARRAY(arena, Times, rows * rows);
  s.receives = ARENA_ARRAY(arena, Times, rows * rows);
  bool any = false;
  for (int32_t row = 0; row < rows; row++) {
    const PlanClass *class = &plan->classes[row];
    Runner *r = &s.runners[row];
    timeline->rows[row].name = plan_string(plan, class->name);
    r->program = train_step_of(plan, class);
    any |= r->program != NULL;
    r->coordinate = ARENA_ARRAY(arena, int32_t, plan->axes_count);
    for (uint32_t a = 0; a < plan->axes_count; a++)
      r->coordinate[a] = (int32_t)plan->bounds[class->bounds_first + a].first;
  }
  if (!any) return NULL;
  run(&s);
  if (timeline->span < 1) timeline->span = 1;
  return timeline;
}

/* ---- words */

const char *box_kind_name(BoxKind kind) {
  static const char *const names[BOX_KIND_COUNT] = {
      "forward", "backward", "weight gradients", "recompute", "communication", "update", "load"};
  return names[kind];
}

bool timeline_has(const Timeline *timeline, BoxKind kind) {
  for (int32_t row = 0; row < timeline->row_count; row++)
    for (int32_t i = 0; i < timeline->rows[row].boxes.count; i++)
      if (timeline->rows[row].boxes.at[i].kind == kind) return true;
  return false;
}

double timeline_bubble_share(const Timeline *timeline) {
  double busy = 0;
  for (int32_t row = 0; row < timeline->row_count; row++)
    busy += (double)timeline->rows[row].busy;
  return 1 - busy / ((double)timeline->span * timeline->row_count);
}

const char *timeline_length(Arena *arena, const Timeline *timeline, double length) {
  if (timeline->unit == UNIT_NS) return arena_printf(arena, "%.3g ms", length / 1e6);
  if (timeline->unit == UNIT_FLOPS) return arena_printf(arena, "%.3g GFLOP", length / 1e9);
  return arena_printf(arena, "%.0f kernels", length);
}

const char *timeline_title(Arena *arena, const Timeline *timeline) {
  const char *length = timeline_length(arena, timeline, (double)timeline->span);
  const char *rows =
      timeline->row_count == 1 ? "" : arena_printf(arena, " on %d stages", timeline->row_count);
  const char *stuck = timeline->is_stuck ? "; stages wait for each other for ever" : "";
  const char *unit = timeline->unit == UNIT_NS ? "" : " (no predicted times)";
  return arena_printf(arena, "train step: %s%s, bubble %.1f %%%s%s", length, rows,
                      100 * timeline_bubble_share(timeline), unit, stuck);
}

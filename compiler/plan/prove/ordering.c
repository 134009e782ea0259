/* ordering.c -- lanes run side by side: two records on different lanes that touch the same bytes
 * are ordered by edges.
 *
 * It is a race when a record touches bytes that a record of another lane touched, one of the two
 * writes, and the later one does not know that the earlier one is finished. An edge from a record
 * that its call leaves out orders nothing. Programs begin and end with all lanes joined, except
 * that a program may follow itself (plan_seam.h): then two runs of it are walked. Each
 * record knows how far every lane has come, for certain, when it starts (vector clocks, Mattern
 * 1988).
 *
 * Records of a launch run at the same time: to each of them, the earlier ones in the launch are not
 * finished, although they are of its lane. That they are of one kind, and that none waits for
 * another of them, is checked by plan_check.
 *
 * A communicator is treated like bytes: two lanes that used it at the same time could do so in a
 * different order on another rank. */
#include <string.h>

#include "compiler/plan/prove/intervals.h"
#include "compiler/plan/prove/pool.h"
#include "compiler/plan/prove/walk.h"
#include "runtime/plan/plan_job.h"
#include "runtime/plan/plan_seam.h"
#include "runtime/plan/plan_text.h"

/* Addresses of communicators, beyond every arena. */
static const uint64_t comm_space = UINT64_MAX / 2;

/* By lane: how many of that lane's records are finished when this record is, itself included. */
typedef struct Clock {
  uint32_t finished[PLAN_LANES_MAX]; /* all 0: it has not run */
} Clock;

/* Addresses that a record touches, for all members of a row. */
typedef struct TouchedRow {
  uint64_t first, end;
  uint32_t number;           /* of the record in its lane, from 1 */
  uint32_t position, record; /* record PLAN_NONE: a copy of the runtime, as a run begins */
  bool write, is_before;     /* is_before: of the first of two runs */
} TouchedRow;

/* The bytes that one lane touched, in the order of its records. */
typedef struct LaneLog {
  TouchedRow *at;
  size_t capacity;
  uint32_t count;
  uint32_t over[PLAN_LANES_MAX]; /* by lane: touches before this number have finished */
  uint32_t mapped; /* those before this one are in the maps, or known by all lanes to be finished */
  uint64_t looks;  /* comparisons with single touches since the maps were filled */
  Intervals written, touched; /* maps: for every byte the number of the touch that was last */
} LaneLog;

typedef struct Ordering {
  const View *view;
  Arena *arena;
  Walk walk;
  Clock *clocks; /* by record of a call, for two iterations of each of two runs */
  size_t *first; /* by call position: its first record in `clocks`; and the end */
  size_t clock_capacity, first_capacity;
  uint32_t run;                 /* 1: the second of two */
  uint32_t main_end;            /* plan_main_end */
  Clock at_end[PLAN_LANES_MAX]; /* by lane: after that call */
  Clock now[PLAN_LANES_MAX];    /* by lane: of its last record, with what it has waited for since */
  LaneLog lanes[PLAN_LANES_MAX];
  uint32_t lanes_used, main_lane;
  bool *shared;                            /* by buffer of the class: find_shared */
  bool is_launched;                        /* the current call */
  uint32_t launched_after[PLAN_LANES_MAX]; /* how many records each had run before this launch */
} Ordering;

static Clock *clock_of_run(const Ordering *o, uint32_t run, uint32_t position, uint32_t iteration,
                           uint32_t record) {
  const size_t once = o->first[o->walk.program->calls_count];
  return &o->clocks[(2 * run + iteration) * once + o->first[position] + record];
}

static Clock *clock_at(const Ordering *o, uint32_t position, uint32_t iteration, uint32_t record) {
  return clock_of_run(o, o->run, position, iteration, record);
}

/* ---- what has finished when a record of a lane starts */

static void join(Clock *clock, const Clock *other) {
  for (uint32_t k = 0; k < PLAN_LANES_MAX; k++)
    if (other->finished[k] > clock->finished[k]) clock->finished[k] = other->finished[k];
}

/* A wait holds before the first record of the call on its lane. */
static void join_waits(Ordering *o, uint32_t lane) {
  const Walk *walk = &o->walk;
  for (uint32_t i = 0; i < walk->call->waits_count; i++) {
    const PlanWait *wait = &o->view->plan->waits[walk->call->waits_first + i];
    const bool is_back = wait->run_back > 0;
    const bool is_own = wait->program == walk->program->kind;
    if (wait->lane != lane || (is_back && (!is_own || o->run == 0)) ||
        wait->iteration_back > walk->iteration)
      continue;
    for (uint32_t iteration = 0; is_back && iteration < 2; iteration++)
      join(&o->now[lane], clock_of_run(o, 0, wait->call, iteration, wait->record));
    if (is_back) continue;
    bool in_body = walk->loop != NULL && wait->call >= walk->loop->first_call;
    uint32_t iteration = in_body ? walk->iteration - wait->iteration_back : 0;
    join(&o->now[lane], clock_at(o, wait->call, iteration, wait->record));
    if (!in_body) /* an earlier loop: its last iteration */
      join(&o->now[lane], clock_at(o, wait->call, 1, wait->record));
  }
}

/* ---- touches */

/* Finds the lanes in use, and the buffers where lanes beside the main one touch bytes, in these or
 * other buffers. */
static void find_shared(Ordering *o) {
  const PlanClass *class = o->view->class;
  const PlanBuffer *buffers = o->view->plan->buffers;
  Intervals beside = {0};
  o->shared = ARENA_ARRAY(o->arena, bool, class->buffers_count);
  while (walk_next(&o->walk))
    for (uint32_t i = 0; i < o->walk.segment->records_count; i++) {
      const PlanRecord *record = walk_record(&o->walk, i);
      o->lanes_used |= 1u << record->lane;
      if (record->lane == o->main_lane || !walk_runs(&o->walk, record)) continue;
      for (uint32_t k = 0; k < record->operands_count; k++) {
        uint32_t in = walk_buffer(&o->walk, record_operand(o->view->plan, record, k)->base);
        uint64_t first = buffer_address(&buffers[in]);
        intervals_join(o->arena, &beside, first, first + buffers[in].size_bytes);
      }
    }
  for (uint32_t i = 0; i < class->buffers_count; i++) {
    const PlanBuffer *buffer = &buffers[class->buffers_first + i];
    const Interval *met = intervals_find(&beside, buffer_address(buffer));
    o->shared[i] = met != NULL && met->first < buffer_address(buffer) + buffer->size_bytes;
  }
}

/* Touches of the main lane matter where other lanes touch the bytes, too, or in a launch. */
static bool matters(const Ordering *o, uint32_t lane, uint32_t base) {
  return lane != o->main_lane || o->is_launched ||
         o->shared[walk_buffer(&o->walk, base) - o->view->class->buffers_first];
}

static void log_touch(LaneLog *log, TouchedRow touch, uint64_t bytes, uint32_t access) {
  touch.end = touch.first + bytes;
  touch.write = access != ACCESS_READ;
  if (bytes > 0) log->at[log->count++] = touch;
}

/* The block whose slots a lane's kernels use. plan_check: a host lane's class has a mirror. */
static uint64_t control_block(const View *view, uint32_t lane) {
  return plan_is_host_lane(view->plan, lane)
             ? buffer_address(plan_control_mirror(view->plan, view->class))
             : plan_address(TIER_DEVICE, job_control_offset(view->plan));
}

static void log_touches(Ordering *o, LaneLog *log, uint32_t index, uint32_t number) {
  const Plan *plan = o->view->plan;
  const PlanRecord *record = walk_record(&o->walk, index);
  const size_t most = (size_t)record->operands_count + record->controls_count + 1;
  TouchedRow touch = {
      .number = number, .position = o->walk.position, .record = index, .is_before = o->run == 0};
  log->at = pool_room(o->arena, log->at, &log->capacity, log->count + most, sizeof touch);
  for (uint32_t i = 0; i < record->operands_count; i++) {
    const PlanOperand *operand = record_operand(plan, record, i);
    uint64_t bytes = operand_end(plan, operand) - operand->offset;
    touch.first = walk_base(&o->walk, operand->base) + operand->offset;
    if (operand->size_bytes > 0 && matters(o, record->lane, operand->base))
      log_touch(log, touch, bytes, operand->access);
  }
  for (uint32_t i = 0; i < record->controls_count; i++) {
    const PlanControl *control = &plan->controls[record->controls_first + i];
    touch.first = control_block(o->view, record->lane) + plan->slots[control->slot].offset;
    log_touch(log, touch, CONTROL_SLOT_BYTES, control->access);
  }
  touch.first = comm_space + record->comm;
  log_touch(log, touch, plan_is_communication(record), ACCESS_WRITE);
}

/* Maps what the lane touched before `end`, except what `known` of its records and all other lanes
 * know to be finished. Records of one lane run in order: when a later touch is finished, so are the
 * earlier ones it covers. */
static void map_until(Ordering *o, uint32_t of, uint32_t end, uint32_t known) {
  LaneLog *log = &o->lanes[of];
  EACH_BIT (by, o->lanes_used & ~(1u << of))
    if (o->now[by].finished[of] < known) known = o->now[by].finished[of];
  log->looks = 0;
  for (; log->mapped < end; log->mapped++) {
    const TouchedRow *at = &log->at[log->mapped];
    const Interval span = {at->first, at->end, log->mapped};
    if (at->number <= known) continue;
    intervals_put(o->arena, &log->touched, span);
    if (at->write) intervals_put(o->arena, &log->written, span);
  }
}

/* ---- races */

/* The first touch that overlaps the place and is not known to be finished, or NULL. */
static const TouchedRow *find_mapped(const LaneLog *log, const TouchedRow *place, uint32_t known) {
  const Intervals *map = place->write ? &log->touched : &log->written;
  const Interval *met = NULL;
  for (uint64_t next = place->first;
       (met = intervals_find(map, next)) != NULL && met->first < place->end; next = met->end)
    if (log->at[met->number].number > known) return &log->at[met->number];
  return NULL;
}

/* The last one. */
static const TouchedRow *find_among(const LaneLog *log, uint32_t first, uint32_t end,
                                    const TouchedRow *place) {
  for (const TouchedRow *at = log->at + end; at-- > log->at + first;)
    if (at->first < place->end && place->first < at->end && (at->write || place->write)) return at;
  return NULL;
}

/* `by` is later in the list, and does not know that the other is finished. */
static void report(const Ordering *o, const TouchedRow *by, uint32_t of, const TouchedRow *other) {
  const char *lane = plan_lane_name(o->view->plan, of), *does = by->write ? "writes" : "reads";
  const unsigned long long first = by->first, end = by->end;
  const char *run = other->is_before && !by->is_before ? " of the run before" : "";
  if (by->record == PLAN_NONE)
    prove_finding(o->view, NULL, -1, "ordering",
                  "the next run's control or samples are copied in while lane %s may still be in "
                  "call %u record %u",
                  lane, other->position, other->record);
  else if (first >= comm_space)
    prove_finding(o->view, &o->walk, by->record, "ordering",
                  "lane %s uses the same communicator, and nothing orders the two", lane);
  else if (walk_record(&o->walk, by->record)->lane == of)
    prove_finding(o->view, &o->walk, by->record, "ordering",
                  "%s bytes [%llu..%llu), and another record of the same launch does, too", does,
                  first, end);
  else
    prove_finding(o->view, &o->walk, by->record, "ordering",
                  "%s bytes [%llu..%llu) that lane %s %s in call %u record %u%s, and nothing "
                  "orders the two",
                  does, first, end, lane, other->write ? "writes" : "reads", other->position,
                  other->record, run);
}

/* Compares what a record touches, `by` from the `first` on, with what a lane may not have finished:
 * with each, until that has cost as much as to map them. Gradients are reduced beside the
 * computation, and nothing waits for them before the step ends. */
static void check_against(Ordering *o, uint32_t of, uint32_t by, uint32_t first, uint32_t known) {
  enum { LOOKS_OF_MAPPING = 128 }; /* how many cost as much as to map one touch */
  LaneLog *log = &o->lanes[of], *own = &o->lanes[by];
  uint32_t *over = &log->over[by];
  const uint32_t end = of == by ? first : log->count;
  while (*over < end && log->at[*over].number <= known)
    ++*over;
  log->looks += (uint64_t)(end - *over) * (own->count - first);
  bool by_maps = log->looks >= (uint64_t)LOOKS_OF_MAPPING * (end - log->mapped);
  if (by_maps) map_until(o, of, end, known);
  for (uint32_t i = first; i < own->count && *over < end; i++) {
    const TouchedRow *met =
        by_maps ? find_mapped(log, &own->at[i], known) : find_among(log, *over, end, &own->at[i]);
    if (met == NULL) continue;
    report(o, &own->at[i], of, met);
    return;
  }
}

/* ---- one record after the other */

static void run_record(Ordering *o, uint32_t index) {
  const Plan *plan = o->view->plan;
  const PlanRecord *record = walk_record(&o->walk, index);
  const uint32_t lane = record->lane, first = o->lanes[lane].count;
  ProveReport *counted = o->view->report;
  Clock *now = &o->now[lane];
  if (o->run == 0) {
    counted->records++, counted->accesses += record->operands_count;
    counted->communications += plan_is_communication(record);
  }
  for (uint32_t i = 0; i < record->after_count; i++)
    join(now, clock_at(o, o->walk.position, o->walk.iteration,
                       plan->edges[record->after_first + i].record));
  const uint32_t before = o->is_launched ? o->launched_after[lane] : now->finished[lane];
  log_touches(o, &o->lanes[lane], index, ++now->finished[lane]);
  *clock_at(o, o->walk.position, o->walk.iteration, index) = *now;
  EACH_BIT (of, o->lanes_used) {
    const uint32_t known = of == lane ? before : now->finished[of];
    const uint32_t begun = o->now[of].finished[of] - (of == lane);
    if (begun > known) check_against(o, of, lane, first, known);
  }
}

static void run_call(Ordering *o) {
  const PlanLaunch *launch = plan_launch_of(o->view->plan, o->walk.program, o->walk.position);
  uint32_t begun = 0; /* mask of the lanes that have run a record of the call */
  o->view->report->calls += o->run == 0;
  o->is_launched = launch != NULL;
  if (launch != NULL && launch->first_call == o->walk.position) {
    EACH_BIT (lane, o->lanes_used)
      o->launched_after[lane] = o->now[lane].finished[lane];
  }
  for (uint32_t i = 0; i < o->walk.segment->records_count; i++) {
    const PlanRecord *record = walk_record(&o->walk, i);
    if (!walk_runs(&o->walk, record)) continue;
    if ((begun >> record->lane & 1u) == 0) join_waits(o, record->lane);
    begun |= 1u << record->lane;
    run_record(o, i);
  }
  if (o->walk.position == o->main_end) memcpy(o->at_end, o->now, sizeof o->at_end);
}

/* ---- from one run to the next */

/* Logs the copies that the runtime makes for the next run, on the main lane. */
static void log_copies_in(const Ordering *o, LaneLog *log, uint32_t number) {
  const Plan *plan = o->view->plan;
  TouchedRow touch = {.number = number, .record = PLAN_NONE};
  touch.first = plan_address(TIER_DEVICE, job_control_offset(plan));
  log->at = pool_room(o->arena, log->at, &log->capacity, log->count + 2, sizeof touch);
  log_touch(log, touch, job_control_bytes(plan), ACCESS_WRITE);
  if (job_staging_tier(plan) == TIER_DEVICE) return; /* samples are read where they are staged */
  touch.first = plan_address(TIER_DEVICE, job_samples_offset(plan));
  log_touch(log, touch, job_sample_bytes(plan) * (uint64_t)job_accumulation(plan), ACCESS_WRITE);
}

static void begin_next_run(Ordering *o) {
  const uint32_t main_lane = o->main_lane, first = o->lanes[main_lane].count;
  Clock *main = &o->now[main_lane];
  EACH_BIT (lane, plan_lanes_that_communicate(o->view->plan) & o->lanes_used)
    join(main, &o->at_end[lane]);
  log_copies_in(o, &o->lanes[main_lane], ++main->finished[main_lane]);
  EACH_BIT (of, o->lanes_used & ~(1u << main_lane))
    if (o->now[of].finished[of] > main->finished[of])
      check_against(o, of, main_lane, first, main->finished[of]);
  EACH_BIT (lane, o->lanes_used & ~(1u << main_lane))
    join(&o->now[lane], main);
  o->run = 1;
}

static void run_calls(Ordering *o, const View *view, const PlanProgram *program) {
  o->walk = walk_begin(view, program, WALK_TWICE);
  while (walk_next(&o->walk))
    run_call(o);
}

/* Memory that was allocated for the program before is used again. */
static void open_program(Ordering *o, const View *view, const PlanProgram *program) {
  const Plan *plan = view->plan;
  const size_t calls = program->calls_count;
  o->view = view;
  o->walk = walk_begin(view, program, WALK_ONCE);
  o->main_lane = plan_main_lane(plan);
  o->main_end = plan_main_end(plan, program);
  o->run = 0;
  memset(o->at_end, 0, sizeof o->at_end);
  memset(o->now, 0, sizeof o->now);
  EACH_BIT (lane, o->lanes_used) {
    LaneLog *log = &o->lanes[lane];
    intervals_clear(&log->written), intervals_clear(&log->touched);
    log->count = log->mapped = 0, log->looks = 0;
    memset(log->over, 0, sizeof log->over);
  }
  o->lanes_used = 0;
  o->first = pool_room(o->arena, o->first, &o->first_capacity, calls + 1, sizeof *o->first);
  o->first[0] = 0;
  for (size_t i = 0; i < calls; i++)
    o->first[i + 1] =
        o->first[i] + plan->segments[plan->calls[program->calls_first + i].segment].records_count;
  const size_t clocks = (plan_follows_itself(plan, program) ? 4 : 2) * o->first[calls];
  o->clocks = pool_room(o->arena, o->clocks, &o->clock_capacity, clocks, sizeof *o->clocks);
  if (clocks > 0) memset(o->clocks, 0, clocks * sizeof *o->clocks);
  find_shared(o);
}

static void prove_program(Ordering *o, const View *view, const PlanProgram *program) {
  open_program(o, view, program);
  run_calls(o, view, program);
  if (!plan_follows_itself(view->plan, program)) return;
  begin_next_run(o);
  run_calls(o, view, program);
}

void prove_ordering(const View *views, uint32_t count) {
  Ordering o = {.arena = views->arena};
  for (const View *view = views; view < views + count; view++)
    for (uint32_t i = 0; i < view->class->programs_count; i++)
      prove_program(&o, view, &view->plan->programs[view->class->programs_first + i]);
}

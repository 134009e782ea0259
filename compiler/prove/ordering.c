/* ordering.c -- lanes run side by side: two records on different lanes that touch the same bytes
 * are ordered by edges.
 *
 * It is a race when a record touches bytes that a record of another lane touched, one of the two
 * writes, and the later one does not know that the earlier one is finished. An edge from a record
 * that its call leaves out orders nothing. Programs begin and end with all lanes joined.
 *
 * What records of one call know of each other is the same in every call of the segment (clocks.h).
 * From one call to the next only this is kept: how far each lane has got, what it knows of the
 * others, and which earlier calls may not be finished yet.
 *
 * Records of a launch run at the same time: none of them may touch what another one writes. That
 * they are of one kind, and that none waits for another of them, is checked by plan_check.
 *
 * A communicator is treated like bytes: two lanes that used it at the same time could do so in a
 * different order on another rank. */
#include <stdlib.h>
#include <string.h>

#include "compiler/prove/clocks.h"
#include "compiler/prove/intervals.h"
#include "runtime/plan/plan_loops.h"
#include "runtime/plan/plan_text.h"

/* A call that has run: what its lanes knew on entering it, and how many records they had run
 * before. */
typedef struct Run {
  const Clocks *clocks;                           /* NULL: it has not run */
  uint32_t known[PLAN_LANES_MAX][PLAN_LANES_MAX]; /* [by][of]: how many of lane of's records lane by
                                                     is ordered after */
  uint32_t before[PLAN_LANES_MAX];                /* records of the lane in earlier calls */
} Run;

/* What one lane touched, in the order of its records. */
typedef struct LaneLog {
  Touch *at;
  uint32_t count, capacity;
  uint32_t over[PLAN_LANES_MAX]; /* by lane: it knows those before this one to be finished */
  uint32_t mapped; /* those before this one are in the maps, or known by all lanes to be finished */
  Intervals written, touched; /* maps: for every byte the number of the touch that was last */
} LaneLog;

typedef struct Ordering {
  const View *view;
  Clocks **kept; /* by segment, for all classes */
  Walk walk;
  Run *runs; /* by call position, for two iterations */
  LaneLog lanes[PLAN_LANES_MAX];
  uint32_t known[PLAN_LANES_MAX][PLAN_LANES_MAX];
  uint32_t number[PLAN_LANES_MAX]; /* records of the lane so far */
  uint32_t lanes_used;
  Intervals written, touched; /* by the launch so far, by the number of its record */
  bool failed;
} Ordering;

static Run *run_at(const Ordering *o, uint32_t position, uint32_t iteration) {
  return &o->runs[iteration * o->walk.program->calls_count + position];
}

/* ---- what lanes know */

/* What records whose clock has these entries know of lane `of`. */
static uint32_t known_by(const Run *run, uint32_t entries, uint32_t of) {
  uint32_t most = 0;
  EACH_BIT(lane, entries)
  if (run->known[lane][of] > most) most = run->known[lane][of];
  return most;
}

/* The lane now knows that this record of an earlier call is finished, and everything that record
 * knew. */
static void join(Ordering *o, const Run *run, uint32_t record, uint32_t lane) {
  if (run->clocks == NULL || !run->clocks->clock[record].runs) return;
  const Clock *clock = &run->clocks->clock[record];
  EACH_BIT(of, o->lanes_used) {
    uint32_t known = clock->number[of] > 0 ? run->before[of] + clock->number[of]
                                           : known_by(run, clock->entries, of);
    if (known > o->known[lane][of]) o->known[lane][of] = known;
  }
}

/* A wait holds before the first record of the call on its lane. */
static void join_waits(Ordering *o, const Clocks *clocks) {
  const Walk *walk = &o->walk;
  for (uint32_t i = 0; i < walk->call->waits_count; i++) {
    const PlanWait *wait = &o->view->plan->waits[walk->call->waits_first + i];
    if ((clocks->lanes >> wait->lane & 1u) == 0 || wait->iteration_back > walk->iteration) continue;
    bool in_body = walk->loop != NULL && wait->call >= walk->loop->first_call;
    uint32_t iteration = in_body ? walk->iteration - wait->iteration_back : 0;
    join(o, run_at(o, wait->call, iteration), wait->record, wait->lane);
    if (!in_body) /* an earlier loop: its last iteration */
      join(o, run_at(o, wait->call, 1), wait->record, wait->lane);
  }
}

/* ---- races */

/* A touch of the current call at its address in memory; its lane has run `before` records. */
static Touch place_of(const Ordering *o, const Touch *touch, uint32_t before) {
  uint64_t at = touch->base == BASE_NONE ? 0 : walk_base(&o->walk, touch->base);
  Touch place = *touch;
  place.first += at, place.end += at;
  place.number += before, place.position = o->walk.position;
  return place;
}

static bool meet(const Touch *a, const Touch *b) {
  return a->first < b->end && b->first < a->end && (a->write || b->write);
}

/* `by` is later in the list, and does not know that the other is finished. */
static void report(const Ordering *o, const Touch *by, uint32_t of, const Touch *other) {
  const char *lane = plan_lane_name(o->view->plan, of);
  if (by->first >= comm_space) {
    prove_finding(o->view, &o->walk, by->record, "ordering",
                  "lane %s uses the same communicator, and nothing orders the two", lane);
    return;
  }
  prove_finding(o->view, &o->walk, by->record, "ordering",
                "%s bytes [%llu..%llu) that lane %s %s in call %u record %u, and nothing "
                "orders the two",
                by->write ? "writes" : "reads", (unsigned long long)by->first,
                (unsigned long long)by->end, lane, other->write ? "writes" : "reads",
                other->position, other->record);
}

/* Compares with what the lane did earlier in this call. */
static void check_inside(const Ordering *o, const Clocks *clocks, uint32_t by, uint32_t of) {
  for (uint32_t i = 0; i < clocks->all[by].count; i++) {
    const Touch *touch = &clocks->all[by].at[i];
    Touch place = place_of(o, touch, 0);
    for (uint32_t k = 0; k < clocks->all[of].count; k++) {
      const Touch *other = &clocks->all[of].at[k];
      if (other->record >= touch->record) break;
      Touch earlier = place_of(o, other, 0);
      if (earlier.number <= clocks->clock[touch->record].number[of] || !meet(&place, &earlier))
        continue;
      report(o, &place, of, &earlier);
      break;
    }
  }
}

/* Bases of this call that overlap: its clocks take them to be apart. */
static bool bases_meet(const Ordering *o) {
  const PlanBase *base = &o->view->plan->bases[o->walk.segment->bases_first];
  for (uint32_t i = 0; i < o->walk.segment->bases_count; i++)
    for (uint32_t k = 0; k < i; k++) {
      uint64_t one = walk_base(&o->walk, i), other = walk_base(&o->walk, k);
      if (one < other + base[k].size_bytes && other < one + base[i].size_bytes) return true;
    }
  return false;
}

/* ---- earlier calls */

/* Records of one lane run in order: when a later touch is finished, so are the earlier ones it
 * covers. */
static bool map_all(const Ordering *o, LaneLog *log, uint32_t of) {
  uint32_t over = log->count; /* known to all lanes */
  bool done = true;
  EACH_BIT(by, o->lanes_used & ~(1u << of))
  if (log->over[by] < over) over = log->over[by];
  if (log->mapped < over) log->mapped = over;
  for (; log->mapped < log->count; log->mapped++) {
    const Touch *at = &log->at[log->mapped];
    const Interval span = {at->first, at->end, log->mapped};
    done = done && intervals_put(&log->touched, span) &&
           (!at->write || intervals_put(&log->written, span));
  }
  return done;
}

/* The first touch that overlaps the place and is not known to be finished, or NULL. */
static const Touch *find_mapped(const LaneLog *log, const Touch *place, uint32_t known) {
  const Intervals *map = place->write ? &log->touched : &log->written;
  const Interval *met = NULL;
  for (uint64_t next = place->first;
       (met = intervals_find(map, next)) != NULL && met->first < place->end; next = met->end)
    if (log->at[met->number].number > known) return &log->at[met->number];
  return NULL;
}

static const Touch *find_among(const LaneLog *log, uint32_t by, const Touch *place,
                               uint32_t known) {
  for (uint32_t n = log->over[by]; n < log->count; n++)
    if (meet(place, &log->at[n]) && log->at[n].number > known) return &log->at[n];
  return NULL;
}

/* Compares with what the lane did in earlier calls and may not have finished. Where that is a lot,
 * the maps are used: gradients are reduced beside the computation, and nothing waits for them
 * before the step ends. */
static void check_before(Ordering *o, const Run *run, uint32_t by, uint32_t of) {
  enum { LOOKED_AT_MAX = 256 };
  LaneLog *log = &o->lanes[of];
  const Touches *early = &run->clocks->early[by];
  while (log->over[by] < log->count && log->at[log->over[by]].number <= run->known[by][of])
    log->over[by]++;
  bool by_maps = log->count - log->over[by] > LOOKED_AT_MAX;
  o->failed = o->failed || (by_maps && !map_all(o, log, of));
  for (uint32_t i = 0; i < early->count && log->over[by] < log->count; i++) {
    Touch place = place_of(o, &early->at[i], run->before[by]);
    uint32_t known = known_by(run, early->at[i].entries, of);
    const Touch *met =
        by_maps ? find_mapped(log, &place, known) : find_among(log, by, &place, known);
    if (met == NULL) continue;
    report(o, &place, of, met);
    return;
  }
}

/* Logs the touches that later calls may overlap. */
static bool remember(const Ordering *o, LaneLog *log, const Run *run, uint32_t lane) {
  const Touches *late = &run->clocks->late[lane];
  if (log->count + late->count > log->capacity) {
    uint32_t capacity = 2 * log->capacity + late->count + 64;
    Touch *grown = realloc(log->at, capacity * sizeof *grown);
    if (grown == NULL) return false;
    log->at = grown, log->capacity = capacity;
  }
  for (uint32_t i = late->count; i-- > 0;) /* the last record comes first in it */
    log->at[log->count++] = place_of(o, &late->at[i], run->before[lane]);
  return true;
}

/* ---- launches */

static void check_in_launch(Ordering *o, const Touch *place) {
  const Interval *met = intervals_find(place->write ? &o->touched : &o->written, place->first);
  if (met != NULL && met->first < place->end && met->number != place->number)
    prove_finding(o->view, &o->walk, place->record, "ordering",
                  "%s bytes [%llu..%llu), and another record of the same launch does, too",
                  place->write ? "writes" : "reads", (unsigned long long)place->first,
                  (unsigned long long)place->end);
  const Interval span = {place->first, place->end, place->number};
  o->failed = o->failed || !intervals_put(&o->touched, span) ||
              (place->write && !intervals_put(&o->written, span));
}

static void check_launch(Ordering *o, const Clocks *clocks) {
  const PlanLaunch *launch = plan_launch_of(o->view->plan, o->walk.program, o->walk.position);
  if (launch == NULL) return;
  if (launch->first_call == o->walk.position)
    intervals_free(&o->written), intervals_free(&o->touched);
  EACH_BIT(lane, clocks->lanes)
  for (uint32_t i = 0; i < clocks->all[lane].count; i++) {
    const Touch place = place_of(o, &clocks->all[lane].at[i], o->number[lane]);
    check_in_launch(o, &place);
  }
}

/* ---- calls */

static void run_call(Ordering *o, Clocks *clocks) {
  Run *run = run_at(o, o->walk.position, o->walk.iteration);
  join_waits(o, clocks);
  *run = (Run){.clocks = clocks};
  memcpy(run->known, o->known, sizeof run->known);
  memcpy(run->before, o->number, sizeof run->before);
  bool alone = (clocks->lanes & (clocks->lanes - 1)) == 0;
  bool inside = !alone && (!clocks->proven || bases_meet(o));
  EACH_BIT(by, clocks->lanes) {
    EACH_BIT(of, o->lanes_used & ~(1u << by)) {
      check_before(o, run, by, of);
      if (inside && (clocks->lanes >> of & 1u)) check_inside(o, clocks, by, of);
    }
  }
  clocks->proven = true;
  check_launch(o, clocks);
  EACH_BIT(lane, clocks->lanes) {
    o->failed = o->failed || !remember(o, &o->lanes[lane], run, lane);
    o->number[lane] += clocks->count[lane];
    join(o, run, clocks->last[lane], lane);
  }
}

static void run_program(Ordering *o, const PlanProgram *program) {
  o->walk = walk_begin(o->view, program, WALK_TWICE);
  while (!o->failed && walk_next(&o->walk)) {
    Clocks *clocks = clocks_of(o->kept, &o->walk);
    o->failed |= clocks == NULL;
    if (o->failed) break;
    run_call(o, clocks);
  }
  if (o->failed) prove_finding(o->view, NULL, -1, "ordering", "out of memory while proving");
}

static void prove_program(const View *view, const PlanProgram *program, Clocks **kept) {
  Ordering o = {.view = view, .kept = kept, .lanes_used = (1u << view->plan->lanes_count) - 1};
  o.runs = prove_array(view, 2 * (size_t)program->calls_count, sizeof *o.runs);
  if (o.runs != NULL) run_program(&o, program);
  EACH_BIT(lane, o.lanes_used) {
    intervals_free(&o.lanes[lane].written), intervals_free(&o.lanes[lane].touched);
    free(o.lanes[lane].at);
  }
  intervals_free(&o.written), intervals_free(&o.touched);
  free(o.runs);
}

void prove_ordering(const View *views, uint32_t count) {
  const Plan *plan = views[0].plan;
  Clocks **kept = prove_array(&views[0], plan->segments_count, sizeof *kept);
  for (const View *view = views; kept != NULL && view < views + count; view++)
    for (uint32_t i = 0; i < view->class->programs_count; i++)
      prove_program(view, &plan->programs[view->class->programs_first + i], kept);
  for (uint32_t i = 0; kept != NULL && i < plan->segments_count; i++)
    clocks_free(kept[i]);
  free(kept);
}

/* ordering.c -- lanes run side by side: whatever touches the same bytes on two lanes is ordered by
 * edges.
 *
 * A record that meets bytes which another lane touched, one of the two writing, and that does not
 * know this other record to be over, is a race. An edge from a record that its call leaves out
 * orders nothing. Programs begin and end with all lanes joined.
 *
 * What records of one call know of each other is the same in every call of the segment (braid.h).
 * From call to call only this is carried on: how far each lane has come, what it knows of the
 * others, and which calls before may not be over yet.
 *
 * A communicator is touched like bytes: two lanes that used it at once would meet in another order
 * on another rank. */
#include <stdlib.h>
#include <string.h>

#include "compiler/prove/braid.h"
#include "compiler/prove/sorted.h"
#include "runtime/plan/plan_text.h"

/* A call that has run: what its lanes knew when they came to it, and had done. */
typedef struct Run {
  const Braid *braid; /* NULL: it has not run */
  uint32_t position;  /* of the call in the program */
  uint32_t known[PLAN_LANES_MAX]
                [PLAN_LANES_MAX];  /* [by][of]: of's records that by is ordered after */
  uint32_t before[PLAN_LANES_MAX]; /* records of the lane in calls before */
} Run;

/* The last record of a lane that touched these bytes. */
typedef struct Last {
  uint64_t first, end;
  uint32_t number;
} Last;

static const SortedKind last_kind = SORTED_KIND(Last, end);

/* Calls with records on one lane, as they ran. */
typedef struct LaneLog {
  uint32_t *run; /* index into runs */
  uint32_t count;
  uint32_t over[PLAN_LANES_MAX]; /* by lane: calls before this one are known there to be over */
  uint32_t mapped;               /* calls that are in the maps */
  Sorted written, touched;       /* maps, of Last: disjoint */
} LaneLog;

typedef struct Ordering {
  const View *view;
  Braids *braids;
  Walk walk;
  uint64_t *places;             /* of all bases of all calls, as in the ledger */
  const uint32_t *places_first; /* by call position */
  Run *runs;                    /* by call position, for two iterations */
  LaneLog lanes[PLAN_LANES_MAX];
  uint32_t known[PLAN_LANES_MAX][PLAN_LANES_MAX];
  uint32_t number[PLAN_LANES_MAX]; /* records of the lane so far */
  uint32_t lanes_used;
  bool failed;
} Ordering;

#define EACH_LANE(lane, mask)                                                                      \
  for (uint32_t lane = 0; lane < PLAN_LANES_MAX; lane++)                                           \
    if ((mask) >> lane & 1u)

static Run *run_at(const Ordering *o, uint32_t position, uint32_t iteration) {
  return &o->runs[iteration * o->walk.program->calls_count + position];
}

/* ---- what lanes know */

/* Of lane `of`, by records whose clock has these entries. */
static uint32_t known_by(const Run *run, uint32_t entries, uint32_t of) {
  uint32_t most = 0;
  EACH_LANE(lane, entries)
  if (run->known[lane][of] > most) most = run->known[lane][of];
  return most;
}

/* What the record of an earlier call knew, and that it is over, is known to the lane. */
static void join(Ordering *o, const Run *run, uint32_t record, uint32_t lane) {
  if (run->braid == NULL || !run->braid->clock[record].runs) return;
  const Clock *clock = &run->braid->clock[record];
  EACH_LANE(of, o->lanes_used) {
    uint32_t known = known_by(run, clock->entries, of);
    if (clock->number[of] > 0) known = run->before[of] + clock->number[of];
    if (known > o->known[lane][of]) o->known[lane][of] = known;
  }
}

/* Waits hold before the first record of the call on their lane. */
static void join_waits(Ordering *o, const Braid *braid) {
  const Walk *walk = &o->walk;
  for (uint32_t i = 0; i < walk->call->waits_count; i++) {
    const PlanWait *wait = &o->view->plan->waits[walk->call->waits_first + i];
    if ((braid->lanes >> wait->lane & 1u) == 0 || wait->iteration_back > walk->iteration) continue;
    bool in_body = walk->loop != NULL && wait->call >= walk->loop->first_call;
    uint32_t iteration = in_body ? walk->iteration - wait->iteration_back : 0;
    join(o, run_at(o, wait->call, iteration), wait->record, wait->lane);
    if (!in_body) /* an earlier loop: its last iteration */
      join(o, run_at(o, wait->call, 1), wait->record, wait->lane);
  }
}

/* ---- races */

static uint64_t place_of(const Ordering *o, uint32_t position, uint32_t base) {
  return base == BASE_NONE ? 0 : o->places[o->places_first[position] + base];
}

static bool meet(const Ordering *o, const Touch *a, const Touch *b, uint32_t b_position) {
  if (!a->write && !b->write) return false;
  uint64_t a_at = place_of(o, o->walk.position, a->base), b_at = place_of(o, b_position, b->base);
  return a_at + a->first < b_at + b->end && b_at + b->first < a_at + a->end;
}

/* `touch` comes later in the list, and does not know the other to be over. */
static void report(const Ordering *o, const Touch *touch, uint32_t of, const Touch *other,
                   uint32_t other_position) {
  if (touch->base == BASE_NONE && touch->first >= comm_space) {
    prove_finding(o->view, &o->walk, touch->record, "ordering",
                  "lane %s uses the same communicator, and nothing orders the two",
                  plan_lane_name(o->walk.view->plan, of));
    return;
  }
  unsigned long long at = place_of(o, o->walk.position, touch->base);
  prove_finding(o->view, &o->walk, touch->record, "ordering",
                "%s bytes [%llu..%llu) that lane %s %s in call %u record %u, and nothing "
                "orders the two",
                touch->write ? "writes" : "reads", at + touch->first, at + touch->end,
                plan_lane_name(o->walk.view->plan, of), other->write ? "writes" : "reads",
                other_position, other->record);
}

/* Against what the lane did earlier in this call. */
static void check_inside(const Ordering *o, const Braid *braid, uint32_t by, uint32_t of) {
  for (uint32_t i = 0; i < braid->all[by].count; i++) {
    const Touch *touch = &braid->all[by].at[i];
    for (uint32_t k = 0; k < braid->all[of].count; k++) {
      const Touch *other = &braid->all[of].at[k];
      if (other->record >= touch->record) break;
      if (other->number <= braid->clock[touch->record].number[of] ||
          !meet(o, touch, other, o->walk.position))
        continue;
      report(o, touch, of, other, o->walk.position);
      break;
    }
  }
}

/* The usual case: what the two calls touch lies apart. */
static bool lie_apart(const Ordering *o, const Touches *around, const Touches *late,
                      uint32_t late_position) {
  for (uint32_t i = 0; i < around->count; i++)
    for (uint32_t k = 0; k < late->count; k++)
      if (meet(o, &around->at[i], &late->at[k], late_position)) return false;
  return true;
}

/* The first of an earlier call that the touch meets; NULL: it knows all of these to be over. */
static const Touch *find_race(const Ordering *o, const Touch *touch, uint32_t known,
                              const Run *earlier, uint32_t of) {
  const Touches *late = &earlier->braid->late[of];
  for (uint32_t i = 0; i < late->count; i++)
    if (earlier->before[of] + late->at[i].number > known &&
        meet(o, touch, &late->at[i], earlier->position))
      return &late->at[i];
  return NULL;
}

/* ---- maps: where a lane is hundreds of calls behind, these are not looked at one by one
 *
 * Gradients are reduced beside the computation, and nothing waits for them before the step ends. */

enum { MAP_CALLS = 64 };

static const Last *last_at(const Sorted *map, uint32_t index, uint64_t end) {
  const Last *last = index < map->count ? sorted_at(&last_kind, map, index) : NULL;
  return last != NULL && last->first < end ? last : NULL;
}

/* Later records come later: what was there before is over when they are. */
static bool map_put(Sorted *map, Last last) {
  uint32_t at = sorted_find(&last_kind, map, last.first + 1), stop = at, count = 0;
  Last put[3];
  const Last *old = last_at(map, at, last.end);
  if (old != NULL && old->first < last.first) {
    put[count] = *old;
    put[count++].end = last.first;
  }
  put[count++] = last;
  for (; (old = last_at(map, stop, last.end)) != NULL; stop++)
    if (old->end > last.end) {
      put[count] = *old;
      put[count++].first = last.end;
    }
  return sorted_replace(&last_kind, map, at, stop - at, put, count);
}

static bool map_calls(const Ordering *o, LaneLog *log, uint32_t of) {
  bool done = true;
  uint32_t over = log->count; /* for everybody */
  EACH_LANE(by, o->lanes_used & ~(1u << of))
  if (log->over[by] < over) over = log->over[by];
  if (log->mapped < over) log->mapped = over;
  for (; log->mapped < log->count; log->mapped++) {
    const Run *run = &o->runs[log->run[log->mapped]];
    const Touches *late = &run->braid->late[of];
    for (uint32_t i = late->count; i-- > 0;) { /* the last record is first there */
      const Touch *touch = &late->at[i];
      uint64_t at = place_of(o, run->position, touch->base);
      Last last = {at + touch->first, at + touch->end, run->before[of] + touch->number};
      done = done && map_put(&log->touched, last);
      if (touch->write) done = done && map_put(&log->written, last);
    }
  }
  return done;
}

static bool races_mapped(const Ordering *o, const LaneLog *log, const Run *run, uint32_t by,
                         uint32_t of) {
  const Touches *early = &run->braid->early[by];
  for (uint32_t i = 0; i < early->count; i++) {
    const Touch *touch = &early->at[i];
    const Sorted *map = touch->write ? &log->touched : &log->written;
    uint64_t at = place_of(o, o->walk.position, touch->base);
    uint32_t known = known_by(run, touch->entries, of);
    const Last *last = NULL;
    for (uint32_t k = sorted_find(&last_kind, map, at + touch->first + 1);
         (last = last_at(map, k, at + touch->end)) != NULL; k++)
      if (last->number > known) return true;
  }
  return false;
}

/* Of the calls that may not be over, the first that must be looked at. */
static uint32_t first_unclear(Ordering *o, const Run *run, uint32_t by, uint32_t of) {
  LaneLog *log = &o->lanes[of];
  uint32_t first = log->over[by], unmapped = first > log->mapped ? first : log->mapped;
  if (log->count - unmapped > MAP_CALLS && !map_calls(o, log, of)) o->failed = true;
  return first < log->mapped && !races_mapped(o, log, run, by, of) ? log->mapped : first;
}

/* Against what the lane did in earlier calls, as far as it may not be over yet. */
static void check_before(Ordering *o, const Run *run, uint32_t by, uint32_t of) {
  const LaneLog *log = &o->lanes[of];
  const Touches *early = &run->braid->early[by];
  for (uint32_t n = first_unclear(o, run, by, of); n < log->count; n++) {
    const Run *earlier = &o->runs[log->run[n]];
    if (lie_apart(o, &run->braid->around[by], &earlier->braid->late[of], earlier->position))
      continue;
    for (uint32_t i = 0; i < early->count; i++) {
      uint32_t known = known_by(run, early->at[i].entries, of);
      const Touch *other = find_race(o, &early->at[i], known, earlier, of);
      if (other == NULL) continue;
      report(o, &early->at[i], of, other, earlier->position);
      return;
    }
  }
}

/* Bases of the call that share bytes are not what the braid takes them for. */
static bool bases_meet(const Ordering *o) {
  const PlanSegment *segment = o->walk.segment;
  const PlanBase *base = &o->view->plan->bases[segment->bases_first];
  const uint64_t *place = &o->places[o->places_first[o->walk.position]];
  for (uint32_t i = 0; i < segment->bases_count; i++)
    for (uint32_t k = 0; k < i; k++)
      if (place[i] < place[k] + base[k].size_bytes && place[k] < place[i] + base[i].size_bytes)
        return true;
  return false;
}

/* ---- calls */

static void run_call(Ordering *o, Braid *braid) {
  uint32_t index = o->walk.iteration * o->walk.program->calls_count + o->walk.position;
  Run *run = &o->runs[index];
  join_waits(o, braid);
  *run = (Run){.braid = braid, .position = o->walk.position};
  memcpy(run->known, o->known, sizeof run->known);
  memcpy(run->before, o->number, sizeof run->before);
  bool alone = (braid->lanes & (braid->lanes - 1)) == 0;
  bool inside = !alone && (!braid->proven || bases_meet(o));
  EACH_LANE(by, braid->lanes) {
    EACH_LANE(of, o->lanes_used & ~(1u << by)) {
      LaneLog *log = &o->lanes[of];
      while (log->over[by] < log->count) {
        const Run *earlier = &o->runs[log->run[log->over[by]]];
        if (earlier->before[of] + earlier->braid->count[of] > run->known[by][of]) break;
        log->over[by]++;
      }
      if (log->over[by] < log->count) check_before(o, run, by, of);
      if (inside && (braid->lanes >> of & 1u)) check_inside(o, braid, by, of);
    }
  }
  braid->proven = true;
  EACH_LANE(lane, braid->lanes) {
    o->lanes[lane].run[o->lanes[lane].count++] = index;
    o->number[lane] += braid->count[lane];
  }
}

/* The last record of each lane of the call knows most. */
static void leave_call(Ordering *o, const Braid *braid) {
  const Run *run = run_at(o, o->walk.position, o->walk.iteration);
  uint32_t left = braid->lanes;
  for (uint32_t i = o->walk.segment->records_count; i-- > 0 && left != 0;) {
    uint32_t lane = walk_record(&o->walk, i)->lane;
    if (!braid->clock[i].runs || (left >> lane & 1u) == 0) continue;
    left &= ~(1u << lane);
    join(o, run, i, lane);
  }
}

static void run_program(Ordering *o, const PlanProgram *program) {
  o->walk = walk_begin(o->view, program);
  while (walk_next(&o->walk)) {
    Braid *braid = braid_of(o->braids, &o->walk);
    o->failed |= braid == NULL;
    if (o->failed) break;
    run_call(o, braid);
    leave_call(o, braid);
  }
  if (o->failed) prove_finding(o->view, NULL, -1, "ordering", "out of memory while proving");
}

/* Lanes that the running records use; one lane needs no proof. */
static uint32_t used_lanes(const View *view, const PlanProgram *program, Braids *braids) {
  uint32_t lanes = 0;
  Walk walk = walk_begin(view, program);
  while (walk_next(&walk)) {
    const Braid *braid = braid_of(braids, &walk);
    if (braid != NULL) lanes |= braid->lanes; /* NULL: found again, and said, in run_program */
  }
  return lanes;
}

static void find_places(Ordering *o, const PlanProgram *program) {
  Walk walk = walk_begin(o->view, program);
  while (walk_next(&walk))
    for (uint32_t base = 0; base < walk.segment->bases_count; base++)
      o->places[o->places_first[walk.position] + base] = walk_base(&walk, base);
}

static uint32_t count_bases(const View *view, const PlanProgram *program) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < program->calls_count; i++)
    count += view->plan->calls[program->calls_first + i].bindings_count;
  return count;
}

static void prove_program(const View *view, const PlanProgram *program, Braids *braids) {
  Ordering o = {.view = view, .braids = braids};
  o.lanes_used = used_lanes(view, program, braids);
  if ((o.lanes_used & (o.lanes_used - 1)) == 0) return;
  size_t runs = 2 * (size_t)program->calls_count;
  o.places_first = view->ledger[program->kind].base_first;
  o.places = prove_array(view, count_bases(view, program), sizeof *o.places);
  bool ready = o.places != NULL;
  if (ready) find_places(&o, program);
  o.runs = prove_array(view, runs, sizeof *o.runs);
  EACH_LANE(lane, o.lanes_used) {
    o.lanes[lane].run = prove_array(view, runs, sizeof(uint32_t));
    ready = ready && o.lanes[lane].run != NULL;
  }
  if (ready && o.runs != NULL) run_program(&o, program);
  EACH_LANE(lane, o.lanes_used) {
    sorted_free(&o.lanes[lane].written), sorted_free(&o.lanes[lane].touched);
    free(o.lanes[lane].run);
  }
  free(o.runs), free(o.places);
}

void prove_ordering(const View *view, Braids *braids) {
  for (uint32_t i = 0; i < view->class->programs_count; i++)
    prove_program(view, &view->plan->programs[view->class->programs_first + i], braids);
}

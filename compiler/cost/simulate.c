/* simulate.c -- every class walks its list once, with one clock for each lane.
 *
 * A class is seen as the rank at its first coordinates. Where a call has one lane and meets no
 * other class, which is the usual case, it is taken in one piece. Loops of a class that is alone
 * reach a steady state: after some iterations the others are taken in one piece, too. */
#include "compiler/cost/simulate.h"

#include <string.h>

enum { ITERATIONS_WALKED = 4 };

/* A segment as calls of the same flags run it. */
typedef struct Profile {
  uint32_t flags;
  bool is_plain; /* one lane, no other class */
  uint32_t lane;
  int64_t total_ns;
  int64_t *end_ns; /* by record: after the call's start; of a plain one */
  struct Profile *next;
} Profile;

/* One end of a transfer that has begun, and its number among those between the two classes. */
typedef struct Pending {
  uint32_t peer;
  int32_t number;
  bool is_send;
} Pending;

typedef struct Times {
  VEC(int64_t) at;
} Times;

/* A class on its way through its calls. */
typedef struct Runner {
  const PlanProgram *program; /* NULL: it has none of this kind */
  int32_t *coordinate;
  uint32_t call, record, iteration, loop; /* of the program, its segment; loop: next or current */
  uint32_t lanes_begun;                   /* of the call */
  int64_t free_ns[Lane_COUNT];            /* when the lane's last record was over */
  int64_t *end_ns;                        /* by record of the call */
  int32_t *targets;                       /* by call: the first wait for one of its records */
  LaneTimes *times;
  bool has_come; /* to the communication it stands at, at `start_ns` */
  bool has_met;  /* and so have the others, at `met_ns` */
  int64_t start_ns, met_ns;
  VEC(Pending) pending; /* of the exchange it stands at */
  /* At the end of the iteration before. */
  int64_t free_before_ns[Lane_COUNT];
  LaneTimes times_before;
} Runner;

typedef struct Simulation {
  Arena *arena;
  const Plan *plan;
  Runner *runners;
  Profile **profiles;      /* by segment */
  bool *is_wide;           /* by comm: its members are of several classes */
  int64_t *ready_ns;       /* by wait: when what it waits for was over, last */
  int32_t *next_target;    /* by wait: the next one for the same call */
  Times *sends, *receives; /* when each began, by class * classes + peer */
} Simulation;

static bool is_communication(const PlanRecord *record) {
  return record->kind != RECORD_KERNEL && record->kind != RECORD_LOAD;
}

static bool is_wide(const Simulation *s, const PlanRecord *record) {
  return is_communication(record) && s->is_wide[record->comm];
}

static bool runs(const PlanRecord *record, const PlanCall *call) {
  return plan_when(record->when_all, record->when_none, call->flags);
}

static int64_t later(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* ---- profiles */

static Profile *make_profile(const Simulation *s, const PlanCall *call) {
  const PlanSegment *segment = &s->plan->segments[call->segment];
  Profile *profile = ARENA_NEW(s->arena, Profile);
  bool any = false;
  *profile = (Profile){.flags = call->flags, .is_plain = true, .lane = LANE_COMPUTE};
  profile->end_ns = ARENA_ARRAY(s->arena, int64_t, segment->records_count + 1);
  for (uint32_t i = 0; i < segment->records_count; i++) {
    const PlanRecord *record = &s->plan->records[segment->records_first + i];
    if (!runs(record, call)) continue;
    if (is_wide(s, record) || (any && record->lane != profile->lane)) profile->is_plain = false;
    profile->lane = record->lane;
    any = true;
    profile->total_ns += record->predicted_ns;
    profile->end_ns[i] = profile->total_ns;
  }
  return profile;
}

static const Profile *profile_of(const Simulation *s, const PlanCall *call) {
  Profile *first = s->profiles[call->segment];
  for (Profile *p = first; p != NULL; p = p->next)
    if (p->flags == call->flags) return p;
  Profile *made = make_profile(s, call);
  made->next = first;
  s->profiles[call->segment] = made;
  return made;
}

/* ---- the clocks of lanes */

static const PlanCall *current_call(const Simulation *s, const Runner *r) {
  return &s->plan->calls[r->program->calls_first + r->call];
}

/* When the lane may begin the call, but for edges inside it. */
static int64_t call_ready_ns(const Simulation *s, const Runner *r, uint32_t lane) {
  const PlanCall *call = current_call(s, r);
  int64_t ready = r->free_ns[lane];
  for (uint32_t i = 0; i < call->waits_count; i++)
    if (s->plan->waits[call->waits_first + i].lane == lane)
      ready = later(ready, s->ready_ns[call->waits_first + i]);
  return ready;
}

/* The lane stands still until `start_ns`. */
static int64_t stand_still(Runner *r, uint32_t lane, int64_t start_ns) {
  if (lane == LANE_COMPUTE) r->times->exposed_ns += start_ns - r->free_ns[lane];
  return start_ns;
}

static int64_t begin_record(const Simulation *s, Runner *r, const PlanRecord *record) {
  const PlanSegment *segment = &s->plan->segments[current_call(s, r)->segment];
  const int32_t after[4] = {record->after0, record->after1, record->after2, record->after3};
  bool first = (r->lanes_begun >> record->lane & 1U) == 0;
  int64_t start = first ? call_ready_ns(s, r, record->lane) : r->free_ns[record->lane];
  for (int i = 0; i < 4; i++)
    if (after[i] >= 0 &&
        runs(&s->plan->records[segment->records_first + (uint32_t)after[i]], current_call(s, r)))
      start = later(start, r->end_ns[after[i]]);
  r->lanes_begun |= 1U << record->lane;
  return stand_still(r, record->lane, start);
}

static void end_record(const Simulation *s, Runner *r, const PlanRecord *record, int64_t start_ns) {
  int64_t end = start_ns + record->predicted_ns;
  r->times->busy_ns[record->lane] += record->predicted_ns;
  r->free_ns[record->lane] = r->end_ns[r->record] = end;
  for (int32_t w = r->targets[r->call]; w >= 0; w = s->next_target[w])
    if (s->plan->waits[w].record == r->record) s->ready_ns[w] = end;
}

static void run_plain(const Simulation *s, Runner *r, const Profile *profile) {
  int64_t start = stand_still(r, profile->lane, call_ready_ns(s, r, profile->lane));
  r->times->busy_ns[profile->lane] += profile->total_ns;
  r->free_ns[profile->lane] = start + profile->total_ns;
  for (int32_t w = r->targets[r->call]; w >= 0; w = s->next_target[w])
    s->ready_ns[w] = start + profile->end_ns[s->plan->waits[w].record];
}

/* ---- calls and loops */

/* What an iteration added, the ones left out add as well. */
static void leave_out(const Simulation *s, Runner *r, const PlanLoop *loop) {
  int64_t times = (int64_t)loop->times - ITERATIONS_WALKED, most = 0;
  for (int32_t lane = 0; lane < Lane_COUNT; lane++) {
    int64_t took = r->free_ns[lane] - r->free_before_ns[lane];
    r->free_ns[lane] += times * took;
    r->times->busy_ns[lane] += times * (r->times->busy_ns[lane] - r->times_before.busy_ns[lane]);
    most = later(most, took);
  }
  r->times->exposed_ns += times * (r->times->exposed_ns - r->times_before.exposed_ns);
  for (uint32_t call = loop->first_call; call < loop->first_call + loop->call_count; call++)
    for (int32_t w = r->targets[call]; w >= 0; w = s->next_target[w])
      s->ready_ns[w] += times * most;
}

static bool next_iteration(const Simulation *s, Runner *r, const PlanLoop *loop) {
  bool alone = s->plan->classes_count == 1;
  if (++r->iteration == loop->times) return false;
  if (alone && r->iteration == ITERATIONS_WALKED) {
    leave_out(s, r, loop);
    return false;
  }
  memcpy(r->free_before_ns, r->free_ns, sizeof r->free_ns);
  r->times_before = *r->times;
  r->call = loop->first_call;
  return true;
}

static void next_call(const Simulation *s, Runner *r) {
  bool in_loop = r->loop < r->program->loops_count;
  const PlanLoop *loop = in_loop ? &s->plan->loops[r->program->loops_first + r->loop] : NULL;
  r->record = 0;
  r->lanes_begun = 0;
  r->call++;
  if (!in_loop || r->call < loop->first_call + loop->call_count) return;
  if (next_iteration(s, r, loop)) return;
  r->iteration = 0;
  r->loop++;
}

/* ---- classes meet */

static int32_t class_at(const Plan *plan, const int32_t *coordinate) {
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

static int32_t class_at_distance(const Simulation *s, Runner *r, uint32_t comm, int64_t distance) {
  int32_t peer = -1;
  for (uint32_t a = 0; a < s->plan->axes_count; a++) {
    if ((s->plan->comms[comm].axes_mask >> a & 1U) == 0) continue;
    int64_t size = s->plan->axes[a].size, here = r->coordinate[a];
    r->coordinate[a] = (int32_t)(((here + distance) % size + size) % size);
    peer = class_at(s->plan, r->coordinate);
    r->coordinate[a] = (int32_t)here;
  }
  return peer;
}

static Times *times_of(const Simulation *s, bool sends, uint32_t class, uint32_t peer) {
  return &(sends ? s->sends : s->receives)[class * s->plan->classes_count + peer];
}

static void begin_exchange(const Simulation *s, uint32_t class, const PlanRecord *record) {
  Runner *r = &s->runners[class];
  r->pending.count = 0;
  for (uint32_t i = 0; i < record->operands_count; i++) {
    int64_t distance = s->plan->ints[record->dims_first + i];
    int32_t peer = class_at_distance(s, r, record->comm, distance);
    if (peer < 0 || peer == (int32_t) class) continue;
    bool is_send = s->plan->operands[record->operands_first + i].access == ACCESS_READ;
    Times *times = times_of(s, is_send, class, (uint32_t)peer);
    VEC_PUSH(s->arena, &r->pending, (Pending){(uint32_t)peer, times->at.count, is_send});
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

/* Whether ranks of both classes are members of one communicator of this kind. */
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
    bool stands_here = record != NULL && record->kind != RECORD_EXCHANGE && record->comm == comm;
    if (!stands_here || other->has_met) return; /* met: it has not gone on yet */
    met = later(met, other->start_ns);
  }
  for (uint32_t c = 0; c < s->plan->classes_count; c++) {
    if (!together(s, class, c, comm)) continue;
    s->runners[c].has_met = true;
    s->runners[c].met_ns = met;
  }
}

/* Begins or ends a communication with other classes; false: it has to wait. */
static bool communicate(const Simulation *s, uint32_t class, const PlanRecord *record,
                        bool *moved) {
  Runner *r = &s->runners[class];
  bool is_exchange = record->kind == RECORD_EXCHANGE;
  if (!r->has_come) {
    r->start_ns = begin_record(s, r, record);
    r->has_come = *moved = true;
    if (is_exchange) begin_exchange(s, class, record);
  }
  if (!r->has_met && is_exchange) meet_exchange(s, class);
  if (!r->has_met && !is_exchange) meet_collective(s, class, record->comm);
  if (!r->has_met) return false;
  if (record->lane == LANE_COMPUTE) r->times->apart_ns += r->met_ns - r->start_ns;
  r->has_come = r->has_met = false;
  end_record(s, r, record, r->met_ns);
  return true;
}

/* ---- the walk */

/* Runs the rest of the current call; false: it stands at a communication. */
static bool run_call(const Simulation *s, uint32_t class, bool *moved) {
  Runner *r = &s->runners[class];
  const PlanCall *call = current_call(s, r);
  const PlanSegment *segment = &s->plan->segments[call->segment];
  const Profile *profile = profile_of(s, call);
  if (profile->is_plain) {
    run_plain(s, r, profile);
    return true;
  }
  for (; r->record < segment->records_count; r->record++) {
    const PlanRecord *record = &s->plan->records[segment->records_first + r->record];
    if (!runs(record, call)) continue;
    if (!is_wide(s, record))
      end_record(s, r, record, begin_record(s, r, record));
    else if (!communicate(s, class, record, moved))
      return false;
  }
  return true;
}

static bool run_until_wait(const Simulation *s, uint32_t class) {
  Runner *r = &s->runners[class];
  bool moved = false;
  if (r->program == NULL) return false;
  while (r->call < r->program->calls_count) {
    if (!run_call(s, class, &moved)) return moved;
    moved = true;
    next_call(s, r);
  }
  return moved;
}

/* The program is over when all its lanes are. */
static void end_program(Runner *r) {
  if (r->program == NULL) return;
  for (int32_t lane = 0; lane < Lane_COUNT; lane++)
    r->times->span_ns = later(r->times->span_ns, r->free_ns[lane]);
  r->times->exposed_ns += r->times->span_ns - r->free_ns[LANE_COMPUTE];
}

/* ---- the door */

static void open_runner(const Simulation *s, uint32_t c, ProgramKind kind, LaneTimes *times) {
  const Plan *plan = s->plan;
  const PlanClass *class = &plan->classes[c];
  Runner *r = &s->runners[c];
  uint32_t records = 0;
  r->times = times;
  r->coordinate = ARENA_ARRAY(s->arena, int32_t, plan->axes_count + 1);
  for (uint32_t a = 0; a < plan->axes_count; a++)
    r->coordinate[a] = (int32_t)plan->bounds[class->bounds_first + a].first;
  for (uint32_t i = 0; i < class->programs_count; i++)
    if (plan->programs[class->programs_first + i].kind == (uint32_t)kind)
      r->program = &plan->programs[class->programs_first + i];
  if (r->program == NULL) return;
  r->targets = ARENA_ARRAY(s->arena, int32_t, r->program->calls_count + 1);
  for (uint32_t i = 0; i < r->program->calls_count; i++)
    r->targets[i] = -1;
  for (uint32_t i = 0; i < r->program->calls_count; i++) {
    const PlanCall *call = &plan->calls[r->program->calls_first + i];
    if (plan->segments[call->segment].records_count > records)
      records = plan->segments[call->segment].records_count;
    for (uint32_t w = call->waits_first; w < call->waits_first + call->waits_count; w++) {
      s->next_target[w] = r->targets[plan->waits[w].call];
      r->targets[plan->waits[w].call] = (int32_t)w;
    }
  }
  r->end_ns = ARENA_ARRAY(s->arena, int64_t, records + 1);
}

static bool has_several_classes(const Plan *plan, uint32_t comm) {
  for (uint32_t c = 0; c < plan->classes_count; c++)
    for (uint32_t a = 0; a < plan->axes_count; a++) {
      const PlanBound *bound = &plan->bounds[plan->classes[c].bounds_first + a];
      bool whole = bound->first == 0 && bound->end == plan->axes[a].size;
      if ((plan->comms[comm].axes_mask >> a & 1U) != 0 && !whole) return true;
    }
  return false;
}

LaneTimes *simulate(Arena *arena, const Plan *plan, ProgramKind kind) {
  uint32_t classes = plan->classes_count;
  Simulation s = {.arena = arena, .plan = plan};
  LaneTimes *times = ARENA_ARRAY(arena, LaneTimes, classes + 1);
  s.runners = ARENA_ARRAY(arena, Runner, classes + 1);
  s.profiles = ARENA_ARRAY(arena, Profile *, plan->segments_count + 1);
  s.is_wide = ARENA_ARRAY(arena, bool, plan->comms_count + 1);
  s.ready_ns = ARENA_ARRAY(arena, int64_t, plan->waits_count + 1);
  s.next_target = ARENA_ARRAY(arena, int32_t, plan->waits_count + 1);
  s.sends = ARENA_ARRAY(arena, Times, classes * classes + 1);
  s.receives = ARENA_ARRAY(arena, Times, classes * classes + 1);
  for (uint32_t i = 0; i < plan->comms_count; i++)
    s.is_wide[i] = has_several_classes(plan, i);
  for (uint32_t c = 0; c < classes; c++)
    open_runner(&s, c, kind, &times[c]);
  for (bool moved = true; moved;) {
    moved = false;
    for (uint32_t c = 0; c < classes; c++)
      moved = run_until_wait(&s, c) || moved;
  }
  for (uint32_t c = 0; c < classes; c++)
    end_program(&s.runners[c]);
  return times;
}

/* cores.c -- simulates all lanes in the order of time. Each lane has a position in the program; its
 * next record begins when the records that it waits for have run often enough, and all records that
 * run at the same time share cores and memory. */
#include "compiler/plan/simulate/cores.h"

#include <math.h>

#include "compiler/plan/simulate/parts.h"
#include "compiler/plan/simulate/runner.h"
#include "runtime/plan/plan_job.h"
#include "runtime/plan/plan_place.h"
#include "runtime/plan/plan_seam.h"

typedef enum LaneWayState { WAY_WAITS, WAY_MEETS, WAY_RUNS, WAY_OVER } LaneWayState;

/* A lane of a class on its way through the program. */
typedef struct LaneWay {
  uint32_t lane;
  LaneWayState state;
  bool is_first;                          /* this is the lane's first record in its call */
  int32_t run;                            /* number of the program's run */
  uint32_t call, record, iteration, loop; /* as a runner's */
  int64_t free_ns;                        /* end of its last record */
  const PlanRecord *last;                 /* that record */
  int64_t woken_ns;                       /* begin of the current stretch without idle time */
  int64_t came_ns;                        /* arrival at a communication with other classes */
  int64_t start_ns;                       /* start of the current record */
  double left_ns;                         /* rest of the record at rate 1 */
  double threads;                         /* that the record uses */
  double share;                           /* of a core, for threads that mostly wait */
  double asked;                           /* bytes a nanosecond at rate 1 */
  double rate;                            /* 1: as fast as alone on the cores */
  uint32_t number;      /* of its collective on the communicator, in the lane's order */
  VEC(Pending) pending; /* transfers of its exchange */
} LaneWay;

/* A class: its lanes, and how often each record has run. */
typedef struct ClassLanes {
  uint32_t class, class_alike;
  int32_t *coordinate;
  const PlanProgram *program; /* NULL: the class has no program of this kind */
  uint32_t *slot_first;       /* by call: index of its first record in `done` and `end_ns` */
  int32_t *done;              /* by record of a call: completed executions */
  int64_t *end_ns;            /* by record of a call: end of the last one */
  uint32_t *call_lanes;       /* by call: a bit for each lane that runs a record */
  uint32_t *met;              /* by communicator and lane: collectives reached so far */
  uint32_t *sent, *taken;     /* by peer and lane: transfers begun so far */
  LaneWay ways[PLAN_LANES_MAX];
  int32_t runs_over; /* completed by the main lane */
  bool goes_on;      /* other lanes may still run when the main lane begins the next run */
  uint32_t main_end;
  int64_t begun_ns; /* begin of the run that is timed */
  LaneTimes *times;
} ClassLanes;

typedef struct CoreWalk {
  Arena *arena;
  const Plan *plan;
  const RankCores *cores;
  const StretchSink *sink;
  uint32_t main_lane, parted_mask;
  int32_t runs, counted; /* number of runs, and the one that is timed: its neighbours overlap it */
  int64_t now_ns;
  const uint32_t *times; /* by loop of the plan: the iterations that are walked; NULL: all */
  ClassLanes *teams;
  bool *is_wide; /* by communicator: its members are of several classes */
} CoreWalk;

/* ---- the way through the program */

static const PlanCall *call_at(const CoreWalk *s, const ClassLanes *t, uint32_t call) {
  return &s->plan->calls[t->program->calls_first + call];
}

static const PlanRecord *record_at(const CoreWalk *s, const ClassLanes *t, uint32_t call,
                                   uint32_t record) {
  return &s->plan->records[s->plan->segments[call_at(s, t, call)->segment].records_first + record];
}

static const PlanLoop *loop_at(const CoreWalk *s, const ClassLanes *t, const LaneWay *w) {
  if (w->loop >= t->program->loops_count) return NULL;
  const PlanLoop *loop = &s->plan->loops[t->program->loops_first + w->loop];
  return w->call >= loop->first_call ? loop : NULL;
}

static uint32_t times_of(const CoreWalk *s, const PlanLoop *loop) {
  return s->times != NULL ? s->times[loop - s->plan->loops] : loop->times;
}

static int32_t call_times(const CoreWalk *s, const ClassLanes *t, uint32_t call) {
  const PlanLoop *loop = plan_loop_of(s->plan, t->program, call);
  return loop != NULL ? (int32_t)times_of(s, loop) : 1;
}

static bool is_at_end(const ClassLanes *t, const LaneWay *w) {
  return w->call == t->program->calls_count;
}

static void next_call(const CoreWalk *s, const ClassLanes *t, LaneWay *w) {
  const PlanLoop *loop = loop_at(s, t, w);
  w->call++;
  w->record = 0;
  w->is_first = true;
  if (loop == NULL || w->call < loop->first_call + loop->call_count) return;
  if (++w->iteration < times_of(s, loop)) {
    w->call = loop->first_call;
    return;
  }
  w->iteration = 0;
  w->loop++;
}

/* Moves to the next record that the lane runs, which may be the current one, or to the end. */
static void find_record(const CoreWalk *s, const ClassLanes *t, LaneWay *w) {
  for (; !is_at_end(t, w); next_call(s, t, w)) {
    const PlanCall *call = call_at(s, t, w->call);
    if ((t->call_lanes[w->call] >> w->lane & 1U) == 0) continue;
    for (; w->record < s->plan->segments[call->segment].records_count; w->record++) {
      const PlanRecord *record = record_at(s, t, w->call, w->record);
      if (record->lane == w->lane && plan_runs(call, record)) return;
    }
  }
}

static void begin_run(const CoreWalk *s, const ClassLanes *t, LaneWay *w) {
  w->call = w->record = w->iteration = w->loop = 0;
  w->is_first = true;
  w->free_ns = s->now_ns;
  find_record(s, t, w);
}

/* ---- what a record waits for */

/* Returns how often a call has begun in this run before the lane's position, in the plan's order.
 */
static int32_t times_before(const CoreWalk *s, const ClassLanes *t, const LaneWay *w,
                            uint32_t call) {
  const PlanLoop *loop = loop_at(s, t, w);
  if (loop != NULL && call >= loop->first_call && call - loop->first_call < loop->call_count)
    return (int32_t)w->iteration + (call < w->call);
  return call < w->call ? call_times(s, t, call) : 0;
}

static int32_t times_in_runs(const CoreWalk *s, const ClassLanes *t, const LaneWay *w,
                             uint32_t call) {
  return w->run * call_times(s, t, call);
}

/* The latest end of the records that were waited for, and that record; NULL: none. */
typedef struct LatestEnd {
  int64_t at_ns;
  const PlanRecord *record;
} LatestEnd;

static void take_later(LatestEnd *latest, int64_t at_ns, const PlanRecord *record) {
  if (at_ns > latest->at_ns) *latest = (LatestEnd){at_ns, record};
}

/* True if the record has run at least `times` times. */
static bool has_run(const CoreWalk *s, const ClassLanes *t, uint32_t call, uint32_t record,
                    int32_t times, LatestEnd *latest) {
  const PlanRecord *awaited = record_at(s, t, call, record);
  const uint32_t slot = t->slot_first[call] + record;
  if (!plan_runs(call_at(s, t, call), awaited)) return true;
  if (t->done[slot] < times) return false;
  if (times > 0) take_later(latest, t->end_ns[slot], awaited);
  return true;
}

static bool waits_are_over(const CoreWalk *s, const ClassLanes *t, const LaneWay *w,
                           LatestEnd *latest) {
  const PlanCall *call = call_at(s, t, w->call);
  for (uint32_t i = 0; i < call->waits_count; i++) {
    const PlanWait *wait = &s->plan->waits[call->waits_first + i];
    if (wait->lane != w->lane || wait->program != t->program->kind) continue;
    int32_t times = times_in_runs(s, t, w, wait->call);
    if (wait->run_back == 0) times += times_before(s, t, w, wait->call);
    if (!has_run(s, t, wait->call, wait->record, times, latest)) return false;
  }
  return true;
}

static bool edges_are_over(const CoreWalk *s, const ClassLanes *t, const LaneWay *w,
                           LatestEnd *latest) {
  const PlanRecord *record = record_at(s, t, w->call, w->record);
  const int32_t times = times_in_runs(s, t, w, w->call) + (int32_t)w->iteration + 1;
  for (uint32_t i = 0; i < record->after_count; i++) {
    const uint32_t before = s->plan->edges[record->after_first + i].record;
    if (!has_run(s, t, w->call, before, times, latest)) return false;
  }
  return true;
}

/* The main lane has waited since its last record. */
static void stand_still(const CoreWalk *s, const ClassLanes *t, const LaneWay *w,
                        const LatestEnd *latest) {
  const int64_t took_ns = s->now_ns - w->free_ns;
  if (w->lane != s->main_lane || w->run != s->counted || took_ns <= 0) return;
  t->times->exposed_ns += took_ns;
  if (latest->record != NULL && plan_is_communication(latest->record))
    parts_add_exposed(s->plan, &t->times->parts, latest->record, took_ns,
                      price_ns(s->plan, t->class_alike, latest->record));
}

/* ---- the end of a run */

static bool others_are_over(const CoreWalk *s, const ClassLanes *t, int32_t run,
                            LatestEnd *latest) {
  for (uint32_t lane = 0; lane < s->plan->lanes_count; lane++) {
    const LaneWay *w = &t->ways[lane];
    if (lane == s->main_lane || (t->goes_on && (s->parted_mask >> lane & 1U) == 0)) continue;
    const bool is_past = t->goes_on ? w->call > t->main_end : is_at_end(t, w);
    if (w->run <= run && !is_past) return false;
    take_later(latest, w->free_ns, w->last);
  }
  return true;
}

/* At the end of the way's run: begins the next one, if it may. The others begin it after the main
 * lane. */
static bool next_run(const CoreWalk *s, ClassLanes *t, LaneWay *w) {
  if (w->lane != s->main_lane) {
    if (t->runs_over <= w->run) return false;
  } else {
    LatestEnd latest = {0};
    if (!others_are_over(s, t, w->run, &latest)) return false;
    stand_still(s, t, w, &latest);
    if (w->run == s->counted) t->times->span_ns = s->now_ns - t->begun_ns;
    t->runs_over++;
    if (t->runs_over == s->counted) t->begun_ns = s->now_ns;
  }
  if (++w->run < s->runs)
    begin_run(s, t, w);
  else
    w->state = WAY_OVER;
  return true;
}

/* ---- communications of several classes */

static uint32_t *counter_of(const CoreWalk *s, uint32_t *counters, uint32_t of, uint32_t lane) {
  return &counters[of * s->plan->lanes_count + lane];
}

static void come_to_meet(const CoreWalk *s, ClassLanes *t, LaneWay *w, const PlanRecord *record) {
  w->came_ns = s->now_ns;
  w->state = WAY_MEETS;
  if (record->kind != RECORD_EXCHANGE) {
    w->number = ++*counter_of(s, t->met, record->comm, w->lane);
    return;
  }
  w->pending.count = 0;
  for (uint32_t i = 0; i < record->operands_count; i++) {
    const int64_t distance = s->plan->ints[record->dims_first + i];
    const uint32_t peer = plan_class_at_distance(s->plan, t->class, record->comm, distance);
    if (peer == PLAN_NONE || peer == t->class) continue;
    const bool is_send = s->plan->operands[record->operands_first + i].access == ACCESS_READ;
    uint32_t *counter = counter_of(s, is_send ? t->sent : t->taken, peer, w->lane);
    VEC_PUSH(s->arena, &w->pending, (Pending){peer, (int32_t)++ * counter, is_send});
  }
}

static bool is_beside(const CoreWalk *s, const ClassLanes *a, const ClassLanes *b, uint32_t comm) {
  for (uint32_t axis = 0; axis < s->plan->axes_count; axis++)
    if ((s->plan->comms[comm].axes_mask >> axis & 1U) == 0 &&
        a->coordinate[axis] != b->coordinate[axis])
      return false;
  return true;
}

static bool all_have_come(const CoreWalk *s, const ClassLanes *t, const LaneWay *w,
                          const PlanRecord *record) {
  for (int32_t i = 0; record->kind == RECORD_EXCHANGE && i < w->pending.count; i++) {
    const Pending *p = &w->pending.at[i];
    const ClassLanes *peer = &s->teams[p->peer];
    if (*counter_of(s, p->is_send ? peer->taken : peer->sent, t->class, w->lane) <
        (uint32_t)p->number)
      return false;
  }
  for (uint32_t c = 0; record->kind != RECORD_EXCHANGE && c < s->plan->classes_count; c++)
    if (is_beside(s, t, &s->teams[c], record->comm) &&
        *counter_of(s, s->teams[c].met, record->comm, w->lane) < w->number)
      return false;
  return true;
}

/* ---- records */

static void ask(const CoreWalk *s, LaneWay *w, const PlanRecord *record, double ns) {
  const bool is_file = record->kind == RECORD_READ || record->kind == RECORD_WRITE;
  const bool is_team = w->lane == s->main_lane || plan_is_host_lane(s->plan, w->lane);
  w->threads = w->share = w->asked = 0;
  if (ns <= 0 || plan_is_communication(record)) return;
  w->asked = (double)record->bytes / ns;
  if (!is_file) {
    w->threads = record->kind == RECORD_KERNEL && is_team ? s->cores->count : 1;
    return;
  }
  if (s->cores->copied_per_s <= 0) return;
  const double bytes = (double)s->plan->operands[record->operands_first].size_bytes;
  w->share = fmin(s->cores->count, bytes * s->cores->passes / s->cores->copied_per_s * 1e9 / ns);
}

static void start(const CoreWalk *s, const ClassLanes *t, LaneWay *w, const PlanRecord *record) {
  w->left_ns = (double)price_ns(s->plan, t->class_alike, record);
  w->start_ns = s->now_ns;
  if (w->free_ns < s->now_ns) w->woken_ns = s->now_ns;
  w->state = WAY_RUNS;
  ask(s, w, record, w->left_ns);
}

static bool try_to_start(const CoreWalk *s, ClassLanes *t, LaneWay *w) {
  LatestEnd latest = {0};
  if (is_at_end(t, w)) return next_run(s, t, w);
  const PlanRecord *record = record_at(s, t, w->call, w->record);
  if (w->run > t->runs_over || (w->is_first && !waits_are_over(s, t, w, &latest)) ||
      !edges_are_over(s, t, w, &latest))
    return false;
  stand_still(s, t, w, &latest);
  if (plan_is_communication(record) && s->is_wide[record->comm])
    come_to_meet(s, t, w, record);
  else
    start(s, t, w, record);
  return true;
}

static bool try_to_meet(const CoreWalk *s, ClassLanes *t, LaneWay *w) {
  const PlanRecord *record = record_at(s, t, w->call, w->record);
  const int64_t took_ns = s->now_ns - w->came_ns;
  if (!all_have_come(s, t, w, record)) return false;
  if (w->lane == s->main_lane && w->run == s->counted) {
    t->times->apart_ns += took_ns;
    parts_add_exposed(s->plan, &t->times->parts, record, took_ns, 0);
  }
  start(s, t, w, record);
  return true;
}

static void hand_out(const CoreWalk *s, const ClassLanes *t, const LaneWay *w,
                     const PlanRecord *record) {
  const PlanCall *call = call_at(s, t, w->call);
  const PlanLoop *loop = loop_at(s, t, w);
  Stretch stretch = {.class = t->class,
                     .lane = w->lane,
                     .call = call,
                     .record = record,
                     .microbatch = call->microbatch,
                     .start_ns = w->start_ns,
                     .end_ns = s->now_ns};
  if (s->sink == NULL) return;
  if (loop != NULL && call->microbatch >= 0)
    stretch.microbatch += (int32_t)(w->iteration * loop->microbatch_stride);
  s->sink->take(s->sink->state, &stretch);
}

static void end(const CoreWalk *s, const ClassLanes *t, LaneWay *w) {
  const PlanRecord *record = record_at(s, t, w->call, w->record);
  const uint32_t slot = t->slot_first[w->call] + w->record;
  const int64_t took_ns = s->now_ns - w->start_ns;
  t->done[slot]++;
  t->end_ns[slot] = s->now_ns;
  if (w->run == s->counted) {
    t->times->busy_ns[w->lane] += took_ns;
    if (w->lane == s->main_lane) parts_add_record(s->plan, &t->times->parts, record, took_ns);
  }
  hand_out(s, t, w, record);
  w->free_ns = s->now_ns;
  w->last = record;
  w->state = WAY_WAITS;
  w->is_first = false;
  w->record++;
  find_record(s, t, w);
}

/* ---- time */

/* A thread that has just woken goes before those that have worked, until it has had a slice: Linux,
 * kernel/sched/fair.c, sysctl_sched_base_slice of a machine with eight processors or more. */
static const int64_t SLICE_NS = 3000000;

static bool goes_first(const CoreWalk *s, const LaneWay *w) {
  return w->lane != s->main_lane && s->now_ns - w->woken_ns < SLICE_NS;
}

/* Divides `cores` among the threads of those that go first, or of the others. Returns what is left.
 */
static double give_cores(const CoreWalk *s, ClassLanes *t, bool first, double cores) {
  double threads = 0;
  for (uint32_t lane = 0; lane < s->plan->lanes_count; lane++)
    if (t->ways[lane].state == WAY_RUNS && goes_first(s, &t->ways[lane]) == first)
      threads += t->ways[lane].threads;
  for (uint32_t lane = 0; lane < s->plan->lanes_count; lane++) {
    LaneWay *w = &t->ways[lane];
    if (w->state == WAY_RUNS && goes_first(s, w) == first)
      w->rate = s->cores->count > 0 && w->threads > 0 && threads > cores ? cores / threads : 1;
  }
  return fmax(0, cores - threads);
}

/* The rates of what a class runs now: 1 is alone. */
static void share_cores(const CoreWalk *s, ClassLanes *t) {
  double share = 0, asked = 0, most_asked = 0;
  for (uint32_t lane = 0; lane < s->plan->lanes_count; lane++)
    if (t->ways[lane].state == WAY_RUNS) share += t->ways[lane].share;
  (void)give_cores(s, t, false, give_cores(s, t, true, fmax(0, s->cores->count - share)));
  for (uint32_t lane = 0; lane < s->plan->lanes_count; lane++) {
    const LaneWay *w = &t->ways[lane];
    if (w->state != WAY_RUNS) continue;
    asked += w->rate * w->asked;
    most_asked = fmax(most_asked, w->asked);
  }
  const double given = fmax(s->cores->bytes_per_s * 1e-9, most_asked);
  if (s->cores->bytes_per_s <= 0 || asked <= given) return;
  for (uint32_t lane = 0; lane < s->plan->lanes_count; lane++)
    if (t->ways[lane].asked > 0) t->ways[lane].rate *= given / asked;
}

/* Returns the longest time for which the rate of this way stays as it is. */
static double steady_for(const CoreWalk *s, const LaneWay *w) {
  if (w->state != WAY_RUNS) return INFINITY;
  const double end_ns = w->rate > 0 ? w->left_ns / w->rate : INFINITY;
  return goes_first(s, w) ? fmin(end_ns, (double)(w->woken_ns + SLICE_NS - s->now_ns)) : end_ns;
}

/* Begins all that may begin now. False: nothing runs. */
static bool begin_all(const CoreWalk *s) {
  bool runs = false;
  for (bool moved = true; moved;) {
    moved = runs = false;
    for (uint32_t c = 0; c < s->plan->classes_count; c++)
      for (uint32_t lane = 0; lane < s->plan->lanes_count && s->teams[c].program; lane++) {
        LaneWay *w = &s->teams[c].ways[lane];
        if (w->state == WAY_WAITS) moved |= try_to_start(s, &s->teams[c], w);
        if (w->state == WAY_MEETS) moved |= try_to_meet(s, &s->teams[c], w);
        runs |= w->state == WAY_RUNS;
      }
  }
  return runs;
}

/* Until the next record is over. */
static void pass(CoreWalk *s) {
  double step_ns = INFINITY;
  for (uint32_t c = 0; c < s->plan->classes_count; c++) {
    if (s->teams[c].program == NULL) continue;
    share_cores(s, &s->teams[c]);
    for (uint32_t lane = 0; lane < s->plan->lanes_count; lane++)
      step_ns = fmin(step_ns, steady_for(s, &s->teams[c].ways[lane]));
  }
  step_ns = ceil(step_ns - 1e-6);
  s->now_ns += (int64_t)step_ns;
  for (uint32_t c = 0; c < s->plan->classes_count; c++)
    for (uint32_t lane = 0; lane < s->plan->lanes_count && s->teams[c].program; lane++) {
      LaneWay *w = &s->teams[c].ways[lane];
      if (w->state != WAY_RUNS) continue;
      w->left_ns -= w->rate * step_ns;
      if (w->left_ns <= 1e-6) end(s, &s->teams[c], w);
    }
}

static bool is_counted(const CoreWalk *s) {
  for (uint32_t c = 0; c < s->plan->classes_count; c++)
    for (uint32_t lane = 0; lane < s->plan->lanes_count && s->teams[c].program; lane++)
      if (s->teams[c].ways[lane].run <= s->counted) return false;
  return true;
}

/* ---- entry points */

static void open_team(const CoreWalk *s, uint32_t class, ProgramKind kind, LaneTimes *times) {
  const Plan *plan = s->plan;
  ClassLanes *t = &s->teams[class];
  uint32_t slots = 0;
  t->class = t->class_alike = class;
  t->times = times;
  t->coordinate = ARENA_ARRAY(s->arena, int32_t, plan->axes_count + 1);
  for (uint32_t a = 0; a < plan->axes_count; a++)
    t->coordinate[a] = (int32_t)plan->bounds[plan->classes[class].bounds_first + a].first;
  t->met = ARENA_ARRAY(s->arena, uint32_t, plan->comms_count * plan->lanes_count + 1);
  t->sent = ARENA_ARRAY(s->arena, uint32_t, plan->classes_count * plan->lanes_count + 1);
  t->taken = ARENA_ARRAY(s->arena, uint32_t, plan->classes_count * plan->lanes_count + 1);
  t->program = plan_program(plan, &plan->classes[class], kind);
  if (t->program == NULL) return;
  t->goes_on = s->runs > 1 && plan_follows_itself(plan, t->program);
  t->main_end = plan_main_end(plan, t->program);
  t->slot_first = ARENA_ARRAY(s->arena, uint32_t, t->program->calls_count + 1);
  t->call_lanes = ARENA_ARRAY(s->arena, uint32_t, t->program->calls_count + 1);
  for (uint32_t i = 0; i < t->program->calls_count; i++) {
    const PlanCall *call = call_at(s, t, i);
    const uint32_t records = plan->segments[call->segment].records_count;
    for (uint32_t r = 0; r < records; r++)
      if (plan_runs(call, record_at(s, t, i, r)))
        t->call_lanes[i] |= 1U << record_at(s, t, i, r)->lane;
    t->slot_first[i] = slots;
    slots += records;
  }
  t->done = ARENA_ARRAY(s->arena, int32_t, slots + 1);
  t->end_ns = ARENA_ARRAY(s->arena, int64_t, slots + 1);
  for (uint32_t lane = 0; lane < plan->lanes_count; lane++) {
    t->ways[lane].lane = lane;
    begin_run(s, t, &t->ways[lane]);
  }
}

static bool any_follows_itself(const Plan *plan, ProgramKind kind) {
  for (uint32_t i = 0; i < plan->programs_count; i++)
    if (plan->programs[i].kind == (uint32_t)kind && plan_follows_itself(plan, &plan->programs[i]))
      return true;
  return false;
}

bool cores_are_shared(const Plan *plan) {
  if (!plan_has_job(plan) || job_target(plan) != TARGET_CPU || plan->launches_count > 0)
    return false;
  for (uint32_t i = 0; i < plan->records_count; i++)
    if (plan_is_offload(plan, &plan->records[i])) return true;
  return false;
}

/* The job's value of a number; 0: it has none. */
static double number_of(const Plan *plan, const char *key) {
  const PlanSetting *setting = plan_setting(plan, key);
  if (setting == NULL) return 0;
  return setting->kind == SETTING_REAL ? setting->real : (double)setting->count;
}

RankCores cores_of(const Plan *plan) {
  return (RankCores){
      .count = (double)job_threads(plan),
      .bytes_per_s =
          number_of(plan, "cluster.host_bandwidth") / fmax(1, number_of(plan, "cluster.devices")),
      .copied_per_s = number_of(plan, "cluster.host_link"),
      .passes = number_of(plan, "offload.verify") != 0 ? 2 : 1,
  };
}

LaneTimes *cores_walk(Arena *arena, const Plan *plan, ProgramKind kind, const RankCores *cores,
                      const StretchSink *sink, const uint32_t *loop_times) {
  const bool follows = sink == NULL && any_follows_itself(plan, kind);
  const uint32_t classes = plan->classes_count;
  CoreWalk s = {.arena = arena,
                .plan = plan,
                .cores = cores,
                .sink = sink,
                .times = loop_times,
                .main_lane = plan_main_lane(plan),
                .runs = follows ? 3 : 1,
                .counted = follows};
  LaneTimes *times = ARENA_ARRAY(arena, LaneTimes, classes + 1);
  s.parted_mask = plan_lanes_that_communicate(plan) & ~(1U << s.main_lane);
  s.teams = ARENA_ARRAY(arena, ClassLanes, classes + 1);
  s.is_wide = ARENA_ARRAY(arena, bool, plan->comms_count + 1);
  for (uint32_t i = 0; i < plan->comms_count; i++)
    s.is_wide[i] = meet_is_wide(plan, i);
  for (uint32_t c = 0; c < classes; c++)
    open_team(&s, c, kind, &times[c]);
  while (begin_all(&s) && !is_counted(&s))
    pass(&s);
  for (uint32_t c = 0; c < classes; c++)
    times[c].is_stuck = s.teams[c].program != NULL && s.teams[c].runs_over <= s.counted;
  return times;
}

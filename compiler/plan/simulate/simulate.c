/* simulate.c -- every class walks its list once, with one clock for each lane.
 *
 * A class is seen as the rank at its first coordinates. Where a call has one lane and meets no
 * other class, which is the usual case, it is taken in one piece. Loops of a class that is alone
 * reach a steady state: from then on the iterations that are left are taken in one piece, too. If a
 * program follows itself (plan_seam.h), its second run counts. */
#include "compiler/plan/simulate/simulate.h"

#include <string.h>

#include "compiler/plan/simulate/cores.h"
#include "compiler/plan/simulate/parts.h"
#include "compiler/plan/simulate/runner.h"
#include "runtime/plan/plan_seam.h"

static bool is_wide(const Simulation *s, const PlanRecord *record) {
  return plan_is_communication(record) && s->is_wide[record->comm];
}

/* ---- profiles */

static Profile *make_profile(const Simulation *s, uint32_t class, const PlanCall *call) {
  const PlanSegment *segment = &s->plan->segments[call->segment];
  Profile *profile = ARENA_NEW(s->arena, Profile);
  bool any = false;
  *profile = (Profile){.flags = call->flags, .is_plain = true, .lane = s->main_lane};
  profile->ns = ARENA_ARRAY(s->arena, int64_t, segment->records_count + 1);
  profile->end_ns = ARENA_ARRAY(s->arena, int64_t, segment->records_count + 1);
  for (uint32_t i = 0; i < segment->records_count; i++) {
    const PlanRecord *record = &s->plan->records[segment->records_first + i];
    if (!plan_runs(call, record)) continue;
    if (is_wide(s, record) || (any && record->lane != profile->lane)) profile->is_plain = false;
    profile->lane = record->lane;
    any = true;
    profile->ns[i] = price_ns(s->plan, class, record);
    profile->total_ns += profile->ns[i];
    profile->end_ns[i] = profile->total_ns;
    profile->last = record;
    parts_add_record(s->plan, &profile->parts, record, profile->ns[i]);
  }
  return profile;
}

static const Profile *profile_of(const Simulation *s, const Runner *r) {
  const PlanCall *call = current_call(s, r);
  Profile **first = &s->profiles[r->class_alike * s->plan->segments_count + call->segment];
  for (Profile *p = *first; p != NULL; p = p->next)
    if (p->flags == call->flags) return p;
  Profile *made = make_profile(s, r->class_alike, call);
  made->next = *first;
  *first = made;
  return made;
}

/* ---- the clocks of lanes */

/* The loop that the runner's call is in; NULL: none. Loops ascend. */
static const PlanLoop *current_loop(const Simulation *s, const Runner *r) {
  if (r->loop >= r->program->loops_count) return NULL;
  const PlanLoop *loop = &s->plan->loops[r->program->loops_first + r->loop];
  return r->call >= loop->first_call ? loop : NULL;
}

static const PlanRecord *awaited(const Simulation *s, const Runner *r, const PlanWait *wait) {
  const PlanCall *call = &s->plan->calls[r->program->calls_first + wait->call];
  return &s->plan->records[s->plan->segments[call->segment].records_first + wait->record];
}

/* The earliest time at which a lane may begin, and the cause of its wait; NULL: for nothing. */
typedef struct Ready {
  int64_t at_ns;
  const PlanRecord *late;
} Ready;

static void wait_until(Ready *ready, int64_t at_ns, const PlanRecord *late) {
  if (at_ns > ready->at_ns) *ready = (Ready){at_ns, late};
}

static void wait_for_call(const Simulation *s, const Runner *r, const PlanCall *call, uint32_t lane,
                          Ready *ready) {
  for (uint32_t i = 0; i < call->waits_count; i++) {
    const PlanWait *wait = &s->plan->waits[call->waits_first + i];
    if (wait->lane == lane && wait->run_back == 0)
      wait_until(ready, s->ready_ns[call->waits_first + i], awaited(s, r, wait));
    else if (wait->lane == lane && wait->program == r->program->kind)
      wait_until(ready, s->before_ns[call->waits_first + i], awaited(s, r, wait));
  }
}

/* When the lane may begin the call, edges inside the call not counted. A launch begins when all its
 * calls may. */
static Ready call_ready(const Simulation *s, const Runner *r, uint32_t lane) {
  const PlanCall *call = current_call(s, r);
  const PlanLaunch *launch = plan_launch_of(s->plan, r->program, r->call);
  uint32_t count = launch != NULL && launch->first_call == r->call ? launch->call_count : 1;
  Ready ready = {r->free_ns[lane], NULL};
  for (uint32_t i = 0; i < count; i++)
    wait_for_call(s, r, call + i, lane, &ready);
  return ready;
}

/* A record that the wait names has ended. A call that waits for a record of itself waits for the
 * iteration before, and a lane may come to that wait after this iteration's record: until the call
 * is over it reads the time of the iteration before. */
static void end_awaited(const Simulation *s, const Runner *r, int32_t wait, int64_t end_ns) {
  const PlanCall *call = current_call(s, r);
  const bool is_own = (uint32_t)wait - call->waits_first < call->waits_count;
  (is_own ? s->own_ns : s->ready_ns)[wait] = end_ns;
}

static void end_own(const Simulation *s, const Runner *r) {
  const PlanCall *call = current_call(s, r);
  for (uint32_t w = call->waits_first; w < call->waits_first + call->waits_count; w++)
    s->ready_ns[w] = later(s->ready_ns[w], s->own_ns[w]);
}

/* Ends all calls of a launch together: whoever waits for one of them waits for the launch. */
static void end_launch(const Simulation *s, const Runner *r, int64_t end_ns) {
  const PlanLaunch *launch = plan_launch_of(s->plan, r->program, r->call);
  if (launch == NULL || r->call + 1 < launch->first_call + launch->call_count) return;
  for (uint32_t call = launch->first_call; call <= r->call; call++)
    for (int32_t w = r->targets[call]; w >= 0; w = s->next_target[w])
      s->ready_ns[w] = end_ns;
}

/* Reports to the sink what the lane has just run. */
static void hand_out(const Simulation *s, const Runner *r, uint32_t lane, const PlanRecord *record,
                     int64_t start_ns) {
  if (s->sink == NULL) return;
  const PlanCall *call = current_call(s, r);
  Stretch stretch = {.class = (uint32_t)(r - s->runners),
                     .lane = lane,
                     .call = call,
                     .record = record,
                     .microbatch = call->microbatch,
                     .start_ns = start_ns,
                     .end_ns = r->free_ns[lane]};
  const PlanLoop *loop = current_loop(s, r);
  if (loop != NULL && call->microbatch >= 0)
    stretch.microbatch += (int32_t)(r->iteration * loop->microbatch_stride);
  s->sink->take(s->sink->state, &stretch);
}

/* The lane waits until it is ready. Returns when that is. */
static int64_t stand_still(const Simulation *s, Runner *r, uint32_t lane, Ready ready) {
  int64_t took_ns = ready.at_ns - r->free_ns[lane];
  if (lane != s->main_lane) return ready.at_ns;
  r->times->exposed_ns += took_ns;
  if (took_ns > 0 && ready.late != NULL && plan_is_communication(ready.late))
    parts_add_exposed(s->plan, &r->times->parts, ready.late, took_ns,
                      price_ns(s->plan, r->class_alike, ready.late));
  return ready.at_ns;
}

static int64_t begin_record(const Simulation *s, Runner *r, const PlanRecord *record) {
  const PlanSegment *segment = &s->plan->segments[current_call(s, r)->segment];
  bool first = (r->lanes_begun >> record->lane & 1U) == 0;
  Ready ready = first ? call_ready(s, r, record->lane) : (Ready){r->free_ns[record->lane], NULL};
  for (uint32_t i = 0; i < record->after_count; i++) {
    uint32_t after = s->plan->edges[record->after_first + i].record;
    const PlanRecord *before = &s->plan->records[segment->records_first + after];
    if (plan_runs(current_call(s, r), before)) wait_until(&ready, r->end_ns[after], before);
  }
  r->lanes_begun |= 1U << record->lane;
  return stand_still(s, r, record->lane, ready);
}

static void end_record(const Simulation *s, Runner *r, const PlanRecord *record, int64_t start_ns) {
  int64_t took = r->profile->ns[r->record], end = start_ns + took;
  r->times->busy_ns[record->lane] += took;
  r->free_ns[record->lane] = r->end_ns[r->record] = end;
  r->last[record->lane] = record;
  if (record->lane == s->main_lane) parts_add_record(s->plan, &r->times->parts, record, took);
  for (int32_t w = r->targets[r->call]; w >= 0; w = s->next_target[w])
    if (s->plan->waits[w].record == r->record) end_awaited(s, r, w, end);
  hand_out(s, r, record->lane, record, start_ns);
}

static void run_plain(const Simulation *s, Runner *r, const Profile *profile) {
  int64_t start = stand_still(s, r, profile->lane, call_ready(s, r, profile->lane));
  r->times->busy_ns[profile->lane] += profile->total_ns;
  r->free_ns[profile->lane] = start + profile->total_ns;
  r->last[profile->lane] = profile->last;
  if (profile->lane == s->main_lane) parts_add(&r->times->parts, &profile->parts);
  r->lanes_begun |= 1U << profile->lane;
  for (int32_t w = r->targets[r->call]; w >= 0; w = s->next_target[w])
    end_awaited(s, r, w, start + profile->end_ns[s->plan->waits[w].record]);
  end_launch(s, r, start + profile->total_ns);
  hand_out(s, r, profile->lane, NULL, start);
}

/* ---- calls and loops */

/* For each wait of the loop's calls, in order. */
#define EACH_WAIT(s, r, loop, w, number)                                                           \
  for (uint32_t call = (loop)->first_call, number = 0;                                             \
       call < (loop)->first_call + (loop)->call_count; call++)                                     \
    for (uint32_t w = (s)->plan->calls[(r)->program->calls_first + call].waits_first,              \
                  last = w + (s)->plan->calls[(r)->program->calls_first + call].waits_count;       \
         w < last; w++, number++)

static void remember(const Simulation *s, Runner *r, const PlanLoop *loop) {
  memcpy(r->before.free_ns, r->free_ns, sizeof r->free_ns);
  r->before.times = *r->times;
  EACH_WAIT(s, r, loop, w, number) r->before.ready_ns[number] = s->ready_ns[w];
  r->lanes_iterated = 0;
}

/* How long each of the remaining iterations takes; -1: they may differ. The end of an iteration is
 * computed, by sums and maxima, from when its lanes became free and when the records that it waits
 * for in the iteration before ended. Once all of these have shifted by the same amount, they keep
 * doing so. Records before the loop no longer matter: the first iteration has waited for them. */
static int64_t steady_ns(const Simulation *s, const Runner *r, const PlanLoop *loop) {
  int64_t took = -1;
  for (int32_t lane = 0; lane < PLAN_LANES_MAX; lane++) {
    int64_t grown = r->free_ns[lane] - r->before.free_ns[lane];
    if ((r->lanes_iterated >> lane & 1U) == 0) continue;
    if (took >= 0 && grown != took) return -1;
    took = grown;
  }
  EACH_WAIT(s, r, loop, w, number) {
    bool in_loop = s->plan->waits[w].run_back == 0 && s->plan->waits[w].call >= loop->first_call;
    if (in_loop && s->ready_ns[w] - r->before.ready_ns[number] != took) return -1;
  }
  return took;
}

/* Each iteration that is left out adds what the last one has added. */
static void leave_out(const Simulation *s, Runner *r, const PlanLoop *loop, int64_t took_ns) {
  int64_t times = (int64_t)loop->times - r->iteration;
  const LaneTimes *before = &r->before.times;
  for (int32_t lane = 0; lane < PLAN_LANES_MAX; lane++) {
    if ((r->lanes_iterated >> lane & 1U) != 0) r->free_ns[lane] += times * took_ns;
    r->times->busy_ns[lane] += times * (r->times->busy_ns[lane] - before->busy_ns[lane]);
  }
  r->times->exposed_ns += times * (r->times->exposed_ns - before->exposed_ns);
  LaneParts *parts = &r->times->parts;
  parts->compute_ns += times * (parts->compute_ns - before->parts.compute_ns);
  parts->bubble_ns += times * (parts->bubble_ns - before->parts.bubble_ns);
  for (uint32_t axis = 0; axis <= PLAN_AXES_MAX; axis++)
    parts->exposed_ns[axis] += times * (parts->exposed_ns[axis] - before->parts.exposed_ns[axis]);
  for (uint32_t call = loop->first_call; call < loop->first_call + loop->call_count; call++)
    for (int32_t w = r->targets[call]; w >= 0; w = s->next_target[w])
      s->ready_ns[w] += times * took_ns;
}

static bool next_iteration(const Simulation *s, Runner *r, const PlanLoop *loop) {
  bool may_leave_out = s->plan->classes_count == 1 && s->sink == NULL;
  if (++r->iteration == loop->times) return false;
  int64_t took_ns = may_leave_out && r->iteration > 1 ? steady_ns(s, r, loop) : -1;
  if (took_ns >= 0) {
    leave_out(s, r, loop, took_ns);
    return false;
  }
  remember(s, r, loop);
  r->call = loop->first_call;
  return true;
}

/* The main lane waits for lanes that communicate where its run ends. */
static void end_main(const Simulation *s, Runner *r) {
  Ready end = {r->free_ns[s->main_lane], NULL};
  for (uint32_t lane = 0; lane < PLAN_LANES_MAX; lane++)
    if ((s->parted_mask >> lane & 1U) != 0) wait_until(&end, r->free_ns[lane], r->last[lane]);
  r->free_ns[s->main_lane] = stand_still(s, r, s->main_lane, end);
}

static void next_call(const Simulation *s, Runner *r) {
  const PlanLoop *loop = current_loop(s, r);
  if (r->goes_on && r->call == r->main_end) end_main(s, r);
  end_own(s, r);
  r->record = 0;
  r->lanes_iterated |= r->lanes_begun;
  r->lanes_begun = 0;
  r->call++;
  if (loop == NULL || r->call < loop->first_call + loop->call_count) return;
  if (next_iteration(s, r, loop)) return;
  r->iteration = 0;
  r->loop++;
}

/* ---- the walk */

/* Begins or ends a communication with other classes; false: it has to wait. */
static bool communicate(const Simulation *s, uint32_t class, const PlanRecord *record,
                        bool *moved) {
  Runner *r = &s->runners[class];
  if (!r->has_come) {
    r->start_ns = begin_record(s, r, record);
    r->has_come = *moved = true;
    if (record->kind == RECORD_EXCHANGE) meet_exchange_begin(s, class, record);
  }
  if (!r->has_met) meet_others(s, class, record);
  if (!r->has_met) return false;
  if (record->lane == s->main_lane) {
    r->times->apart_ns += r->met_ns - r->start_ns;
    parts_add_exposed(s->plan, &r->times->parts, record, r->met_ns - r->start_ns, 0);
  }
  r->has_come = r->has_met = false;
  end_record(s, r, record, r->met_ns);
  return true;
}

/* Runs the rest of the current call; false: it waits at a communication. */
static bool run_call(const Simulation *s, uint32_t class, bool *moved) {
  Runner *r = &s->runners[class];
  const PlanCall *call = current_call(s, r);
  const PlanSegment *segment = &s->plan->segments[call->segment];
  r->profile = profile_of(s, r);
  if (r->profile->is_plain) {
    run_plain(s, r, r->profile);
    return true;
  }
  for (; r->record < segment->records_count; r->record++) {
    const PlanRecord *record = &s->plan->records[segment->records_first + r->record];
    if (!plan_runs(call, record)) continue;
    if (!is_wide(s, record))
      end_record(s, r, record, begin_record(s, r, record));
    else if (!communicate(s, class, record, moved))
      return false;
  }
  return true;
}

static void join_lanes(const Simulation *s, Runner *r) {
  Ready end = {r->free_ns[s->main_lane], NULL};
  for (int32_t lane = 0; lane < PLAN_LANES_MAX; lane++)
    wait_until(&end, r->free_ns[lane], r->last[lane]);
  r->free_ns[s->main_lane] = stand_still(s, r, s->main_lane, end);
}

/* True if the program is to run again. All lanes then begin after the main one. */
static bool next_run(const Simulation *s, Runner *r) {
  if (r->runs_left == 0) return false;
  r->runs_left--;
  if (!r->goes_on) join_lanes(s, r);
  for (uint32_t lane = 0; lane < PLAN_LANES_MAX; lane++)
    r->free_ns[lane] = later(r->free_ns[lane], r->free_ns[s->main_lane]);
  for (uint32_t c = 0; c < r->program->calls_count; c++) {
    const PlanCall *call = &s->plan->calls[r->program->calls_first + c];
    for (uint32_t w = call->waits_first; w < call->waits_first + call->waits_count; w++)
      s->before_ns[w] = s->ready_ns[w];
  }
  r->begun_ns = r->free_ns[s->main_lane];
  r->call = r->record = r->iteration = r->loop = 0;
  *r->times = (LaneTimes){0};
  return true;
}

static bool run_until_wait(const Simulation *s, uint32_t class) {
  Runner *r = &s->runners[class];
  bool moved = false;
  if (r->program == NULL) return false;
  while (r->call < r->program->calls_count || next_run(s, r)) {
    if (!run_call(s, class, &moved)) return moved;
    moved = true;
    next_call(s, r);
  }
  return moved;
}

/* The program is over when all its lanes are, or the main one if others may continue. */
static void end_program(const Simulation *s, Runner *r) {
  if (r->program == NULL) return;
  if (!r->goes_on) join_lanes(s, r);
  r->times->span_ns = r->free_ns[s->main_lane] - r->begun_ns;
  r->times->is_stuck = r->call < r->program->calls_count;
}

/* ---- entry points */

static bool same_links(const Plan *plan, uint32_t a, uint32_t b) {
  if (plan->links_count == 0) return true;
  for (uint32_t comm = 0; comm < plan->comms_count; comm++)
    if (!price_same_link(&plan->links[a * plan->comms_count + comm],
                         &plan->links[b * plan->comms_count + comm]))
      return false;
  return true;
}

static bool any_follows_itself(const Plan *plan, ProgramKind kind) {
  for (uint32_t i = 0; i < plan->programs_count; i++)
    if (plan->programs[i].kind == (uint32_t)kind && plan_follows_itself(plan, &plan->programs[i]))
      return true;
  return false;
}

static void open_runner(const Simulation *s, uint32_t c, ProgramKind kind, LaneTimes *times) {
  const Plan *plan = s->plan;
  const PlanClass *class = &plan->classes[c];
  Runner *r = &s->runners[c];
  uint32_t records = 0, waits = 0;
  while (!same_links(plan, r->class_alike, c)) /* ends at c itself */
    r->class_alike++;
  r->times = times;
  r->coordinate = ARENA_ARRAY(s->arena, int32_t, plan->axes_count + 1);
  for (uint32_t a = 0; a < plan->axes_count; a++)
    r->coordinate[a] = (int32_t)plan->bounds[class->bounds_first + a].first;
  r->program = plan_program(plan, class, kind);
  if (r->program == NULL) return;
  r->runs_left = s->runs - 1;
  r->goes_on = s->runs > 1 && plan_follows_itself(plan, r->program);
  r->main_end = plan_main_end(plan, r->program);
  r->targets = ARENA_ARRAY(s->arena, int32_t, r->program->calls_count + 1);
  for (uint32_t i = 0; i < r->program->calls_count; i++)
    r->targets[i] = -1;
  for (uint32_t i = 0; i < r->program->calls_count; i++) {
    const PlanCall *call = &plan->calls[r->program->calls_first + i];
    if (plan->segments[call->segment].records_count > records)
      records = plan->segments[call->segment].records_count;
    waits += call->waits_count;
    for (uint32_t w = call->waits_first; w < call->waits_first + call->waits_count; w++) {
      /* records of other programs have ended before this one starts */
      if (plan->waits[w].program != r->program->kind) continue;
      s->next_target[w] = r->targets[plan->waits[w].call];
      r->targets[plan->waits[w].call] = (int32_t)w;
    }
  }
  r->end_ns = ARENA_ARRAY(s->arena, int64_t, records + 1);
  r->before.ready_ns = ARENA_ARRAY(s->arena, int64_t, waits + 1);
}

LaneTimes *simulate(Arena *arena, const Plan *plan, ProgramKind kind) {
  return simulate_stretches(arena, plan, kind, NULL);
}

LaneTimes *simulate_stretches(Arena *arena, const Plan *plan, ProgramKind kind,
                              const StretchSink *sink) {
  uint32_t classes = plan->classes_count;
  if (cores_are_shared(plan)) {
    const RankCores cores = cores_of(plan);
    return cores_simulate(arena, plan, kind, &cores, sink);
  }
  Simulation s = {.arena = arena, .plan = plan, .main_lane = plan_main_lane(plan), .sink = sink};
  LaneTimes *times = ARENA_ARRAY(arena, LaneTimes, classes + 1);
  s.runners = ARENA_ARRAY(arena, Runner, classes + 1);
  s.profiles = ARENA_ARRAY(arena, Profile *, classes * plan->segments_count + 1);
  s.is_wide = ARENA_ARRAY(arena, bool, plan->comms_count + 1);
  s.ready_ns = ARENA_ARRAY(arena, int64_t, plan->waits_count + 1);
  s.own_ns = ARENA_ARRAY(arena, int64_t, plan->waits_count + 1);
  s.next_target = ARENA_ARRAY(arena, int32_t, plan->waits_count + 1);
  s.sends = ARENA_ARRAY(arena, Times, classes * classes + 1);
  s.receives = ARENA_ARRAY(arena, Times, classes * classes + 1);
  s.before_ns = ARENA_ARRAY(arena, int64_t, plan->waits_count + 1);
  s.parted_mask = plan_lanes_that_communicate(plan) & ~(1U << s.main_lane);
  s.runs = sink == NULL && any_follows_itself(plan, kind) ? 2 : 1;
  for (uint32_t i = 0; i < plan->comms_count; i++)
    s.is_wide[i] = meet_is_wide(plan, i);
  for (uint32_t c = 0; c < classes; c++)
    open_runner(&s, c, kind, &times[c]);
  for (bool moved = true; moved;) {
    moved = false;
    for (uint32_t c = 0; c < classes; c++)
      moved = run_until_wait(&s, c) || moved;
  }
  for (uint32_t c = 0; c < classes; c++)
    end_program(&s, &s.runners[c]);
  return times;
}

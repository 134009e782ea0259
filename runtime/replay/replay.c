/* replay.c -- the loop that trains: it walks over calls and records, resolves addresses and issues
 * the work. replay_work.c runs each work when its queue reaches it.
 *
 * One walker issues a program in list order: a record goes to the queue of its lane, after the
 * marks that its edges name. A mark's number is the record's position in list order, counted on
 * from step to step.
 *
 * A run is enclosed by copies: control and samples are copied in before any queue begins, control
 * is copied out when all have ended. Loads are copies: only the device touches its memory. */
#include "runtime/replay/replay.h"

#include <string.h>

#include "runtime/data/samples.h"
#include "runtime/plan/plan_job.h"
#include "runtime/plan/plan_loops.h"
#include "runtime/replay/replay_end.h"
#include "runtime/replay/replay_fused.h"
#include "runtime/replay/replay_graph.h"
#include "runtime/replay/replay_heard.h"
#include "runtime/replay/replay_work.h"

enum { PARTS = REPLAY_PARTS, LAST_PART = REPLAY_LAST_PART };
_Static_assert((int)KERNEL_OPERANDS_MAX <= (int)PARTS, "each operand of a load has a part");

typedef struct Walker {
  Replay *replay;
  const PlanProgram *program;
  uint64_t number_first; /* of the first call's record 0 */
  const uint8_t *samples;
  bool is_graph;     /* issued work is captured, not run */
  uint32_t end_call; /* plan_main_end of a run that may continue; PLAN_NONE: it ends on all lanes */
} Walker;

/* The work of a launch: that of its first record, with the launch as its operand. */
static Work launch_work(ReplayLaunch *launch) {
  Work work = launch->work[0];
  work.run = replay_run_launch;
  work.operand[0] = launch;
  return work;
}

/* ---- issuing */

/* The number of a record's part 0. */
static uint64_t number_of(const Walker *walker, uint64_t running, uint32_t record) {
  return walker->number_first + (running * walker->replay->records_most + record) * PARTS;
}

static Queue *queue_of(const Replay *replay, const PlanRecord *record) {
  return replay->device->ops->queue(replay->device, record->lane);
}

/* After record number `awaited` of `call`, if it runs there. */
static bool issue_wait(const Walker *walker, Queue *queue, const PlanCall *call, uint64_t running,
                       uint32_t awaited, Status *status) {
  const Replay *replay = walker->replay;
  const Plan *plan = replay->setup.plan;
  const PlanRecord *record = &plan->records[plan->segments[call->segment].records_first + awaited];
  if (!plan_runs(call, record)) return true;
  return replay->device->ops->wait(queue, queue_of(replay, record),
                                   number_of(walker, running, awaited) + LAST_PART, status);
}

static bool issue_edges(const Walker *walker, const Position *at, const PlanRecord *record,
                        Queue *queue, Status *status) {
  const PlanEdge *after = walker->replay->setup.plan->edges + record->after_first;
  for (uint32_t i = 0; i < record->after_count; i++)
    if (!issue_wait(walker, queue, at->call, at->running, after[i].record, status)) return false;
  return true;
}

/* Waits for a record of an earlier run. That wait is over if there was no earlier run, or if this
 * run is captured. */
static bool issue_wait_across(const Walker *walker, const Position *at, const PlanWait *wait,
                              Queue *queue, Status *status) {
  const Replay *replay = walker->replay;
  const Plan *plan = replay->setup.plan;
  const PlanProgram *program = plan_awaited(plan, at->program, wait);
  const Walker other = {
      walker->replay, program, replay->run_first[program->kind][program == at->program],
      NULL,           false,   PLAN_NONE};
  const PlanCall *call = &plan->calls[program->calls_first + wait->call];
  const uint64_t running = walk_last(plan, program, wait->call);
  return other.number_first == 0 || walker->is_graph ||
         issue_wait(&other, queue, call, running, wait->record, status);
}

/* Before the first record of the call on `lane`. */
static bool issue_waits(const Walker *walker, const Position *at, uint32_t lane, Queue *queue,
                        Status *status) {
  const Plan *plan = walker->replay->setup.plan;
  for (uint32_t i = 0; i < at->call->waits_count; i++) {
    const PlanWait *wait = &plan->waits[at->call->waits_first + i];
    uint64_t running = 0;
    if (wait->lane == lane && wait->run_back > 0 &&
        !issue_wait_across(walker, at, wait, queue, status))
      return false;
    if (wait->lane != lane || wait->run_back > 0 || !walk_awaited(plan, at, wait, &running))
      continue;
    const PlanCall *call = &plan->calls[at->program->calls_first + wait->call];
    if (!issue_wait(walker, queue, call, running, wait->record, status)) return false;
  }
  return true;
}

Work replay_work(Replay *replay, const Position *at, const PlanRecord *record) {
  const Plan *plan = replay->setup.plan;
  Work work = {.run = replay_run_record,
               .context = replay,
               .record = record,
               .layer = at->call->layer,
               .microbatch = at->microbatch};
  for (uint32_t i = 0; i < record->operands_count; i++) {
    uint32_t number = record->operands_first + i;
    uint32_t binding = at->call->bindings_first + plan->operands[number].base;
    work.operand[i] = replay->binding_at[binding] + replay->operand_offset[number];
  }
  return work;
}

static void note_high_water(Replay *replay, const PlanRecord *record, void *const *operand) {
  for (uint32_t i = 0; i < record->operands_count; i++) {
    uint64_t end = (uint64_t)((uint8_t *)operand[i] - replay->setup.arena[TIER_DEVICE]) +
                   (uint64_t)replay->operand_bytes[record->operands_first + i];
    if (end > replay->high_water_bytes && end <= replay->device_bytes)
      replay->high_water_bytes = end;
  }
}

/* A micro-batch has the layout in which it was staged, input after input. */
static bool issue_load(const Walker *walker, const Work *work, Queue *queue, uint64_t number,
                       Status *status) {
  Replay *replay = walker->replay;
  const Plan *plan = replay->setup.plan;
  const int64_t *bytes = replay->operand_bytes + work->record->operands_first;
  uint64_t microbatch = work->microbatch < 0 ? 0 : (uint64_t)work->microbatch;
  const uint8_t *staged = walker->samples + microbatch * job_sample_bytes(plan);
  uint32_t count = work->record->operands_count;
  bool issued = true;
  for (uint32_t i = 0; i < count && issued; i++) {
    uint64_t part = i + 1 == count ? LAST_PART : i, size_bytes = (uint64_t)bytes[i];
    hostile_allow(&replay->hostile, work->operand[i], size_bytes);
    issued =
        replay->device->ops->copy(queue, work->operand[i], staged + samples_input_offset(plan, i),
                                  size_bytes, number + part, status);
    hostile_forbid(&replay->hostile, work->operand[i], size_bytes);
  }
  replay->count[work->record - plan->records].runs += issued;
  return issued;
}

/* Both operands are in memory that the lane's device reaches. */
static bool issue_copy(const Walker *walker, const Work *work, Queue *queue, uint64_t number,
                       Status *status) {
  Replay *replay = walker->replay;
  const DeviceOps *ops = replay->device->ops;
  const int64_t *bytes = replay->operand_bytes + work->record->operands_first;
  if (ops->copies_are_work) return ops->issue(queue, work, number, status); /* and timed */
  replay_allow(replay, work, true);
  bool issued =
      ops->copy(queue, work->operand[1], work->operand[0], (uint64_t)bytes[0], number, status);
  replay_allow(replay, work, false);
  replay->count[work->record - replay->setup.plan->records].runs += issued;
  return issued;
}

/* Marks this work now, so that waiters do not also wait for later work. */
static bool issue_mark(const Replay *replay, Queue *queue, bool is_awaited, Status *status) {
  return !is_awaited || replay->device->ops->mark(queue, MARK_FOR_QUEUES, status);
}

/* True if another queue may wait for one of the work's records. */
static bool is_awaited(const Replay *replay, const Work *work) {
  const PlanRecord *all = replay->setup.plan->records;
  bool awaited = replay->awaited[work->record - all];
  for (const PlanRecord *const *with = work->fused; *with != NULL; with++)
    awaited = awaited || replay->awaited[*with - all];
  return awaited;
}

/* Issues record `*number` of the call and, if others are fused with it, all of them: *number is
 * then the last one's. The work has the last one's number, so a waiter for one waits for all. */
static bool issue_record(const Walker *walker, const Position *at, uint32_t *number,
                         uint32_t *lanes_seen, Status *status) {
  Replay *replay = walker->replay;
  const Plan *plan = replay->setup.plan;
  const PlanRecord *all = &plan->records[plan->segments[at->call->segment].records_first];
  const PlanRecord *record = &all[*number];
  Queue *queue = queue_of(replay, record);
  bool first = (*lanes_seen >> record->lane & 1u) == 0;
  *lanes_seen |= 1u << record->lane;
  if ((first && !issue_waits(walker, at, record->lane, queue, status)) ||
      !issue_edges(walker, at, record, queue, status))
    return false;
  Work work = replay_work(replay, at, record);
  note_high_water(replay, record, work.operand);
  replay_fuse_work(replay, at, &work);
  void *const *operand = work.operand + record->operands_count;
  for (const PlanRecord *const *with = work.fused; *with != NULL; with++) {
    note_high_water(replay, *with, operand);
    operand += (*with)->operands_count;
    *number = (uint32_t)(*with - all);
  }
  uint64_t place = number_of(walker, at->running, *number);
  replay->last[record->lane] = place + LAST_PART;
  bool issued =
      record->kind == RECORD_LOAD   ? issue_load(walker, &work, queue, place, status)
      : record->kind == RECORD_COPY ? issue_copy(walker, &work, queue, place + LAST_PART, status)
      : plan_is_copy(record) ? replay->device->ops->host(queue, &work, place + LAST_PART, status)
                             : replay->device->ops->issue(queue, &work, place + LAST_PART, status);
  return issued && issue_mark(replay, queue, is_awaited(replay, &work), status);
}

/* Calls of a launch: the launch waits for everything that any of them waits for. When the last call
 * is reached, their records are issued in one work, and the marks of each call mean that work. */
static bool issue_launched(const Walker *walker, const Position *at, const PlanLaunch *of,
                           Status *status) {
  Replay *replay = walker->replay;
  ReplayLaunch *launch = &replay->launch[of - replay->setup.plan->launches];
  if (launch->count == 0) return true;
  const PlanRecord *record = launch->work[0].record;
  Queue *queue = queue_of(replay, record);
  if (!issue_waits(walker, at, record->lane, queue, status)) return false;
  if (at->call_number + 1 < of->first_call + of->call_count) return true;
  for (uint32_t i = 0; i < launch->count; i++)
    note_high_water(replay, launch->work[i].record, launch->work[i].operand);
  const Work work = launch_work(launch);
  uint64_t place = number_of(walker, at->running, (uint32_t)replay->records_most - 1) + LAST_PART;
  replay->last[record->lane] = place;
  return replay->device->ops->issue(queue, &work, place, status) &&
         issue_mark(replay, queue, launch->is_awaited, status);
}

static bool issue_call(void *context, const Position *at, Status *status) {
  Walker *walker = context;
  const Plan *plan = walker->replay->setup.plan;
  const PlanSegment *segment = &plan->segments[at->call->segment];
  uint32_t lanes_seen = 0;
  hostile_fill(&walker->replay->hostile, (uint32_t)(at->program - plan->programs), at->call_number,
               at->iteration > 0, at->end);
  const PlanLaunch *launch = plan_launch_of(plan, at->program, at->call_number);
  if (launch != NULL && !issue_launched(walker, at, launch, status)) return false;
  for (uint32_t i = 0; launch == NULL && i < segment->records_count; i++)
    if (plan_runs(at->call, &plan->records[segment->records_first + i]) &&
        !issue_record(walker, at, &i, &lanes_seen, status))
      return false;
  walker->replay->numbers = number_of(walker, at->running + 1, 0);
  return at->call_number != walker->end_call ||
         replay_end_for_main(
             walker->replay,
             number_of(walker, at->running, (uint32_t)walker->replay->records_most - 1) + LAST_PART,
             status);
}

/* ---- around a run */

uint64_t replay_next_number(Replay *replay) {
  replay->numbers += replay->records_most * PARTS;
  return replay->numbers;
}

/* The host's blocks of the run's control: first the one that goes in, then the one that comes out.
 */
static uint8_t *control_in(const Replay *replay, int64_t run) {
  return replay->control_ring + 2 * job_control_bytes(replay->setup.plan) *
                                    (uint64_t)(run % job_control_depth(replay->setup.plan));
}
static uint8_t *control_out(const Replay *replay, int64_t run) {
  return control_in(replay, run) + job_control_bytes(replay->setup.plan);
}

/* Copies control and samples to the device, unless it reads them in the host's memory. What is
 * drawn of samples begins at 0, as the loss does: a stage that draws nothing adds 0 to the sum. */
static bool issue_in(Walker *walker, const PlanProgram *program, const Control *set,
                     Status *status) {
  Replay *replay = walker->replay;
  const DeviceOps *ops = replay->device->ops;
  Queue *compute = ops->queue(replay->device, replay->main_lane);
  PlanBytes in = plan_slots_of_kinds(replay->setup.plan, SLOT_IN_OUT, SLOT_IN);
  uint8_t *from = control_in(replay, replay->started);
  uint64_t number = replay_next_number(replay);
  memset(from + in.first, 0, in.end - in.first);
  plan_control_store(&replay->slots, SLOT_IN_OUT, SLOT_IN, set, from);
  if (!ops->copy(compute, replay->control + in.first, from + in.first, in.end - in.first, number,
                 status))
    return false;
  uint64_t size_bytes =
      (uint64_t)replay->loads[program->kind] * job_sample_bytes(replay->setup.plan);
  if (job_staging_tier(replay->setup.plan) != TIER_DEVICE && size_bytes > 0) {
    uint8_t *to = replay->setup.arena[TIER_DEVICE] + job_samples_offset(replay->setup.plan);
    number = replay_next_number(replay);
    if (!ops->copy(compute, to, walker->samples, size_bytes, number, status)) return false;
    walker->samples = to;
  }
  return replay_meet(replay, true, number, status);
}

static bool issue_out(Walker *walker, Status *status) {
  Replay *replay = walker->replay;
  const bool goes_on = walker->end_call != PLAN_NONE;
  const DeviceOps *ops = replay->device->ops;
  Queue *compute = ops->queue(replay->device, replay->main_lane);
  int64_t slot = replay->started % job_control_depth(replay->setup.plan);
  Work note = {.run = replay_note_sent, .context = replay};
  note.operand[0] = &replay->left[slot].sent_bytes;
  note.operand[1] = goes_on ? walker : NULL;
  PlanBytes out = plan_slots_of_kinds(replay->setup.plan, SLOT_LASTING, SLOT_IN_OUT);
  uint8_t *to = control_out(replay, replay->started);
  replay->open = goes_on ? walker->program : NULL;
  if ((!goes_on && !replay_meet(replay, false, 0, status)) ||
      !ops->issue(compute, &note, replay_next_number(replay), status))
    return false;
  uint64_t number = replay_next_number(replay);
  replay->end_number[slot] = number;
  return ops->copy(compute, to + out.first, replay->control + out.first, out.end - out.first,
                   number, status) &&
         ops->mark(compute, MARK_FOR_HOST, status);
}

static bool issue_calls(void *context, Status *status) {
  Walker *walker = context;
  uint64_t *first = walker->replay->run_first[walker->program->kind];
  walker->number_first = replay_next_number(walker->replay);
  first[1] = first[0];
  first[0] = walker->number_first;
  replay_hear_run(walker->replay, walker->program, walker->number_first);
  return walk_calls(walker->replay->setup.plan, walker->program, issue_call, walker, status);
}

bool replay_start(Replay *replay, const PlanProgram *program, const Control *set,
                  const void *samples, Status *status) {
  Walker walker = {replay, program, 0, samples, false, replay_end_call(replay, program)};
  if (replay->open != program && !replay_settle(replay, status)) return false;
  if (!issue_in(&walker, program, set, status)) return replay_end_failed(replay, status);
  const Walker fresh = walker;
  walker.is_graph = !replay->after_snapshot && replay_graph_fits(replay, program);
  replay->after_snapshot &= program->kind != PROGRAM_TRAIN_STEP;
  bool issued = walker.is_graph ? replay_graph_run(replay, program, issue_calls, &walker, status)
                                : issue_calls(&walker, status);
  if (!issued && replay_graph_gave_up(replay, program)) {
    walker = fresh;
    *status = (Status){0};
    issued = issue_calls(&walker, status);
  }
  if (!issued || !issue_out(&walker, status)) return replay_end_failed(replay, status);
  replay->graph[program->kind].runs++;
  replay->started++;
  return true;
}

/* Only waits that name its records wait for its lane: not the end of the next run. */
bool replay_snapshot(Replay *replay, const PlanProgram *program, Status *status) {
  const DeviceOps *ops = replay->device->ops;
  const Plan *plan = replay->setup.plan;
  const uint32_t segment = plan->calls[program->calls_first].segment;
  const uint32_t lane = plan->records[plan->segments[segment].records_first].lane;
  Walker walker = {replay, program, 0, NULL, false, PLAN_NONE};
  if (!replay_settle(replay, status)) return false;
  if (!issue_calls(&walker, status)) return replay_end_failed(replay, status);
  replay->snapshot_lane = lane;
  replay->snapshot_number = replay->last[lane];
  replay->last[lane] = 0;
  replay->after_snapshot = true;
  return ops->mark(ops->queue(replay->device, lane), MARK_FOR_HOST, status);
}

bool replay_collect(Replay *replay, ReplayLeft *left, Status *status) {
  const DeviceOps *ops = replay->device->ops;
  int64_t slot = replay->collected++ % job_control_depth(replay->setup.plan);
  if (!ops->await(ops->queue(replay->device, replay->main_lane), replay->end_number[slot], status))
    return replay_end_failed(replay, status);
  *left = replay->left[slot];
  plan_control_load(&replay->slots, SLOT_LASTING, SLOT_IN_OUT,
                    control_out(replay, replay->collected - 1), &left->control);
  return true;
}

const uint8_t *replay_left_block(const Replay *replay) {
  return control_out(replay, replay->collected - 1);
}

bool replay_run(Replay *replay, const PlanProgram *program, const Control *set, const void *samples,
                ReplayLeft *left, Status *status) {
  return replay_start(replay, program, set, samples, status) &&
         replay_collect(replay, left, status) && replay_settle(replay, status);
}

#include "runtime/replay/replay_fused.h"

#include <stdlib.h>
#include <string.h>

/* The record that the call runs right after `record`, if the plan lets it be fused; NULL: none. */
static const PlanRecord *fused_with(const Plan *plan, const Position *at,
                                    const PlanRecord *record) {
  const PlanSegment *segment = &plan->segments[at->call->segment];
  const PlanRecord *end = &plan->records[segment->records_first + segment->records_count];
  for (const PlanRecord *next = record + 1; next < end; next++)
    if (plan_runs(at->call, next)) return next->fuses ? next : NULL;
  return NULL;
}

/* ---- binding */

static bool bind_pair(const Replay *replay, const PlanRecord *record, const PlanRecord *second,
                      Status *status) {
  const Plan *plan = replay->setup.plan;
  const Kernel *kernel = replay_kernel(replay, record);
  ReplayFused *fused = &replay->fused[record - plan->records];
  if (fused->second != NULL || kernel->fuse == NULL) return true;
  const KernelUse use[2] = {replay_kernel_use(replay, record), replay_kernel_use(replay, second)};
  const char *why = NULL;
  fused->second = second;
  KernelStatus ended = kernel->fuse(kernel, replay_kernel(replay, second), use, &fused->how, &why);
  return ended == KERNEL_DONE || replay_kernel_fail(plan, record, ended, why, status);
}

/* A WalkVisit. A record that different ones fuse in different calls has the first of them. */
static bool bind_call(void *context, const Position *at, Status *status) {
  const Replay *replay = context;
  const Plan *plan = replay->setup.plan;
  const PlanSegment *segment = &plan->segments[at->call->segment];
  for (uint32_t i = 0; i < segment->records_count; i++) {
    const PlanRecord *record = &plan->records[segment->records_first + i];
    if (!plan_runs(at->call, record)) continue;
    const PlanRecord *second = fused_with(plan, at, record);
    if (second != NULL && !bind_pair(replay, record, second, status)) return false;
  }
  return true;
}

bool replay_bind_fused(Replay *replay, Status *status) {
  const Plan *plan = replay->setup.plan;
  for (uint32_t i = 0; i < replay->class->programs_count; i++) {
    uint32_t number = replay->class->programs_first + i;
    if (!walk_calls(plan, &plan->programs[number], bind_call, replay, status)) return false;
  }
  return true;
}

void replay_free_fused(const Replay *replay) {
  for (uint32_t i = 0; replay->fused != NULL && i < replay->setup.plan->records_count; i++) {
    const KernelFused *how = &replay->fused[i].how;
    if (how->release != NULL) how->release(how->state);
  }
  free(replay->fused);
}

/* ---- running */

/* Either of the two as a separate work. */
static Work part_of(const Work *work, bool is_second) {
  Work part = *work;
  part.second = NULL;
  if (!is_second) return part;
  part.record = work->second;
  memcpy(part.operand, work->operand + work->record->operands_count,
         work->second->operands_count * sizeof *part.operand);
  return part;
}

static bool run_both(Replay *replay, const Work part[2], const Queue *queue, Status *status) {
  const Plan *plan = replay->setup.plan;
  const PlanRecord *first = part[0].record;
  const KernelFused *how = &replay->fused[first - plan->records].how;
  void *stream = replay->device->ops->stream(queue);
  KernelArgs args[2];
  for (int32_t i = 0; i < 2; i++)
    args[i] = replay_kernel_args(replay, &part[i], replay_threads(replay, queue), stream);
  const char *why = NULL;
  KernelStatus ended = how->run(how, &args[0], &args[1], &why);
  for (int32_t i = 0; i < 2 && ended == KERNEL_DONE; i++)
    replay->count[part[i].record - plan->records].runs++;
  return ended == KERNEL_DONE || replay_kernel_fail(plan, first, ended, why, status);
}

/* A WorkRun. The time of both is noted for the first; the second is noted when both are over. */
static bool run_fused(const Work *work, Queue *queue, Status *status) {
  Replay *replay = work->context;
  const Work part[2] = {part_of(work, false), part_of(work, true)};
  const PlanRecord *records = replay->setup.plan->records;
  Flight *flight = replay->setup.flight;
  uint32_t lane = work->record->lane;
  replay_allow(replay, &part[0], true), replay_allow(replay, &part[1], true);
  if (flight)
    flight_begin(flight, lane, (uint32_t)(work->record - records), work->layer, work->microbatch);
  bool ran = run_both(replay, part, queue, status);
  if (flight) flight_end(flight, lane);
  if (flight && ran) {
    flight_begin(flight, lane, (uint32_t)(work->second - records), work->layer, work->microbatch);
    flight_end(flight, lane);
  }
  replay_allow(replay, &part[0], false), replay_allow(replay, &part[1], false);
  if (!ran && replay->setup.comm) replay->setup.comm->ops->abort(replay->setup.comm);
  return ran;
}

bool replay_fuse_work(Replay *replay, const Position *at, Work *work) {
  const Plan *plan = replay->setup.plan;
  const ReplayFused *fused = &replay->fused[work->record - plan->records];
  if (fused->how.run == NULL || replay->watch != NULL) return false;
  const PlanRecord *next = fused_with(plan, at, work->record);
  if (next == NULL || next != fused->second) return false;
  const Work second = replay_work(replay, at, next);
  memcpy(work->operand + work->record->operands_count, second.operand,
         next->operands_count * sizeof *work->operand);
  work->run = run_fused;
  work->second = next;
  return true;
}

#include "runtime/replay/replay_fused.h"

#include <stdlib.h>
#include <string.h>

/* Fills in the record and those that the call runs right after it and that the plan allows to fuse
 * with it. Returns their number. */
static int32_t chain_of(const Plan *plan, const Position *at, const PlanRecord *record,
                        const PlanRecord *chain[FUSED_MOST]) {
  const PlanSegment *segment = &plan->segments[at->call->segment];
  const PlanRecord *end = &plan->records[segment->records_first + segment->records_count];
  int32_t count = 1;
  chain[0] = record;
  for (const PlanRecord *next = record + 1; next < end && count < FUSED_MOST; next++) {
    if (!plan_runs(at->call, next)) continue;
    if (!next->fuses) break;
    chain[count++] = next;
  }
  return count;
}

/* ---- binding */

/* Fuses as many records of the chain as the first one's kernel can. */
static bool bind_chain(const Replay *replay, const PlanRecord *const *chain, int32_t count,
                       Status *status) {
  const Kernel *kernel[FUSED_MOST];
  KernelUse use[FUSED_MOST];
  ReplayFused *fused = &replay->fused[chain[0] - replay->setup.plan->records];
  if (fused->count > 0 || replay_kernel(replay, chain[0])->fuse == NULL) return true;
  for (int32_t i = 0; i < count; i++) {
    kernel[i] = replay_kernel(replay, chain[i]);
    use[i] = replay_kernel_use(replay, chain[i]);
    fused->record[i] = chain[i];
  }
  for (fused->count = count; fused->count > 1; fused->count--) {
    const char *why = NULL;
    KernelStatus ended = kernel[0]->fuse(kernel, use, fused->count, &fused->how, &why);
    if (ended != KERNEL_DONE)
      return replay_kernel_fail(replay->setup.plan, chain[0], ended, why, status);
    if (fused->how.run != NULL) break;
  }
  return true;
}

/* A WalkVisit. If different records follow a record in different calls, those of the first call
 * count. */
static bool bind_call(void *context, const Position *at, Status *status) {
  const Replay *replay = context;
  const Plan *plan = replay->setup.plan;
  const PlanSegment *segment = &plan->segments[at->call->segment];
  for (uint32_t i = 0; i < segment->records_count; i++) {
    const PlanRecord *record = &plan->records[segment->records_first + i];
    if (!plan_runs(at->call, record)) continue;
    const PlanRecord *chain[FUSED_MOST];
    const int32_t count = chain_of(plan, at, record, chain);
    if (count > 1 && !bind_chain(replay, chain, count, status)) return false;
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

/* Splits the work into one for each record, and returns their number. */
static int32_t parts_of(const Work *work, Work part[FUSED_MOST]) {
  void *const *operand = work->operand + work->record->operands_count;
  int32_t count = 1;
  part[0] = *work;
  for (const PlanRecord *const *with = work->fused; *with != NULL; with++, count++) {
    part[count] = *work;
    part[count].record = *with;
    memcpy(part[count].operand, operand, (*with)->operands_count * sizeof *operand);
    operand += (*with)->operands_count;
  }
  return count;
}

static bool run_parts(Replay *replay, const Work *part, int32_t count, const Queue *queue,
                      Status *status) {
  const Plan *plan = replay->setup.plan;
  const PlanRecord *first = part[0].record;
  const KernelFused *how = &replay->fused[first - plan->records].how;
  void *stream = replay->device->ops->stream(queue);
  KernelArgs args[FUSED_MOST];
  for (int32_t i = 0; i < count; i++)
    args[i] = replay_kernel_args(replay, &part[i], replay_threads(replay, queue), stream);
  const char *why = NULL;
  KernelStatus ended = how->run(how, args, &why);
  for (int32_t i = 0; i < count && ended == KERNEL_DONE; i++)
    replay->count[part[i].record - plan->records].runs++;
  return ended == KERNEL_DONE || replay_kernel_fail(plan, first, ended, why, status);
}

/* A WorkRun. The flight recorder gets the time of all for the first record; the others begin and
 * end after it. */
static bool run_fused(const Work *work, Queue *queue, Status *status) {
  Replay *replay = work->context;
  Work part[FUSED_MOST];
  const int32_t count = parts_of(work, part);
  const PlanRecord *records = replay->setup.plan->records;
  Flight *flight = replay->setup.flight;
  uint32_t lane = work->record->lane;
  for (int32_t i = 0; i < count; i++)
    replay_allow(replay, &part[i], true);
  if (flight)
    flight_begin(flight, lane, (uint32_t)(work->record - records), work->layer, work->microbatch);
  bool ran = run_parts(replay, part, count, queue, status);
  if (flight) flight_end(flight, lane);
  for (int32_t i = 1; i < count && flight && ran; i++) {
    flight_begin(flight, lane, (uint32_t)(part[i].record - records), work->layer, work->microbatch);
    flight_end(flight, lane);
  }
  for (int32_t i = 0; i < count; i++)
    replay_allow(replay, &part[i], false);
  if (!ran && replay->setup.comm) replay->setup.comm->ops->abort(replay->setup.comm);
  return ran;
}

void replay_fuse_work(Replay *replay, const Position *at, Work *work) {
  const Plan *plan = replay->setup.plan;
  const ReplayFused *fused = &replay->fused[work->record - plan->records];
  const PlanRecord *chain[FUSED_MOST];
  if (fused->how.run == NULL || replay->watch != NULL) return;
  const int32_t count = chain_of(plan, at, work->record, chain);
  if (count < fused->count ||
      memcmp(chain, fused->record, (size_t)fused->count * sizeof(const PlanRecord *)) != 0)
    return;
  void **operand = work->operand + work->record->operands_count;
  for (int32_t i = 1; i < fused->count; i++) {
    const Work with = replay_work(replay, at, chain[i]);
    memcpy(operand, with.operand, chain[i]->operands_count * sizeof *operand);
    operand += chain[i]->operands_count;
    work->fused[i - 1] = chain[i];
  }
  work->run = run_fused;
}

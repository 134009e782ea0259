#include "runtime/replay/replay_heard.h"

#include <stdlib.h>

#include "runtime/plan/plan_loops.h"

static bool count_call(void *context, const Position *at, Status *status) {
  (void)status;
  *(uint64_t *)context = at->running + 1;
  return true;
}

static bool note_call(void *context, const Position *at, Status *status) {
  Replay *replay = context;
  (void)status;
  replay->hearing.call[at->running] =
      (ReplayCall){.call = at->call,
                   .launch = plan_launch_of(replay->setup.plan, at->program, at->call_number),
                   .microbatch = (int32_t)at->microbatch};
  return true;
}

bool replay_hear(Replay *replay, const PlanProgram *program, StepLog *log, Status *status) {
  ReplayHearing *hearing = &replay->hearing;
  const Plan *plan = replay->setup.plan;
  free(hearing->call);
  *hearing = (ReplayHearing){.log = log, .program = program, .first = UINT64_MAX};
  if (log == NULL) return true;
  (void)walk_calls(plan, program, count_call, &hearing->count, status);
  hearing->call = calloc(hearing->count + 1, sizeof *hearing->call);
  if (hearing->call == NULL)
    return status_fail(status, STATUS_WORLD, "not enough memory to time every record");
  return walk_calls(plan, program, note_call, replay, status);
}

void replay_hear_run(Replay *replay, const PlanProgram *program, uint64_t number_first) {
  replay->hearing.first = program == replay->hearing.program ? number_first : UINT64_MAX;
}

/* Once for all records of a launch, as of its first one. */
static void add_launch(const Replay *replay, const ReplayCall *at, TraceEntry entry) {
  const ReplayLaunch *launch = &replay->launch[at->launch - replay->setup.plan->launches];
  if (launch->count == 0) return;
  const PlanRecord *first = launch->work[0].record;
  entry.record = (uint32_t)(first - replay->setup.plan->records);
  entry.lane = first->lane;
  entry.layer = launch->work[0].layer;
  entry.records = launch->count;
  for (uint32_t i = 0; i < launch->count; i++)
    entry.predicted_ns += launch->work[i].record->predicted_ns;
  steplog_add(replay->hearing.log, &entry);
}

/* The record that the call runs right before this one; NULL: none. */
static const PlanRecord *before(const Plan *plan, const PlanCall *call, const PlanRecord *record) {
  const PlanRecord *first = &plan->records[plan->segments[call->segment].records_first];
  while (record > first)
    if (plan_runs(call, --record)) return record;
  return NULL;
}

/* The fused records whose last one is this record, in this call; NULL: it ends no fusion. */
static const ReplayFused *ended_by(const Replay *replay, const ReplayCall *at,
                                   const PlanRecord *record) {
  const Plan *plan = replay->setup.plan;
  const PlanRecord *first = record;
  for (int32_t count = 2; count <= FUSED_MOST && first->fuses; count++) {
    first = before(plan, at->call, first);
    if (first == NULL) return NULL;
    const ReplayFused *fused = &replay->fused[first - plan->records];
    if (fused->how.run != NULL && fused->count == count && fused->record[count - 1] == record)
      return fused;
  }
  return NULL;
}

/* Fused records have one work, whose number is the last one's. The first gets the time of all; the
 * others begin and end when all are over. Those that were not fused have a work each. */
static void add_fused(Replay *replay, const ReplayCall *at, const PlanRecord *record,
                      uint64_t place, TraceEntry *entry) {
  const ReplayFused *fused = ended_by(replay, at, record);
  if (fused == NULL) return;
  const bool came_alone =
      replay->hearing.place[record->lane] > place - (uint64_t)(record - fused->record[0]);
  if (came_alone) return;
  for (int32_t i = 0; i + 1 < fused->count; i++) {
    TraceEntry one = *entry;
    one.record = (uint32_t)(fused->record[i] - replay->setup.plan->records);
    one.predicted_ns = fused->record[i]->predicted_ns;
    steplog_add(replay->hearing.log, &one);
    entry->start_ns = entry->end_ns;
  }
}

void replay_heard(void *context, uint64_t number, int64_t start_ns, int64_t end_ns) {
  Replay *replay = context;
  ReplayHearing *hearing = &replay->hearing;
  const Plan *plan = replay->setup.plan;
  if (hearing->log == NULL || number < hearing->first) return;
  const uint64_t place = (number - hearing->first) / REPLAY_PARTS;
  const uint64_t running = place / replay->records_most, index = place % replay->records_most;
  if (running >= hearing->count) return;
  const ReplayCall *at = &hearing->call[running];
  TraceEntry entry = {.start_ns = start_ns,
                      .end_ns = end_ns,
                      .layer = at->call->layer,
                      .microbatch = at->microbatch,
                      .records = 1,
                      .is_call = replay->device->ops->coarse(replay->device) != NULL};
  if (at->launch != NULL) {
    add_launch(replay, at, entry);
    return;
  }
  const PlanSegment *segment = &plan->segments[at->call->segment];
  if (index >= segment->records_count) return;
  const PlanRecord *record = &plan->records[segment->records_first + index];
  if (record->kind == RECORD_LOAD) return;
  entry.record = (uint32_t)(record - plan->records);
  entry.lane = record->lane;
  if (!entry.is_call) add_fused(replay, at, record, number / REPLAY_PARTS, &entry);
  if (!entry.is_call) entry.predicted_ns = record->predicted_ns;
  hearing->place[record->lane] = number / REPLAY_PARTS + 1;
  steplog_add(hearing->log, &entry);
}

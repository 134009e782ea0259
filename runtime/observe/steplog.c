/* steplog.c -- as many entries as the plan says. */
#include "runtime/observe/steplog.h"

#include <stdlib.h>

#include "runtime/plan/walk.h"

typedef struct Counting {
  const Plan *plan;
  int64_t *times;
} Counting;

/* A WalkVisit. */
static bool count_call(void *context, const Position *at, Status *status) {
  const Counting *c = context;
  const PlanSegment *segment = &c->plan->segments[at->call->segment];
  (void)status;
  for (uint32_t i = 0; i < segment->records_count; i++) {
    uint32_t number = segment->records_first + i;
    const PlanRecord *record = &c->plan->records[number];
    if (plan_runs(at->call, record) && record->kind != RECORD_LOAD) c->times[number]++;
  }
  return true;
}

bool steplog_count(const Plan *plan, const PlanProgram *program, int64_t *times, Status *status) {
  Counting counting = {plan, times};
  return walk_calls(plan, program, count_call, &counting, status);
}

static bool open_lanes(StepLog *log, const Plan *plan, const int64_t *times) {
  for (uint32_t i = 0; i < plan->records_count; i++)
    log->lane[plan->records[i].lane].room += times[i];
  for (uint32_t lane = 0; lane < plan->lanes_count; lane++) {
    size_t count = (size_t)log->lane[lane].room;
    if (count == 0) continue;
    log->lane[lane].entry = calloc(count, sizeof *log->lane[lane].entry);
    if (log->lane[lane].entry == NULL) return false;
  }
  return true;
}

bool steplog_open(StepLog *log, const Plan *plan, const PlanProgram *program, Status *status) {
  *log = (StepLog){0};
  int64_t *times = calloc(plan->records_count + 1, sizeof *times);
  bool opened =
      times != NULL && steplog_count(plan, program, times, status) && open_lanes(log, plan, times);
  free(times);
  return opened || status_fail(status, STATUS_WORLD, "not enough memory to time every record");
}

void steplog_close(StepLog *log) {
  for (uint32_t lane = 0; lane < PLAN_LANES_MAX; lane++)
    free(log->lane[lane].entry);
}

void steplog_begin(StepLog *log, int64_t step) {
  log->step = step;
  for (uint32_t lane = 0; lane < PLAN_LANES_MAX; lane++)
    log->lane[lane].count = 0;
}

void steplog_add(StepLog *log, const TraceEntry *entry) {
  StepLogLane *lane = &log->lane[entry->lane];
  if (lane->count == lane->room) return;
  lane->entry[lane->count] = *entry;
  lane->entry[lane->count++].step = log->step;
}

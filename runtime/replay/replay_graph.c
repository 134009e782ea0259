#include "runtime/replay/replay_graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/plan/plan_job.h"
#include "runtime/plan/walk.h"
#include "runtime/replay/replay_heard.h"

/* The amount of work that a program issues. */
typedef struct GraphExtent {
  const Replay *replay;
  int64_t nodes;
  uint32_t lanes_mask; /* lanes with queues, beside the main lane */
} GraphExtent;

static bool measure_call(void *context, const Position *at, Status *status) {
  GraphExtent *extent = context;
  const Plan *plan = extent->replay->setup.plan;
  const PlanSegment *segment = &plan->segments[at->call->segment];
  (void)status;
  for (uint32_t i = 0; i < segment->records_count; i++) {
    const PlanRecord *record = &plan->records[segment->records_first + i];
    if (!plan_runs(at->call, record)) continue;
    extent->nodes += record->kind == RECORD_LOAD ? record->operands_count : 1;
    extent->lanes_mask |= extent->replay->queues_mask & 1u << record->lane;
  }
  return true;
}

static GraphExtent measure(const Replay *replay, const PlanProgram *program) {
  Status status = {0};
  GraphExtent extent = {.replay = replay};
  (void)walk_calls(replay->setup.plan, program, measure_call, &extent, &status);
  return extent;
}

/* True if work runs on the host. Such a program cannot be a graph, because streams wait for the
 * host by a number that grows from step to step. */
static bool runs_on_host(const Plan *plan, const PlanProgram *program) {
  for (uint32_t i = 0; i < program->calls_count; i++) {
    const PlanSegment *segment = &plan->segments[plan->calls[program->calls_first + i].segment];
    for (uint32_t k = 0; k < segment->records_count; k++)
      if (plan_is_host_lane(plan, plan->records[segment->records_first + k].lane)) return true;
  }
  return false;
}

/* True if a program waits for records of an earlier run of this one: those of a graph have no
 * numbers. */
static bool is_awaited(const Plan *plan, ProgramKind kind) {
  for (uint32_t i = 0; i < plan->waits_count; i++)
    if (plan->waits[i].run_back > 0 && plan->waits[i].program == (uint32_t)kind) return true;
  return false;
}

/* Fits all classes alike: NCCL requires that a call is captured on all ranks that make it, or on
 * none. */
static ReplayFit fit_of(const Replay *replay, ProgramKind kind) {
  const Plan *plan = replay->setup.plan;
  for (uint32_t i = 0; i < plan->programs_count; i++)
    if (plan->programs[i].kind == kind &&
        measure(replay, &plan->programs[i]).nodes > REPLAY_GRAPH_NODES_MAX)
      return FIT_ISSUED;
  return FIT_GRAPH;
}

bool replay_graph_fits(Replay *replay, const PlanProgram *program) {
  if (!replay->setup.graphs || HOSTILE_RUNS_ALONE || replay->watch != NULL) return false;
  if (job_staging_tier(replay->setup.plan) == TIER_DEVICE) return false;
  ReplayGraph *made = &replay->graph[program->kind];
  if (made->fit == FIT_UNKNOWN && runs_on_host(replay->setup.plan, program)) {
    made->fit = FIT_ISSUED;
    (void)status_fail(&made->why, STATUS_WORLD, "its updates run on the host");
  }
  if (made->fit == FIT_UNKNOWN && is_awaited(replay->setup.plan, (ProgramKind)program->kind)) {
    made->fit = FIT_ISSUED;
    (void)status_fail(&made->why, STATUS_OURS, "its records are awaited by later runs");
  }
  if (made->fit == FIT_UNKNOWN) made->fit = fit_of(replay, program->kind);
  return made->runs > 0 && made->fit == FIT_GRAPH;
}

/* A WorkRun that does nothing: a point in the main lane's queue that others can wait for. */
static bool pass(const Work *work, Queue *queue, Status *status) {
  (void)work, (void)queue, (void)status;
  return true;
}

/* Begins and ends with a work of the main lane, and includes every lane that has work. */
static bool issue_all(Replay *replay, uint32_t lanes_mask, uint64_t first, ReplayIssue *issue,
                      void *walker, Status *status) {
  const DeviceOps *ops = replay->device->ops;
  Queue *compute = ops->queue(replay->device, replay->main_lane);
  const Work place = {.run = pass};
  if (!ops->issue(compute, &place, first, status)) return false;
  for (uint32_t lane = 0; lane < PLAN_LANES_MAX; lane++)
    if ((lanes_mask >> lane & 1u) != 0 &&
        !ops->wait(ops->queue(replay->device, lane), compute, first, status))
      return false;
  if (!issue(walker, status)) return false;
  for (uint32_t lane = 0; lane < PLAN_LANES_MAX; lane++)
    if ((lanes_mask >> lane & 1u) != 0 &&
        !ops->wait(compute, ops->queue(replay->device, lane), replay->last[lane], status))
      return false;
  return ops->issue(compute, &place, replay_next_number(replay), status);
}

/* Corrects what capturing has counted: on a GPU, where work is captured by running its host part, a
 * whole run; on a processor only what is counted at issue. Replaying counts the rest. */
static void note_counts(ReplayCount *counts, const Replay *replay, int sign) {
  for (uint32_t i = 0; i < replay->setup.plan->records_count; i++) {
    counts[i].runs += sign * replay->count[i].runs;
    counts[i].sent_bytes += sign * replay->count[i].sent_bytes;
  }
}

/* The fields of the replay that a capture changes. */
typedef struct BeforeCapture {
  uint64_t last[PLAN_LANES_MAX];
} BeforeCapture;

static bool make(Replay *replay, const PlanProgram *program, ReplayIssue *issue, void *walker,
                 Status *status) {
  const DeviceOps *ops = replay->device->ops;
  ReplayGraph *made = &replay->graph[program->kind];
  uint32_t lanes_mask = measure(replay, program).lanes_mask;
  note_counts(made->counted, replay, -1);
  if (!ops->capture(replay->device, status)) return false;
  made->number_first = replay_next_number(replay);
  Status ended = {0};
  bool issued = issue_all(replay, lanes_mask, made->number_first, issue, walker, status);
  made->span = replay->numbers - made->number_first;
  made->calls_first = replay->run_first[program->kind][0];
  made->graph = ops->captured(replay->device, issued ? status : &ended);
  note_counts(made->counted, replay, 1);
  return issued && made->graph != NULL;
}

/* The result of one rank's capture. */
typedef struct CaptureResult {
  int32_t has_failed;
  char why[124];
} CaptureResult;

/* NCCL requires that all ranks replay a call or none, so one that cannot be captured is captured on
 * no rank. Sets made->why then. False: another rank has failed. */
static bool agree(const Replay *replay, ReplayGraph *made, const Status *own, Status *status) {
  Comm *comm = replay->setup.comm;
  int32_t ranks = replay->setup.mesh != NULL ? replay->setup.mesh->rank_count : 1;
  CaptureResult mine = {.has_failed = made->graph == NULL}, *all = &mine;
  (void)snprintf(mine.why, sizeof mine.why, "%.*s", (int)sizeof mine.why - 1, own->text);
  if (ranks > 1) all = calloc((size_t)ranks, sizeof *all);
  if (all == NULL) return status_fail(status, STATUS_WORLD, "not enough memory to capture");
  bool heard = ranks <= 1 || comm->ops->gather_bytes(comm, &mine, all, sizeof mine);
  if (!heard) status->code = STATUS_ECHO;
  for (int32_t rank = 0; heard && rank < ranks && made->why.code == 0; rank++)
    if (all[rank].has_failed)
      (void)status_fail(&made->why, STATUS_WORLD, ranks > 1 ? "%s (rank %d)" : "%s", all[rank].why,
                        rank);
  if (all != &mine) free(all);
  return heard;
}

/* As if nothing had been captured. */
static void undo(Replay *replay, ReplayGraph *made, const BeforeCapture *before) {
  for (uint32_t i = 0; i < replay->setup.plan->records_count; i++) {
    replay->count[i].runs -= made->counted[i].runs;
    replay->count[i].sent_bytes -= made->counted[i].sent_bytes;
  }
  memcpy(replay->last, before->last, sizeof replay->last);
  if (made->graph != NULL) replay->device->ops->graph_free(made->graph);
  free(made->counted);
  made->graph = NULL;
  made->counted = NULL;
  made->fit = FIT_ISSUED;
}

/* False: it cannot be captured (made->why says so), or this or another rank has failed. */
static bool make_or_undo(Replay *replay, const PlanProgram *program, ReplayIssue *issue,
                         void *walker, Status *status) {
  ReplayGraph *made = &replay->graph[program->kind];
  BeforeCapture before;
  Status own = {0};
  memcpy(before.last, replay->last, sizeof before.last);
  made->counted = calloc(replay->setup.plan->records_count + 1, sizeof *made->counted);
  if (made->counted == NULL) return status_fail(status, STATUS_WORLD, "not enough memory to bind");
  (void)make(replay, program, issue, walker, &own);
  if (!agree(replay, made, &own, status)) return false;
  if (made->why.code == 0) return true;
  undo(replay, made, &before);
  *status = made->why;
  return false;
}

bool replay_graph_run(Replay *replay, const PlanProgram *program, ReplayIssue *issue, void *walker,
                      Status *status) {
  ReplayGraph *made = &replay->graph[program->kind];
  bool is_new = made->graph == NULL;
  if (is_new && !make_or_undo(replay, program, issue, walker, status)) return false;
  for (uint32_t i = 0; !is_new && i < replay->setup.plan->records_count; i++) {
    replay->count[i].runs += made->counted[i].runs;
    replay->count[i].sent_bytes += made->counted[i].sent_bytes;
  }
  uint64_t first = is_new ? made->number_first : replay_next_number(replay);
  replay->numbers = first + made->span;
  replay_hear_run(replay, program, made->calls_first + (first - made->number_first));
  /* The main lane waits for all others before the graph ends, so nothing needs to wait for them
   * again. */
  memset(replay->last, 0, sizeof replay->last);
  return replay->device->ops->replay(replay->device, made->graph, first, status);
}

bool replay_graph_gave_up(const Replay *replay, const PlanProgram *program) {
  const ReplayGraph *made = &replay->graph[program->kind];
  return made->why.code != 0 && made->runs == 1; /* the run after the first is captured */
}

void replay_graph_free(Replay *replay) {
  for (int kind = 0; kind < ProgramKind_COUNT; kind++) {
    free(replay->graph[kind].counted);
    if (replay->graph[kind].graph != NULL)
      replay->device->ops->graph_free(replay->graph[kind].graph);
    replay->graph[kind] = (ReplayGraph){.graph = NULL};
  }
}

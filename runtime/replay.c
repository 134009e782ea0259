/* replay.c -- the loop that trains: calls, their records, addresses, and off they go.
 *
 * A program is walked by one thread for each of its lanes, which runs the records of that lane and
 * waits for the others where an edge says so. */
#include "runtime/replay.h"

#include "kernels/philox.h"
#include "runtime/walk.h"

enum { EVERY_LANE = (1u << Lane_COUNT) - 1 };

/* One thread's run of a program. */
typedef struct Walker {
  Replay *replay;
  uint32_t lanes_mask; /* whose records it runs */
  uint64_t high_water_bytes;
} Walker;

static bool applies(const PlanCall *call, const PlanRecord *record) {
  return plan_when(record->when_all, record->when_none, call->flags);
}

static bool is_alone(const Walker *walker) {
  return walker->lanes_mask == EVERY_LANE;
}

static bool is_own(const Walker *walker, const PlanRecord *record) {
  return walker->lanes_mask >> record->lane & 1u;
}

/* Addresses of a record's operands in this call. */
static void resolve(const Replay *replay, const Position *at, const PlanRecord *record,
                    void *operand[KERNEL_OPERANDS_MAX]) {
  const Plan *plan = replay->setup.plan;
  for (uint32_t i = 0; i < record->operands_count; i++) {
    uint32_t number = record->operands_first + i;
    uint32_t binding = at->call->bindings_first + plan->operands[number].base;
    operand[i] =
        replay->setup.arena + replay->binding_offset[binding] + replay->operand_offset[number];
  }
}

static bool run_kernel(Replay *replay, const Position *at, const PlanRecord *record,
                       void *const *operand, Status *status) {
  const Plan *plan = replay->setup.plan;
  int64_t microbatch = at->microbatch < 0 ? 0 : at->microbatch;
  KernelArgs args = {
      .operand = operand,
      .dtype = replay->operand_dtype + record->operands_first,
      .bytes = replay->operand_bytes + record->operands_first,
      .dim = plan->ints + record->dims_first,
      .attr = replay->attr[record - plan->records],
      .operand_count = (int32_t)record->operands_count,
      .accumulate = record->accumulate != 0,
      .key = philox_mix(record->key, (uint64_t)at->call->layer + 1),
      .sample_first =
          (microbatch * replay->replicas + replay->replica) * plan->jobs[0].microbatch_samples,
      .state = replay->prepared[record - plan->records].state,
      .control = replay->control,
      .threads = replay->setup.threads,
  };
  if (record->lane != LANE_COMPUTE && replay->beside_threads) args.threads = replay->beside_threads;
  const char *why = NULL;
  KernelStatus ended = replay->kernel[record->kernel]->run(&args, &why);
  return ended == KERNEL_DONE || replay_kernel_fail(plan, record, ended, why, status);
}

_Static_assert((int)KERNEL_OPERANDS_MAX <= (int)COMM_POSTS_MAX, "an exchange has room");

/* The posts of an exchange: what is read is sent, what is written comes. */
static bool run_exchange(const Replay *replay, Comm *comm, const PlanRecord *record,
                         void *const *operand) {
  const Plan *plan = replay->setup.plan;
  CommPost post[KERNEL_OPERANDS_MAX];
  for (uint32_t i = 0; i < record->operands_count; i++)
    post[i] = (CommPost){
        .at = operand[i],
        .size_bytes = replay->operand_bytes[record->operands_first + i],
        .distance = plan->ints[record->dims_first + i],
        .is_sent = plan->operands[record->operands_first + i].access == ACCESS_READ,
    };
  return comm->ops->exchange(comm, record->comm, post, (int32_t)record->operands_count);
}

static bool run_all_to_all(const Replay *replay, Comm *comm, const PlanRecord *record,
                           void *const *operand) {
  const Plan *plan = replay->setup.plan;
  const int64_t *dim = plan->ints + record->dims_first;
  CommTurn turn = {dim[0], dim[1], dim[2], dim[3], dim[4], .back = false};
  turn.back = record->attrs_count > 0 && plan->reals[record->attrs_first] == 1;
  turn.dtype = (DType)replay->operand_dtype[record->operands_first];
  return comm->ops->all_to_all(comm, record->comm, operand[0], operand[1], &turn);
}

/* One operand is updated in place; of two, the second is written. */
static bool run_collective(const Replay *replay, Comm *comm, const PlanRecord *record,
                           void *const *operand) {
  const Plan *plan = replay->setup.plan;
  bool in_place = record->operands_count == 1;
  DType dtype = (DType)replay->operand_dtype[record->operands_first];
  CommPieces pieces = {plan->ints + record->dims_first, (int32_t)record->dims_count / 2, dtype};
  CommElements elements = {replay->operand_bytes[record->operands_first] / dtype_bytes(dtype),
                           dtype};
  ReduceOp reduce =
      record->meaning == PLAN_NONE ? REDUCE_SUM : (ReduceOp)plan->meanings[record->meaning].reduce;
  void *last = operand[record->operands_count - 1];
  if (record->kind == RECORD_ALL_GATHER)
    return comm->ops->all_gather(comm, record->comm, in_place ? NULL : operand[0], last, &pieces);
  if (record->kind == RECORD_REDUCE_SCATTER)
    return comm->ops->reduce_scatter(comm, record->comm, operand[0], in_place ? NULL : last,
                                     &pieces, reduce);
  return comm->ops->all_reduce(comm, record->comm, operand[0], last, elements, reduce);
}

static bool run_comm(Replay *replay, const PlanRecord *record, void *const *operand) {
  Comm *beside = replay->setup.comm_beside.at[record->lane];
  Comm *comm = beside ? beside : replay->setup.comm;
  int64_t before = comm->sent_bytes;
  bool ran = record->kind == RECORD_EXCHANGE     ? run_exchange(replay, comm, record, operand)
             : record->kind == RECORD_ALL_TO_ALL ? run_all_to_all(replay, comm, record, operand)
                                                 : run_collective(replay, comm, record, operand);
  replay->count[record - replay->setup.plan->records].sent_bytes += comm->sent_bytes - before;
  return ran;
}

static bool run_by_kind(Replay *replay, const Position *at, const PlanRecord *record,
                        void *const *operand, Status *status) {
  if (record->kind == RECORD_KERNEL) return run_kernel(replay, at, record, operand, status);
  if (record->kind == RECORD_LOAD)
    return replay->setup.load(replay->setup.load_context, operand,
                              replay->operand_bytes + record->operands_first,
                              (int32_t)record->operands_count, status);
  if (run_comm(replay, record, operand)) return true;
  status->code = STATUS_ECHO; /* the rank that failed says why */
  return false;
}

static bool run_record(Walker *walker, const Position *at, const PlanRecord *record,
                       Status *status) {
  Replay *replay = walker->replay;
  void *operand[KERNEL_OPERANDS_MAX] = {0};
  resolve(replay, at, record, operand);
  const int64_t *bytes = replay->operand_bytes + record->operands_first;
  for (uint32_t i = 0; i < record->operands_count; i++) {
    uint64_t end = (uint64_t)((uint8_t *)operand[i] - replay->setup.arena) + (uint64_t)bytes[i];
    if (end > walker->high_water_bytes) walker->high_water_bytes = end;
    hostile_allow(&replay->hostile, operand[i], (size_t)bytes[i]);
  }
  bool ran = run_by_kind(replay, at, record, operand, status);
  replay->count[record - replay->setup.plan->records].runs += ran;
  for (uint32_t i = 0; i < record->operands_count; i++)
    hostile_forbid(&replay->hostile, operand[i], (size_t)bytes[i]);
  return ran;
}

static uint64_t place_of(uint64_t running, uint32_t record) {
  return running << 32 | record;
}

/* Waits for record number `awaited` of `call`, if it runs there, and on another thread. */
static bool wait_for(Walker *walker, const PlanCall *call, uint64_t running, uint32_t awaited) {
  const Plan *plan = walker->replay->setup.plan;
  const PlanRecord *record = &plan->records[plan->segments[call->segment].records_first + awaited];
  if (is_own(walker, record) || !applies(call, record)) return true;
  return lanes_wait(&walker->replay->lanes, (Lane)record->lane, place_of(running, awaited));
}

static bool wait_in_segment(Walker *walker, const Position *at, const PlanRecord *record) {
  const int32_t after[4] = {record->after0, record->after1, record->after2, record->after3};
  for (int32_t i = 0; i < 4; i++)
    if (after[i] >= 0 && !wait_for(walker, at->call, at->running, (uint32_t)after[i])) return false;
  return true;
}

/* Before the first record of the call on `lane`. */
static bool wait_for_calls(Walker *walker, const Position *at, uint32_t lane) {
  const Plan *plan = walker->replay->setup.plan;
  for (uint32_t i = 0; i < at->call->waits_count; i++) {
    const PlanWait *wait = &plan->waits[at->call->waits_first + i];
    uint64_t running = 0;
    if (wait->lane != lane || !walk_awaited(plan, at, wait, &running)) continue;
    const PlanCall *call = &plan->calls[at->program->calls_first + wait->call];
    if (!wait_for(walker, call, running, wait->record)) return false;
  }
  return true;
}

/* Alone, list order satisfies every edge. */
static bool run_in_turn(Walker *walker, const Position *at, uint32_t number, uint32_t *lanes_seen,
                        Status *status) {
  const Plan *plan = walker->replay->setup.plan;
  const PlanRecord *record =
      &plan->records[plan->segments[at->call->segment].records_first + number];
  if (is_alone(walker)) return run_record(walker, at, record, status);
  if (!is_own(walker, record)) return true;
  bool first = (*lanes_seen >> record->lane & 1u) == 0;
  *lanes_seen |= 1u << record->lane;
  if ((first && !wait_for_calls(walker, at, record->lane)) ||
      !wait_in_segment(walker, at, record)) {
    status->code = STATUS_ECHO; /* the lane that failed says why */
    return false;
  }
  if (!run_record(walker, at, record, status)) return false;
  lanes_pass(&walker->replay->lanes, (Lane)record->lane, place_of(at->running, number));
  return true;
}

static bool run_call(void *context, const Position *at, Status *status) {
  Walker *walker = context;
  const Plan *plan = walker->replay->setup.plan;
  const PlanSegment *segment = &plan->segments[at->call->segment];
  uint32_t lanes_seen = 0;
  if (is_alone(walker))
    hostile_fill(&walker->replay->hostile, (uint32_t)(at->program - plan->programs),
                 at->call_number, at->iteration > 0, at->end);
  for (uint32_t i = 0; i < segment->records_count; i++)
    if (applies(at->call, &plan->records[segment->records_first + i]) &&
        !run_in_turn(walker, at, i, &lanes_seen, status))
      return false;
  return true;
}

static bool walk(Replay *replay, Lane lane, uint32_t lanes_mask, Status *status) {
  Walker walker = {.replay = replay, .lanes_mask = lanes_mask};
  bool done = walk_calls(replay->setup.plan, replay->running, run_call, &walker, status);
  replay->lane_high_water_bytes[lane] = walker.high_water_bytes;
  return done;
}

/* A lane that fails for a reason of its own ends the job at once: another one may be waiting for a
 * peer that will never come. */
static bool walk_beside_others(Replay *replay, Lane lane, uint32_t lanes_mask, Status *status) {
  if (walk(replay, lane, lanes_mask, status)) return true;
  lanes_fail(&replay->lanes);
  if (status->code != STATUS_ECHO) replay->setup.comm->ops->abort(replay->setup.comm);
  return false;
}

bool replay_run_lane(void *replay, Lane lane, Status *status) {
  return walk_beside_others(replay, lane, 1u << lane, status);
}

bool replay_run(Replay *replay, const PlanProgram *program, Status *status) {
  uint32_t beside = replay->lanes_mask[program - replay->setup.plan->programs];
  bool done = false;
  replay->running = program;
  if (beside != 0) {
    lanes_begin(&replay->lanes, beside);
    done = walk_beside_others(replay, LANE_COMPUTE, EVERY_LANE & ~beside, status);
    done = lanes_end(&replay->lanes, done, status);
  } else
    done = walk(replay, LANE_COMPUTE, EVERY_LANE, status);
  for (int32_t lane = 0; lane < Lane_COUNT; lane++)
    if (replay->lane_high_water_bytes[lane] > replay->high_water_bytes)
      replay->high_water_bytes = replay->lane_high_water_bytes[lane];
  return done;
}

/* replay.c -- the loop that trains: calls, their records, addresses, and off they go.
 *
 * One walker issues a program in list order: a record goes to the queue of its lane, after the
 * marks that its edges name. What a mark's number is: the record's place in list order, counted on
 * from step to step. */
#include "runtime/replay.h"

#include "kernels/philox.h"
#include "runtime/walk.h"

enum { PLACE_RECORD_BITS = 16 }; /* a segment has fewer records: replay_bind */

typedef struct Walker {
  Replay *replay;
  uint64_t number_first; /* of the first call's record 0 */
} Walker;

static bool applies(const PlanCall *call, const PlanRecord *record) {
  return plan_when(record->when_all, record->when_none, call->flags);
}

/* Addresses of a record's operands in this call. */
static void resolve(const Replay *replay, const Position *at, const PlanRecord *record,
                    void *operand[KERNEL_OPERANDS_MAX]) {
  const Plan *plan = replay->setup.plan;
  for (uint32_t i = 0; i < record->operands_count; i++) {
    uint32_t number = record->operands_first + i;
    uint32_t binding = at->call->bindings_first + plan->operands[number].base;
    operand[i] = replay->binding_at[binding] + replay->operand_offset[number];
  }
}

static bool run_kernel(const Replay *replay, const Work *work, Threads *threads, Status *status) {
  const Plan *plan = replay->setup.plan;
  const PlanRecord *record = work->record;
  KernelArgs args = {
      .operand = work->operand,
      .dtype = replay->operand_dtype + record->operands_first,
      .bytes = replay->operand_bytes + record->operands_first,
      .dim = plan->ints + record->dims_first,
      .attr = replay->attr[record - plan->records],
      .operand_count = (int32_t)record->operands_count,
      .accumulate = record->accumulate != 0,
      .key = philox_mix(record->key, (uint64_t)work->layer + 1),
      .sample_first = &replay->sample_first[work->microbatch < 0 ? 0 : work->microbatch],
      .state = replay->prepared[record - plan->records].state,
      .control = replay->control,
      .threads = threads,
  };
  const char *why = NULL;
  KernelStatus ended = replay_kernel(replay, record)->run(&args, &why);
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

/* Queues beside the compute queue have a team of their own: the rank's is at work beside them. */
static Threads *threads_of(const Replay *replay, const Queue *queue) {
  bool beside = replay->device->ops->lane(queue) != replay->main_lane;
  return beside ? replay->threads_beside : replay->setup.threads;
}

static bool run_by_kind(Replay *replay, const Work *work, const Queue *queue, Status *status) {
  const PlanRecord *record = work->record;
  if (record->kind == RECORD_KERNEL)
    return run_kernel(replay, work, threads_of(replay, queue), status);
  if (record->kind == RECORD_LOAD)
    return replay->setup.load(replay->setup.load_context, work->operand,
                              replay->operand_bytes + record->operands_first,
                              (int32_t)record->operands_count, status);
  if (run_comm(replay, record, work->operand)) return true;
  status->code = STATUS_ECHO; /* the rank that failed says why */
  return false;
}

/* A WorkRun. What fails for a reason of its own ends the job at once: another queue may be waiting
 * for a peer that will never come. */
static bool run_record(const Work *work, Queue *queue, Status *status) {
  Replay *replay = work->context;
  const PlanRecord *record = work->record;
  const int64_t *bytes = replay->operand_bytes + record->operands_first;
  for (uint32_t i = 0; i < record->operands_count; i++)
    hostile_allow(&replay->hostile, work->operand[i], (size_t)bytes[i]);
  Flight *flight = replay->setup.flight;
  uint32_t number = (uint32_t)(record - replay->setup.plan->records);
  if (flight) flight_begin(flight, record->lane, number, work->layer, work->microbatch);
  bool ran = run_by_kind(replay, work, queue, status);
  if (flight) flight_end(flight, record->lane);
  replay->count[record - replay->setup.plan->records].runs += ran;
  for (uint32_t i = 0; i < record->operands_count; i++)
    hostile_forbid(&replay->hostile, work->operand[i], (size_t)bytes[i]);
  if (!ran && status->code != STATUS_ECHO && replay->setup.comm)
    replay->setup.comm->ops->abort(replay->setup.comm);
  return ran;
}

/* ---- issuing */

static uint64_t number_of(const Walker *walker, uint64_t running, uint32_t record) {
  return walker->number_first + (running << PLACE_RECORD_BITS | record);
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
  if (!applies(call, record)) return true;
  return replay->device->ops->wait(queue, queue_of(replay, record),
                                   number_of(walker, running, awaited), status);
}

static bool issue_edges(const Walker *walker, const Position *at, const PlanRecord *record,
                        Queue *queue, Status *status) {
  const PlanEdge *after = walker->replay->setup.plan->edges + record->after_first;
  for (uint32_t i = 0; i < record->after_count; i++)
    if (!issue_wait(walker, queue, at->call, at->running, after[i].record, status)) return false;
  return true;
}

/* Before the first record of the call on `lane`. */
static bool issue_waits(const Walker *walker, const Position *at, uint32_t lane, Queue *queue,
                        Status *status) {
  const Plan *plan = walker->replay->setup.plan;
  for (uint32_t i = 0; i < at->call->waits_count; i++) {
    const PlanWait *wait = &plan->waits[at->call->waits_first + i];
    uint64_t running = 0;
    if (wait->lane != lane || !walk_awaited(plan, at, wait, &running)) continue;
    const PlanCall *call = &plan->calls[at->program->calls_first + wait->call];
    if (!issue_wait(walker, queue, call, running, wait->record, status)) return false;
  }
  return true;
}

static void note_high_water(Replay *replay, const Work *work) {
  const PlanRecord *record = work->record;
  for (uint32_t i = 0; i < record->operands_count; i++) {
    uint64_t end = (uint64_t)((uint8_t *)work->operand[i] - replay->setup.arena[TIER_DEVICE]) +
                   (uint64_t)replay->operand_bytes[record->operands_first + i];
    if (end > replay->high_water_bytes && end <= replay->device_bytes)
      replay->high_water_bytes = end;
  }
}

static bool issue_record(const Walker *walker, const Position *at, uint32_t number,
                         uint32_t *lanes_seen, Status *status) {
  Replay *replay = walker->replay;
  const Plan *plan = replay->setup.plan;
  const PlanRecord *record =
      &plan->records[plan->segments[at->call->segment].records_first + number];
  Queue *queue = queue_of(replay, record);
  bool first = (*lanes_seen >> record->lane & 1u) == 0;
  *lanes_seen |= 1u << record->lane;
  if ((first && !issue_waits(walker, at, record->lane, queue, status)) ||
      !issue_edges(walker, at, record, queue, status))
    return false;
  Work work = {.run = run_record,
               .context = replay,
               .record = record,
               .layer = at->call->layer,
               .microbatch = at->microbatch};
  resolve(replay, at, record, work.operand);
  note_high_water(replay, &work);
  uint64_t place = number_of(walker, at->running, number);
  const DeviceOps *ops = replay->device->ops;
  return record->kind == RECORD_LOAD ? ops->host(queue, &work, place, status)
                                     : ops->issue(queue, &work, place, status);
}

static bool issue_call(void *context, const Position *at, Status *status) {
  Walker *walker = context;
  const Plan *plan = walker->replay->setup.plan;
  const PlanSegment *segment = &plan->segments[at->call->segment];
  uint32_t lanes_seen = 0;
  hostile_fill(&walker->replay->hostile, (uint32_t)(at->program - plan->programs), at->call_number,
               at->iteration > 0, at->end);
  for (uint32_t i = 0; i < segment->records_count; i++)
    if (applies(at->call, &plan->records[segment->records_first + i]) &&
        !issue_record(walker, at, i, &lanes_seen, status))
      return false;
  walker->replay->numbers = number_of(walker, at->running + 1, 0);
  return true;
}

/* What was issued before a failure ends, too: nobody is left with work of an earlier step. */
bool replay_run(Replay *replay, const PlanProgram *program, Status *status) {
  Walker walker = {replay, replay->numbers};
  bool issued = walk_calls(replay->setup.plan, program, issue_call, &walker, status);
  Status ended = {0};
  if (replay->device->ops->finish(replay->device, &ended)) return issued;
  if (issued || (status->code == STATUS_ECHO && ended.code != STATUS_ECHO)) *status = ended;
  return false;
}

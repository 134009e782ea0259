#include "runtime/replay/replay_work.h"

#include <stdio.h>
#include <string.h>

#include "kernels/math/philox.h"

KernelArgs replay_kernel_args(const Replay *replay, const Work *work, Threads *threads,
                              void *stream) {
  const Plan *plan = replay->setup.plan;
  const PlanRecord *record = work->record;
  return (KernelArgs){
      .operand = work->operand,
      .dtype = replay->operand_dtype + record->operands_first,
      .bytes = replay->operand_bytes + record->operands_first,
      .dim = plan->ints + record->dims_first,
      .attr = replay->attr[record - plan->records],
      .operand_count = (int32_t)record->operands_count,
      .tf32 = contract_is_tf32(contract_of(replay_kernel(replay, record)->id),
                               plan->reals + record->attrs_first, record->attrs_count),
      .accumulate = record->accumulate != 0,
      .key = philox_mix(record->key, (uint64_t)work->layer + 1),
      .sample_first = &replay->sample_first[work->microbatch < 0 ? 0 : work->microbatch],
      .state = replay->prepared[record - plan->records].state,
      .control = replay->control_at + replay->control_first[record - plan->records],
      .control_count = contract_of(replay_kernel(replay, record)->id)->control_count,
      .threads = threads,
      .stream = stream,
  };
}

static bool run_kernel(const Replay *replay, const Work *work, const Queue *queue, Threads *threads,
                       Status *status) {
  const Plan *plan = replay->setup.plan;
  const PlanRecord *record = work->record;
  const KernelArgs args =
      replay_kernel_args(replay, work, threads, replay->device->ops->stream(queue));
  const char *why = NULL;
  KernelStatus ended = replay_kernel(replay, record)->run(&args, &why);
  return ended == KERNEL_DONE || replay_kernel_fail(plan, record, ended, why, status);
}

_Static_assert((int)KERNEL_OPERANDS_MAX <= (int)COMM_POSTS_MAX, "an exchange has room");

/* The posts of an exchange: operands that are read are sent, operands that are written are
 * received. */
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

/* A single operand is updated in place; of two, the second is written. */
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

static bool run_comm(Replay *replay, const PlanRecord *record, void *const *operand,
                     Status *status) {
  Comm *beside = replay->setup.comm_beside.at[record->lane];
  Comm *comm = beside ? beside : replay->setup.comm;
  int64_t before = comm->sent_bytes;
  bool ran = record->kind == RECORD_EXCHANGE     ? run_exchange(replay, comm, record, operand)
             : record->kind == RECORD_ALL_TO_ALL ? run_all_to_all(replay, comm, record, operand)
                                                 : run_collective(replay, comm, record, operand);
  replay->count[record - replay->setup.plan->records].sent_bytes += comm->sent_bytes - before;
  if (ran) return true;
  *status = comm->problem;
  if (status->code == STATUS_DONE) status->code = STATUS_ECHO; /* the rank that failed says why */
  return false;
}

/* Queues beside the compute queue have their own team, because the rank's works at the same time;
 * those of the host have one as large as the host's share of processors. */
Threads *replay_threads(const Replay *replay, const Queue *queue) {
  const uint32_t lane = replay->device->ops->lane(queue);
  bool beside = lane != replay->main_lane;
  if (plan_is_host_lane(replay->setup.plan, lane)) return replay->threads_host;
  return beside ? replay->threads_beside : replay->setup.threads;
}

static bool run_by_kind(Replay *replay, const Work *work, const Queue *queue, Status *status) {
  const PlanRecord *record = work->record;
  if (replay->loads_parameters && record->purpose == PURPOSE_INIT) return true;
  if (record->kind == RECORD_KERNEL)
    return run_kernel(replay, work, queue, replay_threads(replay, queue), status);
  if (record->kind == RECORD_COPY) {
    memcpy(work->operand[1], work->operand[0],
           (size_t)replay->operand_bytes[record->operands_first]);
    return true;
  }
  if (plan_is_copy(record)) return replay_run_file(replay, work, status);
  return run_comm(replay, record, work->operand, status);
}

void replay_allow(const Replay *replay, const Work *work, bool allowed) {
  const int64_t *bytes = replay->operand_bytes + work->record->operands_first;
  for (uint32_t i = 0; i < work->record->operands_count; i++)
    (allowed ? hostile_allow : hostile_forbid)(&replay->hostile, work->operand[i],
                                               (size_t)bytes[i]);
}

/* A failure with its own cause ends the job at once: another queue may be waiting for a
 * peer that will never arrive. */
bool replay_run_record(const Work *work, Queue *queue, Status *status) {
  Replay *replay = work->context;
  const PlanRecord *record = work->record;
  replay_allow(replay, work, true);
  Flight *flight = replay->setup.flight;
  uint32_t number = (uint32_t)(record - replay->setup.plan->records);
  if (flight) flight_begin(flight, record->lane, number, work->layer, work->microbatch);
  if (replay->watch) replay_watch(replay->watch, work, false);
  bool ran = run_by_kind(replay, work, queue, status);
  if (replay->watch && ran) replay_watch(replay->watch, work, true);
  if (flight) flight_end(flight, record->lane);
  replay->count[record - replay->setup.plan->records].runs += ran;
  replay_allow(replay, work, false);
  if (!ran && status->code != STATUS_ECHO && replay->setup.comm)
    replay->setup.comm->ops->abort(replay->setup.comm);
  return ran;
}

/* Runs the records in as few launches as the kernel can. */
static bool run_at_once(Replay *replay, const ReplayLaunch *launch, const Queue *queue,
                        Status *status) {
  const Plan *plan = replay->setup.plan;
  const Work *first = &launch->work[0];
  const Kernel *kernel = replay_kernel(replay, first->record);
  for (uint32_t i = 0; i < launch->count; i++)
    launch->args[i] = replay_kernel_args(replay, &launch->work[i], replay_threads(replay, queue),
                                         replay->device->ops->stream(queue));
  const char *why = NULL;
  KernelStatus ended = kernel->run_batch(kernel, launch->args, (int32_t)launch->count, &why);
  for (uint32_t i = 0; i < launch->count && ended == KERNEL_DONE; i++)
    replay->count[launch->work[i].record - plan->records].runs++;
  if (ended == KERNEL_DONE) return true;
  char of_many[256];
  (void)snprintf(of_many, sizeof of_many, "%s (a launch of %u records, of which this is the first)",
                 why, launch->count);
  return replay_kernel_fail(plan, first->record, ended, of_many, status);
}

bool replay_run_launch(const Work *work, Queue *queue, Status *status) {
  Replay *replay = work->context;
  const ReplayLaunch *launch = work->operand[0];
  const PlanRecord *record = work->record;
  bool apart = replay_kernel(replay, record)->run_batch == NULL || replay->watch != NULL;
  bool ran = true;
  for (uint32_t i = 0; i < launch->count && apart && ran; i++)
    ran = replay_run_record(&launch->work[i], queue, status);
  if (apart) return ran;
  for (uint32_t i = 0; i < launch->count; i++)
    replay_allow(replay, &launch->work[i], true);
  Flight *flight = replay->setup.flight;
  uint32_t number = (uint32_t)(record - replay->setup.plan->records);
  if (flight) flight_begin(flight, record->lane, number, work->layer, work->microbatch);
  ran = run_at_once(replay, launch, queue, status);
  if (flight) flight_end(flight, record->lane);
  for (uint32_t i = 0; i < launch->count; i++)
    replay_allow(replay, &launch->work[i], false);
  if (!ran && replay->setup.comm) replay->setup.comm->ops->abort(replay->setup.comm);
  return ran;
}

const char *replay_work_name(const Work *work) {
  const Replay *replay = work->context;
  if (work->record == NULL) return "between records";
  return plan_string(replay->setup.plan, work->record->path);
}

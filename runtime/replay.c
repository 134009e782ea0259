/* replay.c -- the loop that trains: calls, their records, addresses, and off they go. */
#include "runtime/replay.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/philox.h"
#include "runtime/programs.h"

/* Where a walk through a program stands. */
typedef struct Position {
  const PlanProgram *program;
  uint32_t call_number; /* in the program */
  const PlanCall *call;
  int64_t microbatch;
} Position;

typedef bool Visit(Replay *replay, const Position *at, const PlanRecord *record, Status *status);

static bool applies(const PlanCall *call, const PlanRecord *record) {
  return plan_when(record->when_all, record->when_none, call->flags);
}

static const char *record_path(const Replay *replay, const PlanRecord *record) {
  return plan_string(replay->setup.plan, record->path);
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

static void run_kernel(Replay *replay, const Position *at, const PlanRecord *record,
                       void *const *operand) {
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
      .control = replay->control,
      .threads = replay->setup.threads,
  };
  replay->kernel[record->kernel](&args);
}

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
  bool beside = record->lane != LANE_COMPUTE && replay->setup.comm_beside;
  Comm *comm = beside ? replay->setup.comm_beside : replay->setup.comm;
  int64_t before = comm->sent_bytes;
  bool ran = record->kind == RECORD_EXCHANGE     ? run_exchange(replay, comm, record, operand)
             : record->kind == RECORD_ALL_TO_ALL ? run_all_to_all(replay, comm, record, operand)
                                                 : run_collective(replay, comm, record, operand);
  replay->count[record - replay->setup.plan->records].sent_bytes += comm->sent_bytes - before;
  return ran;
}

static bool run_by_kind(Replay *replay, const Position *at, const PlanRecord *record,
                        void *const *operand, Status *status) {
  if (record->kind == RECORD_KERNEL) {
    run_kernel(replay, at, record, operand);
    return true;
  }
  if (record->kind == RECORD_LOAD)
    return replay->setup.load(replay->setup.load_context, operand,
                              replay->operand_bytes + record->operands_first,
                              (int32_t)record->operands_count, status);
  if (run_comm(replay, record, operand)) return true;
  status->code = 0; /* the rank that failed says why */
  return false;
}

static bool run_record(Replay *replay, const Position *at, const PlanRecord *record,
                       Status *status) {
  void *operand[KERNEL_OPERANDS_MAX] = {0};
  resolve(replay, at, record, operand);
  const int64_t *bytes = replay->operand_bytes + record->operands_first;
  for (uint32_t i = 0; i < record->operands_count; i++) {
    uint64_t end = (uint64_t)((uint8_t *)operand[i] - replay->setup.arena) + (uint64_t)bytes[i];
    if (end > replay->high_water_bytes) replay->high_water_bytes = end;
    hostile_allow(&replay->hostile, operand[i], (size_t)bytes[i]);
  }
  bool ran = run_by_kind(replay, at, record, operand, status);
  replay->count[record - replay->setup.plan->records].runs += ran;
  for (uint32_t i = 0; i < record->operands_count; i++)
    hostile_forbid(&replay->hostile, operand[i], (size_t)bytes[i]);
  return ran;
}

static bool visit_call(Replay *replay, const Position *at, Visit *visit, Status *status) {
  const Plan *plan = replay->setup.plan;
  const PlanSegment *segment = &plan->segments[at->call->segment];
  for (uint32_t i = 0; i < segment->records_count; i++) {
    const PlanRecord *record = &plan->records[segment->records_first + i];
    if (applies(at->call, record) && !visit(replay, at, record, status)) return false;
  }
  return true;
}

/* The loop that starts at `call_number`, or NULL. Loops do not nest. */
static const PlanLoop *loop_at(const Plan *plan, const PlanProgram *program, uint32_t call_number) {
  for (uint32_t i = 0; i < program->loops_count; i++)
    if (plan->loops[program->loops_first + i].first_call == call_number)
      return &plan->loops[program->loops_first + i];
  return NULL;
}

/* Visits every record of the program in order; `run` is false for a walk that only looks. */
static bool walk(Replay *replay, const PlanProgram *program, bool run, Visit *visit,
                 Status *status) {
  const Plan *plan = replay->setup.plan;
  uint32_t program_number = (uint32_t)(program - plan->programs);
  for (uint32_t first = 0; first < program->calls_count;) {
    const PlanLoop *loop = loop_at(plan, program, first);
    uint32_t times = loop ? loop->times : 1;
    uint32_t end = first + (loop ? loop->call_count : 1);
    for (uint32_t iteration = 0; iteration < times; iteration++)
      for (uint32_t number = first; number < end; number++) {
        const PlanCall *call = &plan->calls[program->calls_first + number];
        int64_t grown = loop ? (int64_t)iteration * loop->microbatch_stride : 0;
        Position at = {program, number, call, call->microbatch + grown};
        if (run) hostile_fill(&replay->hostile, program_number, number, iteration > 0, end);
        if (!visit_call(replay, &at, visit, status)) return false;
      }
    first = end;
  }
  return true;
}

bool replay_run(Replay *replay, const PlanProgram *program, Status *status) {
  return walk(replay, program, true, run_record, status);
}

/* What must hold before a record may run, besides what the plan's own check has established. */
static bool check_record(Replay *replay, const Position *at, const PlanRecord *record,
                         Status *status) {
  const Plan *plan = replay->setup.plan;
  const char *path = record_path(replay, record);
  if (record->operands_count > KERNEL_OPERANDS_MAX)
    return status_fail(status, STATUS_OURS, "plan: %s has %u operands", path,
                       record->operands_count);
  for (uint32_t i = 0; i < record->operands_count; i++) {
    uint32_t number = record->operands_first + i;
    uint32_t binding = at->call->bindings_first + plan->operands[number].base;
    uint64_t offset = replay->binding_offset[binding] + replay->operand_offset[number];
    uint64_t size = plan->operands[number].size_bytes;
    if (plan->bindings[binding].tier != TIER_DEVICE)
      return status_fail(status, STATUS_OURS, "plan: operand %u of %s is not in device memory", i,
                         path);
    if (offset > replay->class->arena_bytes || size > replay->class->arena_bytes - offset)
      return status_fail(status, STATUS_OURS, "plan: operand %u of %s ends outside the arena", i,
                         path);
  }
  if (record->kind == RECORD_KERNEL && !replay->kernel[record->kernel])
    return status_fail(status, STATUS_OURS, "this program has no kernel '%s' (needed by %s)",
                       plan_string(plan, plan->kernels[record->kernel].name), path);
  if (record->kind == RECORD_LOAD &&
      (record->operands_count != plan->inputs_count || !replay->setup.load))
    return status_fail(status, STATUS_OURS, "plan: %s loads %u operands of %u inputs", path,
                       record->operands_count, plan->inputs_count);
  if (record->kind != RECORD_KERNEL && record->kind != RECORD_LOAD && !replay->setup.comm)
    return status_fail(status, STATUS_OURS, "plan: %s communicates, and this rank is alone", path);
  return true;
}

static uint64_t for_member(const Plan *plan, const int32_t *coordinate, uint64_t offset,
                           int64_t stride, uint32_t by) {
  if (by == PLAN_NONE) return offset;
  return offset + (uint64_t)((int64_t)plan_member(plan, by, coordinate) * stride);
}

static bool allocate(Replay *replay, const Plan *plan) {
  replay->kernel = calloc(plan->kernels_count + 1, sizeof *replay->kernel);
  replay->binding_offset = calloc(plan->bindings_count + 1, sizeof *replay->binding_offset);
  replay->operand_offset = calloc(plan->operands_count + 1, sizeof *replay->operand_offset);
  replay->operand_dtype = calloc(plan->operands_count + 1, sizeof *replay->operand_dtype);
  replay->operand_bytes = calloc(plan->operands_count + 1, sizeof *replay->operand_bytes);
  replay->attr = calloc(plan->records_count + 1, sizeof *replay->attr);
  replay->count = calloc(plan->records_count + 1, sizeof *replay->count);
  size_t varying = 0;
  for (uint32_t i = 0; i < plan->records_count; i++)
    if (plan->records[i].varies_count > 0) varying += plan->records[i].attrs_count;
  replay->varied = calloc(varying + 1, sizeof *replay->varied);
  return replay->kernel && replay->binding_offset && replay->operand_offset &&
         replay->operand_dtype && replay->operand_bytes && replay->attr && replay->count &&
         replay->varied;
}

/* Records without varies read the plan's own table; the others have copies, since records may
 * share a range. */
static void fill_attrs(Replay *replay, const int32_t *coordinate) {
  const Plan *plan = replay->setup.plan;
  double *next = replay->varied;
  for (uint32_t i = 0; i < plan->records_count; i++) {
    const PlanRecord *record = &plan->records[i];
    replay->attr[i] = plan->reals + record->attrs_first;
    if (record->varies_count == 0) continue;
    memcpy(next, replay->attr[i], record->attrs_count * sizeof *next);
    for (uint32_t k = 0; k < record->varies_count; k++) {
      const PlanVary *vary = &plan->varies[record->varies_first + k];
      uint32_t member = plan_member(plan, vary->by, coordinate);
      next[vary->attr] += member * vary->stride;
      if (vary->values_count > 0) next[vary->attr] += plan->reals[vary->values_first + member];
    }
    replay->attr[i] = next;
    next += record->attrs_count;
  }
}

static void fill_tables(Replay *replay) {
  const Plan *plan = replay->setup.plan;
  int32_t coordinate[MESH_AXES_MAX] = {0};
  mesh_coordinates(replay->setup.mesh, replay->setup.rank, coordinate);
  for (uint32_t i = 0; i < plan->kernels_count; i++)
    replay->kernel[i] =
        kernel_find(plan_string(plan, plan->kernels[i].name), replay->setup.variant);
  for (uint32_t i = 0; i < plan->bindings_count; i++) {
    const PlanBinding *binding = &plan->bindings[i];
    replay->binding_offset[i] =
        for_member(plan, coordinate, binding->offset, binding->member_stride, binding->by);
  }
  for (uint32_t i = 0; i < plan->operands_count; i++) {
    const PlanOperand *operand = &plan->operands[i];
    replay->operand_offset[i] =
        for_member(plan, coordinate, operand->offset, operand->member_stride, operand->by);
    replay->operand_dtype[i] = operand->dtype;
    replay->operand_bytes[i] = (int64_t)operand->size_bytes;
  }
  fill_attrs(replay, coordinate);
}

static bool check_job(const Replay *replay, Status *status) {
  const PlanJob *job = &replay->setup.plan->jobs[0];
  uint64_t arena_bytes = replay->class->arena_bytes;
  if (job->control_offset % 8 != 0 || job->control_offset > arena_bytes ||
      sizeof(Control) > arena_bytes - job->control_offset)
    return status_fail(status, STATUS_OURS, "plan: control at %" PRIu64 " lies outside the arena",
                       job->control_offset);
  uint64_t slots = job->prefetch_batches < 0 ? 0 : (uint64_t)job->prefetch_batches;
  if (slots > 0 && (job->staging_offset > arena_bytes ||
                    job->sample_bytes > (arena_bytes - job->staging_offset) / slots))
    return status_fail(status, STATUS_OURS, "plan: staging at %" PRIu64 " lies outside the arena",
                       job->staging_offset);
  return true;
}

bool replay_bind(Replay *replay, const ReplaySetup *setup, Status *status) {
  const Plan *plan = setup->plan;
  *replay = (Replay){.setup = *setup};
  replay->class = mesh_class(setup->mesh, plan, setup->rank);
  if (!replay->class || plan->jobs_count != 1)
    return status_fail(status, STATUS_OURS, "plan: rank %d has no class", setup->rank);
  if (!check_job(replay, status)) return false;
  replay->replicas = mesh_replicas(setup->mesh);
  replay->replica = mesh_replica(setup->mesh, setup->rank);
  replay->control = (Control *)(void *)(setup->arena + plan->jobs[0].control_offset);
  if (!allocate(replay, plan))
    return status_fail(status, STATUS_WORLD, "not enough memory to bind the plan");
  fill_tables(replay);
  for (uint32_t i = 0; i < replay->class->programs_count; i++)
    if (!walk(replay, &plan->programs[replay->class->programs_first + i], false, check_record,
              status))
      return false;
  if (!hostile_start(&replay->hostile, plan, replay->class, setup->arena))
    return status_fail(status, STATUS_WORLD, "not enough memory to bind the plan");
  return true;
}

void replay_free(Replay *replay) {
  hostile_stop(&replay->hostile);
  free(replay->kernel);
  free(replay->binding_offset);
  free(replay->operand_offset);
  free(replay->operand_dtype);
  free(replay->operand_bytes);
  free(replay->attr);
  free(replay->varied);
  free(replay->count);
  *replay = (Replay){0};
}

const PlanProgram *replay_program(const Replay *replay, ProgramKind kind) {
  return programs_find(replay->setup.plan, replay->class, kind);
}

const ReplayCount *replay_count(const Replay *replay, uint32_t record) {
  return &replay->count[record];
}

int64_t replay_sent_bytes(const Replay *replay) {
  int64_t sent_bytes = 0;
  for (uint32_t i = 0; i < replay->setup.plan->records_count; i++)
    sent_bytes += replay->count[i].sent_bytes;
  return sent_bytes;
}

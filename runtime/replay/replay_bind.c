/* replay_bind.c -- before the first step, resolves what depends on the rank and checks what records
 * need. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/math/philox.h"
#include "runtime/plan/loss_scales.h"
#include "runtime/plan/plan_job.h"
#include "runtime/plan/plan_losses.h"
#include "runtime/plan/plan_seam.h"
#include "runtime/plan/programs.h"
#include "runtime/replay/replay.h"
#include "runtime/replay/replay_fused.h"
#include "runtime/replay/replay_graph.h"
#include "runtime/replay/replay_heard.h"

bool replay_kernel_fail(const Plan *plan, const PlanRecord *record, KernelStatus ended,
                        const char *why, Status *status) {
  return status_fail(status, ended == KERNEL_REFUSED ? STATUS_OURS : STATUS_WORLD,
                     "%s: kernel %s: %s", plan_string(plan, record->path),
                     plan_string(plan, plan->kernels[record->kernel].name), why);
}

const Kernel *replay_kernel(const Replay *replay, const PlanRecord *record) {
  const Plan *plan = replay->setup.plan;
  return replay->kernel[plan->lanes[record->lane].processor * plan->kernels_count + record->kernel];
}

/* Blocks of an arena have no larger alignment. */
static int64_t alignment(uintptr_t addresses) {
  uintptr_t lowest = (addresses | PLAN_ALIGN_BYTES) & -(addresses | PLAN_ALIGN_BYTES);
  return (int64_t)lowest;
}

KernelUse replay_kernel_use(const Replay *replay, const PlanRecord *record) {
  const Plan *plan = replay->setup.plan;
  return (KernelUse){
      .target = (KernelTarget)job_target(plan),
      .dtype = replay->operand_dtype + record->operands_first,
      .bytes = replay->operand_bytes + record->operands_first,
      .dim = plan->ints + record->dims_first,
      .attr = replay->attr[record - plan->records],
      .operand_count = (int32_t)record->operands_count,
      .dim_count = (int32_t)record->dims_count,
      .attr_count = (int32_t)record->attrs_count,
      .accumulate = record->accumulate != 0,
      .threads = job_threads(plan),
      .align_bytes = alignment(replay->prepared[record - plan->records].addresses),
      .path = plan_string(plan, record->path),
  };
}

/* Once for each record, however many calls it has. */
static bool prepare_kernel(const Replay *replay, const PlanRecord *record, Status *status) {
  const Plan *plan = replay->setup.plan;
  const Kernel *kernel = replay_kernel(replay, record);
  ReplayKernel *prepared = &replay->prepared[record - plan->records];
  const KernelUse use = replay_kernel_use(replay, record);
  const char *why = NULL;
  KernelStatus ended = kernel->prepare(kernel, &use, &prepared->state, &why);
  prepared->is_prepared = ended == KERNEL_DONE;
  return ended == KERNEL_DONE || replay_kernel_fail(plan, record, ended, why, status);
}

/* Prepares the kernels that the calls of the programs use. */
static bool prepare_kernels(const Replay *replay, Status *status) {
  const Plan *plan = replay->setup.plan;
  for (uint32_t i = 0; i < plan->records_count; i++)
    if (replay->prepared[i].is_used && !prepare_kernel(replay, &plan->records[i], status))
      return false;
  return true;
}

static void release_kernels(const Replay *replay) {
  const Plan *plan = replay->setup.plan;
  for (uint32_t i = 0; replay->prepared != NULL && i < plan->records_count; i++) {
    const ReplayKernel *prepared = &replay->prepared[i];
    if (!prepared->is_prepared) continue;
    const Kernel *kernel = replay_kernel(replay, &plan->records[i]);
    if (kernel->release != NULL) kernel->release(prepared->state);
  }
}

/* True if a record has the control slots of its kernel's row, in the same order. */
static bool control_fits(const Replay *replay, const PlanRecord *record,
                         const KernelContract *contract) {
  const Plan *plan = replay->setup.plan;
  uint32_t named = contract_controls_in(contract, replay->slots_mask);
  const PlanControl *control = &plan->controls[record->controls_first];
  if (record->controls_count != (uint32_t)__builtin_popcount(named)) return false;
  for (int32_t i = 0; i < contract->control_count; i++) {
    if ((named >> i & 1u) == 0) continue;
    const char *name = plan_string(plan, plan->slots[control++->slot].name);
    const ControlSlot slot = plan_loss_slot(&replay->losses, record, contract->controls[i].slot);
    if (strcmp(name, control_name(slot)) != 0) return false;
  }
  return true;
}

static void note_use(const Replay *replay, const Position *at, const PlanRecord *record) {
  const Plan *plan = replay->setup.plan;
  ReplayKernel *prepared = &replay->prepared[record - plan->records];
  prepared->is_used = true;
  for (uint32_t i = 0; i < record->operands_count; i++) {
    uint32_t number = record->operands_first + i;
    const uint8_t *base =
        replay->binding_at[at->call->bindings_first + plan->operands[number].base];
    prepared->addresses |= (uintptr_t)base + replay->operand_offset[number];
  }
}

/* Checks a record before it may run, beyond what plan_check has established. */
static bool check_record(const Replay *replay, const Position *at, const PlanRecord *record,
                         Status *status) {
  const Plan *plan = replay->setup.plan;
  const char *path = plan_string(plan, record->path);
  if (record->operands_count > KERNEL_OPERANDS_MAX)
    return status_fail(status, STATUS_OURS, "plan: %s has %u operands", path,
                       record->operands_count);
  for (uint32_t i = 0; i < record->operands_count; i++) {
    uint32_t number = record->operands_first + i;
    uint32_t binding = at->call->bindings_first + plan->operands[number].base;
    Tier tier = (Tier)plan->bindings[binding].tier;
    uint64_t arena_bytes = plan_arena_bytes(plan, replay->class, tier);
    uint64_t offset = (uint64_t)(replay->binding_at[binding] - replay->setup.arena[tier]) +
                      replay->operand_offset[number];
    uint64_t size = plan->operands[number].size_bytes;
    if (offset > arena_bytes || size > arena_bytes - offset)
      return status_fail(status, STATUS_OURS, "plan: operand %u of %s ends outside the arena", i,
                         path);
  }
  if (record->kind == RECORD_KERNEL && !replay_kernel(replay, record))
    return status_fail(status, STATUS_OURS, "this program has no kernel '%s' for lane %s (%s)",
                       plan_string(plan, plan->kernels[record->kernel].name),
                       plan_lane_name(plan, record->lane), path);
  /* Once a record: iterations of a loop differ in their operands alone. */
  if (record->kind == RECORD_KERNEL && !replay->prepared[record - plan->records].is_used &&
      !control_fits(replay, record, contract_of(replay_kernel(replay, record)->id)))
    return status_fail(status, STATUS_OURS, "plan: %s does not have the control slots of %s", path,
                       plan_string(plan, plan->kernels[record->kernel].name));
  if (record->kind == RECORD_KERNEL) {
    note_use(replay, at, record);
    return true;
  }
  if (record->kind == RECORD_LOAD && record->operands_count != plan->inputs_count)
    return status_fail(status, STATUS_OURS, "plan: %s loads %u operands of %u inputs", path,
                       record->operands_count, plan->inputs_count);
  if (plan_is_communication(record) && !replay->setup.comm)
    return status_fail(status, STATUS_OURS, "plan: %s communicates, and this rank is alone", path);
  return true;
}

static bool check_call(void *context, const Position *at, Status *status) {
  Replay *replay = context;
  const Plan *plan = replay->setup.plan;
  const PlanSegment *segment = &plan->segments[at->call->segment];
  int64_t end = at->microbatch < 0 ? 1 : at->microbatch + 1;
  if (end > replay->microbatches) replay->microbatches = end;
  for (uint32_t i = 0; i < segment->records_count; i++) {
    const PlanRecord *record = &plan->records[segment->records_first + i];
    if (!plan_runs(at->call, record)) continue;
    if (!check_record(replay, at, record, status)) return false;
    int64_t *loads = &replay->loads[at->program->kind];
    if (record->kind == RECORD_LOAD && end > *loads) *loads = end;
    bool is_beside = replay->setup.comm_beside.at[record->lane] || plan_is_copy(record) ||
                     plan_is_host_lane(plan, record->lane);
    if (is_beside && record->lane != replay->main_lane && !HOSTILE_RUNS_ALONE)
      replay->queues_mask |= 1u << record->lane;
  }
  return true;
}

/* Edges and waits are for records of other lanes. */
static void note_awaited(const Replay *replay) {
  const Plan *plan = replay->setup.plan;
  for (uint32_t s = 0; s < plan->segments_count; s++) {
    const PlanSegment *segment = &plan->segments[s];
    for (uint32_t i = 0; i < segment->records_count; i++) {
      const PlanRecord *record = &plan->records[segment->records_first + i];
      for (uint32_t k = 0; k < record->after_count; k++)
        replay->awaited[segment->records_first + plan->edges[record->after_first + k].record] =
            true;
    }
  }
  for (uint32_t i = 0; i < replay->class->programs_count; i++) {
    const PlanProgram *program = &plan->programs[replay->class->programs_first + i];
    for (uint32_t c = 0; c < program->calls_count; c++) {
      const PlanCall *call = &plan->calls[program->calls_first + c];
      for (uint32_t k = 0; k < call->waits_count; k++) {
        const PlanWait *wait = &plan->waits[call->waits_first + k];
        uint32_t segment =
            plan->calls[plan_awaited(plan, program, wait)->calls_first + wait->call].segment;
        replay->awaited[plan->segments[segment].records_first + wait->record] = true;
      }
    }
  }
}

/* ---- launches */

static bool add_record(ReplayLaunch *launch, const Work *work) {
  Work *grown = realloc(launch->work, (launch->count + 1) * sizeof *grown);
  if (grown == NULL) return false;
  launch->work = grown;
  launch->work[launch->count++] = *work;
  return true;
}

/* A WalkVisit: records of launches, as they will be issued. */
static bool take_launched(void *context, const Position *at, Status *status) {
  Replay *replay = context;
  const Plan *plan = replay->setup.plan;
  const PlanSegment *segment = &plan->segments[at->call->segment];
  const PlanLaunch *launch = plan_launch_of(plan, at->program, at->call_number);
  for (uint32_t i = 0; launch != NULL && i < segment->records_count; i++) {
    const PlanRecord *record = &plan->records[segment->records_first + i];
    if (!plan_runs(at->call, record)) continue;
    const Work work = replay_work(replay, at, record);
    replay->launch[launch - plan->launches].is_awaited |= replay->awaited[record - plan->records];
    if (!add_record(&replay->launch[launch - plan->launches], &work))
      return status_fail(status, STATUS_WORLD, "not enough memory to bind the plan");
  }
  return true;
}

static bool bind_launches(Replay *replay, Status *status) {
  const Plan *plan = replay->setup.plan;
  for (uint32_t i = 0; i < replay->class->programs_count; i++) {
    uint32_t number = replay->class->programs_first + i;
    if (!walk_calls(plan, &plan->programs[number], take_launched, replay, status)) return false;
  }
  for (uint32_t i = 0; i < plan->launches_count; i++) {
    replay->launch[i].args = calloc(replay->launch[i].count + 1, sizeof(KernelArgs));
    if (replay->launch[i].args == NULL)
      return status_fail(status, STATUS_WORLD, "not enough memory to bind the plan");
  }
  return true;
}

static void free_launches(const Replay *replay) {
  for (uint32_t i = 0; replay->launch != NULL && i < replay->setup.plan->launches_count; i++) {
    free(replay->launch[i].work);
    free(replay->launch[i].args);
  }
  free(replay->launch);
}

static uint64_t for_member(const Plan *plan, const int32_t *coordinate, uint64_t offset,
                           int64_t stride, uint32_t by) {
  if (by == PLAN_NONE) return offset;
  return offset + (uint64_t)((int64_t)plan_member(plan, by, coordinate) * stride);
}

/* NULL: a communication, or a kernel that this program does not know; its records are refused. */
static const KernelContract *contract_of_record(const Plan *plan, const PlanRecord *record) {
  return record->kind == RECORD_KERNEL
             ? contract_find(plan_string(plan, plan->kernels[record->kernel].name))
             : NULL;
}

/* Slots of all rows that records run, with those that the plan lacks. */
static size_t controls_most(const Plan *plan) {
  size_t count = 0;
  for (uint32_t i = 0; i < plan->records_count; i++) {
    const KernelContract *contract = contract_of_record(plan, &plan->records[i]);
    if (contract != NULL) count += (size_t)contract->control_count;
  }
  return count;
}

/* The addresses of each record's slots, by their numbers in its kernel's row. Kernels on host lanes
 * use the mirror. plan_check: the class has one. */
static void fill_controls(Replay *replay) {
  const Plan *plan = replay->setup.plan;
  const PlanBuffer *mirror = plan_control_mirror(plan, replay->class);
  uint8_t *on_host = mirror == NULL ? NULL : replay->setup.arena[TIER_HOST] + mirror->offset;
  uint32_t first = 0;
  for (uint32_t r = 0; r < plan->records_count; r++) {
    const PlanRecord *record = &plan->records[r];
    const KernelContract *contract = contract_of_record(plan, record);
    if (contract == NULL) continue;
    uint8_t *block = plan_is_host_lane(plan, record->lane) ? on_host : replay->control;
    uint32_t named = contract_controls_in(contract, replay->slots_mask), next = 0;
    replay->control_first[r] = first;
    for (int32_t i = 0; i < contract->control_count; i++)
      if ((named >> i & 1u) != 0 && next < record->controls_count) {
        uint32_t slot = plan->controls[record->controls_first + next++].slot;
        replay->control_at[first + (uint32_t)i] = block + plan->slots[slot].offset;
      }
    first += (uint32_t)contract->control_count;
  }
}

static bool allocate(Replay *replay, const Plan *plan) {
  replay->kernel =
      calloc((size_t)Processor_COUNT * plan->kernels_count + 1, sizeof *replay->kernel);
  replay->binding_at = calloc(plan->bindings_count + 1, sizeof *replay->binding_at);
  replay->operand_offset = calloc(plan->operands_count + 1, sizeof *replay->operand_offset);
  replay->operand_dtype = calloc(plan->operands_count + 1, sizeof *replay->operand_dtype);
  replay->operand_bytes = calloc(plan->operands_count + 1, sizeof *replay->operand_bytes);
  replay->control_at = calloc(controls_most(plan) + 1, sizeof *replay->control_at);
  replay->control_first = calloc(plan->records_count + 1, sizeof *replay->control_first);
  replay->attr = calloc(plan->records_count + 1, sizeof *replay->attr);
  replay->prepared = calloc(plan->records_count + 1, sizeof *replay->prepared);
  replay->count = calloc(plan->records_count + 1, sizeof *replay->count);
  replay->awaited = calloc(plan->records_count + 1, sizeof *replay->awaited);
  replay->fused = calloc(plan->records_count + 1, sizeof *replay->fused);
  replay->launch = calloc(plan->launches_count + 1, sizeof *replay->launch);
  size_t varying = 0;
  for (uint32_t i = 0; i < plan->records_count; i++)
    if (plan->records[i].varies_count > 0) varying += plan->records[i].attrs_count;
  replay->varied = calloc(varying + 1, sizeof *replay->varied);
  return replay->kernel && replay->binding_at && replay->operand_offset && replay->operand_dtype &&
         replay->operand_bytes && replay->control_at && replay->control_first && replay->attr &&
         replay->prepared && replay->count && replay->awaited && replay->fused && replay->launch &&
         replay->varied;
}

/* Records without varies read the plan's table; the others have copies, because records may share a
 * range. */
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
  for (uint32_t i = 0; i < plan->kernels_count; i++) {
    const KernelContract *contract = contract_find(plan_string(plan, plan->kernels[i].name));
    for (Processor of = 0; contract != NULL && of < Processor_COUNT; of++)
      if (replay->setup.kernels[of] != NULL)
        replay->kernel[of * plan->kernels_count + i] = &replay->setup.kernels[of][contract->id];
  }
  for (uint32_t i = 0; i < plan->bindings_count; i++) {
    const PlanBinding *binding = &plan->bindings[i];
    uint8_t *arena = replay->setup.arena[binding->tier];
    if (arena != NULL) /* another class may use tiers that this one does not */
      replay->binding_at[i] = arena + for_member(plan, coordinate, binding->offset,
                                                 binding->member_stride, binding->by);
  }
  for (uint32_t i = 0; i < plan->operands_count; i++) {
    const PlanOperand *operand = &plan->operands[i];
    replay->operand_offset[i] =
        for_member(plan, coordinate, operand->offset, operand->member_stride, operand->by);
    replay->operand_dtype[i] = operand->dtype;
    replay->operand_bytes[i] = (int64_t)operand->size_bytes;
  }
  fill_controls(replay);
  fill_attrs(replay, coordinate);
}

/* Work outside micro-batches has the number of the first one. */
static bool fill_samples(Replay *replay) {
  int64_t rows = job_microbatch_samples(replay->setup.plan);
  replay->sample_first = calloc((size_t)replay->microbatches + 1, sizeof *replay->sample_first);
  if (!replay->sample_first) return false;
  for (int64_t i = 0; i <= replay->microbatches; i++)
    replay->sample_first[i] = (i * replay->replicas + replay->replica) * rows;
  return true;
}

/* Initialises what the first program reads and no program has written. */
static bool clear_control(const Replay *replay, Status *status) {
  const DeviceOps *ops = replay->device->ops;
  const Plan *plan = replay->setup.plan;
  Control start = {.clip_scale = 1};
  loss_scale_begin(plan, &start);
  void *block = ops->open_window(replay->device, replay->control, job_control_bytes(plan),
                                 ACCESS_WRITE, status);
  if (block == NULL) return false;
  memset(block, 0, job_control_bytes(plan));
  plan_control_store(&replay->slots, SLOT_LASTING, SLOT_IN, &start, block);
  return ops->close_window(replay->device, status);
}

/* A bit for each lane whose kernels the host's processor runs. */
static uint32_t host_lanes(const Plan *plan) {
  uint32_t mask = 0;
  for (uint32_t lane = 0; lane < plan->lanes_count; lane++)
    mask |= (uint32_t)plan_is_host_lane(plan, lane) << lane;
  return mask;
}

static bool open_device(Replay *replay, Status *status) {
  const ReplaySetup *setup = &replay->setup;
  if (replay->queues_mask != 0) replay->threads_beside = threads_new(1, NULL);
  const uint32_t on_host = host_lanes(setup->plan) & replay->queues_mask;
  if (on_host != 0)
    replay->threads_host = threads_new(setup->host_threads > 1 ? setup->host_threads : 1, NULL);
  if ((replay->queues_mask != 0 && !replay->threads_beside) ||
      (on_host != 0 && !replay->threads_host))
    return status_fail(status, STATUS_WORLD, "not enough memory to bind the plan");
  DeviceOpen *open = setup->open_device != NULL ? setup->open_device : device_cpu_open;
  replay->device =
      open(&(DeviceSetup){.lane_count = setup->plan->lanes_count,
                          .main_lane = replay->main_lane,
                          .queues_mask = replay->queues_mask,
                          .host_mask = on_host,
                          .look = setup->look,
                          .name = replay_work_name,
                          .look_context = setup->look_context,
                          .heard = setup->hears ? replay_heard : NULL,
                          .heard_context = replay,
                          .call_numbers = replay->records_most * REPLAY_PARTS,
                          .issues_only = setup->issues_only && !HOSTILE_RUNS_ALONE,
                          .delay_most_ns = setup->delay_most_ns,
                          .delay_seed = philox_mix(setup->delay_seed, (uint64_t)setup->rank)},
           status);
  return replay->device != NULL;
}

static uint64_t most_records(const Plan *plan) {
  uint64_t most = 1;
  for (uint32_t i = 0; i < plan->segments_count; i++)
    if (plan->segments[i].records_count > most) most = plan->segments[i].records_count;
  return most;
}

bool replay_bind(Replay *replay, const ReplaySetup *setup, Status *status) {
  const Plan *plan = setup->plan;
  *replay = (Replay){.setup = *setup};
  replay->class = mesh_class(setup->mesh, plan, setup->rank);
  if (!replay->class || !plan_has_job(plan))
    return status_fail(status, STATUS_OURS, "plan: rank %d has no class", setup->rank);
  replay->records_most = most_records(plan) + 1; /* one for the end of a run (replay_end.c) */
  replay->main_lane = plan_main_lane(plan);
  replay->device_bytes = plan_arena_bytes(plan, replay->class, TIER_DEVICE);
  replay->replicas = mesh_replicas(setup->mesh);
  replay->replica = mesh_replica(setup->mesh, setup->rank);
  replay->slots = plan_slots(plan);
  replay->slots_mask = plan_slot_mask(plan);
  replay->losses = plan_losses(plan);
  replay->control = setup->arena[TIER_DEVICE] + job_control_offset(plan);
  replay->control_ring = setup->arena[job_staging_tier(plan)] + job_control_ring_offset(plan);
  if (!allocate(replay, plan))
    return status_fail(status, STATUS_WORLD, "not enough memory to bind the plan");
  fill_tables(replay);
  for (uint32_t i = 0; i < replay->class->programs_count; i++) {
    uint32_t number = replay->class->programs_first + i;
    if (!walk_calls(plan, &plan->programs[number], check_call, replay, status)) return false;
  }
  replay->parted_mask = replay->queues_mask & plan_lanes_that_communicate(plan);
  if (replay->queues_mask != 0) note_awaited(replay);
  if (setup->lend != NULL) setup->lend(setup->arena[TIER_DEVICE], replay->device_bytes);
  const bool prepared = prepare_kernels(replay, status) && replay_bind_fused(replay, status) &&
                        bind_launches(replay, status);
  if (setup->lend != NULL) setup->lend(NULL, 0);
  if (!prepared) return false;
  if (!fill_samples(replay) ||
      !hostile_start(&replay->hostile, plan, replay->class, replay->setup.arena))
    return status_fail(status, STATUS_WORLD, "not enough memory to bind the plan");
  return open_device(replay, status) && clear_control(replay, status);
}

void replay_free(Replay *replay) {
  if (replay->device) replay_graph_free(replay);
  if (replay->device) replay->device->ops->close(replay->device);
  threads_free(replay->threads_beside);
  threads_free(replay->threads_host);
  hostile_stop(&replay->hostile);
  replay_free_fused(replay);
  release_kernels(replay);
  free_launches(replay);
  free(replay->hearing.call);
  free(replay->kernel);
  free(replay->prepared);
  free(replay->binding_at);
  free(replay->operand_offset);
  free(replay->operand_dtype);
  free(replay->operand_bytes);
  free(replay->control_at);
  free(replay->control_first);
  free(replay->attr);
  free(replay->varied);
  free(replay->sample_first);
  free(replay->count);
  free(replay->awaited);
  *replay = (Replay){0};
}

const PlanProgram *replay_program(const Replay *replay, ProgramKind kind) {
  return plan_program(replay->setup.plan, replay->class, kind);
}

const ReplayCount *replay_count(const Replay *replay, uint32_t record) {
  return &replay->count[record];
}

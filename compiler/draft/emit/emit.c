#include "compiler/draft/emit/emit.h"

#include <string.h>

#include "compiler/draft/cost/cost.h"
#include "compiler/draft/cost/link.h"
#include "compiler/draft/emit/tables.h"
#include "compiler/draft/roles.h"
#include "kernels/contract/contract.h"
#include "runtime/plan/plan_control.h"
#include "runtime/plan/plan_flat.h"
#include "runtime/plan/plan_hash.h"
#include "runtime/plan/plan_place.h"

typedef struct RoleWords {
  BufferKind kind;
  const char *name;
} RoleWords;

static const RoleWords role_words[BASE_ROLE_COUNT] = {
    [BASE_PARAM] = {BUFFER_PARAM, "parameters"},
    [BASE_GRAD] = {BUFFER_GRAD, "gradients"},
    [BASE_PARAM_STORED] = {BUFFER_PARAM, "parameters_stored"},
    [BASE_PARAM_SHARD] = {BUFFER_PARAM, "parameter_shard"},
    [BASE_GRAD_SHARD] = {BUFFER_GRAD, "gradient_shard"},
    [BASE_MASTER] = {BUFFER_MASTER, "master"},
    [BASE_COMPENSATION] = {BUFFER_COMPENSATION, "compensation"},
    [BASE_MOMENT1] = {BUFFER_MOMENT1, "moment_m"},
    [BASE_MOMENT2] = {BUFFER_MOMENT2, "moment_v"},
    [BASE_MOMENT1_MAX] = {BUFFER_MOMENT1_MAX, "maxima_of_m"},
    [BASE_MOMENT2_MAX] = {BUFFER_MOMENT2_MAX, "maxima_of_v"},
    [BASE_CODES] = {BUFFER_CODES, "codes_of_weights"},
    [BASE_FRAME] = {BUFFER_ACTIVATION, "kept"},
    [BASE_RECOMPUTE_FRAME] = {BUFFER_ACTIVATION, "recomputed"},
    [BASE_WEIGHT_FRAME] = {BUFFER_GRAD_ACTIVATION, "kept_for_weights"},
    [BASE_INPUT] = {BUFFER_ACTIVATION, "input"},
    [BASE_OUTPUT] = {BUFFER_ACTIVATION, "output"},
    [BASE_D_INPUT] = {BUFFER_GRAD_ACTIVATION, "d_input"},
    [BASE_D_OUTPUT] = {BUFFER_GRAD_ACTIVATION, "d_output"},
    [BASE_SCRATCH] = {BUFFER_WORKSPACE, "scratch"},
    [BASE_DATA] = {BUFFER_DATA, "data"},
    [BASE_CONTROL] = {BUFFER_CONTROL, "control"},
    [BASE_PARTIALS] = {BUFFER_WORKSPACE, "sums_of_squares"},
    [BASE_NORMS] = {BUFFER_WORKSPACE, "squares_by_group"},
    [BASE_WIRE] = {BUFFER_COMM, "wire"},
    [BASE_WIRE_SHARD] = {BUFFER_COMM, "wire_shard"},
    [BASE_CAST_SHARD] = {BUFFER_CAST, "cast_shard"},
    [BASE_PIECES] = {BUFFER_COMM, "gathered"},
    [BASE_RECEIVED] = {BUFFER_COMM, "received"},
    [BASE_TRANSFER] = {BUFFER_ACTIVATION, "transfer"},
    [BASE_HOST_GRAD] = {BUFFER_GRAD, "gradients_on_host"},
    [BASE_HOST_PARAM] = {BUFFER_PARAM, "parameters_on_host"},
    [BASE_DRAWN] = {BUFFER_MASTER, "master_drawn"},
    [BASE_MIRROR] = {BUFFER_MIRROR, "control_mirror"},
    [BASE_FAR_PARAM] = {BUFFER_PARAM, "parameters_stored_on_host"},
    [BASE_FAR_GRAD] = {BUFFER_GRAD, "gradients_accumulated_on_host"},
    [BASE_FILE_PARAM] = {BUFFER_PARAM, "parameters_in_file"},
    [BASE_CAME_PARAM] = {BUFFER_PARAM, "parameters_from_file"},
    [BASE_FILE_STATE] = {BUFFER_MASTER, "master_in_file"},
    [BASE_FILE_STATE + BASE_COMPENSATION -
        BASE_MASTER] = {BUFFER_COMPENSATION, "compensation_in_file"},
    [BASE_FILE_STATE + BASE_MOMENT1 - BASE_MASTER] = {BUFFER_MOMENT1, "moment_m_in_file"},
    [BASE_FILE_STATE + BASE_MOMENT2 - BASE_MASTER] = {BUFFER_MOMENT2, "moment_v_in_file"},
    [BASE_FILE_STATE + BASE_MOMENT1_MAX -
        BASE_MASTER] = {BUFFER_MOMENT1_MAX, "maxima_of_m_in_file"},
    [BASE_FILE_STATE_LAST] = {BUFFER_MOMENT2_MAX, "maxima_of_v_in_file"},
    [BASE_FAR_FRAME] = {BUFFER_ACTIVATION, "kept_on_host"},
    [BASE_FAR_INPUT] = {BUFFER_ACTIVATION, "input_on_host"},
    [BASE_SNAPSHOT] = {BUFFER_SNAPSHOT, "snapshot"},
    [BASE_CACHE] = {BUFFER_CACHE, "cache"},
};

/* ---- memory */

static void emit_tiers(Tables *t, const Draft *d) {
  for (Tier tier = 0; tier < Tier_COUNT; tier++)
    if (d->uses[tier])
      TABLE_PUSH(
          t, tiers,
          (PlanTier){.alignment_bytes = tier_align(tier),
                     .kind = tier,
                     .path = table_string(t, tier == TIER_FILE ? d->job->offload.path : "")});
}

static void emit_slot(Tables *t, const char *name, PlanSlot slot, const char *unit,
                      int64_t offset) {
  slot.offset = (uint64_t)offset;
  slot.name = table_string(t, name);
  slot.unit = table_string(t, unit);
  TABLE_PUSH(t, slots, slot);
}

/* A sampled model hands out two numbers for each sequence: those after the first one's. */
static void emit_slots(Tables *t, const Draft *d) {
  for (ControlSlot i = 0; i < CONTROL_SLOT_COUNT; i++) {
    if ((draft_slots(d) & CONTROL_BIT(i)) == 0) continue;
    emit_slot(t, control_name(i), plan_slot_known(i), plan_slot_unit(i), draft_slot_offset(d, i));
    for (int64_t k = 0; i == CONTROL_count && k < draft_drawn_slots(d); k++)
      emit_slot(t, arena_printf(t->arena, PLAN_DRAWN_PREFIX "%lld", (long long)k),
                plan_slot_known(CONTROL_loss), "",
                draft_slot_offset(d, i) + (k + 1) * CONTROL_SLOT_BYTES);
  }
}

/* ---- segments */

static void emit_operands(Tables *t, const Draft *d, const Record *record, PlanRecord *out) {
  const Graph *model = record->model ? record->model : d->train->logical;
  out->operands_first = (uint32_t)t->operands.count;
  out->operands_count = (uint32_t)record->operand_count;
  for (int32_t i = 0; i < record->operand_count; i++) {
    const Operand *operand = &record->operands[i];
    TABLE_PUSH(
        t, operands,
        (PlanOperand){.offset = (uint64_t)operand->offset_bytes,
                      .size_bytes = (uint64_t)operand->size_bytes,
                      .member_stride = operand->member_stride_bytes,
                      .by = table_comm(t, operand->by, LANE_COMPUTE),
                      .base = (uint32_t)operand->base,
                      .dtype = operand->dtype,
                      .access = operand->access,
                      .value = table_value(t, model, operand->value),
                      .layout = operand->layout ? table_layout(t, operand->layout) : PLAN_NONE});
  }
}

_Static_assert((int)KERNEL_READ == (int)ACCESS_READ && (int)KERNEL_WRITE == (int)ACCESS_WRITE &&
                   (int)KERNEL_UPDATE == (int)ACCESS_UPDATE,
               "what a row says of a control slot is what its records say");

static void emit_controls(Tables *t, const Draft *d, const Record *record, PlanRecord *out) {
  const KernelContract *contract = contract_find(record->kernel);
  uint32_t named = contract_controls_in(contract, draft_slots(d));
  out->controls_first = (uint32_t)t->controls.count;
  out->controls_count = (uint32_t)__builtin_popcount(named);
  for (int32_t i = 0; named >> i != 0; i++)
    if ((named >> i & 1u) != 0)
      TABLE_PUSH(t, controls,
                 (PlanControl){(uint32_t)draft_slot_number(
                                   d, draft_slot_of(d, record, contract->controls[i].slot)),
                               contract->controls[i].access});
}

/* Number, along `axes`, of the `member`-th rank along `all`, which has those axes and more. */
static int64_t member_along(const JobMesh *mesh, uint32_t all, int64_t member, uint32_t axes) {
  int64_t number = 0, scale = 1;
  for (int32_t axis = MESH_AXES - 1; axis >= 0; axis--) {
    if ((all & MESH_BIT(axis)) == 0) continue;
    int64_t coordinate = member % mesh->size[axis];
    member /= mesh->size[axis];
    if ((axes & MESH_BIT(axis)) == 0) continue;
    number += coordinate * scale;
    scale *= mesh->size[axis];
  }
  return number;
}

static double vary_value(const LoweredVary *vary, int64_t member) {
  return vary->stride * (double)member + (vary->values != NULL ? vary->values[member] : 0);
}

/* How one attr varies between ranks, in one row: affine along one communicator, or
 * a table over the ranks along several. */
static void emit_vary(Tables *t, const Draft *d, const Record *record, int32_t attr) {
  uint32_t all = 0;
  const LoweredVary *only = NULL;
  int32_t count = 0;
  for (int32_t i = 0; i < record->vary_count; i++) {
    uint32_t axes = mesh_used(&d->mesh, record->varies[i].axes);
    if (record->varies[i].attr != attr || axes == 0) continue;
    only = &record->varies[i];
    all |= axes;
    count++;
  }
  if (only == NULL) return;
  PlanVary out = {.stride = count == 1 ? only->stride : 0,
                  .attr = (uint32_t)attr,
                  .by = table_comm(t, all, LANE_COMPUTE),
                  .values_first = (uint32_t)t->reals.count};
  bool table = count > 1 || only->values != NULL;
  for (int64_t m = 0; table && m < mesh_count(&d->mesh, all); m++) {
    double value = count == 1 ? only->values[m] : 0;
    for (int32_t i = 0; count > 1 && i < record->vary_count; i++) {
      const LoweredVary *vary = &record->varies[i];
      uint32_t axes = mesh_used(&d->mesh, vary->axes);
      if (vary->attr == attr && axes != 0)
        value += vary_value(vary, member_along(&d->mesh, all, m, axes));
    }
    TABLE_PUSH(t, reals, value);
  }
  out.values_count = (uint32_t)t->reals.count - out.values_first;
  TABLE_PUSH(t, varies, out);
}

static void emit_varies(Tables *t, const Draft *d, const Record *record, PlanRecord *out) {
  out->varies_first = (uint32_t)t->varies.count;
  for (int32_t attr = 0; attr < record->attr_count; attr++)
    emit_vary(t, d, record, attr);
  out->varies_count = (uint32_t)t->varies.count - out->varies_first;
}

static void emit_numbers(Tables *t, const Draft *d, const Record *record, PlanRecord *out) {
  int32_t dims = record->pieces != NULL ? 2 * record->piece_count : record->dim_count;
  const int64_t *values = record->pieces != NULL ? record->pieces : record->dims;
  out->dims_first = (uint32_t)t->ints.count;
  out->dims_count = (uint32_t)dims;
  for (int32_t i = 0; i < dims; i++)
    TABLE_PUSH(t, ints, values[i]);
  out->attrs_first = (uint32_t)t->reals.count;
  out->attrs_count = (uint32_t)record->attr_count;
  for (int32_t i = 0; i < record->attr_count; i++)
    TABLE_PUSH(t, reals, record->attrs[i]);
  emit_varies(t, d, record, out);
}

static uint32_t emit_meaning(Tables *t, const Record *record) {
  if (record->meaning == NULL) return PLAN_NONE;
  TABLE_PUSH(t, meanings,
             (PlanMeaning){.reduce = record->reduce,
                           .direction = record->direction,
                           .value = table_string(t, record->meaning),
                           .before = table_layout(t, record->layout_before),
                           .after = table_layout(t, record->layout_after)});
  return (uint32_t)t->meanings.count - 1;
}

static void emit_record(Tables *t, const Draft *d, const Record *record) {
  bool kernel = record->kind == RECORD_KERNEL;
  PlanRecord out = {
      .key = record->random ? plan_key(record->path) : 0,
      .flops = record->flops,
      .bytes = record->bytes,
      .predicted_ns = cost_kernel_ns(d, record),
      .kind = record->kind,
      .purpose = record->purpose,
      .node = record->model ? table_node(t, record->model, record->node) : PLAN_NONE,
      .value = record->model ? table_value(t, record->model, record->value) : PLAN_NONE,
      .kernel = kernel ? table_kernel(t, record->kernel) : PLAN_NONE,
      .lane = record->lane,
      .when_all = record->when_all,
      .when_none = record->when_none,
      .accumulate = record->accumulate,
      .part = (uint32_t)record->part,
      .parts = (uint32_t)record->parts,
      .fuses = record->fused_bytes > 0,
      .after_first = (uint32_t)t->edges.count,
      .after_count = (uint32_t)record->after.count,
      .comm = record->meaning != NULL ? table_comm(t, record->axes, record->lane) : PLAN_NONE,
      .meaning = emit_meaning(t, record),
      .path = table_string(t, record->path),
  };
  for (int32_t i = 0; i < record->after.count; i++)
    TABLE_PUSH(t, edges, (PlanEdge){(uint32_t)record->after.at[i]});
  emit_operands(t, d, record, &out);
  if (kernel) emit_controls(t, d, record, &out);
  emit_numbers(t, d, record, &out);
  if (plan_is_communication(&out))
    out.flat_calls = plan_flat_calls(record->kind, t->ints.at + out.dims_first, out.dims_count);
  TABLE_PUSH(t, records, out);
}

static const char *base_name(Tables *t, const Draft *d, const SegmentBase *base) {
  const char *name = role_words[base->role].name;
  if (d->updates_here && base->role >= BASE_FILE_STATE && base->role <= BASE_FILE_STATE_LAST)
    name = arena_printf(t->arena, "%s_on_host",
                        role_words[BASE_MASTER + base->role - BASE_FILE_STATE].name);
  if (base->role == BASE_TRANSFER || base->role == BASE_PARTIALS)
    return arena_printf(t->arena, "%s.%d", name, base->number);
  bool block = base->role <= BASE_STATE_LAST ||
               (base->role >= BASE_WIRE && base->role <= BASE_CAST_SHARD) ||
               (base->role >= BASE_HOST_GRAD && base->role <= BASE_DRAWN) ||
               (base->role >= BASE_FAR_PARAM && base->role <= BASE_FILE_STATE_LAST);
  return block ? arena_printf(t->arena, "%s.%s", d->blocks.at[base->number].name, name) : name;
}

static void emit_segment(Tables *t, const Draft *d, const Segment *segment) {
  TABLE_PUSH(t, segments,
             (PlanSegment){.bases_first = (uint32_t)t->bases.count,
                           .bases_count = (uint32_t)segment->bases.count,
                           .records_first = (uint32_t)t->records.count,
                           .records_count = (uint32_t)segment->records.count,
                           .name = table_string(t, segment->name)});
  for (int32_t i = 0; i < segment->bases.count; i++) {
    const SegmentBase *base = &segment->bases.at[i];
    TABLE_PUSH(t, bases,
               (PlanBase){.size_bytes = (uint64_t)base->size_bytes,
                          .kind = role_words[base->role].kind,
                          .name = table_string(t, base_name(t, d, base))});
  }
  for (int32_t i = 0; i < segment->records.count; i++)
    emit_record(t, d, &segment->records.at[i]);
}

/* ---- programs */

static void emit_call(Tables *t, const Draft *d, const Stage *stage, int32_t kind,
                      const Call *call) {
  int32_t bases = d->segments.at[call->segment].bases.count;
  TABLE_PUSH(t, calls,
             (PlanCall){.segment = (uint32_t)call->segment,
                        .layer = call->layer,
                        .microbatch = call->microbatch,
                        .flags = call->flags,
                        .bindings_first = (uint32_t)t->bindings.count,
                        .bindings_count = (uint32_t)bases,
                        .waits_first = (uint32_t)t->waits.count,
                        .waits_count = (uint32_t)call->waits.count,
                        .posts_first = (uint32_t)t->posts.count,
                        .posts_count = (uint32_t)call->post_count});
  for (int32_t i = 0; i < call->post_count; i++)
    TABLE_PUSH(t, posts, call->posts[i]);
  for (int32_t i = 0; i < call->waits.count; i++) {
    const Wait *wait = &call->waits.at[i];
    TABLE_PUSH(t, waits,
               (PlanWait){.lane = wait->lane,
                          .call = (uint32_t)wait->call,
                          .record = (uint32_t)wait->record,
                          .iteration_back = wait->is_back,
                          .program = wait->is_of_snapshot ? PROGRAM_SNAPSHOT : (uint32_t)kind,
                          .run_back = wait->is_of_snapshot || wait->is_run_back});
  }
  for (int32_t i = 0; i < bases; i++) {
    const BufferBinding *binding = &call->bindings[i];
    const Buffer *buffer = &stage->buffers.at[binding->buffer];
    TABLE_PUSH(t, bindings,
               (PlanBinding){.offset = (uint64_t)(buffer->offset + binding->offset_bytes),
                             .by = PLAN_NONE,
                             .tier = buffer->tier});
  }
}

/* Returns by ProgramKind the index of the program's record, for the ledger. */
static void emit_programs(Tables *t, const Draft *d, const Stage *stage,
                          uint32_t index[ProgramKind_COUNT]) {
  for (int32_t kind = 0; kind < ProgramKind_COUNT; kind++) {
    const Program *program = &stage->programs[kind];
    index[kind] = PLAN_NONE;
    if (!program->exists) continue;
    index[kind] = (uint32_t)t->programs.count;
    TABLE_PUSH(t, programs,
               (PlanProgram){.peaks_first = (uint32_t)t->peaks.count,
                             .peaks_count = (uint32_t)t->tiers.count,
                             .calls_first = (uint32_t)t->calls.count,
                             .calls_count = (uint32_t)program->calls.count,
                             .loops_first = (uint32_t)t->loops.count,
                             .loops_count = (uint32_t)program->loops.count,
                             .launches_first = (uint32_t)t->launches.count,
                             .launches_count = (uint32_t)program->launches.count,
                             .kind = (uint32_t)kind});
    for (int32_t i = 0; i < t->tiers.count; i++) {
      uint32_t tier = t->tiers.at[i].kind;
      TABLE_PUSH(
          t, peaks,
          (PlanPeak){(uint64_t)program->peak_bytes[tier], (uint64_t)program->live_bytes[tier]});
    }
    for (int32_t i = 0; i < program->calls.count; i++)
      emit_call(t, d, stage, kind, &program->calls.at[i]);
    for (int32_t i = 0; i < program->loops.count; i++) {
      const Loop *loop = &program->loops.at[i];
      TABLE_PUSH(t, loops,
                 (PlanLoop){(uint32_t)loop->first_call, (uint32_t)loop->call_count,
                            (uint32_t)loop->times, (uint32_t)loop->microbatch_stride});
    }
    for (int32_t i = 0; i < program->launches.count; i++) {
      const KernelLaunch *launch = &program->launches.at[i];
      TABLE_PUSH(t, launches,
                 (PlanLaunch){(uint32_t)launch->first_call, (uint32_t)launch->call_count});
    }
  }
}

/* ---- the ledger */

static void emit_buffers(Tables *t, const Stage *stage, const uint32_t index[ProgramKind_COUNT]) {
  for (int32_t i = 0; i < stage->buffers.count; i++) {
    const Buffer *buffer = &stage->buffers.at[i];
    TABLE_PUSH(t, buffers,
               (PlanBuffer){.offset = (uint64_t)buffer->offset,
                            .size_bytes = (uint64_t)buffer->size_bytes,
                            .program = buffer->program < 0 ? PLAN_NONE : index[buffer->program],
                            .first_call = (uint32_t)buffer->first_call,
                            .last_call = (uint32_t)buffer->last_call,
                            .layer = buffer->layer,
                            .kind = buffer->kind,
                            .tier = buffer->tier,
                            .name = table_string(t, buffer->name)});
  }
}

static void emit_class(Tables *t, const Draft *d, const Stage *stage) {
  uint32_t index[ProgramKind_COUNT];
  bool many = d->stage_count > 1;
  int64_t ranks = mesh_count(&d->mesh, MESH_BIT(MESH_AXES) - 1) / d->stage_count;
  const char *name = many ? arena_printf(t->arena, "stage %d", stage->number) : "replica";
  PlanClass class = {.rank_count = (uint32_t)ranks,
                     .arenas_first = (uint32_t)t->arenas.count,
                     .arenas_count = (uint32_t)t->tiers.count,
                     .bounds_first = (uint32_t)t->bounds.count,
                     .bounds_count = MESH_AXES,
                     .programs_first = (uint32_t)t->programs.count,
                     .buffers_first = (uint32_t)t->buffers.count,
                     .tensors_first = (uint32_t)t->tensors.count,
                     .name = table_string(t, name)};
  for (MeshAxis axis = MESH_REPLICATE; axis < MESH_AXES; axis++) {
    uint32_t at = (uint32_t)stage->number, size = (uint32_t)d->mesh.size[axis];
    TABLE_PUSH(t, bounds, axis == MESH_PP ? (PlanBound){at, at + 1} : (PlanBound){0, size});
  }
  for (int32_t i = 0; i < t->tiers.count; i++)
    TABLE_PUSH(t, arenas, (PlanArena){(uint64_t)stage->arena_bytes[t->tiers.at[i].kind]});
  emit_programs(t, d, stage, index);
  class.programs_count = (uint32_t)t->programs.count - class.programs_first;
  emit_buffers(t, stage, index);
  class.buffers_count = (uint32_t)t->buffers.count - class.buffers_first;
  emit_tensors(t, d, stage);
  class.tensors_count = (uint32_t)t->tensors.count - class.tensors_first;
  TABLE_PUSH(t, classes, class);
}

Choice emit_plan(const Draft *d, int64_t parameters, Plan *plan) {
  Tables *t = ARENA_NEW(d->compile->arena, Tables);
  t->arena = d->compile->arena;
  table_string(t, "");
  emit_inputs(t, d);
  emit_files(t, d);
  emit_tiers(t, d);
  table_lanes(t, d);
  emit_slots(t, d);
  for (MeshAxis axis = MESH_REPLICATE; axis < MESH_AXES; axis++)
    TABLE_PUSH(t, axes,
               (PlanAxis){.size = (uint32_t)d->mesh.size[axis],
                          .divides = mesh_axis_divides(axis),
                          .name = table_string(t, mesh_axis_name(axis))});
  emit_model(t, d->train->logical);
  if (d->eval != NULL && d->trains) emit_model(t, d->eval->logical);
  if (d->decode != NULL) emit_model(t, d->decode->logical);
  emit_settings(t, d, parameters);
  for (int32_t i = 0; i < d->segments.count; i++)
    emit_segment(t, d, &d->segments.at[i]);
  for (int32_t s = 0; s < d->stage_count; s++)
    emit_class(t, d, &d->stages[s]);
  Choice choice = emit_places(t, d);
  table_view(t, plan);
  emit_predictions(t, d, plan);
  if (d->job->checkpoint.every.unit == UNIT_AUTO) emit_interval(t, d, plan);
  table_view(t, plan);
  return choice;
}

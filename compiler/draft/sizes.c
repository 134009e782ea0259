/* sizes.c -- numbers derived from a draft, for all rooms that fill it in: the mesh, blocks of
 * parameters, what host and device share, the order of stages. */
#include "compiler/draft/roles.h"
#include "runtime/plan/plan_flat.h"

/* ---- the mesh */

uint32_t draft_zero_axes(const Derived *derived) {
  return derived->zero > 0 ? ZERO_AXES : 0;
}

JobMesh draft_mesh(const Derived *derived) {
  JobMesh mesh = {0};
  int64_t ranks = derived->dp * derived->cp;
  bool hybrid = derived->zero > 0 && derived->shard_ranks > 1;
  mesh.size[MESH_REPLICATE] = hybrid ? ranks / derived->shard_ranks : 1;
  mesh.size[MESH_DP] = derived->dp / mesh.size[MESH_REPLICATE];
  mesh.size[MESH_PP] = derived->pp;
  mesh.size[MESH_CP] = derived->cp;
  mesh.size[MESH_TP] = derived->tp;
  mesh.size[MESH_TP_GROUP] = 1;
  return mesh;
}

int64_t mesh_count(const JobMesh *mesh, uint32_t axes) {
  int64_t count = 1;
  for (int32_t axis = 0; axis < MESH_AXES; axis++)
    if (axes & MESH_BIT(axis)) count *= mesh->size[axis];
  return count;
}

uint32_t mesh_used(const JobMesh *mesh, uint32_t axes) {
  uint32_t used = 0;
  for (int32_t axis = 0; axis < MESH_AXES; axis++)
    if (axes & MESH_BIT(axis) && mesh->size[axis] > 1) used |= MESH_BIT(axis);
  return used;
}

/* ---- parameters */

uint32_t param_cut_axes(const Graph *g, ParamId p) {
  const Param *param = &g->params.at[p];
  uint32_t cut = 0;
  for (int32_t i = 0; i < param->dim_count; i++)
    for (DimId d = param->dims[i]; g->dims.at[d].is_part; d = g->dims.at[d].whole)
      cut |= MESH_BIT(g->dims.at[d].mesh);
  return cut & TENSOR_AXES;
}

uint32_t norm_group_axes(int32_t group) {
  static const uint32_t axes[NORM_GROUPS] = {TENSOR_AXES, MESH_BIT(MESH_TP), 0};
  return axes[group];
}

DType role_dtype(const Draft *d, const Block *block, BaseRole role) {
  switch (role) {
  case BASE_PARAM:
  case BASE_CAST_SHARD: return d->train->compute_dtype;
  case BASE_PARAM_STORED:
  case BASE_HOST_PARAM:
  case BASE_FAR_PARAM:
  case BASE_FILE_PARAM:
  case BASE_CAME_PARAM:
  case BASE_PARAM_SHARD: return d->train->param_dtype;
  case BASE_HOST_GRAD:
  case BASE_FAR_GRAD:
  case BASE_GRAD:
  case BASE_GRAD_SHARD: return d->train->grad_dtype;
  case BASE_MASTER: return d->truth == TRUTH_SPLIT ? DTYPE_I16 : DTYPE_F32;
  case BASE_COMPENSATION: return DTYPE_BF16;
  case BASE_MOMENT1:
  case BASE_MOMENT2:
    return block->has_codes                                   ? DTYPE_U8
           : d->job->precision.moments == CHOICE_MOMENTS_BF16 ? DTYPE_BF16
                                                              : DTYPE_F32;
  default: return DTYPE_F32;
  }
}

int64_t role_bytes(const Draft *d, const Block *block, BaseRole role, int64_t elements) {
  if (role == BASE_MOMENT1_MAX || role == BASE_MOMENT2_MAX)
    elements = (elements + CODES_BLOCK - 1) / CODES_BLOCK;
  return elements * dtype_bytes(role_dtype(d, block, role));
}

/* Layers of a block begin at multiples of this; a layer's maxima would not by themselves. */
enum { STRIDE_ALIGN_BYTES = 64 };

bool params_are_cast(const Draft *d) {
  return d->train->param_dtype != d->train->compute_dtype;
}

bool block_is_fetched(const Draft *d, const Block *block) {
  return block->shards_params || params_are_cast(d);
}

BaseRole stored_role(const Draft *d, const Block *block) {
  return block->shards_params ? BASE_PARAM_SHARD
         : params_are_cast(d) ? BASE_PARAM_STORED
                              : BASE_PARAM;
}

bool role_persists(const Draft *d, const Block *block, BaseRole role) {
  if (!d->trains && role != stored_role(d, block)) return false;
  switch (role) {
  case BASE_PARAM:
  case BASE_PARAM_STORED:
  case BASE_PARAM_SHARD: return role == stored_role(d, block);
  case BASE_GRAD: return !block->shards_grads;
  case BASE_GRAD_SHARD: return block->shards_grads;
  case BASE_MASTER: return d->truth == TRUTH_MASTER || d->truth == TRUTH_SPLIT;
  case BASE_COMPENSATION: return d->truth == TRUTH_KAHAN;
  case BASE_MOMENT2: return d->has_moment2;
  case BASE_MOMENT1_MAX: return block->has_codes;
  case BASE_MOMENT2_MAX: return block->has_codes && d->has_moment2;
  default: return true;
  }
}

bool block_is_far(const Draft *d, const Block *block) {
  return d->offloads_weights && (block->shards_params || !block->shards_state);
}

bool role_is_shard(const Block *block, BaseRole role) {
  switch (role) {
  case BASE_PARAM_SHARD:
  case BASE_CAST_SHARD:
  case BASE_GRAD_SHARD: return true;
  case BASE_PARAM:
  case BASE_PARAM_STORED:
  case BASE_GRAD: return false;
  case BASE_FAR_GRAD: return block->shards_grads;
  default: return block->shards_state;
  }
}

int64_t block_bytes(const Draft *d, const Block *block, BaseRole role) {
  return role_bytes(d, block, role,
                    role_is_shard(block, role) ? block->shard_elements : block->elements);
}

int64_t block_stride_bytes(const Draft *d, const Block *block, BaseRole role) {
  int64_t elements =
      role_is_shard(block, role) ? block->shard_stride_elements : block->stride_elements;
  return round_up(role_bytes(d, block, role, elements), STRIDE_ALIGN_BYTES);
}

bool block_grads_pass(const Draft *d, const Block *block) {
  return d->offloads_grads && !block->tied;
}

BaseRole grad_role(const Block *block) {
  return block->shards_grads ? BASE_GRAD_SHARD : BASE_GRAD;
}

int64_t tier_align(Tier tier) {
  return tier == TIER_FILE ? PLAN_FILE_ALIGN_BYTES : PLAN_ALIGN_BYTES;
}

int64_t tier_stride_bytes(const Draft *d, const Block *block, BaseRole role, Tier tier) {
  const int64_t bytes = block_stride_bytes(d, block, role);
  return tier == TIER_FILE ? round_up(bytes, PLAN_FILE_ALIGN_BYTES) : bytes;
}

bool role_is_saved(const Draft *d, const Block *block, BaseRole role) {
  if (role == BASE_GRAD || role == BASE_GRAD_SHARD || !role_persists(d, block, role)) return false;
  return role != stored_role(d, block) || d->truth != TRUTH_MASTER;
}

int64_t block_saved_bytes(const Draft *d, const Block *block) {
  int64_t bytes = 0;
  for (BaseRole role = BASE_PARAM; role <= BASE_STATE_LAST; role++)
    if (role_is_saved(d, block, role)) bytes += block_stride_bytes(d, block, role);
  return bytes;
}

bool stage_saves(const Draft *d, const Stage *stage, int32_t b) {
  for (int32_t s = 0; s < stage->number && d->blocks.at[b].tied; s++)
    if (d->stages[s].blocks[b].held > 0) return false; /* others have their own layers */
  return stage->blocks[b].held > 0;
}

int64_t draft_tier_bytes(const Draft *d, Tier tier) {
  int64_t most = 0;
  for (int32_t s = 0; s < d->stage_count; s++)
    if (d->stages[s].arena_bytes[tier] > most) most = d->stages[s].arena_bytes[tier];
  return most;
}

/* ---- collectives */

bool pieces_are_gathered(const Draft *d) {
  return d->cluster->target == TARGET_CUDA;
}

bool tensors_run_batch(const Draft *d) {
  return d->cluster->target == TARGET_CUDA;
}

uint64_t record_flat_calls(const Record *record) {
  bool is_pieces = record->pieces != NULL;
  return plan_flat_calls(record->kind, is_pieces ? record->pieces : record->dims,
                         (uint32_t)(is_pieces ? 2 * record->piece_count : record->dim_count));
}

/* ---- the cache of a sampled model */

enum { CACHE_ALIGN_BYTES = 64 };

/* Bytes of the values of the region before v; v NO_ID: of all values. */
static int64_t cache_before(const Graph *g, RegionId region, ValueId v) {
  int64_t bytes = 0;
  for (ValueId i = 0; i < (v == NO_ID ? g->values.count : v); i++)
    if (graph_value(g, i)->kind == VALUE_CACHE && graph_value(g, i)->region == region)
      bytes += round_up(value_bytes(g, i), CACHE_ALIGN_BYTES);
  return bytes;
}

int64_t cache_offset(const Graph *g, ValueId v) {
  return cache_before(g, graph_value(g, v)->region, v);
}

int64_t cache_stride_bytes(const Graph *g, RegionId region) {
  return cache_before(g, region, NO_ID);
}

/* ---- host and device */

/* A host that shares the device's memory reads the results of a step at once; another one reads
 * them while the next step runs. */
int64_t draft_control_depth(const Draft *d) {
  return d->cluster->target == TARGET_CPU ? 1 : CONTROL_DEPTH_MAX;
}

uint64_t draft_slots(const Draft *d) {
  uint64_t all = CONTROL_BIT(CONTROL_SLOT_COUNT) - 1;
  all &= ~control_losses_lacking(d->train->losses_count);
  if (!d->train->may_lack_targets) all &= CONTROL_BIT(CONTROL_targets) - 1;
  if (!d->snapshots) all &= ~CONTROL_SAVE_SLOTS;
  return d->job->set[FIELD_precision_loss_scale] ? all : all & ~CONTROL_SCALE_SLOTS;
}

int64_t draft_drawn_slots(const Draft *d) {
  return d->decode == NULL ? 0 : 2 * (d->job->train.microbatch - 1);
}

int32_t draft_slot_number(const Draft *d, ControlSlot slot) {
  return __builtin_popcountll(draft_slots(d) & (CONTROL_BIT(slot) - 1)) +
         (slot > CONTROL_count ? (int32_t)draft_drawn_slots(d) : 0);
}

int64_t draft_slot_offset(const Draft *d, ControlSlot slot) {
  return CONTROL_SLOT_BYTES * (int64_t)draft_slot_number(d, slot);
}

ControlSlot draft_slot_of(const Draft *d, const Record *record, ControlSlot slot) {
  const Graph *model = record->model != NULL ? record->model : d->train->logical;
  if (slot != CONTROL_targets || d->train->losses_count <= 1) return slot;
  for (int32_t i = 0; i < record->operand_count; i++) {
    const ValueId v = record->operands[i].value;
    if (v != NO_ID && graph_value(model, v)->kind == VALUE_LOSS)
      return control_divisor(graph_value(model, v)->loss, d->train->losses_count);
  }
  return slot;
}

int64_t draft_control_bytes(const Draft *d) {
  return CONTROL_SLOT_BYTES * (__builtin_popcountll(draft_slots(d)) + draft_drawn_slots(d));
}

int64_t draft_prefetch_steps(const Draft *d) {
  int64_t depth = draft_control_depth(d);
  return d->job->data.prefetch > depth ? d->job->data.prefetch : depth;
}

/* ---- stages */

bool draft_ends_apart(const Draft *d) {
  int32_t stages = (int32_t)d->mesh.size[MESH_PP];
  int32_t last = stages * (int32_t)d->derived.chunks - 1;
  return pipeline_stage_of(draft_pipe_kind(d), stages, last) != 0;
}

const Pipeline *draft_pipeline(const Draft *d) {
  if (d->stage_count == 1 || !d->trains) return NULL;
  return pipeline_make(d->compile->arena,
                       (PipeShape){.kind = draft_pipe_kind(d),
                                   .stages = d->stage_count,
                                   .chunks = draft_chunks(d),
                                   .microbatches = (int32_t)d->derived.accumulation,
                                   .costs = pipe_costs_even});
}

/* ---- snapshots */

bool draft_wants_snapshots(const Draft *d) {
  enum { SHORT_S = 1 }; /* a wait that is not worth a copy */
  double saved_bytes = 0, elements = 0;
  if (d->job->checkpoint.every.unit == UNIT_NEVER) return false;
  if (d->job->checkpoint.async != CHOICE_ASYNC_AUTO)
    return d->job->checkpoint.async == CHOICE_ASYNC_ON;
  if (d->state_in_files) return false; /* not built: rules.c refuses "on" */
  for (int32_t b = 0; b < d->blocks.count; b++) {
    const Block *block = &d->blocks.at[b];
    const int64_t ranks = block->shards_state ? d->derived.shard_ranks : 1;
    elements += (double)(block->elements * block->layers);
    for (BaseRole role = BASE_PARAM; role <= BASE_STATE_LAST; role++)
      if (role_is_saved(d, block, role))
        saved_bytes += (double)(block_bytes(d, block, role) * block->layers *
                                (role_is_shard(block, role) ? ranks : 1));
  }
  return saved_bytes / elements * (double)d->parameters > SHORT_S * d->job->slurm.write;
}

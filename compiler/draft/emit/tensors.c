/* tensors.c -- the tensors that persist on the ranks of a stage: parameters, gradients and the
 * states of the optimizer, with their layouts. */
#include "compiler/draft/emit/tables.h"
#include "compiler/draft/roles.h"
#include "kernels/contract/contract.h"

static bool is_maxima(BaseRole role) {
  return role == BASE_MOMENT1_MAX || role == BASE_MOMENT2_MAX;
}

/* The layout of the maxima of coded blocks: it is cut along the axes that cut the parameter. */
static Layout maxima_layout(const Draft *d, ParamId p) {
  const uint32_t cut = mesh_used(&d->mesh, param_cut_axes(d->train, p));
  Layout layout = {0};
  if (cut != 0) {
    LayoutDim *parts = &layout.dims[layout.dim_count++];
    *parts = (LayoutDim){.name = "parts", .size = mesh_count(&d->mesh, cut)};
    parts->real_size = parts->size;
    for (MeshAxis axis = MESH_REPLICATE; axis < MESH_AXES; axis++)
      if ((cut >> axis & 1u) != 0)
        parts->cuts[parts->cut_count++] = (LayoutCut){.axis = axis, .style = CUT_BLOCK};
  }
  const int64_t blocks = (d->params[p].elements + CODES_BLOCK - 1) / CODES_BLOCK;
  layout.dims[layout.dim_count++] =
      (LayoutDim){.name = "blocks", .size = blocks, .real_size = blocks};
  return layout;
}

static uint32_t storage_of(Tables *t, const Block *block, BaseRole role) {
  const bool is_part = role == BASE_MOMENT1 || role == BASE_MOMENT2 || is_maxima(role);
  if (!block->has_codes || !is_part) return PLAN_NONE;
  if (t->storages.count == 0)
    TABLE_PUSH(
        t, storages,
        (PlanStorage){.bits = 8, .block = CODES_BLOCK, .parts = STORAGE_CODES | STORAGE_MAXIMA});
  return 0;
}

/* The dims of a rank's part. */
static void emit_tensor_dims(Tables *t, const Draft *d, ParamId p, bool is_row, int64_t elements) {
  const Param *param = &d->train->params.at[p];
  for (int32_t i = 0; !is_row && i < param->dim_count; i++)
    TABLE_PUSH(t, ints, d->train->dims.at[param->dims[i]].size);
  if (is_row) TABLE_PUSH(t, ints, elements);
}

/* The buffer that has the layer at this position; NULL: none has. */
static const Buffer *state_buffer(const Stage *stage, const StageBlock *held, BaseRole role,
                                  int32_t position) {
  const bool on_host = position >= held->host_first && held->host_buffers[role] != NO_ID;
  const int32_t number = on_host ? held->host_buffers[role] : held->buffers[role];
  return number == NO_ID ? NULL : &stage->buffers.at[number];
}

/* Layers [first, first + count) of a parameter, which are adjacent on this stage. */
static void emit_tensor(Tables *t, const Draft *d, const Stage *stage, ParamId p, BaseRole role,
                        int64_t first, int64_t count) {
  const Param *param = &d->train->params.at[p];
  const ParamPlace *at = &d->params[p];
  const Block *block = &d->blocks.at[at->block];
  const StageBlock *held = &stage->blocks[at->block];
  bool shard = role_is_shard(block, role), stack = d->train->regions.at[block->region].is_stack;
  DType dtype = role_dtype(d, block, role);
  int64_t size_bytes = role_bytes(d, block, role, shard ? at->piece : at->elements);
  Layout layout = is_maxima(role) ? maxima_layout(d, p) : param_layout(d->train, p);
  if (shard) {
    layout.flat_axes = mesh_used(&d->mesh, ZERO_AXES);
    layout.piece = size_bytes / dtype_bytes(dtype);
  }
  int64_t inside = role_bytes(d, block, role, shard ? at->shard_first : at->first);
  const Buffer *buffer = state_buffer(stage, held, role, held->position[first]);
  const int32_t before = buffer->tier == TIER_DEVICE ? 0 : held->host_first;
  const int64_t stride = tier_stride_bytes(d, block, role, buffer->tier);
  int64_t offset = buffer->offset + (held->position[first] - before) * stride;
  const bool is_row = shard || is_maxima(role);
  TABLE_PUSH(t, tensors,
             (PlanTensor){
                 .offset = (uint64_t)(offset + inside),
                 .size_bytes = (uint64_t)size_bytes,
                 .layer_stride = (uint64_t)stride,
                 .elements = size_bytes / dtype_bytes(dtype),
                 .layer_first = stack ? (int32_t)first : -1,
                 .layer_count = (uint32_t)count,
                 .kind = buffer->kind,
                 .dtype = dtype,
                 .tier = buffer->tier,
                 .decay = param->decay,
                 .storage = storage_of(t, block, role),
                 .layout = table_layout(t, &layout),
                 .value = table_value(t, d->train->logical, d->train->logical->params.at[p].value),
                 .dims_first = (uint32_t)t->ints.count,
                 .dims_count = is_row ? 1 : (uint32_t)param->dim_count,
                 .name = table_string(t, param->name)});
  emit_tensor_dims(t, d, p, is_row, size_bytes / dtype_bytes(dtype));
}

/* One record for each run of layers that this stage holds in one tier. */
static void emit_state(Tables *t, const Draft *d, const Stage *stage, ParamId p, BaseRole role) {
  const Block *block = &d->blocks.at[d->params[p].block];
  const StageBlock *held = &stage->blocks[d->params[p].block];
  if (held->buffers[role] == NO_ID && held->host_buffers[role] == NO_ID) return;
  for (int64_t l = 0; l < block->layers;) {
    int64_t end = l + 1;
    if (held->position[l] < 0) {
      l = end;
      continue;
    }
    while (end < block->layers && held->position[end] == held->position[end - 1] + 1 &&
           state_buffer(stage, held, role, held->position[end]) ==
               state_buffer(stage, held, role, held->position[l]))
      end++;
    emit_tensor(t, d, stage, p, role, l, end - l);
    l = end;
  }
}

/* ---- caches: of layers [first, first + count), which are adjacent on this stage */

static void emit_cache(Tables *t, const Draft *d, const Stage *stage, ValueId v, int32_t first_use,
                       int32_t count) {
  const Graph *g = d->train;
  const Value *value = graph_value(g, v);
  const Region *region = &g->regions.at[value->region];
  const Buffer *buffer = &stage->buffers.at[stage->cache_buffers[value->region]];
  const int64_t stride = cache_stride_bytes(g, value->region);
  const Layout layout = value_layout(g, v);
  TABLE_PUSH(t, tensors,
             (PlanTensor){.offset = (uint64_t)(buffer->offset + cache_offset(g, v) +
                                               stage->cache_position[first_use] * stride),
                          .size_bytes = (uint64_t)value_bytes(g, v),
                          .layer_stride = (uint64_t)stride,
                          .elements = value_elements(g, v),
                          .layer_first = region->is_stack ? (int32_t)d->chain[first_use].layer : -1,
                          .layer_count = (uint32_t)count,
                          .kind = buffer->kind,
                          .dtype = value->dtype,
                          .tier = buffer->tier,
                          .storage = PLAN_NONE,
                          .layout = table_layout(t, &layout),
                          .value = table_value(t, g->logical, value->logical),
                          .dims_first = (uint32_t)t->ints.count,
                          .dims_count = (uint32_t)value->dim_count,
                          .name = table_string(t, value->name)});
  for (int32_t i = 0; i < value->dim_count; i++)
    TABLE_PUSH(t, ints, g->dims.at[value->dims[i]].size);
}

static void emit_caches(Tables *t, const Draft *d, const Stage *stage) {
  const Graph *g = d->train;
  for (ValueId v = 0; d->decode != NULL && v < g->values.count; v++) {
    if (graph_value(g, v)->kind != VALUE_CACHE) continue;
    for (int32_t k = 0; k < draft_chunks(d); k++) {
      const int32_t c = draft_chunk(d, stage->number, k);
      int32_t first = d->chunk_first[c], count = 0;
      for (int32_t u = d->chunk_first[c]; u < d->chunk_first[c + 1]; u++)
        if (d->chain[u].region == graph_value(g, v)->region && count++ == 0) first = u;
      if (count > 0) emit_cache(t, d, stage, v, first, count);
    }
  }
}

void emit_tensors(Tables *t, const Draft *d, const Stage *stage) {
  for (BaseRole role = BASE_PARAM; role <= BASE_STATE_LAST; role++)
    for (ParamId p = 0; p < d->train->params.count; p++)
      emit_state(t, d, stage, p, role);
  emit_caches(t, d, stage);
}

/* state.c -- persistent buffers: parameters, gradients, optimizer state, control, staged data.
 *
 * Each region has one block per layer and kind, layers one after another, so that layer l of any
 * tensor stands at offset + l * block. Parameters of a block are aligned to 64 bytes: padding
 * belongs to the block, is zeroed once and never updated. */
#include "compiler/schedule/draft.h"
#include "runtime/plan/control.h"

enum { PARAM_ALIGN_BYTES = 64 };

static int32_t persistent(Draft *d, const char *name, BufferKind kind, int64_t size_bytes) {
  int32_t id = buffer_add(d, (Buffer){.name = name,
                                      .kind = kind,
                                      .size_bytes = size_bytes,
                                      .offset = d->persistent_bytes,
                                      .program = -1,
                                      .layer = -1});
  d->persistent_bytes = round_up(d->persistent_bytes + size_bytes, PLAN_ALIGN_BYTES);
  return id;
}

static void place_params(Draft *d) {
  const Graph *g = d->train;
  for (ParamId p = 0; p < g->params.count; p++) {
    const Param *param = &g->params.at[p];
    RegionState *state = &d->state[param->region];
    d->params[p] = (ParamOffsets){state->param_block_bytes, state->grad_block_bytes,
                                  state->full_block_bytes, state->param_count++};
    state->param_block_bytes +=
        round_up(param->elements * dtype_bytes(g->param_dtype), PARAM_ALIGN_BYTES);
    state->grad_block_bytes +=
        round_up(param->elements * dtype_bytes(g->grad_dtype), PARAM_ALIGN_BYTES);
    state->full_block_bytes +=
        round_up(param->elements * dtype_bytes(DTYPE_F32), PARAM_ALIGN_BYTES);
  }
}

static void make_region_buffers(Draft *d, RegionId r, BaseRole role, BufferKind kind,
                                int64_t block_bytes) {
  const Region *region = &d->train->regions.at[r];
  d->state[r].buffers[role] = NO_ID;
  if (block_bytes == 0) return;
  static const char *const words[] = {"parameters", "gradients", "master", "moment m", "moment v"};
  const char *name = arena_printf(d->compile->arena, "%s %s", region->name, words[role]);
  d->state[r].buffers[role] = persistent(d, name, kind, block_bytes * region->repeat);
}

void state_layout(Draft *d) {
  const Graph *g = d->train;
  d->state = ARENA_ARRAY(d->compile->arena, RegionState, g->regions.count);
  d->params = ARENA_ARRAY(d->compile->arena, ParamOffsets, g->params.count);
  place_params(d);
  for (RegionId r = 0; r < g->regions.count; r++) {
    RegionState *state = &d->state[r];
    state->param_block_bytes = round_up(state->param_block_bytes, PLAN_ALIGN_BYTES);
    state->grad_block_bytes = round_up(state->grad_block_bytes, PLAN_ALIGN_BYTES);
    state->full_block_bytes = round_up(state->full_block_bytes, PLAN_ALIGN_BYTES);
    state->first_partial = d->partial_count;
    d->partial_count += state->param_count * g->regions.at[r].repeat;
  }
  for (RegionId r = 0; r < g->regions.count; r++) {
    RegionState *state = &d->state[r];
    int64_t full = state->full_block_bytes;
    make_region_buffers(d, r, BASE_PARAM, BUFFER_PARAM, state->param_block_bytes);
    make_region_buffers(d, r, BASE_GRAD, BUFFER_GRAD, state->grad_block_bytes);
    make_region_buffers(d, r, BASE_MASTER, BUFFER_MASTER, d->has_master ? full : 0);
    make_region_buffers(d, r, BASE_MOMENT1, BUFFER_MOMENT1, full);
    make_region_buffers(d, r, BASE_MOMENT2, BUFFER_MOMENT2, d->has_moment2 ? full : 0);
  }
  d->control_buffer = persistent(d, "control", BUFFER_CONTROL, (int64_t)sizeof(Control));
  d->partials_buffer =
      persistent(d, "sums of squares", BUFFER_WORKSPACE, d->partial_count * dtype_bytes(DTYPE_F64));

  d->input_offsets = ARENA_ARRAY(d->compile->arena, int64_t, g->inputs.count);
  for (int32_t i = 0; i < g->inputs.count; i++) {
    d->input_offsets[i] = d->sample_bytes;
    d->sample_bytes += round_up(value_bytes(g, g->inputs.at[i].value), PARAM_ALIGN_BYTES);
  }
  d->staging_buffer =
      persistent(d, "staged micro-batches", BUFFER_DATA, d->sample_bytes * d->job->data.prefetch);
}

/* state.c -- what persists on the ranks of each pipeline stage: parameters, gradients, optimizer
 * state, control, staged data.
 *
 * Control and staging come first and have the same offsets on every stage. Then every block has one
 * buffer per kind with its layers one after another, so that layer l of a tensor is at a constant
 * distance from layer l - 1. */
#include "compiler/draft/roles.h"
#include "compiler/draft/stages/stages.h"

static int32_t persistent_in(Draft *d, Stage *stage, Tier tier, const char *name, BufferKind kind,
                             int64_t size_bytes) {
  int32_t id = buffer_add(d, stage,
                          (Buffer){.name = name,
                                   .kind = kind,
                                   .tier = tier,
                                   .size_bytes = size_bytes,
                                   .offset = stage->persistent_bytes[tier],
                                   .program = -1,
                                   .layer = -1});
  stage->persistent_bytes[tier] =
      round_up(stage->persistent_bytes[tier] + size_bytes, tier_align(tier));
  d->uses[tier] = true;
  return id;
}

static int32_t persistent(Draft *d, Stage *stage, const char *name, BufferKind kind,
                          int64_t size_bytes) {
  return persistent_in(d, stage, TIER_DEVICE, name, kind, size_bytes);
}

/* A stage holds the layers that it runs, and a tied parameter if it runs any region that reads it.
 */
static void find_layers(const Draft *d, const Stage *stage, int32_t b, StageBlock *held) {
  const Block *block = &d->blocks.at[b];
  held->position = ARENA_ARRAY(d->compile->arena, int32_t, block->layers);
  for (int64_t l = 0; l < block->layers; l++)
    held->position[l] = -1;
  for (int32_t k = 0; k < draft_chunks(d); k++) {
    int32_t c = draft_chunk(d, stage->number, k);
    for (int32_t u = d->chunk_first[c]; u < d->chunk_first[c + 1]; u++) {
      const LayerUse *use = &d->chain[u];
      if (!block->reads[use->region]) continue;
      held->in_norm |= use->region == block->reader_first;
      int64_t layer = block->tied ? 0 : use->layer;
      if (held->position[layer] < 0) held->position[layer] = held->held++;
    }
  }
}

static bool is_state(BaseRole role) {
  return role >= BASE_MASTER && role <= BASE_STATE_LAST;
}

/* Bytes of one layer's states. */
static int64_t state_bytes(const Draft *d, const Block *block) {
  int64_t bytes = 0;
  for (BaseRole role = BASE_MASTER; role <= BASE_STATE_LAST; role++)
    if (role_persists(d, block, role)) bytes += block_stride_bytes(d, block, role);
  return bytes;
}

/* Chooses the layers whose states are in host memory: the last ones in the order of updates, as
 * few as reach offload's share, or as many as its `most` takes. */
static void choose_hosted(const Draft *d, Stage *stage) {
  const Amount *part = &d->job->offload_part;
  int64_t all_bytes = 0, hosted_bytes = 0;
  for (int32_t b = 0; b < d->blocks.count; b++)
    all_bytes += stage->blocks[b].held * state_bytes(d, &d->blocks.at[b]);
  const int64_t *moved = d->moves.state_bytes;
  const double wanted = moved != NULL                ? (double)moved[stage->number]
                        : part->value == 0           ? (double)all_bytes
                        : part->unit == UNIT_PERCENT ? (double)all_bytes * part->value / 100
                                                     : part->value;
  const bool is_most = moved == NULL && part->value > 0 && part->unit != UNIT_PERCENT;
  for (int32_t b = d->blocks.count - 1; b >= 0; b--) {
    StageBlock *held = &stage->blocks[b];
    const int64_t bytes = state_bytes(d, &d->blocks.at[b]);
    held->host_first = held->held;
    while (d->offloads_state && held->host_first > 0 &&
           (is_most ? (double)(hosted_bytes + bytes) <= wanted : (double)hosted_bytes < wanted)) {
      held->host_first--;
      hosted_bytes += bytes;
      stage->moved.last_state_bytes = bytes;
    }
  }
  stage->moved.state_bytes = hosted_bytes;
  stage->moved.all_state_bytes = all_bytes;
}

static void place_block(Draft *d, Stage *stage, int32_t b) {
  static const struct {
    const char *word;
    BufferKind kind;
  } roles[BASE_STATE_LAST + 1] = {
      [BASE_PARAM] = {"parameters", BUFFER_PARAM},
      [BASE_GRAD] = {"gradients", BUFFER_GRAD},
      [BASE_PARAM_STORED] = {"parameters", BUFFER_PARAM},
      [BASE_PARAM_SHARD] = {"parameters", BUFFER_PARAM},
      [BASE_GRAD_SHARD] = {"gradients", BUFFER_GRAD},
      [BASE_MASTER] = {"master", BUFFER_MASTER},
      [BASE_COMPENSATION] = {"compensation", BUFFER_COMPENSATION},
      [BASE_MOMENT1] = {"moment m", BUFFER_MOMENT1},
      [BASE_MOMENT2] = {"moment v", BUFFER_MOMENT2},
      [BASE_MOMENT1_MAX] = {"maxima of m", BUFFER_MOMENT1_MAX},
      [BASE_MOMENT2_MAX] = {"maxima of v", BUFFER_MOMENT2_MAX},
  };
  const Block *block = &d->blocks.at[b];
  StageBlock *held = &stage->blocks[b];
  for (BaseRole role = BASE_PARAM; role <= BASE_STATE_LAST; role++) {
    held->buffers[role] = held->host_buffers[role] = NO_ID;
    const bool may_leave = is_state(role) ||
                           (role == stored_role(d, block) && block_is_far(d, block)) ||
                           (role == grad_role(block) && block_grads_pass(d, block));
    const int32_t here = may_leave ? held->host_first : held->held;
    if (held->held == 0 || !role_persists(d, block, role)) continue;
    const char *name = arena_printf(d->compile->arena, "%s %s", block->name, roles[role].word);
    const bool is_grad = roles[role].kind == BUFFER_GRAD;
    const bool in_file = is_state(role) ? d->state_in_files : d->weights_in_files && !is_grad;
    const Tier far = in_file ? TIER_FILE : TIER_HOST;
    if (here > 0)
      held->buffers[role] =
          persistent(d, stage, name, roles[role].kind, block_stride_bytes(d, block, role) * here);
    if (here < held->held)
      held->host_buffers[role] =
          persistent_in(d, stage, far, name, roles[role].kind,
                        tier_stride_bytes(d, block, role, far) * (held->held - here));
  }
  for (int32_t group = 0; group < NORM_GROUPS && d->trains; group++) {
    held->first_partial[group] = stage->partial_count[group];
    if (held->in_norm) stage->partial_count[group] += block->partials[group] * held->held;
  }
}

/* Places the buffers that the host writes and reads. For a GPU they are pinned memory, and the
 * device has a copy. */
static void place_host_side(Draft *d, Stage *stage) {
  bool apart = d->cluster->target != TARGET_CPU;
  Tier host = apart ? TIER_HOST : TIER_DEVICE;
  int64_t step_bytes = d->sample_bytes * d->derived.accumulation;
  stage->control_buffer = persistent(d, stage, "control", BUFFER_CONTROL, draft_control_bytes(d));
  stage->control_ring_buffer = persistent_in(d, stage, host, "control in and out", BUFFER_CONTROL,
                                             2 * draft_control_bytes(d) * draft_control_depth(d));
  stage->mirror_buffer = d->offloads_state ? persistent_in(d, stage, TIER_HOST, "control, mirrored",
                                                           BUFFER_MIRROR, draft_control_bytes(d))
                                           : NO_ID;
  stage->staging_buffer = persistent_in(d, stage, host, "staged steps", BUFFER_DATA,
                                        step_bytes * draft_prefetch_steps(d));
  stage->samples_buffer = apart ? persistent(d, stage, "samples of a step", BUFFER_DATA, step_bytes)
                                : stage->staging_buffer;
}

/* Files are for machines with little host memory: gradients leave one layer after another. */
static bool grads_fit_on_host(const Draft *d, const Stage *stage) {
  const bool is_shared = d->cluster->target == TARGET_CPU;
  const int64_t node_bytes = spec_host_budget(d->job, d->cluster);
  int64_t bytes =
      stage->persistent_bytes[TIER_HOST] + (is_shared ? stage->persistent_bytes[TIER_DEVICE] : 0);
  if (!d->offloads_state || d->state_in_files || d->updates_here) return false;
  for (int32_t b = 0; b < d->blocks.count; b++)
    if (!block_grads_pass(d, &d->blocks.at[b]))
      bytes += (stage->blocks[b].held - stage->blocks[b].host_first) *
               block_stride_bytes(d, &d->blocks.at[b], BASE_HOST_GRAD);
  return node_bytes < 0 || bytes <= node_bytes / d->cluster->devices;
}

/* It goes to memory of the host: a thread writes it to files. */
static void place_snapshot(Draft *d, Stage *stage) {
  int64_t bytes = 0;
  stage->snapshot_buffer = NO_ID;
  for (int32_t b = 0; b < d->blocks.count && d->snapshots; b++)
    if (stage_saves(d, stage, b))
      bytes += stage->blocks[b].held * block_saved_bytes(d, &d->blocks.at[b]);
  if (bytes > 0)
    stage->snapshot_buffer =
        persistent_in(d, stage, d->cluster->target == TARGET_CPU ? TIER_DEVICE : TIER_HOST,
                      "snapshot", BUFFER_SNAPSHOT, bytes);
}

/* Keys and values of the layers that the stage runs, one layer after another. */
static void place_caches(Draft *d, Stage *stage) {
  const Graph *g = d->train;
  Arena *arena = d->compile->arena;
  stage->cache_buffers = ARENA_ARRAY(arena, int32_t, g->regions.count + 1);
  stage->cache_position = ARENA_ARRAY(arena, int32_t, d->chain_length + 1);
  for (RegionId r = 0; r < g->regions.count; r++) {
    const int64_t bytes = d->decode == NULL ? 0 : cache_stride_bytes(g, r);
    int32_t layers = 0;
    for (int32_t k = 0; k < draft_chunks(d); k++) {
      const int32_t c = draft_chunk(d, stage->number, k);
      for (int32_t u = d->chunk_first[c]; u < d->chunk_first[c + 1]; u++)
        if (d->chain[u].region == r) stage->cache_position[u] = layers++;
    }
    stage->cache_buffers[r] =
        layers * bytes == 0
            ? NO_ID
            : persistent(d, stage, arena_printf(arena, "%s cache", g->regions.at[r].name),
                         BUFFER_CACHE, layers * bytes);
  }
}

static void place_stage(Draft *d, Stage *stage) {
  const int64_t f64 = dtype_bytes(DTYPE_F64);
  place_host_side(d, stage);
  stage->blocks = ARENA_ARRAY(d->compile->arena, StageBlock, d->blocks.count + 1);
  for (int32_t b = 0; b < d->blocks.count; b++)
    find_layers(d, stage, b, &stage->blocks[b]);
  choose_hosted(d, stage);
  for (int32_t b = 0; b < d->blocks.count; b++)
    place_block(d, stage, b);
  stage->grads_leave_early = grads_fit_on_host(d, stage);
  for (int32_t group = 0; group < NORM_GROUPS; group++)
    stage->partials_buffer[group] = stage->partial_count[group] == 0
                                        ? NO_ID
                                        : persistent(d, stage, "sums of squares", BUFFER_WORKSPACE,
                                                     stage->partial_count[group] * f64);
  stage->norms_buffer =
      d->trains ? persistent(d, stage, "squares by group", BUFFER_WORKSPACE, NORM_GROUPS * f64)
                : NO_ID;
  place_caches(d, stage);
  place_snapshot(d, stage);
}

void state_layout(Draft *d) {
  for (int32_t s = 0; s < d->stage_count; s++)
    place_stage(d, &d->stages[s]);
}

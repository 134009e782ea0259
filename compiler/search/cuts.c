#include "compiler/search/cuts.h"

#include "compiler/draft/roles.h"
#include "compiler/draft/stages/stages.h"

static int64_t time_of(const Draft *d, int32_t segment) {
  return segment == NO_ID ? 0 : d->segments.at[segment].compute_ns;
}

static int64_t base_bytes(const Draft *d, int32_t segment, BaseRole role) {
  if (segment == NO_ID) return 0;
  const Segment *at = &d->segments.at[segment];
  for (int32_t i = 0; i < at->bases.count; i++)
    if (at->bases.at[i].role == role) return at->bases.at[i].size_bytes;
  return 0;
}

/* Whole parameters or gradients of a layer, which exist only around it. */
static int64_t whole_bytes(const Draft *d, const LayerUse *use, DType dtype) {
  int64_t bytes = 0;
  for (int32_t b = 0; b < d->blocks.count; b++) {
    const Block *block = &d->blocks.at[b];
    for (int32_t i = 0; block->reads[use->region] && !block->tied && i < block->params.count; i++) {
      const int64_t elements = d->params[block->params.at[i]].elements;
      if (elements * dtype_bytes(d->train->compute_dtype) >= d->job->parallel.zero_keep)
        bytes += elements * dtype_bytes(dtype);
    }
  }
  return bytes;
}

/* Bytes that a layer's backward needs in addition to those that forward has kept. */
static int64_t working_bytes(const Draft *d, const LayerUse *use) {
  const RegionSegments *parts = &d->train_parts[use->region];
  int64_t bytes = base_bytes(d, parts->backward, BASE_SCRATCH) +
                  base_bytes(d, parts->backward, BASE_D_OUTPUT) + parts->recompute_frame_bytes +
                  parts->weight_frame_bytes;
  if (!use->first) bytes += base_bytes(d, parts->backward, BASE_D_INPUT);
  return bytes;
}

static void add_peaks(const Draft *d, int32_t u, bool is_first, ChunkWork *work) {
  const LayerUse *use = &d->chain[u];
  int64_t params = whole_bytes(d, use, d->train->compute_dtype);
  if (!is_first && d->job->parallel.zero_prefetch > 0) /* the next one's are there */
    params += whole_bytes(d, use - 1, d->train->compute_dtype);
  const int64_t grads = whole_bytes(d, use, d->train->grad_dtype);
  const bool is_each = d->job->parallel.zero_reduce == CHOICE_REDUCE_MICRO;
  for (int32_t zero = 0; zero <= 3; zero++) {
    int64_t bytes = work->kept_bytes + working_bytes(d, use);
    if (zero >= 2 && is_each) bytes += grads;
    if (zero == 3) bytes += params;
    if (bytes > work->peak_bytes[zero]) work->peak_bytes[zero] = bytes;
  }
}

static ChunkWork work_of(const Draft *d, int32_t chunk) {
  ChunkWork work = {0};
  for (int32_t u = d->chunk_first[chunk]; u < d->chunk_first[chunk + 1]; u++) {
    const RegionSegments *parts = &d->train_parts[d->chain[u].region];
    const bool begins_group = u == d->chunk_first[chunk] || d->chain[u - 1].group_last ||
                              d->chain[u - 1].region != d->chain[u].region;
    work.forward_ns += time_of(d, parts->forward);
    work.backward_ns += time_of(d, parts->backward);
    /* The last layer of a larger group does not remake its output. */
    if (d->group_layers <= 1 || !d->chain[u].group_last)
      work.backward_ns += time_of(d, parts->recompute);
    work.weight_ns += time_of(d, parts->weight);
    work.deferred_bytes += parts->weight_frame_bytes;
    if (!d->offloads_frames) {
      work.kept_bytes += parts->frame_bytes;
      if (parts->backward_reads_input && begins_group) work.kept_bytes += parts->input_bytes;
    }
    add_peaks(d, u, u == d->chunk_first[chunk], &work);
  }
  return work;
}

static void keep_least(ChunkWork *least, const ChunkWork *work, bool is_first) {
  if (is_first) *least = *work;
  if (work->kept_bytes < least->kept_bytes) least->kept_bytes = work->kept_bytes;
  if (work->deferred_bytes < least->deferred_bytes) least->deferred_bytes = work->deferred_bytes;
  for (int32_t zero = 0; zero <= 3; zero++)
    if (work->peak_bytes[zero] < least->peak_bytes[zero])
      least->peak_bytes[zero] = work->peak_bytes[zero];
}

static bool is_read_on(const Draft *d, const Block *block, int64_t layer, int32_t chunk) {
  for (int32_t u = d->chunk_first[chunk]; u < d->chunk_first[chunk + 1]; u++)
    if (block->reads[d->chain[u].region] && (block->layers == 1 || d->chain[u].layer == layer))
      return true;
  return false;
}

/* Time to move the bytes of a segment alone: its calls may share a launch. */
static int64_t moving_ns(const Draft *d, int32_t segment) {
  const double rate = d->cluster->memory_bytes_per_s;
  double bytes = 0;
  if (segment == NO_ID || rate <= 0) return 0;
  const Segment *at = &d->segments.at[segment];
  for (int32_t i = 0; i < at->records.count; i++)
    if (at->records.at[i].lane == LANE_COMPUTE && at->records.at[i].kind == RECORD_KERNEL)
      bytes += (double)(at->records.at[i].bytes - at->records.at[i].fused_bytes);
  return (int64_t)(bytes / rate * 1e9);
}

static void add_block(const Draft *d, const Block *block, int64_t layers, StageNeeds *needs) {
  needs->param_bytes += layers * block_bytes(d, block, stored_role(d, block));
  needs->grad_bytes += layers * block_bytes(d, block, BASE_GRAD);
  for (BaseRole role = BASE_MASTER; role <= BASE_STATE_LAST; role++)
    if (role_persists(d, block, role)) needs->state_bytes += layers * block_bytes(d, block, role);
  needs->reduced_elements += layers * block->elements;
  for (int32_t i = 0; i < block->params.count; i++) {
    const int64_t elements = d->params[block->params.at[i]].elements;
    const bool is_kept =
        elements * dtype_bytes(d->train->compute_dtype) < d->job->parallel.zero_keep;
    if (!is_kept) needs->gathered_elements += layers * elements;
  }
  needs->update_ns += layers * (moving_ns(d, block->update) + moving_ns(d, block->norm));
}

static void add_chunk_blocks(const Draft *d, int32_t chunk, StageNeeds *needs) {
  for (int32_t b = 0; b < d->blocks.count; b++) {
    const Block *block = &d->blocks.at[b];
    int64_t layers = 0;
    if (block->layers == 1 || block->tied) {
      layers = is_read_on(d, block, 0, chunk);
    } else {
      for (int32_t u = d->chunk_first[chunk]; u < d->chunk_first[chunk + 1]; u++)
        layers += block->reads[d->chain[u].region];
    }
    add_block(d, block, layers, needs);
  }
}

/* Tied parameters that a stage reads in two chunks count twice: not for a lower bound. */
static bool is_folded_end(const Draft *d, int32_t stage, int32_t k) {
  for (int32_t b = 0; b < d->blocks.count && k > 0; b++)
    if (d->blocks.at[b].tied) return stage == 0;
  return false;
}

Cut *cut_into(Job *job, const Draft *parts, int64_t pp, int64_t chunks, int32_t kind) {
  Draft d = *parts;
  job->parallel.pipeline = kind;
  d.derived.pp = d.mesh.size[MESH_PP] = pp;
  d.derived.chunks = chunks;
  if (!stages_cut(&d)) return NULL;
  Arena *arena = d.compile->arena;
  Cut *cut = ARENA_NEW(arena, Cut);
  *cut = (Cut){d.stage_count, (int32_t)chunks, ARENA_ARRAY(arena, StageNeeds, d.stage_count)};
  ChunkWork *work = ARENA_ARRAY(arena, ChunkWork, d.chunk_count);
  for (int32_t chunk = 0; chunk < d.chunk_count; chunk++)
    work[chunk] = work_of(&d, chunk);
  for (int32_t s = 0; s < d.stage_count; s++) {
    StageNeeds *needs = &cut->at[s];
    needs->chunk = ARENA_ARRAY(arena, const ChunkWork *, chunks);
    for (int32_t k = 0; k < chunks; k++) {
      const int32_t chunk = draft_chunk(&d, s, k);
      needs->chunk[k] = &work[chunk];
      needs->forward_ns += work[chunk].forward_ns;
      needs->backward_ns += work[chunk].backward_ns;
      needs->weight_ns += work[chunk].weight_ns;
      keep_least(&needs->least, &work[chunk], k == 0);
      if (!is_folded_end(&d, s, k)) add_chunk_blocks(&d, chunk, needs);
    }
    for (int32_t chunk = 0; chunk < draft_chunk(&d, s, 0); chunk++) {
      needs->head_ns += work[chunk].forward_ns;
      needs->tail_ns += work[chunk].backward_ns;
    }
  }
  return cut;
}

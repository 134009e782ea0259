/* sharded.c -- what happens around a layer: parameters that are sharded or of another dtype than
 * kernels read are gathered and cast before it is computed, its gradients are reduced after it. */
#include "compiler/draft/calls/program.h"
#include "compiler/draft/roles.h"

/* ---- the copies of parameters that kernels read */

bool block_is_read(const LayerUse *use, const Block *block) {
  return block->reads[use->region];
}

static bool reads_params(const Calls *t, int32_t segment, int32_t b) {
  if (segment == NO_ID) return false;
  const Segment *at = &t->draft->segments.at[segment];
  for (int32_t i = 0; i < at->bases.count; i++)
    if (at->bases.at[i].role == BASE_PARAM && at->bases.at[i].number == b) return true;
  return false;
}

/* True if layer u reads the block's parameters, forward or in backward and recomputation. */
static bool layer_reads(const Calls *t, int32_t u, int32_t b, bool backward) {
  const LayerUse *use = &t->draft->chain[u];
  const RegionSegments *parts = &t->parts[use->region];
  if (!block_is_read(use, &t->draft->blocks.at[b])) return false;
  if (t->coded[u] == NO_ID && reads_params(t, parts->codes, b)) return true;
  return backward ? reads_params(t, parts->recompute, b) || reads_params(t, parts->backward, b)
                  : reads_params(t, parts->forward, b);
}

/* While a layer's weights pass from host memory to the device, those of the next are read. */
static void hold_coming(Calls *t) {
  BufferList *coming = &t->coming;
  if (coming->count < 2) return;
  t->stage->buffers.at[coming->at[0]].last_call = calls_here(t) - 1;
  coming->at[0] = coming->at[1];
  coming->count = 1;
}

/* Copies the block's parameters for layer u from host memory, or their file, if they are there. */
static void bring(Calls *t, int32_t u, int32_t b, int32_t microbatch, uint32_t flags) {
  const Block *block = &t->draft->blocks.at[b];
  const StageBlock *held = &t->stage->blocks[b];
  const int64_t layer = block_layer(block, t->draft->chain[u].layer);
  const int32_t slot = t->slot_first[b] + (int32_t)layer;
  const bool is_far = block->bring != NO_ID && held->position[layer] >= held->host_first;
  if (!is_far || t->brought[slot] != NO_ID || t->gathered[slot] != NO_ID) return;
  calls_brought(t, b, layer);
  calls_add_block(t, block->bring, b, layer, microbatch, flags);
  hold_coming(t);
}

/* True if all layers that read the block's layer have codes of its weights, where they use codes.
 */
static bool all_coded(const Calls *t, int32_t b, int64_t layer) {
  const Block *block = &t->draft->blocks.at[b];
  for (int32_t u = t->first; u < t->end; u++) {
    const LayerUse *use = &t->draft->chain[u];
    if (!block_is_read(use, block) || block_layer(block, use->layer) != layer) continue;
    if (t->coded[u] == NO_ID && reads_params(t, t->parts[use->region].codes, b)) return false;
  }
  return true;
}

static int32_t fetching_segment(const Calls *t, int32_t b, int64_t layer, bool backward) {
  const Block *block = &t->draft->blocks.at[b];
  if (backward) return block->refetch;
  const bool beside_codes =
      t->graph->training && block->fetch_coded != NO_ID && all_coded(t, b, layer);
  return beside_codes ? block->fetch_coded : block->fetch;
}

void sharded_gather(Calls *t, int32_t u, bool backward, int32_t microbatch, uint32_t flags) {
  const LayerUse *use = &t->draft->chain[u];
  const bool casts = params_are_cast(t->draft);
  for (int32_t b = 0; b < t->draft->blocks.count; b++) {
    const Block *block = &t->draft->blocks.at[b];
    if (!layer_reads(t, u, b, backward)) continue;
    bring(t, u, b, microbatch, flags);
    int64_t layer = block_layer(block, use->layer);
    int32_t *slot = &t->gathered[t->slot_first[b] + layer];
    if (!block_is_fetched(t->draft, block) || *slot != NO_ID) continue;
    const char *word = casts ? "parameters, cast" : "parameters, gathered";
    *slot = calls_buffer(t, calls_name(t, block->name, word), casts ? BUFFER_CAST : BUFFER_PARAM,
                         block_bytes(t->draft, block, BASE_PARAM), layer);
    if (backward && use->group_last) flags |= CALL_GROUP_LAST;
    calls_add_block(t, fetching_segment(t, b, layer, backward), b, layer, microbatch, flags);
    t->brought[t->slot_first[b] + layer] = NO_ID;
  }
}

/* Weights change between steps alone, so codes of the first micro-batch serve all others. */
void sharded_code(Calls *t, int32_t u, int32_t microbatch, uint32_t flags) {
  const LayerUse *use = &t->draft->chain[u];
  const RegionSegments *parts = &t->parts[use->region];
  if (parts->codes == NO_ID || t->coded[u] != NO_ID) return;
  t->coded[u] = calls_buffer(t, region_name(t, use->region, "codes of weights"), BUFFER_CODES,
                             parts->codes_bytes, use->layer);
  calls_add_layer(t, parts->codes, u, microbatch, flags, false);
}

/* Such copies stay until the end of their layer, of its backward or of the step
 * (parallel.zero_reshard). So do codes of gathered weights, because a rank has no room for whole
 * weights of all layers; other codes stay until the step ends.
 */
void sharded_release(Calls *t, int32_t u, ZeroReshardChoice over) {
  if (t->graph->training && t->draft->job->parallel.zero_reshard > (int32_t)over) return;
  const LayerUse *use = &t->draft->chain[u];
  for (int32_t b = 0; b < t->draft->blocks.count; b++) {
    const Block *block = &t->draft->blocks.at[b];
    const int32_t slot = t->slot_first[b] + (int32_t)block_layer(block, use->layer);
    if (!block_is_read(use, block)) continue;
    t->gathered[slot] = t->brought[slot] = NO_ID;
    if (block->shards_params && reads_params(t, t->parts[use->region].codes, b))
      t->coded[u] = NO_ID;
  }
}

/* ---- units: layers gathered together, one or as many in a row as reach parallel.zero_unit
 */

static int64_t gathered_bytes(const Calls *t, int32_t u) {
  int64_t bytes = 0;
  for (int32_t b = 0; b < t->draft->blocks.count; b++) {
    const Block *block = &t->draft->blocks.at[b];
    if (block->shards_params && block_is_read(&t->draft->chain[u], block))
      bytes += block_bytes(t->draft, block, BASE_PARAM);
  }
  return bytes;
}

/* Layers [first, end) of the unit that holds layer u. */
typedef struct LayerUnit {
  int32_t first, end;
} LayerUnit;

static LayerUnit unit_of(const Calls *t, int32_t u) {
  int64_t want = t->draft->job->parallel.zero_unit, bytes = 0;
  LayerUnit unit = {t->first, t->first};
  while (unit.end < t->end) {
    bytes += gathered_bytes(t, unit.end++);
    bool full = want < 0 || bytes >= want;
    if (full && u < unit.end) break;
    if (!full) continue;
    unit.first = unit.end;
    bytes = 0;
  }
  return unit;
}

/* Gathers layer u's unit and as many units ahead of it as the job asks; step is +1 forward, -1
 * backward. A cast alone gains nothing from an early start: it runs on the lane of its readers. */
void sharded_gather_ahead(Calls *t, int32_t u, int32_t step, int32_t microbatch, uint32_t flags) {
  const bool shards = t->draft->derived.zero == 3;
  if (!shards && !params_are_cast(t->draft) && !t->draft->offloads_weights) return;
  int64_t most = shards ? t->draft->job->parallel.zero_prefetch : 0;
  for (int64_t ahead = 0; ahead <= most; ahead++) {
    if (u < t->first || u >= t->end) return;
    LayerUnit unit = unit_of(t, u);
    for (; u >= unit.first && u < unit.end; u += step)
      sharded_gather(t, u, step < 0, microbatch, flags);
  }
  for (int64_t ahead = 0; ahead < t->draft->job->offload.prefetch; ahead++, u += step)
    for (int32_t b = 0; u >= t->first && u < t->end && b < t->draft->blocks.count; b++)
      if (layer_reads(t, u, b, step < 0)) bring(t, u, b, microbatch, flags);
}

/* ---- gradients */

/* The first or the last region of this stage that reads a tied block, in the model's order. */
static RegionId edge_reader(const Calls *t, const Block *block, bool last) {
  RegionId found = NO_ID;
  const Draft *d = t->draft;
  for (int32_t k = 0; k < draft_chunks(d); k++) {
    int32_t c = draft_chunk(d, t->stage->number, k);
    for (int32_t u = d->chunk_first[c]; u < d->chunk_first[c + 1]; u++) {
      RegionId r = d->chain[u].region;
      if (!block->reads[r]) continue;
      if (found == NO_ID || (last ? r > found : r < found)) found = r;
    }
  }
  return found;
}

/* Before a layer's first contribution: zeroes gradients to which this stage only adds, and padding
 * in memory that held something else. */
void sharded_clear(Calls *t, int32_t u, int32_t microbatch, uint32_t flags) {
  const LayerUse *use = &t->draft->chain[u];
  for (int32_t b = 0; b < t->draft->blocks.count; b++) {
    const Block *block = &t->draft->blocks.at[b];
    if (!block_is_read(use, block)) continue;
    RegionId last = block->tied ? edge_reader(t, block, true) : use->region;
    if (last != use->region) continue;
    bool assigned_elsewhere = block->reader_last > last;
    int32_t segment = assigned_elsewhere ? block->clear : block->pad;
    calls_add_block(t, segment, b, block_layer(block, use->layer), microbatch, flags);
  }
}

void sharded_grads_leave(Calls *t, int32_t b, int64_t layer) {
  const Block *block = &t->draft->blocks.at[b];
  const StageBlock *held = &t->stage->blocks[b];
  if (block->grads_out == NO_ID || held->position[layer] < held->host_first ||
      t->far_grads[t->slot_first[b] + (int32_t)layer] != NO_ID)
    return;
  calls_add(t, block->grads_out, b, layer);
}

/* ---- which gradients leave during backward
 *
 *   compute  bwd 7 | bwd 6 | bwd 5 | ... | bwd 0 | norm
 *   d2h              7         6         5       | 0        1        2 ...
 *
 * As many as are predicted to have left when backward ends. The others leave in the order of
 * updates, because the first update needs the gradient that backward makes last. */

static int64_t segment_ns(const Calls *t, int32_t segment) {
  return segment == NO_ID ? 0 : t->draft->segments.at[segment].compute_ns;
}

/* The predicted time of layer u's backward, recomputation included; where a separate pass makes the
 * gradients of weights, of that pass. */
static int64_t backward_ns(const Calls *t, int32_t u) {
  const RegionSegments *parts = &t->parts[t->draft->chain[u].region];
  return parts->weight != NO_ID ? segment_ns(t, parts->weight)
                                : segment_ns(t, parts->recompute) + segment_ns(t, parts->backward);
}

/* The predicted time from the end of layer u's backward to the end of the micro-batch's backward on
 * this stage. */
static int64_t backward_left_ns(const Calls *t, int32_t u) {
  const Draft *d = t->draft;
  int64_t ns = 0;
  for (int32_t k = 0; k < draft_chunks(d); k++) {
    const int32_t chunk = draft_chunk(d, t->stage->number, k);
    for (int32_t v = d->chunk_first[chunk]; v < d->chunk_first[chunk + 1] && v < u; v++)
      ns += backward_ns(t, v);
  }
  return ns;
}

/* Without rates of the device or its link all leave early. */
static bool leaves_in_time(Calls *t, int32_t u, int32_t segment) {
  const int64_t left_ns = backward_left_ns(t, u);
  const int64_t copy_ns = segment == NO_ID ? 0 : t->draft->segments.at[segment].copy_ns;
  if (t->leaving_ns + copy_ns > left_ns && backward_ns(t, u) > 0 && copy_ns > 0) return false;
  t->leaving_ns += copy_ns;
  return true;
}

/* Gradients of layer u that are complete leave for host memory, if their updates run there. */
static void leave_early(Calls *t, int32_t u) {
  const LayerUse *use = &t->draft->chain[u];
  if (!t->graph->training || !t->stage->grads_leave_early) return;
  t->leaving_ns -= backward_ns(t, u); /* copied meanwhile */
  if (t->leaving_ns < 0) t->leaving_ns = 0;
  for (int32_t b = 0; b < t->draft->blocks.count; b++) {
    const Block *block = &t->draft->blocks.at[b];
    if (!block_is_read(use, block) || block->join[0] != NO_ID)
      continue; /* another stage adds to it */
    if (block->tied && edge_reader(t, block, false) != use->region) continue;
    if (leaves_in_time(t, u, block->grads_out))
      sharded_grads_leave(t, b, block_layer(block, use->layer));
  }
}

/* Reduces gradients that have all contributions of this micro-batch: in every micro-batch if into a
 * shard, otherwise only in the last one. */
void sharded_reduce(Calls *t, int32_t u, int32_t microbatch, uint32_t flags) {
  const LayerUse *use = &t->draft->chain[u];
  bool begun = false;
  passing_leave(t);
  for (int32_t b = 0; b < t->draft->blocks.count; b++) {
    const Block *block = &t->draft->blocks.at[b];
    if (block->reduce == NO_ID || !block_is_read(use, block)) continue;
    if (!block->shards_grads && (flags & CALL_LAST_MICROBATCH) == 0) continue;
    if (block->tied && edge_reader(t, block, false) != use->region) continue;
    if (!begun) calls_let_go(t, &t->reducing);
    begun = true;
    calls_add_block(t, block->reduce, b, block_layer(block, use->layer), microbatch, flags);
  }
  if (t->graph->training) passing_add(t, u, microbatch, flags);
  if ((flags & CALL_LAST_MICROBATCH) != 0) leave_early(t, u);
}

/* blocks.c -- which parameters are treated alike, and where each lies within its block.
 *
 * A block is laid out the same for parameters, gradients and optimizer state; only element sizes
 * differ. A sharded parameter is padded to ranks x piece elements, so that every rank's records are
 * the same: piece r belongs to the r-th rank. Padding is zero and stays zero. */
#include "compiler/draft/segments/segments.h"
#include "compiler/graph/ops/op.h"

/* Pieces begin at multiples of this: 64 bytes of bf16. Those of codes are whole blocks, whose
 * maxima begin at multiples of 8 bytes. */
enum { PIECE_GRAIN_ELEMENTS = 32, CODES_GRAIN_ELEMENTS = 2 * CODES_BLOCK };

/* Smaller tensors keep their moments in fp32: there is little to save. */
enum { CODES_LEAST_ELEMENTS = 4096 };

/* By parameter and region: whose forward reads it, in the model as it was traced. */
static bool **find_readers(const Graph *g, Arena *arena) {
  bool **reads = ARENA_ARRAY(arena, bool *, g->params.count);
  ParamId *param_of = ARENA_ARRAY(arena, ParamId, g->values.count); /* 0: none, 1: the first */
  for (ParamId p = 0; p < g->params.count; p++) {
    reads[p] = ARENA_ARRAY(arena, bool, g->regions.count);
    param_of[g->params.at[p].value] = p + 1;
  }
  for (RegionId r = 0; r < g->regions.count; r++) {
    const NodeList *forward = &g->regions.at[r].forward;
    for (int32_t i = 0; i < forward->count; i++) {
      const Node *n = graph_node(g, forward->at[i]);
      for (int32_t k = 0; k < n->input_count; k++)
        if (n->inputs[k] != NO_ID && param_of[n->inputs[k]] != 0)
          reads[param_of[n->inputs[k]] - 1][r] = true;
    }
  }
  return reads;
}

static bool stays_whole(const Draft *d, const Param *param) {
  int64_t bytes = param->elements * dtype_bytes(d->train->param_dtype);
  return d->derived.zero == 3 && bytes < d->job->parallel.zero_keep;
}

/* True if rows of the parameter are looked up: some have gradients rarely, and other rows of their
 * block should not set the scale of their moments. */
static bool is_looked_up(const Graph *g, ParamId p) {
  for (NodeId i = 0; i < g->nodes.count; i++) {
    const Node *n = graph_node(g, i);
    if (op_def(n->op)->ids == IDS_OF_ROWS && n->inputs[0] == g->params.at[p].value) return true;
  }
  return false;
}

/* True if the parameter's moments are stored as codes. The size of the whole tensor decides, so
 * that all ranks that divide it agree. */
static bool has_codes(const Draft *d, ParamId p) {
  const Graph *whole = d->train->logical;
  return d->job->precision.moments == CHOICE_MOMENTS_INT8 &&
         whole->params.at[p].elements >= CODES_LEAST_ELEMENTS && !is_looked_up(whole, p);
}

static int32_t find_block(Draft *d, ParamId p, bool *reads) {
  const Graph *g = d->train;
  const Param *param = &g->params.at[p];
  Arena *arena = d->compile->arena;
  RegionId reader_first = NO_ID, reader_last = NO_ID;
  for (RegionId r = 0; r < g->regions.count; r++) {
    if (!reads[r]) continue;
    if (reader_first == NO_ID) reader_first = r;
    reader_last = r;
  }
  bool tied = reader_first != reader_last, whole = stays_whole(d, param);
  int64_t zero = d->derived.shard_ranks > 1 ? d->derived.zero : 0;
  bool shards_params = zero == 3 && !whole, codes = has_codes(d, p);
  /* True if two chunks of one stage add to its gradients, at different times of a micro-batch. */
  bool is_made_twice = tied && d->mesh.size[MESH_PP] > 1 && !draft_ends_apart(d);
  for (int32_t b = 0; b < d->blocks.count && !tied; b++) {
    const Block *block = &d->blocks.at[b];
    if (!block->tied && block->region == param->region && block->shards_params == shards_params &&
        block->has_codes == codes)
      return b;
  }
  const char *region = g->regions.at[param->region].name;
  const char *name = tied                 ? arena_printf(arena, "tied %s", param->name)
                     : zero == 3 && whole ? arena_printf(arena, "%s small", region)
                                          : region;
  if (d->job->precision.moments == CHOICE_MOMENTS_INT8 && !codes && !tied)
    name = arena_printf(arena, "%s uncoded", name);
  VEC_PUSH(arena, &d->blocks,
           (Block){.name = name,
                   .region = param->region,
                   .reads = reads,
                   .reader_first = reader_first,
                   .reader_last = reader_last,
                   .tied = tied,
                   .shards_state = zero > 0,
                   .shards_grads = zero >= 2 && !is_made_twice &&
                                   d->job->parallel.zero_reduce == CHOICE_REDUCE_MICRO,
                   .shards_params = shards_params,
                   .has_codes = codes,
                   .layers = g->regions.at[param->region].repeat,
                   .init = NO_ID,
                   .gather = NO_ID,
                   .fetch = NO_ID,
                   .refetch = NO_ID,
                   .fetch_coded = NO_ID,
                   .reduce = NO_ID,
                   .clear = NO_ID,
                   .pad = NO_ID,
                   .join = {NO_ID, NO_ID},
                   .norm = NO_ID,
                   .update = NO_ID,
                   .host_init = NO_ID,
                   .host_update = NO_ID,
                   .save = NO_ID,
                   .far_save = NO_ID});
  return d->blocks.count - 1;
}

static int32_t norm_group_of(uint32_t cut) {
  for (int32_t group = 0; group < NORM_GROUPS; group++)
    if (norm_group_axes(group) == cut) return group;
  return 0;
}

static void place_param(Draft *d, ParamId p, bool *reads) {
  const Graph *g = d->train;
  int64_t elements = g->params.at[p].elements;
  int32_t number = find_block(d, p, reads);
  Block *block = &d->blocks.at[number];
  int64_t ranks = block->shards_state ? d->derived.shard_ranks : 1;
  int64_t grain = block->has_codes ? CODES_GRAIN_ELEMENTS : PIECE_GRAIN_ELEMENTS;
  int64_t piece = round_up((elements + ranks - 1) / ranks, grain);
  int32_t group = norm_group_of(param_cut_axes(g, p));
  d->params[p] = (ParamPlace){.block = number,
                              .norm_group = group,
                              .partial = block->partials[group]++,
                              .elements = elements,
                              .piece = piece,
                              .first = block->elements,
                              .shard_first = block->shard_elements};
  block->elements += piece * ranks;
  block->shard_elements += piece;
  VEC_PUSH(d->compile->arena, &block->params, p);
}

void blocks_layout(Draft *d) {
  d->params = ARENA_ARRAY(d->compile->arena, ParamPlace, d->train->params.count + 1);
  bool **reads = find_readers(d->train->logical, d->compile->arena);
  for (ParamId p = 0; p < d->train->params.count; p++)
    place_param(d, p, reads[p]);
  for (int32_t b = 0; b < d->blocks.count; b++) {
    Block *block = &d->blocks.at[b];
    block->stride_elements = round_up(block->elements, PLAN_ALIGN_BYTES / 2);
    block->shard_stride_elements = round_up(block->shard_elements, PLAN_ALIGN_BYTES / 2);
  }
}

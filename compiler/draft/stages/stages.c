/* stages.c -- the model as a chain of layers, cut into chunks, which are assigned to pipeline
 * stages. */
#include "compiler/draft/stages/stages.h"

#include "compiler/draft/stages/balance.h"

static void make_chain(Draft *d) {
  const Graph *g = d->train;
  int64_t count = 0, group = d->group_layers > 0 ? d->group_layers : 1;
  for (RegionId r = 0; r < g->regions.count; r++)
    count += g->regions.at[r].repeat;
  d->chain_length = (int32_t)count;
  d->chain = ARENA_ARRAY(d->compile->arena, LayerUse, count + 1);
  for (RegionId r = 0, u = 0; r < g->regions.count; r++) {
    int64_t n = g->regions.at[r].repeat;
    for (int64_t l = 0; l < n; l++)
      d->chain[u++] = (LayerUse){.region = r,
                                 .layer = l,
                                 .first = l == 0,
                                 .last = l == n - 1,
                                 .group_last = (l + 1) % group == 0 || l == n - 1};
  }
}

/* The cost of one layer and micro-batch: predicted time, or FLOPs. */
static double layer_cost(const Draft *d, const LayerUse *use, bool predicted) {
  const RegionSegments *parts = &d->train_parts[use->region];
  const int32_t segments[] = {parts->forward, parts->recompute, parts->backward, parts->weight};
  double cost = 0;
  for (size_t i = 0; i < sizeof segments / sizeof *segments; i++) {
    if (segments[i] == NO_ID) continue;
    const Segment *segment = &d->segments.at[segments[i]];
    cost += (double)(predicted ? segment->compute_ns : segment->flops);
  }
  return cost;
}

/* For a device that has not been measured no time is predicted. */
static bool is_predicted(const Draft *d) {
  for (int32_t u = 0; u < d->chain_length; u++)
    if (layer_cost(d, &d->chain[u], true) > 0) return true;
  return false;
}

/* A parameter that the first and the last stage share must be read on exactly those. */
static bool check_tied(Draft *d) {
  for (int32_t b = 0; b < d->blocks.count; b++) {
    const Block *block = &d->blocks.at[b];
    for (int32_t c = 1; block->tied && c < d->chunk_count - 1; c++)
      for (int32_t u = d->chunk_first[c]; u < d->chunk_first[c + 1]; u++)
        if (block->reads[d->chain[u].region])
          return error_at(d->compile, d->train->params.at[block->params.at[0]].origin,
                          "tied-between-stages",
                          "parameter '%s' is read on a pipeline stage between the first and the "
                          "last; only what those two share can be tied over stages",
                          d->train->params.at[block->params.at[0]].name);
  }
  return true;
}

static const int32_t *stages_of_chunks(const Draft *d) {
  int32_t *stage = ARENA_ARRAY(d->compile->arena, int32_t, d->chunk_count);
  for (int32_t chunk = 0; chunk < d->chunk_count; chunk++)
    stage[chunk] = draft_stage(d, chunk);
  return stage;
}

/* Units in front of the first one that a gradient comes back from, such as the inputs of a model
 * whose layers begin at them: they are on its stage, since a stage of their own would wait for a
 * gradient. */
static int32_t units_without_gradient(const Draft *d) {
  int32_t count = 0;
  for (int32_t u = 1; u < d->chain_length && d->trains; u++)
    if (d->chain[u].first && !region_feeds_back(d->train, d->chain[u].region)) count = u;
  return count;
}

/* The fix keeps tp and cp: pp of the same ranks, dp follows. */
static bool refuse_cut(Draft *d, int32_t pieces) {
  const Derived *degrees = &d->derived;
  int64_t ranks = degrees->pp * degrees->dp, most = pieces / degrees->chunks;
  error_at(d->compile, d->job->origin[FIELD_parallel_pp].span, "stages",
           "a model of %d piece%s (its layers and ends) cannot be cut into %d %s", pieces,
           plural(pieces), d->chunk_count, degrees->chunks > 1 ? "chunks" : "stages");
  while (most > 1 && ranks % most != 0)
    most--;
  fix_last(d->compile, "pp = %lld", (long long)(most > 1 ? most : 1));
  return false;
}

/* Adds the nodes before the units that were cut to the first chunk. */
static bool move_boundaries(Draft *d, int32_t before) {
  for (int32_t c = 1; c <= d->chunk_count; c++)
    d->chunk_first[c] += before;
  return true;
}

static double excess_of(const Draft *d) {
  double *work = ARENA_ARRAY(d->compile->arena, double, d->stage_count), all = 0, most = 0;
  bool predicted = is_predicted(d);
  for (int32_t c = 0; c < d->chunk_count; c++)
    for (int32_t u = d->chunk_first[c]; u < d->chunk_first[c + 1]; u++)
      work[draft_stage(d, c)] += layer_cost(d, &d->chain[u], predicted);
  for (int32_t s = 0; s < d->stage_count; s++) {
    all += work[s];
    if (work[s] > most) most = work[s];
  }
  return all > 0 ? most * d->stage_count / all - 1 : 0;
}

/* The best cut of the chain, which its caller may change. */
static int32_t *cut_chain(Draft *d, const BalanceChain *chain) {
  Arena *arena = d->compile->arena;
  if (d->known_cuts == NULL || d->chunk_count > chain->unit_count)
    return balance_cut(arena, chain, d->chunk_count);
  int32_t **known = &d->known_cuts->at[d->chunk_count];
  if (*known == NULL) *known = balance_cut(d->known_cuts->arena, chain, d->chunk_count);
  int32_t *cut = ARENA_ARRAY(arena, int32_t, d->chunk_count + 1);
  for (int32_t c = 0; *known != NULL && c <= d->chunk_count; c++)
    cut[c] = (*known)[c];
  return *known == NULL ? NULL : cut;
}

/* In a folded chain the first stage has both ends of the model: equal chunks would leave it with
 * the most work. */
static bool cut_chunks(Draft *d) {
  Arena *arena = d->compile->arena;
  double *costs = ARENA_ARRAY(arena, double, d->chain_length);
  bool *layers = ARENA_ARRAY(arena, bool, d->chain_length);
  bool predicted = is_predicted(d);
  for (int32_t u = 0; u < d->chain_length; u++) {
    costs[u] = layer_cost(d, &d->chain[u], predicted);
    layers[u] = d->train->regions.at[d->chain[u].region].is_stack;
  }
  int32_t before = units_without_gradient(d);
  for (int32_t u = 0; u < before; u++)
    costs[before] += costs[u];
  const BalanceChain chain = {costs + before, layers + before, d->chain_length - before};
  const CountList *listed = &d->job->parallel.stages;
  const Span at = d->job->origin[FIELD_parallel_stages].span;
  if (listed->count == 0) {
    d->chunk_first = cut_chain(d, &chain);
    if (d->chunk_first != NULL && pipe_rules[draft_pipe_kind(d)].is_folded)
      balance_stages(arena, &chain, stages_of_chunks(d), d->chunk_count, d->chunk_first);
    return d->chunk_first != NULL ? move_boundaries(d, before) : refuse_cut(d, chain.unit_count);
  }
  const char *why = "";
  int32_t *counts = ARENA_ARRAY(arena, int32_t, listed->count);
  for (int32_t i = 0; i < listed->count; i++)
    counts[i] = (int32_t)listed->at[i];
  d->chunk_first = balance_listed(arena, &chain, counts, listed->count, d->chunk_count, &why);
  return d->chunk_first != NULL ? move_boundaries(d, before)
                                : error_at(d->compile, at, "stages", "parallel.stages: %s", why);
}

bool stages_cut(Draft *d) {
  Arena *arena = d->compile->arena;
  make_chain(d);
  d->stage_count = (int32_t)d->mesh.size[MESH_PP];
  d->chunk_count = d->stage_count * (int32_t)d->derived.chunks;
  d->stages = ARENA_ARRAY(arena, Stage, d->stage_count);
  for (int32_t s = 0; s < d->stage_count; s++)
    d->stages[s].number = s;
  if (d->chunk_count == 1) {
    d->chunk_first = ARENA_ARRAY(arena, int32_t, 2);
    d->chunk_first[1] = d->chain_length;
    return true;
  }
  if (!cut_chunks(d)) return false;
  d->stage_excess = excess_of(d);
  /* A recompute group ends with its chunk. */
  for (int32_t c = 1; c <= d->chunk_count; c++)
    d->chain[d->chunk_first[c] - 1].group_last = true;
  return check_tied(d);
}

#include "compiler/search/forecast.h"

#include <string.h>

#include "compiler/draft/cost/cost.h"
#include "compiler/draft/cost/link.h"
#include "compiler/draft/roles.h"
#include "compiler/plan/simulate/price.h"

enum { FLAG_SETS = 1 << CALL_FLAGS_BITS, LISTS = 4, BUFFERS_MOST = 64, TRANSFERS = 3 };
typedef enum PartList { LIST_FORWARD, LIST_RECOMPUTE, LIST_BACKWARD, LIST_WEIGHT } PartList;

/* The times of a region's code, by the flags of a call; and of what goes on around one of its
 * layers on the lane of weights and gradients. */
typedef struct RegionTimes {
  int64_t ns[LISTS][FLAG_SETS]; /* -1: not yet known */
  int64_t fetch_ns, refetch_ns, reduce_ns;
  int64_t cast_ns, recast_ns; /* fetches on the lane of their readers */
  bool loads;
} RegionTimes;

typedef struct Chunk {
  int64_t forward_ns, backward_ns, weight_ns;
  int64_t load_ns, early_ns; /* of them, what waits for no other stage: recomputation of a group */
  int32_t first, end;        /* layers */
} Chunk;

/* The clocks of a stage's lanes, and when buffers become free that the next layers need. */
typedef struct StageClock {
  int64_t main_ns, dp_ns, pp_ns;
  int64_t read_ns[BUFFERS_MOST];    /* ends of the layers that read gathered weights last */
  int64_t reduced_ns[BUFFERS_MOST]; /* ends of reductions */
  int32_t reads, reductions;
} StageClock;

typedef struct Forecast {
  const Draft *d;
  Arena *arena;
  const Placement *at;
  Reach reach[MESH_BIT(MESH_AXES)];
  bool is_reached[MESH_BIT(MESH_AXES)];
  RegionTimes *region;
  Chunk *chunk;      /* of the model */
  StageClock *clock; /* by stage */
  bool gathers;      /* weights before layers */
  bool reduces;      /* gradients of every micro-batch */
  int64_t *come_ns;  /* by layer: when its weights are there; -1: they are not */
  int32_t *number;   /* by layer: of the gather that brought them, among the stage's */
  /* By stage: the time of an exchange of so many values sent and received. */
  int64_t (*exchange_ns)[TRANSFERS][TRANSFERS + 1];
  int64_t microbatches;
} Forecast;

static int64_t later(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* ---- segments */

static PlanLink link_along(Forecast *f, uint32_t axes) {
  axes = mesh_used(&f->d->mesh, axes);
  if (!f->is_reached[axes]) f->reach[axes] = place_reach(f->d->fabric, f->at, axes, -1);
  f->is_reached[axes] = true;
  return link_of(&f->reach[axes], f->d->cluster);
}

static int64_t record_ns(Forecast *f, const Record *record) {
  if (record->meaning == NULL) return cost_kernel_ns(f->d, record);
  const PlanLink link = link_along(f, record->axes);
  const Traffic traffic = link_traffic(f->d, record);
  return traffic_ns(&traffic, &link);
}

/* Until its last record on the main lane ends, if all lanes are free before; of segments on another
 * lane, until all end. */
static int64_t segment_ns(Forecast *f, int32_t number, uint32_t flags) {
  if (number == NO_ID) return 0;
  const Segment *segment = &f->d->segments.at[number];
  int64_t free_ns[Lane_COUNT] = {0}, end_ns = 0;
  int64_t *over_ns = ARENA_ARRAY(f->arena, int64_t, segment->records.count + 1);
  bool has_main = false;
  for (int32_t i = 0; i < segment->records.count; i++) {
    const Record *record = &segment->records.at[i];
    if (!record_runs(record, flags)) continue;
    int64_t *lane = &free_ns[record->lane];
    for (int32_t k = 0; k < record->after.count; k++)
      *lane = later(*lane, over_ns[record->after.at[k]]);
    over_ns[i] = *lane += record_ns(f, record);
    has_main |= record->lane == LANE_COMPUTE;
  }
  for (int32_t lane = 0; lane < Lane_COUNT; lane++)
    end_ns = later(end_ns, free_ns[lane]);
  return has_main ? free_ns[LANE_COMPUTE] : end_ns;
}

static int64_t list_ns(Forecast *f, RegionId r, PartList list, uint32_t flags) {
  const RegionSegments *parts = &f->d->train_parts[r];
  const int32_t segments[LISTS] = {parts->forward, parts->recompute, parts->backward,
                                   parts->weight};
  int64_t *ns = &f->region[r].ns[list][flags];
  if (*ns < 0) *ns = segment_ns(f, segments[list], flags);
  return *ns;
}

static bool is_on_main(const Forecast *f, int32_t segment) {
  const Segment *at = &f->d->segments.at[segment];
  return at->records.count > 0 && at->records.at[at->records.count - 1].lane == LANE_COMPUTE;
}

static bool has_data(const Draft *d, const RegionSegments *parts) {
  const int32_t segments[LISTS] = {parts->forward, parts->recompute, parts->backward,
                                   parts->weight};
  for (int32_t i = 0; i < LISTS; i++)
    for (int32_t k = 0; segments[i] != NO_ID && k < d->segments.at[segments[i]].bases.count; k++)
      if (d->segments.at[segments[i]].bases.at[k].role == BASE_DATA) return true;
  return false;
}

static void add_fetch(Forecast *f, int32_t segment, int64_t *beside_ns, int64_t *main_ns) {
  if (segment == NO_ID) return;
  *(is_on_main(f, segment) ? main_ns : beside_ns) += segment_ns(f, segment, 0);
}

static void measure_regions(Forecast *f) {
  const Draft *d = f->d;
  f->region = ARENA_ARRAY(f->arena, RegionTimes, d->train->regions.count);
  for (RegionId r = 0; r < d->train->regions.count; r++) {
    RegionTimes *at = &f->region[r];
    memset(at->ns, -1, sizeof at->ns);
    at->loads = has_data(d, &d->train_parts[r]);
    for (int32_t b = 0; b < d->blocks.count; b++) {
      const Block *block = &d->blocks.at[b];
      if (!block->reads[r]) continue;
      if (block->shards_params || params_are_cast(d)) {
        add_fetch(f, block->fetch, &at->fetch_ns, &at->cast_ns);
        add_fetch(f, block->refetch, &at->refetch_ns, &at->recast_ns);
      }
      if (block->reduce != NO_ID && (!block->tied || r == block->reader_first))
        at->reduce_ns += segment_ns(f, block->reduce, 0);
      f->reduces |= block->shards_grads && block->reduce != NO_ID;
    }
    f->gathers |= at->fetch_ns + at->refetch_ns > 0;
  }
}

/* ---- layers */

static uint32_t flags_of(const LayerUse *use) {
  return (use->first ? CALL_FIRST_LAYER : 0) | (use->last ? CALL_LAST_LAYER : 0) |
         (use->group_last ? CALL_GROUP_LAST : 0);
}

static int64_t forward_ns(Forecast *f, const LayerUse *use) {
  return list_ns(f, use->region, LIST_FORWARD, flags_of(use)) + f->region[use->region].cast_ns;
}

static int64_t backward_ns(Forecast *f, const LayerUse *use) {
  const int64_t again = f->d->job->parallel.zero_reshard >= CHOICE_RESHARD_CHUNK
                            ? 0
                            : f->region[use->region].recast_ns;
  return list_ns(f, use->region, LIST_RECOMPUTE, flags_of(use)) +
         list_ns(f, use->region, LIST_BACKWARD, flags_of(use)) + again;
}

/* The first layer of the group that ends with this one. */
static int32_t group_first(const Forecast *f, const Chunk *chunk, int32_t last) {
  const LayerUse *chain = f->d->chain;
  int32_t first = last;
  if (f->d->train_parts[chain[last].region].recompute == NO_ID) return last;
  while (first > chunk->first && chain[first - 1].region == chain[last].region &&
         !chain[first - 1].group_last)
    first--;
  return first;
}

static void measure_chunks(Forecast *f) {
  const Draft *d = f->d;
  const int64_t load_ns = segment_ns(f, d->train_ends.load, 0);
  f->chunk = ARENA_ARRAY(f->arena, Chunk, d->chunk_count);
  for (int32_t c = 0; c < d->chunk_count; c++) {
    Chunk *chunk = &f->chunk[c];
    bool loads = false;
    chunk->first = d->chunk_first[c], chunk->end = d->chunk_first[c + 1];
    for (int32_t u = chunk->first; u < chunk->end; u++) {
      const LayerUse *use = &d->chain[u];
      chunk->forward_ns += forward_ns(f, use);
      chunk->backward_ns += backward_ns(f, use);
      chunk->weight_ns += list_ns(f, use->region, LIST_WEIGHT, flags_of(use));
      loads |= f->region[use->region].loads;
    }
    chunk->load_ns = loads ? load_ns : 0;
    chunk->forward_ns += chunk->load_ns;
    for (int32_t u = group_first(f, chunk, chunk->end - 1); u < chunk->end; u++)
      chunk->early_ns += list_ns(f, d->chain[u].region, LIST_RECOMPUTE, flags_of(&d->chain[u]));
  }
}

/* Layers whose weights are there at once: one, those ahead, and all of a recompute group. */
static int32_t buffers_of(const Forecast *f) {
  const int64_t group = f->d->group_layers > 1 ? f->d->group_layers : 1;
  const int64_t most = f->d->job->parallel.zero_prefetch + group;
  return most < BUFFERS_MOST ? (int32_t)most : BUFFERS_MOST;
}

/* A layer's weights are gathered once a buffer is free. */
static void gather(Forecast *f, StageClock *at, int32_t u, int64_t took_ns) {
  if (f->come_ns[u] >= 0 || took_ns == 0) return;
  at->dp_ns = later(at->dp_ns, at->read_ns[at->reads % buffers_of(f)]) + took_ns;
  f->come_ns[u] = at->dp_ns;
  f->number[u] = at->reads++;
}

static void wait_for_weights(const Forecast *f, StageClock *at, int32_t u) {
  at->main_ns = later(at->main_ns, f->come_ns[u]);
}

static void release(Forecast *f, StageClock *at, int32_t u, ZeroReshardChoice over) {
  if (f->come_ns[u] < 0 || f->d->job->parallel.zero_reshard > (int32_t)over) return;
  at->read_ns[f->number[u] % buffers_of(f)] = at->main_ns;
  f->come_ns[u] = -1;
}

static void reduce(StageClock *at, int64_t took_ns) {
  enum { WHOLE = 2 }; /* whole gradients that are there at once */
  if (took_ns == 0) return;
  at->dp_ns = later(at->dp_ns, at->main_ns) + took_ns;
  at->reduced_ns[at->reductions++ % WHOLE] = at->dp_ns;
  at->main_ns = later(at->main_ns, at->reduced_ns[at->reductions % WHOLE]);
}

/* Weights are gathered a layer ahead, or more; each layer waits for its own. */
static void gathered_forward(Forecast *f, StageClock *at, const Chunk *chunk, int64_t input_ns) {
  const int64_t ahead = f->d->job->parallel.zero_prefetch;
  at->main_ns = later(at->main_ns + chunk->load_ns, input_ns);
  for (int32_t u = chunk->first; u < chunk->end; u++) {
    for (int32_t next = u; next < chunk->end && next <= u + ahead; next++)
      gather(f, at, next, f->region[f->d->chain[next].region].fetch_ns);
    wait_for_weights(f, at, u);
    at->main_ns += forward_ns(f, &f->d->chain[u]);
    release(f, at, u, CHOICE_RESHARD_LAYER);
  }
}

static void layered_backward(Forecast *f, StageClock *at, const Chunk *chunk, bool is_reduced,
                             int64_t input_ns) {
  const int64_t ahead = f->d->job->parallel.zero_prefetch;
  for (int32_t end = chunk->end, first; end > chunk->first; end = first) {
    first = group_first(f, chunk, end - 1);
    for (int32_t u = first; u < end; u++) {
      const LayerUse *use = &f->d->chain[u];
      if (f->d->train_parts[use->region].recompute == NO_ID) continue;
      gather(f, at, u, f->region[use->region].refetch_ns);
      wait_for_weights(f, at, u);
      at->main_ns += list_ns(f, use->region, LIST_RECOMPUTE, flags_of(use));
    }
    at->main_ns = later(at->main_ns, input_ns);
    for (int32_t u = end - 1; u >= first; u--) {
      const LayerUse *use = &f->d->chain[u];
      for (int32_t next = u; next >= chunk->first && next >= u - ahead; next--)
        gather(f, at, next, f->region[f->d->chain[next].region].refetch_ns);
      wait_for_weights(f, at, u);
      at->main_ns += backward_ns(f, use) - list_ns(f, use->region, LIST_RECOMPUTE, flags_of(use));
      release(f, at, u, CHOICE_RESHARD_CHUNK);
      if (is_reduced) reduce(at, f->region[use->region].reduce_ns);
    }
  }
}

static void layered_weight(Forecast *f, StageClock *at, const Chunk *chunk) {
  for (int32_t u = chunk->end - 1; u >= chunk->first; u--) {
    const LayerUse *use = &f->d->chain[u];
    at->main_ns += list_ns(f, use->region, LIST_WEIGHT, flags_of(use));
    reduce(at, f->region[use->region].reduce_ns);
  }
}

/* ---- steps */

/* input_ns: when what another stage sends is there. */
static void take_step(Forecast *f, StageClock *at, PipeAction action, const Chunk *chunk,
                      bool is_last, bool is_split, int64_t input_ns) {
  const bool is_reduced = is_last || f->reduces;
  switch (action) {
  case PIPE_FORWARD:
    if (f->gathers)
      gathered_forward(f, at, chunk, input_ns);
    else
      at->main_ns =
          later(at->main_ns + chunk->load_ns, input_ns) + chunk->forward_ns - chunk->load_ns;
    break;
  case PIPE_BACKWARD:
    if (f->gathers || (is_reduced && !is_split))
      layered_backward(f, at, chunk, is_reduced && !is_split, input_ns);
    else
      at->main_ns =
          later(at->main_ns + chunk->early_ns, input_ns) + chunk->backward_ns - chunk->early_ns;
    break;
  default:
    if (is_reduced)
      layered_weight(f, at, chunk);
    else
      at->main_ns += chunk->weight_ns;
  }
}

static void run_serial(Forecast *f, int64_t microbatches) {
  for (int64_t m = 0; m < microbatches; m++) {
    const bool is_last = m == microbatches - 1;
    take_step(f, &f->clock[0], PIPE_FORWARD, &f->chunk[0], is_last, false, 0);
    take_step(f, &f->clock[0], PIPE_BACKWARD, &f->chunk[0], is_last, false, 0);
  }
}

static void run_flow(Forecast *f, const Flow *flow) {
  const bool is_split = pipe_rules[flow->shape.kind].is_split;
  int64_t *end_ns = ARENA_ARRAY(f->arena, int64_t, flow->count + 1);
  for (int32_t i = 0, next; i < flow->count; i = next) {
    const FlowItem *item = &flow->items[i];
    next = i + 1;
    if (item->action != NO_ID) {
      StageClock *at = &f->clock[item->stage];
      take_step(f, at, (PipeAction)item->action,
                &f->chunk[draft_chunk(f->d, item->stage, item->chunk)],
                item->microbatch == flow->shape.microbatches - 1, is_split,
                item->input != NO_ID ? end_ns[item->input] : 0);
      continue;
    }
    for (next = i; next < flow->count && flow->items[next].tick == item->tick &&
                   flow->items[next].action == NO_ID;
         next++) {
      const StageClock *at = &f->clock[flow->items[next].stage];
      end_ns[next] = flow->items[next].sends > 0 ? later(at->pp_ns, at->main_ns) : at->pp_ns;
    }
    for (int32_t k = i; k < next; k++) {
      const FlowItem *one = &flow->items[k];
      int64_t met_ns = end_ns[k];
      for (int32_t p = 0; p < one->peers; p++)
        met_ns = later(met_ns, end_ns[one->peer[p]]);
      f->clock[one->stage].pp_ns = met_ns + f->exchange_ns[one->stage][one->sends][one->receives];
    }
    for (int32_t k = i; k < next; k++)
      end_ns[k] = f->clock[flow->items[k].stage].pp_ns;
  }
}

static void price_exchanges(Forecast *f) {
  const Draft *d = f->d;
  const double bytes = (double)forecast_value_bytes(d);
  f->exchange_ns = arena_alloc(f->arena, sizeof *f->exchange_ns *
                                             (size_t)(d->stage_count > 1 ? d->stage_count : 1));
  for (int32_t s = 0; s < d->stage_count; s++) {
    const Reach reach = place_reach(d->fabric, f->at, MESH_BIT(MESH_PP), s);
    const PlanLink link = link_of(&reach, d->cluster);
    for (int32_t sends = 0; sends < TRANSFERS; sends++)
      for (int32_t receives = 0; receives <= TRANSFERS; receives++) {
        Traffic traffic = {.kind = RECORD_EXCHANGE,
                           .members = (double)d->stage_count,
                           .calls = pieces_are_gathered(d) ? sends + receives : 1,
                           .has_library = d->cluster->target != TARGET_CPU};
        for (int32_t i = 0; i < sends + receives; i++)
          traffic_add(&traffic, bytes, i < sends ? ACCESS_READ : ACCESS_WRITE);
        f->exchange_ns[s][sends][receives] = traffic_ns(&traffic, &link);
      }
  }
}

/* ---- after the last micro-batch */

static int64_t held_by(const Draft *d, int32_t stage, const Block *block) {
  int64_t held = 0;
  for (int32_t k = 0; k < draft_chunks(d); k++) {
    const int32_t c = draft_chunk(d, stage, k);
    for (int32_t u = d->chunk_first[c]; u < d->chunk_first[c + 1]; u++)
      held += block->reads[d->chain[u].region];
  }
  return block->tied && held > 1 ? 1 : held;
}

static int64_t sum_ns(Forecast *f, uint32_t axes, int32_t numbers) {
  axes = mesh_used(&f->d->mesh, axes);
  if (axes == 0) return 0;
  const PlanLink link = link_along(f, axes);
  Traffic traffic = {.kind = RECORD_ALL_REDUCE,
                     .members = (double)mesh_count(&f->d->mesh, axes),
                     .calls = 1,
                     .has_library = f->d->cluster->target != TARGET_CPU};
  traffic_add(&traffic, (double)(numbers * dtype_bytes(DTYPE_F64)), ACCESS_UPDATE);
  return traffic_ns(&traffic, &link);
}

/* Squares of gradients become one number on all ranks. */
static int64_t clip_ns(Forecast *f) {
  enum { SMALL_KERNELS = 2 }; /* zeroes, and the norm */
  const Draft *d = f->d;
  int64_t ns = sum_ns(f, MESH_BIT(MESH_PP) | draft_zero_axes(&d->derived), NORM_GROUPS);
  int32_t kernels = SMALL_KERNELS;
  for (int32_t group = 0; group < NORM_GROUPS; group++) {
    bool exists = false;
    for (int32_t b = 0; b < d->blocks.count; b++)
      exists |= d->blocks.at[b].partials[group] > 0;
    if (!exists) continue;
    kernels++;
    ns += sum_ns(f, norm_group_axes(group), 1);
  }
  return ns + kernels * (int64_t)d->cluster->sustained.kernel_ns;
}

static int64_t latest_of(const Forecast *f) {
  int64_t ns = 0;
  for (int32_t s = 0; s < f->d->stage_count; s++)
    ns = later(ns, f->clock[s].main_ns);
  return ns;
}

static void take_norms(Forecast *f, int32_t stage) {
  StageClock *at = &f->clock[stage];
  int64_t all_ns = 0, last_ns = 0;
  for (int32_t b = f->d->blocks.count - 1; b >= 0; b--) {
    const Block *block = &f->d->blocks.at[b];
    const int64_t held = held_by(f->d, stage, block);
    if (held == 0) continue;
    last_ns = segment_ns(f, block->norm, 0);
    all_ns += held * last_ns;
  }
  at->main_ns = later(at->main_ns + all_ns, at->dp_ns + last_ns);
}

/* Updates, and gathers of what was updated beside them. */
static void take_updates(Forecast *f, int32_t stage) {
  StageClock *at = &f->clock[stage];
  int64_t updated_ns = at->main_ns;
  for (int32_t b = 0; b < f->d->blocks.count; b++)
    updated_ns +=
        held_by(f->d, stage, &f->d->blocks.at[b]) * segment_ns(f, f->d->blocks.at[b].update, 0);
  for (int32_t b = 0; b < f->d->blocks.count; b++) {
    const Block *block = &f->d->blocks.at[b];
    const int64_t update_ns = segment_ns(f, block->update, 0),
                  gather_ns = segment_ns(f, block->gather, 0);
    for (int64_t held = held_by(f->d, stage, block); held > 0; held--) {
      at->main_ns += update_ns;
      if (gather_ns > 0) at->dp_ns = later(at->dp_ns, at->main_ns) + gather_ns;
    }
  }
  at->main_ns = later(updated_ns, later(at->dp_ns, at->pp_ns));
}

/* The two stages that hold a tied parameter sum its gradients. */
static void join_tied(Forecast *f) {
  const Draft *d = f->d;
  StageClock *first = &f->clock[0], *last = &f->clock[d->stage_count - 1];
  for (int32_t b = 0; b < d->blocks.count; b++) {
    if (d->blocks.at[b].join[0] == NO_ID || d->stage_count == 1) continue;
    int64_t ns = later(later(first->main_ns, first->dp_ns), later(last->main_ns, last->dp_ns));
    ns = later(ns, later(first->pp_ns, last->pp_ns)) + segment_ns(f, d->blocks.at[b].join[0], 0);
    first->pp_ns = last->pp_ns = first->dp_ns = last->dp_ns = ns;
  }
}

static int64_t end_step(Forecast *f) {
  const Draft *d = f->d;
  int64_t end_ns = 0;
  join_tied(f);
  for (int32_t s = 0; s < d->stage_count; s++)
    take_norms(f, s);
  const int64_t known_ns = latest_of(f) + clip_ns(f) + segment_ns(f, d->train_ends.control, 0);
  for (int32_t s = 0; s < d->stage_count; s++) {
    f->clock[s].main_ns = known_ns;
    take_updates(f, s);
    end_ns = later(end_ns, f->clock[s].main_ns);
  }
  return end_ns;
}

static int64_t run(Forecast *f, const Flow *flow, int64_t microbatches) {
  const Draft *d = f->d;
  memset(f->clock, 0, sizeof *f->clock * (size_t)d->stage_count);
  for (int32_t u = 0; u < d->chain_length; u++)
    f->come_ns[u] = -1;
  if (flow == NULL)
    run_serial(f, microbatches);
  else
    run_flow(f, flow);
  return end_step(f);
}

static const Flow *flow_with(const Forecast *f, Flows *flows, int64_t microbatches) {
  const Draft *d = f->d;
  if (d->stage_count == 1) return NULL;
  return flow_of(flows, (PipeShape){.kind = draft_pipe_kind(d),
                                    .stages = d->stage_count,
                                    .chunks = draft_chunks(d),
                                    .microbatches = (int32_t)microbatches,
                                    .costs = pipe_costs_even});
}

/* Micro-batches after which a step is in its steady state, or all. */
static int64_t few_microbatches(const Draft *d) {
  enum { WARM_UP = 2, SERIAL = 3 };
  const int64_t m = d->derived.accumulation, round = d->stage_count;
  const int64_t least = round == 1 ? 1 : pipeline_least(draft_pipe_kind(d), d->stage_count);
  int64_t few = round == 1 ? SERIAL : m % round + WARM_UP * round;
  while (few < least)
    few += round;
  return few + round >= m ? m : few;
}

/* In the steady state each round takes as long as the one before. */
static int64_t run_all(Forecast *f, Flows *flows, int64_t few) {
  const int64_t m = f->d->derived.accumulation, round = f->d->stage_count;
  const int64_t before_ns = run(f, flow_with(f, flows, few), few);
  if (few == m) return before_ns;
  const int64_t now_ns = run(f, flow_with(f, flows, few + round), few + round);
  return now_ns + (now_ns - before_ns) * ((m - few - round) / round);
}

bool forecast_is_known(const Draft *d) {
  return !draft_offloads(d) && !d->offloads_weights && d->cluster->software.overlaps && d->trains;
}

int64_t forecast_ns(Flows *flows, const Draft *d) {
  Forecast f = {.d = d, .arena = arena_new()};
  const int64_t few = few_microbatches(d);
  f.at = forecast_place(d, flow_with(&f, flows, few));
  measure_regions(&f);
  measure_chunks(&f);
  f.clock = ARENA_ARRAY(f.arena, StageClock, d->stage_count);
  f.come_ns = ARENA_ARRAY(f.arena, int64_t, d->chain_length);
  f.number = ARENA_ARRAY(f.arena, int32_t, d->chain_length);
  price_exchanges(&f);
  const int64_t ns = run_all(&f, flows, few);
  arena_free(f.arena);
  return (int64_t)((double)ns * d->cluster->software.slack + 0.5);
}

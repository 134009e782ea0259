#include "compiler/search/forecast.h"

#include <math.h>

#include "compiler/draft/launches.h"
#include "compiler/plan/simulate/price.h"
#include "compiler/search/forecast_times.h"

enum { BUFFERS_MOST = 64, TRANSFERS = 3 };

typedef struct ChunkTimes {
  int64_t forward_ns, backward_ns, weight_ns;
  int64_t load_ns, early_ns; /* of them, what waits for no other stage: recomputation of a group */
} ChunkTimes;

typedef struct Chunk {
  ChunkTimes of[2];   /* by whether the micro-batch is the first */
  int32_t first, end; /* layers */
} Chunk;

/* The clocks of a stage's lanes, and when buffers become free that the next layers need. */
typedef struct StageClock {
  int64_t main_ns, dp_ns, pp_ns;
  int64_t apart_ns;                 /* of reductions, where gathers do not wait for them */
  int64_t joined_ns;                /* the gradients of tied parameters have those of both stages */
  int64_t read_ns[BUFFERS_MOST];    /* by buffer of gathered weights: the end of its last reader */
  bool is_taken[BUFFERS_MOST];      /* by buffer: its last reader has not been called */
  int64_t reduced_ns[BUFFERS_MOST]; /* ends of reductions */
  int32_t stage, reductions;
  bool is_first, is_last; /* micro-batch */
} StageClock;

/* A layer of a block, and the layer of the chain after whose backward it is reduced. */
typedef struct HeldLayer {
  int32_t block, u;
} HeldLayer;
typedef VEC(HeldLayer) HeldLayers;

typedef struct Forecast {
  const Draft *d;
  Arena *arena;
  ForecastTimes times;
  Chunk *chunk;      /* of the model */
  StageClock *clock; /* by stage */
  int64_t *come_ns;  /* by layer: when its weights are there; -1: they are not */
  int32_t *slot;     /* by layer: the buffer that has them */
  int64_t *over_ns;  /* by layer: the end of the last reduction of its gradients */
  HeldLayers *held;  /* by stage, in the order of updates */
  int64_t exchange_ns[TRANSFERS][TRANSFERS + 1]; /* by values sent and received */
  bool is_least; /* no layer waits for the memory of another, no gather for reductions */
} Forecast;

static int64_t later(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* ---- layers */

static int64_t part_ns(const Forecast *f, const StageClock *at, int32_t u, PartList list) {
  return times_layer(&f->times, at->stage, u, list, at->is_first).ns;
}

static int64_t forward_ns(const Forecast *f, const StageClock *at, int32_t u) {
  return part_ns(f, at, u, LIST_FORWARD) + times_around(&f->times, at->stage, u)->cast_ns;
}

/* The time of a layer's backward, without its recomputation. */
static int64_t backward_ns(const Forecast *f, const StageClock *at, int32_t u) {
  const bool is_kept = f->d->job->parallel.zero_reshard >= CHOICE_RESHARD_CHUNK;
  const RegionTimes *around = times_around(&f->times, at->stage, u);
  return part_ns(f, at, u, LIST_BACKWARD) + around->clear_ns[at->is_first] +
         (is_kept ? 0 : around->recast_ns[f->d->chain[u].group_last]);
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

static ChunkTimes chunk_times(const Forecast *f, const Chunk *chunk, const StageClock *at) {
  ChunkTimes times = {0};
  bool loads = false;
  for (int32_t u = chunk->first; u < chunk->end; u++) {
    times.forward_ns += forward_ns(f, at, u);
    times.backward_ns += part_ns(f, at, u, LIST_RECOMPUTE) + backward_ns(f, at, u);
    times.weight_ns += part_ns(f, at, u, LIST_WEIGHT);
    loads |= times_around(&f->times, at->stage, u)->loads;
  }
  times.load_ns = loads ? times_segment(&f->times, at->stage, f->d->train_ends.load) : 0;
  times.forward_ns += times.load_ns;
  for (int32_t u = group_first(f, chunk, chunk->end - 1); u < chunk->end; u++)
    times.early_ns += part_ns(f, at, u, LIST_RECOMPUTE);
  return times;
}

static void measure_chunks(Forecast *f) {
  const Draft *d = f->d;
  f->chunk = ARENA_ARRAY(f->arena, Chunk, d->chunk_count);
  for (int32_t c = 0; c < d->chunk_count; c++) {
    Chunk *chunk = &f->chunk[c];
    chunk->first = d->chunk_first[c], chunk->end = d->chunk_first[c + 1];
    for (int32_t is_first = 0; is_first <= 1; is_first++)
      chunk->of[is_first] = chunk_times(
          f, chunk, &(StageClock){.stage = draft_stage(d, c), .is_first = is_first != 0});
  }
}

/* Gathers a layer's weights as soon as their memory is free. As in a plan, they are packed into the
 * lowest buffer that no other layer's weights take between the gather and their last reader. */
static void gather(Forecast *f, StageClock *at, int32_t u, bool is_backward) {
  const RegionTimes *around = times_around(&f->times, at->stage, u);
  const int64_t took_ns =
      is_backward ? around->refetch_ns[f->d->chain[u].group_last] : around->fetch_ns;
  int32_t slot = 0;
  if (f->come_ns[u] >= 0 || took_ns == 0) return;
  while (slot + 1 < BUFFERS_MOST && at->is_taken[slot])
    slot++;
  at->is_taken[slot] = true;
  if (!f->is_least) at->dp_ns = later(at->dp_ns, at->read_ns[slot]);
  at->dp_ns += took_ns;
  f->come_ns[u] = at->dp_ns;
  f->slot[u] = slot;
}

static void wait_for_weights(const Forecast *f, StageClock *at, int32_t u) {
  at->main_ns = later(at->main_ns, f->come_ns[u]);
}

/* Frees a layer's gathered weights after a part that has just ended: at the part's last read of
 * them, because its last kernels may not read weights. */
static void release(Forecast *f, StageClock *at, int32_t u, PartList after,
                    ZeroReshardChoice over) {
  if (f->come_ns[u] < 0 || f->d->job->parallel.zero_reshard > (int32_t)over) return;
  const SegmentTimes part = times_layer(&f->times, at->stage, u, after, at->is_first);
  at->read_ns[f->slot[u]] = at->main_ns - (part.ns - part.read_ns);
  at->is_taken[f->slot[u]] = false;
  f->come_ns[u] = -1;
}

enum { WHOLE = 2 }; /* layers whose gradients are whole at once */

/* Where ranks shard gradients, at most WHOLE layers have unsharded ones, so the pass that makes
 * them waits for the memory of earlier layers. */
static void wait_for_memory(const Forecast *f, StageClock *at, int32_t u) {
  const RegionTimes *around = times_around(&f->times, at->stage, u);
  if (!f->times.reduces || f->is_least || around->reduce_ns[0] == 0) return;
  at->main_ns = later(at->main_ns, at->reduced_ns[at->reductions % WHOLE]);
}

static void reduce(const Forecast *f, StageClock *at, int32_t u) {
  const RegionTimes *around = times_around(&f->times, at->stage, u);
  const int64_t took_ns = around->reduce_ns[at->is_first];
  if (took_ns == 0) return;
  int64_t *lane_ns = around->reduces_here ? &at->main_ns : f->is_least ? &at->apart_ns : &at->dp_ns;
  *lane_ns = later(*lane_ns, at->main_ns) + took_ns;
  f->over_ns[u] = *lane_ns;
  at->reduced_ns[at->reductions++ % WHOLE] = *lane_ns;
  if (!at->is_last) wait_for_memory(f, at, u);
}

/* Weights are gathered a layer ahead, or more; each layer waits for its own. */
static void gathered_forward(Forecast *f, StageClock *at, const Chunk *chunk, int64_t input_ns) {
  const int64_t ahead = f->d->job->parallel.zero_prefetch;
  at->main_ns = later(at->main_ns + chunk->of[at->is_first].load_ns, input_ns);
  for (int32_t u = chunk->first; u < chunk->end; u++) {
    for (int32_t next = u; next < chunk->end && next <= u + ahead; next++)
      gather(f, at, next, false);
    wait_for_weights(f, at, u);
    at->main_ns += forward_ns(f, at, u);
    release(f, at, u, LIST_FORWARD, CHOICE_RESHARD_LAYER);
  }
}

static void layered_backward(Forecast *f, StageClock *at, const Chunk *chunk, bool is_reduced,
                             int64_t input_ns) {
  const int64_t ahead = f->d->job->parallel.zero_prefetch;
  for (int32_t end = chunk->end, first; end > chunk->first; end = first) {
    first = group_first(f, chunk, end - 1);
    for (int32_t u = first; u < end; u++) {
      if (f->d->train_parts[f->d->chain[u].region].recompute == NO_ID) continue;
      gather(f, at, u, true);
      wait_for_weights(f, at, u);
      at->main_ns += part_ns(f, at, u, LIST_RECOMPUTE);
    }
    at->main_ns = later(at->main_ns, input_ns);
    for (int32_t u = end - 1; u >= first; u--) {
      for (int32_t next = u; next >= chunk->first && next >= u - ahead; next--)
        gather(f, at, next, true);
      wait_for_weights(f, at, u);
      if (is_reduced) wait_for_memory(f, at, u);
      at->main_ns += backward_ns(f, at, u);
      release(f, at, u, LIST_BACKWARD, CHOICE_RESHARD_CHUNK);
      if (is_reduced) reduce(f, at, u);
    }
  }
}

static void layered_weight(Forecast *f, StageClock *at, const Chunk *chunk) {
  for (int32_t u = chunk->end - 1; u >= chunk->first; u--) {
    wait_for_memory(f, at, u);
    at->main_ns += part_ns(f, at, u, LIST_WEIGHT);
    reduce(f, at, u);
  }
}

/* ---- steps */

/* A step of a stage. */
typedef struct StageTurn {
  PipeAction action;
  int32_t chunk; /* of the model */
  bool is_first, is_last, is_split;
  int64_t input_ns; /* the time at which the input from another stage arrives */
} StageTurn;

static void take_turn(Forecast *f, StageClock *at, const StageTurn *turn) {
  const Chunk *chunk = &f->chunk[turn->chunk];
  const ChunkTimes *times = &chunk->of[turn->is_first];
  const bool is_reduced = turn->is_last || f->times.reduces;
  at->is_first = turn->is_first, at->is_last = turn->is_last;
  switch (turn->action) {
  case PIPE_FORWARD:
    if (f->times.gathers)
      gathered_forward(f, at, chunk, turn->input_ns);
    else
      at->main_ns =
          later(at->main_ns + times->load_ns, turn->input_ns) + times->forward_ns - times->load_ns;
    break;
  case PIPE_BACKWARD:
    if (f->times.gathers || (is_reduced && !turn->is_split))
      layered_backward(f, at, chunk, is_reduced && !turn->is_split, turn->input_ns);
    else
      at->main_ns = later(at->main_ns + times->early_ns, turn->input_ns) + times->backward_ns -
                    times->early_ns;
    break;
  default:
    if (is_reduced)
      layered_weight(f, at, chunk);
    else
      at->main_ns += times->weight_ns;
  }
}

static void run_serial(Forecast *f, int64_t microbatches) {
  for (int64_t m = 0; m < microbatches; m++) {
    StageTurn turn = {.action = PIPE_FORWARD, .is_first = m == 0, .is_last = m == microbatches - 1};
    take_turn(f, &f->clock[0], &turn);
    turn.action = PIPE_BACKWARD;
    take_turn(f, &f->clock[0], &turn);
  }
}

static StageTurn turn_of(const Forecast *f, const Flow *flow, const FlowItem *item,
                         const int64_t *end_ns) {
  return (StageTurn){.action = (PipeAction)item->action,
                     .chunk = draft_chunk(f->d, item->stage, item->chunk),
                     .is_first = item->microbatch == 0,
                     .is_last = item->microbatch == flow->shape.microbatches - 1,
                     .is_split = pipe_rules[flow->shape.kind].is_split,
                     .input_ns = item->input != NO_ID ? end_ns[item->input] : 0};
}

static void run_flow(Forecast *f, const Flow *flow) {
  int64_t *end_ns = ARENA_ARRAY(f->arena, int64_t, flow->count + 1);
  for (int32_t i = 0, next; i < flow->count; i = next) {
    const FlowItem *item = &flow->items[i];
    next = i + 1;
    if (item->action != NO_ID) {
      const StageTurn turn = turn_of(f, flow, item, end_ns);
      take_turn(f, &f->clock[item->stage], &turn);
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
      f->clock[one->stage].pp_ns = met_ns + f->exchange_ns[one->sends][one->receives];
    }
    for (int32_t k = i; k < next; k++)
      end_ns[k] = f->clock[flow->items[k].stage].pp_ns;
  }
}

/* Exchanges of all stages take as long as the slowest. */
static void price_exchanges(Forecast *f) {
  const Draft *d = f->d;
  const double bytes = (double)forecast_value_bytes(d);
  const PlanLink *link = times_link(&f->times, 0, MESH_BIT(MESH_PP));
  for (int32_t sends = 0; sends < TRANSFERS; sends++)
    for (int32_t receives = 0; receives <= TRANSFERS; receives++) {
      Traffic traffic = {.kind = RECORD_EXCHANGE,
                         .members = (double)d->stage_count,
                         .calls = pieces_are_gathered(d) ? sends + receives : 1,
                         .has_library = d->cluster->target != TARGET_CPU};
      for (int32_t i = 0; i < sends + receives; i++)
        traffic_add(&traffic, bytes, i < sends ? ACCESS_READ : ACCESS_WRITE);
      f->exchange_ns[sends][receives] =
          (f->times.free_axes & MESH_BIT(MESH_PP)) != 0 ? 0 : traffic_ns(&traffic, link);
    }
}

/* ---- after the last micro-batch */

/* Layers of a block on a stage, in ascending order; a tied block has one. */
static void add_held(Forecast *f, int32_t stage, int32_t b) {
  const Draft *d = f->d;
  const Block *block = &d->blocks.at[b];
  HeldLayers *held = &f->held[stage];
  for (int32_t k = 0; k < draft_chunks(d); k++) {
    const int32_t c = draft_chunk(d, stage, k);
    for (int32_t u = d->chunk_first[c]; u < d->chunk_first[c + 1]; u++) {
      if (!block->reads[d->chain[u].region]) continue;
      VEC_PUSH(f->arena, held, (HeldLayer){b, u});
      if (block->tied) return;
    }
  }
}

static void list_held(Forecast *f) {
  f->held = ARENA_ARRAY(f->arena, HeldLayers, f->d->stage_count);
  for (int32_t s = 0; s < f->d->stage_count; s++)
    for (int32_t b = 0; b < f->d->blocks.count; b++)
      add_held(f, s, b);
}

/* Calls of norms or updates that one launch runs, and the time that it takes. */
typedef struct Launched {
  int32_t end; /* the first call after it */
  int64_t ns;
} Launched;

static int64_t sum_ns(const Forecast *f, int32_t stage, uint32_t axes, int32_t numbers) {
  axes = mesh_used(&f->d->mesh, axes);
  if (axes == 0 || (axes & f->times.free_axes) != 0) return 0;
  Traffic traffic = {.kind = RECORD_ALL_REDUCE,
                     .members = (double)mesh_count(&f->d->mesh, axes),
                     .calls = 1,
                     .has_library = f->d->cluster->target != TARGET_CPU};
  traffic_add(&traffic, (double)(numbers * dtype_bytes(DTYPE_F64)), ACCESS_UPDATE);
  return traffic_ns(&traffic, times_link(&f->times, stage, axes));
}

/* Squares of gradients become one number on all ranks. */
static int64_t clip_ns(const Forecast *f, int32_t stage) {
  const Draft *d = f->d;
  int64_t ns = sum_ns(f, stage, MESH_BIT(MESH_PP) | draft_zero_axes(&d->derived), NORM_GROUPS);
  int32_t kernels = 1; /* the norm */
  for (int32_t group = 0; group < NORM_GROUPS; group++) {
    bool exists = false;
    for (int32_t b = 0; b < d->blocks.count; b++)
      exists |= d->blocks.at[b].partials[group] > 0;
    if (!exists) continue;
    kernels++;
    ns += sum_ns(f, stage, norm_group_axes(group), 1);
  }
  return ns + kernels * (int64_t)d->cluster->sustained.kernel_ns;
}

/* The time at which all stages know the norm of all gradients. */
static int64_t norm_ns(const Forecast *f) {
  int64_t ns = 0;
  for (int32_t s = 0; s < f->d->stage_count; s++)
    ns = later(ns, f->clock[s].main_ns + clip_ns(f, s));
  return ns;
}

static bool counts_in_norm(const Forecast *f, int32_t stage, const HeldLayer *held) {
  return times_is_on(f->d, stage, f->d->blocks.at[held->block].reader_first);
}

/* The time from which a layer's gradients are complete. */
static int64_t reduced_ns(const Forecast *f, const StageClock *at, const HeldLayer *held) {
  const Block *block = &f->d->blocks.at[held->block];
  const int64_t ns = block->reduce == NO_ID ? 0 : f->over_ns[held->u];
  return block->join[0] == NO_ID ? ns : later(ns, at->joined_ns);
}

/* The launch that begins with the call `first` of the held layers, in ascending (step 1) or
 * descending order (-1), as calls/ cuts them. */
static Launched launch_of(const Forecast *f, int32_t stage, int32_t first, int32_t step,
                          bool is_norm) {
  const HeldLayers *held = &f->held[stage];
  Launched launched = {first, 0};
  int64_t took_ns = 0;
  while (launched.end >= 0 && launched.end < held->count) {
    const HeldLayer *at = &held->at[launched.end];
    const Block *block = &f->d->blocks.at[at->block];
    const int32_t segment = is_norm ? block->norm : block->update;
    launched.end += step;
    if (is_norm && !counts_in_norm(f, stage, at)) continue;
    launched.ns += times_segment(&f->times, stage, segment);
    took_ns += segment == NO_ID ? 0 : f->d->segments.at[segment].compute_ns;
    if (took_ns >= LAUNCH_NS || !tensors_run_batch(f->d)) break;
  }
  return launched;
}

/* Norms are in the order in which reductions end. A launch waits for the gradients of all its
 * calls. */
static void take_norms(Forecast *f, int32_t stage) {
  StageClock *at = &f->clock[stage];
  for (int32_t i = f->held[stage].count - 1; i >= 0;) {
    const Launched launched = launch_of(f, stage, i, -1, true);
    for (; i > launched.end; i--)
      if (counts_in_norm(f, stage, &f->held[stage].at[i]))
        at->main_ns = later(at->main_ns, reduced_ns(f, at, &f->held[stage].at[i]));
    at->main_ns += launched.ns;
  }
}

/* Updates, and gathers of updated parameters, each of which waits for the launch that has made its
 * piece. */
static void take_updates(Forecast *f, int32_t stage) {
  StageClock *at = &f->clock[stage];
  for (int32_t i = 0; i < f->held[stage].count;) {
    const Launched launched = launch_of(f, stage, i, 1, false);
    at->main_ns += launched.ns;
    for (; i < launched.end; i++) {
      const Block *block = &f->d->blocks.at[f->held[stage].at[i].block];
      const int64_t gather_ns = times_segment(&f->times, stage, block->gather);
      if (gather_ns > 0) at->dp_ns = later(at->dp_ns, at->main_ns) + gather_ns;
    }
  }
  at->main_ns = later(at->main_ns, later(at->dp_ns, at->pp_ns));
}

/* The two stages that hold a tied parameter sum its gradients. */
static void join_tied(Forecast *f) {
  const Draft *d = f->d;
  StageClock *first = &f->clock[0], *last = &f->clock[d->stage_count - 1];
  for (int32_t b = 0; b < d->blocks.count; b++) {
    if (d->blocks.at[b].join[0] == NO_ID || d->stage_count == 1) continue;
    int64_t ns = later(later(first->main_ns, first->dp_ns), later(last->main_ns, last->dp_ns));
    ns = later(ns, later(first->pp_ns, last->pp_ns)) +
         times_segment(&f->times, 0, d->blocks.at[b].join[0]);
    first->pp_ns = last->pp_ns = first->joined_ns = last->joined_ns = ns;
  }
}

static int64_t end_step(Forecast *f) {
  const Draft *d = f->d;
  int64_t end_ns = 0;
  for (int32_t s = 0; s < d->stage_count; s++)
    f->clock[s].dp_ns = later(f->clock[s].dp_ns, f->clock[s].apart_ns);
  join_tied(f);
  for (int32_t s = 0; s < d->stage_count; s++)
    take_norms(f, s);
  const int64_t known_ns = norm_ns(f) + times_segment(&f->times, 0, d->train_ends.control);
  for (int32_t s = 0; s < d->stage_count; s++) {
    f->clock[s].main_ns = known_ns;
    take_updates(f, s);
    end_ns = later(end_ns, f->clock[s].main_ns);
  }
  return end_ns;
}

static int64_t run(Forecast *f, const Flow *flow, int64_t microbatches) {
  const Draft *d = f->d;
  for (int32_t s = 0; s < d->stage_count; s++)
    f->clock[s] =
        (StageClock){.stage = s, .main_ns = times_segment(&f->times, s, d->train_ends.targets)};
  for (int32_t u = 0; u < d->chain_length; u++)
    f->come_ns[u] = -1;
  if (flow == NULL)
    run_serial(f, microbatches);
  else
    run_flow(f, flow);
  return end_step(f);
}

static const Flow *flow_with(const Draft *d, Flows *flows, int64_t microbatches) {
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

/* The work of the busiest stage for a micro-batch. */
static int64_t busiest_ns(const Forecast *f, bool is_first) {
  const Draft *d = f->d;
  int64_t most_ns = 0;
  for (int32_t s = 0; s < d->stage_count; s++) {
    int64_t ns = 0;
    for (int32_t k = 0; k < draft_chunks(d); k++) {
      const ChunkTimes *times = &f->chunk[draft_chunk(d, s, k)].of[is_first];
      ns += times->forward_ns + times->backward_ns + times->weight_ns;
    }
    most_ns = later(most_ns, ns);
  }
  return most_ns;
}

/* Runs more and more micro-batches until the pipeline is in its steady state: each round takes as
 * long as the previous one, and the busiest stage is never idle. */
static int64_t run_all(Forecast *f, Flows *flows, int64_t few) {
  static const double ROUNDING = 1e-3;
  const int64_t m = f->d->derived.accumulation;
  const double least = (double)busiest_ns(f, false) * (1 - ROUNDING);
  int64_t now_ns = run(f, flow_with(f->d, flows, few), few), count = few;
  double slope = -1;
  for (int64_t more = f->d->stage_count; count < m; more *= 2) {
    const int64_t next = count + more < m ? count + more : m, before_ns = now_ns;
    const double before = slope;
    now_ns = run(f, flow_with(f->d, flows, next), next);
    slope = (double)(now_ns - before_ns) / (double)(next - count);
    count = next;
    const bool is_steady = f->d->stage_count == 1 || fabs(slope - before) <= ROUNDING * slope;
    if (is_steady && slope >= least) break;
  }
  return now_ns + (int64_t)(slope * (double)(m - count));
}

bool forecast_is_known(const Draft *d) {
  return !draft_offloads(d) && !d->offloads_weights && d->cluster->software.overlaps && d->trains;
}

static int64_t with_slack(const Draft *d, int64_t ns) {
  return (int64_t)((double)ns * d->cluster->software.slack + 0.5);
}

/* `busy_ns`: of the busiest stage; `least_ns`: what no plan's step is below; NULL: not asked. */
static int64_t forecast_without(Flows *flows, const Draft *d, const Placement *at,
                                uint32_t free_axes, int64_t *busy_ns, int64_t *least_ns) {
  Forecast f = {.d = d, .arena = arena_new()};
  f.times = times_measure(f.arena, d, at, free_axes);
  measure_chunks(&f);
  f.clock = ARENA_ARRAY(f.arena, StageClock, d->stage_count);
  f.come_ns = ARENA_ARRAY(f.arena, int64_t, d->chain_length);
  f.slot = ARENA_ARRAY(f.arena, int32_t, d->chain_length);
  f.over_ns = ARENA_ARRAY(f.arena, int64_t, d->chain_length);
  list_held(&f);
  price_exchanges(&f);
  const int64_t ns = run_all(&f, flows, few_microbatches(d));
  f.is_least = f.times.gathers || f.times.reduces;
  if (busy_ns != NULL)
    *busy_ns =
        with_slack(d, busiest_ns(&f, true) + busiest_ns(&f, false) * (d->derived.accumulation - 1));
  if (least_ns != NULL)
    *least_ns = with_slack(d, f.is_least ? run_all(&f, flows, few_microbatches(d)) : ns);
  arena_free(f.arena);
  return with_slack(d, ns);
}

static const Placement *placed(Flows *flows, const Draft *d) {
  return forecast_place(d, flow_with(d, flows, few_microbatches(d)));
}

int64_t forecast_ns(Flows *flows, const Draft *d, int64_t *least_ns) {
  return forecast_without(flows, d, placed(flows, d), 0, NULL, least_ns);
}

void forecast_parts(Flows *flows, const Draft *d, int64_t part_ns[ESTIMATE_PARTS]) {
  static const struct {
    EstimatePart part;
    uint32_t axes;
  } causes[] = {{PART_OF_TP, MESH_BIT(MESH_TP) | MESH_BIT(MESH_TP_GROUP)},
                {PART_OF_CP, MESH_BIT(MESH_CP)},
                {PART_OF_DP, MESH_BIT(MESH_DP) | MESH_BIT(MESH_REPLICATE)},
                {PART_OF_PP, MESH_BIT(MESH_PP)}};
  const Placement *at = placed(flows, d);
  uint32_t free_axes = 0;
  int64_t busy_ns, ns = forecast_without(flows, d, at, free_axes, &busy_ns, NULL);
  for (size_t i = 0; i < sizeof causes / sizeof *causes; i++) {
    const int64_t before_ns = ns;
    free_axes |= causes[i].axes;
    ns = forecast_without(flows, d, at, free_axes, &busy_ns, NULL);
    part_ns[causes[i].part] = before_ns - ns;
  }
  part_ns[PART_OF_COMPUTE] = busy_ns < ns && d->stage_count > 1 ? busy_ns : ns;
  part_ns[PART_OF_BUBBLE] = ns - part_ns[PART_OF_COMPUTE];
}

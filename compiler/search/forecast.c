#include "compiler/search/forecast.h"

#include <math.h>

#include "compiler/plan/simulate/price.h"
#include "compiler/search/forecast_times.h"

enum { BUFFERS_MOST = 64, TRANSFERS = 3 };

typedef struct Chunk {
  int64_t forward_ns, backward_ns, weight_ns;
  int64_t load_ns, early_ns; /* of them, what waits for no other stage: recomputation of a group */
  int32_t first, end;        /* layers */
} Chunk;

/* The clocks of a stage's lanes, and when buffers become free that the next layers need. */
typedef struct StageClock {
  int64_t main_ns, dp_ns, pp_ns;
  int64_t apart_ns;                 /* of reductions, where gathers do not wait for them */
  int64_t read_ns[BUFFERS_MOST];    /* ends of the layers that read gathered weights last */
  int64_t reduced_ns[BUFFERS_MOST]; /* ends of reductions */
  int32_t stage, reads, reductions;
} StageClock;

typedef struct Forecast {
  const Draft *d;
  Arena *arena;
  ForecastTimes times;
  Chunk *chunk;      /* of the model */
  StageClock *clock; /* by stage */
  int64_t *come_ns;  /* by layer: when its weights are there; -1: they are not */
  int32_t *number;   /* by layer: of the gather that brought them, among the stage's */
  int64_t exchange_ns[TRANSFERS][TRANSFERS + 1]; /* by values sent and received */
  bool is_least; /* no layer waits for the memory of another, no gather for reductions */
} Forecast;

static int64_t later(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* ---- layers */

static int64_t forward_ns(const Forecast *f, int32_t stage, int32_t u) {
  return times_layer(&f->times, stage, u, LIST_FORWARD).ns +
         times_around(&f->times, stage, u)->cast_ns;
}

/* The time of a layer's backward, without its recomputation. */
static int64_t backward_ns(const Forecast *f, int32_t stage, int32_t u) {
  const bool is_kept = f->d->job->parallel.zero_reshard >= CHOICE_RESHARD_CHUNK;
  return times_layer(&f->times, stage, u, LIST_BACKWARD).ns +
         (is_kept ? 0 : times_around(&f->times, stage, u)->recast_ns);
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
  f->chunk = ARENA_ARRAY(f->arena, Chunk, d->chunk_count);
  for (int32_t c = 0; c < d->chunk_count; c++) {
    Chunk *chunk = &f->chunk[c];
    const int32_t stage = draft_stage(d, c);
    bool loads = false;
    chunk->first = d->chunk_first[c], chunk->end = d->chunk_first[c + 1];
    for (int32_t u = chunk->first; u < chunk->end; u++) {
      chunk->forward_ns += forward_ns(f, stage, u);
      chunk->backward_ns +=
          times_layer(&f->times, stage, u, LIST_RECOMPUTE).ns + backward_ns(f, stage, u);
      chunk->weight_ns += times_layer(&f->times, stage, u, LIST_WEIGHT).ns;
      loads |= times_around(&f->times, stage, u)->loads;
    }
    chunk->load_ns = loads ? times_segment(&f->times, stage, d->train_ends.load) : 0;
    chunk->forward_ns += chunk->load_ns;
    for (int32_t u = group_first(f, chunk, chunk->end - 1); u < chunk->end; u++)
      chunk->early_ns += times_layer(&f->times, stage, u, LIST_RECOMPUTE).ns;
  }
}

/* The number of layers whose gathered weights are in memory at once: the layer that runs (in
 * backward its whole recompute group), and the layers whose weights are prefetched. */
static int32_t buffers_of(const Forecast *f, bool is_backward) {
  const int64_t group = is_backward && f->d->group_layers > 1 ? f->d->group_layers : 1;
  const int64_t most = f->d->job->parallel.zero_prefetch + group;
  return most < BUFFERS_MOST ? (int32_t)most : BUFFERS_MOST;
}

/* Gathers a layer's weights as soon as a buffer is free. */
static void gather(Forecast *f, StageClock *at, int32_t u, bool is_backward) {
  const RegionTimes *around = times_around(&f->times, at->stage, u);
  const int64_t took_ns = is_backward ? around->refetch_ns : around->fetch_ns;
  const int32_t before = at->reads - buffers_of(f, is_backward);
  if (f->come_ns[u] >= 0 || took_ns == 0) return;
  if (before >= 0 && !f->is_least) at->dp_ns = later(at->dp_ns, at->read_ns[before % BUFFERS_MOST]);
  at->dp_ns += took_ns;
  f->come_ns[u] = at->dp_ns;
  f->number[u] = at->reads++;
}

static void wait_for_weights(const Forecast *f, StageClock *at, int32_t u) {
  at->main_ns = later(at->main_ns, f->come_ns[u]);
}

/* Frees a layer's gathered weights after a part that has just ended: at the part's last read of
 * them, because its last kernels may not read weights. */
static void release(Forecast *f, StageClock *at, int32_t u, PartList after,
                    ZeroReshardChoice over) {
  if (f->come_ns[u] < 0 || f->d->job->parallel.zero_reshard > (int32_t)over) return;
  const SegmentTimes part = times_layer(&f->times, at->stage, u, after);
  at->read_ns[f->number[u] % BUFFERS_MOST] = at->main_ns - (part.ns - part.read_ns);
  f->come_ns[u] = -1;
}

/* Reduces a layer's gradients. Where ranks shard gradients, at most WHOLE layers have unsharded
 * ones, so backward waits for the memory of earlier layers. */
static void reduce(const Forecast *f, StageClock *at, int64_t took_ns) {
  enum { WHOLE = 2 }; /* layers whose gradients are whole at once */
  if (took_ns == 0) return;
  if (f->is_least) {
    at->apart_ns = later(at->apart_ns, at->main_ns) + took_ns;
    return;
  }
  at->dp_ns = later(at->dp_ns, at->main_ns) + took_ns;
  if (!f->times.reduces) return;
  at->reduced_ns[at->reductions++ % WHOLE] = at->dp_ns;
  at->main_ns = later(at->main_ns, at->reduced_ns[at->reductions % WHOLE]);
}

/* Weights are gathered a layer ahead, or more; each layer waits for its own. */
static void gathered_forward(Forecast *f, StageClock *at, const Chunk *chunk, int64_t input_ns) {
  const int64_t ahead = f->d->job->parallel.zero_prefetch;
  at->main_ns = later(at->main_ns + chunk->load_ns, input_ns);
  for (int32_t u = chunk->first; u < chunk->end; u++) {
    for (int32_t next = u; next < chunk->end && next <= u + ahead; next++)
      gather(f, at, next, false);
    wait_for_weights(f, at, u);
    at->main_ns += forward_ns(f, at->stage, u);
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
      at->main_ns += times_layer(&f->times, at->stage, u, LIST_RECOMPUTE).ns;
    }
    at->main_ns = later(at->main_ns, input_ns);
    for (int32_t u = end - 1; u >= first; u--) {
      for (int32_t next = u; next >= chunk->first && next >= u - ahead; next--)
        gather(f, at, next, true);
      wait_for_weights(f, at, u);
      at->main_ns += backward_ns(f, at->stage, u);
      release(f, at, u, LIST_BACKWARD, CHOICE_RESHARD_CHUNK);
      if (is_reduced) reduce(f, at, times_around(&f->times, at->stage, u)->reduce_ns);
    }
  }
}

static void layered_weight(Forecast *f, StageClock *at, const Chunk *chunk) {
  for (int32_t u = chunk->end - 1; u >= chunk->first; u--) {
    at->main_ns += times_layer(&f->times, at->stage, u, LIST_WEIGHT).ns;
    reduce(f, at, times_around(&f->times, at->stage, u)->reduce_ns);
  }
}

/* ---- steps */

/* input_ns: the time at which the input from another stage arrives. */
static void take_step(Forecast *f, StageClock *at, PipeAction action, const Chunk *chunk,
                      bool is_last, bool is_split, int64_t input_ns) {
  const bool is_reduced = is_last || f->times.reduces;
  switch (action) {
  case PIPE_FORWARD:
    if (f->times.gathers)
      gathered_forward(f, at, chunk, input_ns);
    else
      at->main_ns =
          later(at->main_ns + chunk->load_ns, input_ns) + chunk->forward_ns - chunk->load_ns;
    break;
  case PIPE_BACKWARD:
    if (f->times.gathers || (is_reduced && !is_split))
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

static int64_t held_by(const Draft *d, int32_t stage, const Block *block) {
  int64_t held = 0;
  for (int32_t k = 0; k < draft_chunks(d); k++) {
    const int32_t c = draft_chunk(d, stage, k);
    for (int32_t u = d->chunk_first[c]; u < d->chunk_first[c + 1]; u++)
      held += block->reads[d->chain[u].region];
  }
  return block->tied && held > 1 ? 1 : held;
}

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
  enum { SMALL_KERNELS = 2 }; /* zeroes, and the norm */
  const Draft *d = f->d;
  int64_t ns = sum_ns(f, stage, MESH_BIT(MESH_PP) | draft_zero_axes(&d->derived), NORM_GROUPS);
  int32_t kernels = SMALL_KERNELS;
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

static void take_norms(Forecast *f, int32_t stage) {
  StageClock *at = &f->clock[stage];
  int64_t all_ns = 0, last_ns = 0;
  for (int32_t b = f->d->blocks.count - 1; b >= 0; b--) {
    const Block *block = &f->d->blocks.at[b];
    const int64_t held = held_by(f->d, stage, block);
    if (held == 0) continue;
    last_ns = times_segment(&f->times, stage, block->norm);
    all_ns += held * last_ns;
  }
  at->main_ns = later(at->main_ns + all_ns, at->dp_ns + last_ns);
}

/* Updates, and gathers of updated parameters, which overlap with them. */
static void take_updates(Forecast *f, int32_t stage) {
  StageClock *at = &f->clock[stage];
  int64_t updated_ns = at->main_ns;
  for (int32_t b = 0; b < f->d->blocks.count; b++)
    updated_ns += held_by(f->d, stage, &f->d->blocks.at[b]) *
                  times_segment(&f->times, stage, f->d->blocks.at[b].update);
  for (int32_t b = 0; b < f->d->blocks.count; b++) {
    const Block *block = &f->d->blocks.at[b];
    const int64_t update_ns = times_segment(&f->times, stage, block->update),
                  gather_ns = times_segment(&f->times, stage, block->gather);
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
    ns = later(ns, later(first->pp_ns, last->pp_ns)) +
         times_segment(&f->times, 0, d->blocks.at[b].join[0]);
    first->pp_ns = last->pp_ns = first->dp_ns = last->dp_ns = ns;
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
    f->clock[s] = (StageClock){.stage = s};
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

/* The work of the busiest stage for one micro-batch. */
static int64_t busiest_ns(const Forecast *f) {
  const Draft *d = f->d;
  int64_t most_ns = 0;
  for (int32_t s = 0; s < d->stage_count; s++) {
    int64_t ns = 0;
    for (int32_t k = 0; k < draft_chunks(d); k++) {
      const Chunk *chunk = &f->chunk[draft_chunk(d, s, k)];
      ns += chunk->forward_ns + chunk->backward_ns + chunk->weight_ns;
    }
    most_ns = later(most_ns, ns);
  }
  return most_ns;
}

/* Runs more and more micro-batches until the pipeline is in its steady state: each round takes as
 * long as the one before, and the busiest stage is never idle. */
static int64_t run_all(Forecast *f, Flows *flows, int64_t few) {
  static const double ROUNDING = 1e-3;
  const int64_t m = f->d->derived.accumulation;
  const double least = (double)busiest_ns(f) * (1 - ROUNDING);
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
  f.number = ARENA_ARRAY(f.arena, int32_t, d->chain_length);
  price_exchanges(&f);
  const int64_t ns = run_all(&f, flows, few_microbatches(d));
  f.is_least = f.times.gathers || f.times.reduces;
  if (busy_ns != NULL) *busy_ns = with_slack(d, busiest_ns(&f) * d->derived.accumulation);
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

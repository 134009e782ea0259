/* forecast_place.c -- what ranks ask of their communicators in a step, counted from the parts. */
#include "compiler/draft/cost/demand.h"
#include "compiler/draft/cost/link.h"
#include "compiler/draft/emit/emit.h"
#include "compiler/search/forecast.h"

typedef struct Demanded {
  const Draft *d;
  VEC(Demand) all;
  int32_t first, stage; /* demands of the stage begin here */
} Demanded;

static void add_traffic(Demanded *t, uint32_t axes, const Traffic *traffic, int64_t times) {
  axes = mesh_used(&t->d->mesh, axes);
  if (axes == 0 || times == 0) return;
  int32_t at = t->first;
  while (at < t->all.count && t->all.at[at].axes != axes)
    at++;
  if (at == t->all.count)
    VEC_PUSH(t->d->compile->arena, &t->all, (Demand){.axes = axes, .stage = t->stage});
  demand_add(&t->all.at[at], traffic, times);
}

static void add_segment(Demanded *t, int32_t number, int64_t times) {
  if (number == NO_ID) return;
  const Segment *segment = &t->d->segments.at[number];
  for (int32_t i = 0; i < segment->records.count; i++) {
    const Record *record = &segment->records.at[i];
    if (record->meaning == NULL || !record_runs(record, 0)) continue;
    const Traffic traffic = link_traffic(t->d, record);
    add_traffic(t, record->axes, &traffic, times);
  }
}

static void add_block(Demanded *t, const Block *block, int64_t layers, int64_t microbatches) {
  const bool is_kept = t->d->job->parallel.zero_reshard >= CHOICE_RESHARD_CHUNK;
  add_segment(t, block->reduce, layers * (block->shards_grads ? microbatches : 1));
  add_segment(t, block->gather, layers);
  add_segment(t, block->fetch, layers * microbatches);
  if (!is_kept) add_segment(t, block->refetch, layers * microbatches);
}

/* Layers of a stage by region: all of them ask the same. */
static void add_layers(Demanded *t, int64_t microbatches) {
  const Draft *d = t->d;
  for (RegionId r = 0; r < d->train->regions.count; r++) {
    const RegionSegments *parts = &d->train_parts[r];
    int64_t layers = 0;
    for (int32_t k = 0; k < draft_chunks(d); k++) {
      const int32_t c = draft_chunk(d, t->stage, k);
      for (int32_t u = d->chunk_first[c]; u < d->chunk_first[c + 1]; u++)
        layers += d->chain[u].region == r;
    }
    const int32_t segments[] = {parts->forward, parts->recompute, parts->backward, parts->weight};
    for (size_t i = 0; layers > 0 && i < sizeof segments / sizeof *segments; i++)
      add_segment(t, segments[i], layers * microbatches);
    for (int32_t b = 0; layers > 0 && b < d->blocks.count; b++)
      if (d->blocks.at[b].reads[r]) add_block(t, &d->blocks.at[b], layers, microbatches);
  }
}

int64_t forecast_value_bytes(const Draft *d) {
  return d->train_parts[d->chain[d->chunk_first[1] - 1].region].output_bytes;
}

/* Numbers of exchanges of a stage, by the values that they send and receive. */
typedef int64_t Exchanged[FLOW_PEERS + 1][FLOW_PEERS + 1];

static Exchanged *count_exchanges(Arena *arena, const Flow *flow) {
  Exchanged *count = arena_alloc(arena, sizeof *count * (size_t)flow->shape.stages);
  for (int32_t i = 0; i < flow->count; i++) {
    const FlowItem *item = &flow->items[i];
    if (item->action == NO_ID) count[item->stage][item->sends][item->receives]++;
  }
  return count;
}

/* Adds the exchanges of a flow with few micro-batches, scaled up to all micro-batches. */
static void add_exchanges(Demanded *t, const Flow *flow, Exchanged count, int64_t microbatches) {
  const double bytes = (double)forecast_value_bytes(t->d);
  const double more = (double)microbatches / (double)flow->shape.microbatches;
  for (int32_t sends = 0; sends <= FLOW_PEERS; sends++)
    for (int32_t receives = 0; receives <= FLOW_PEERS; receives++) {
      Traffic traffic = {.kind = RECORD_EXCHANGE, .members = flow->shape.stages, .calls = 1};
      for (int32_t k = 0; k < sends + receives; k++)
        traffic_add(&traffic, bytes * more, k < sends ? ACCESS_READ : ACCESS_WRITE);
      add_traffic(t, MESH_BIT(MESH_PP), &traffic, count[sends][receives]);
    }
}

const Placement *forecast_place(const Draft *d, const Flow *flow) {
  Demanded t = {.d = d};
  Exchanged *count = flow == NULL ? NULL : count_exchanges(d->compile->arena, flow);
  for (; t.stage < d->stage_count; t.stage++) {
    t.first = t.all.count;
    add_layers(&t, d->derived.accumulation);
    if (flow != NULL) add_exchanges(&t, flow, count[t.stage], d->derived.accumulation);
  }
  const Demands demands = {t.all.at, t.all.count, d->stage_count};
  return draft_choose_places(d, &demands).taken;
}

#include "compiler/search/forecast_times.h"

#include <string.h>

#include "compiler/draft/cost/cost.h"
#include "compiler/draft/cost/link.h"
#include "compiler/draft/roles.h"
#include "compiler/machine/place/alike.h"
#include "compiler/plan/simulate/price.h"

static int64_t later(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* ---- links */

/* The sets of axes along which ranks communicate. */
typedef struct AxesUsed {
  uint32_t at[MESH_BIT(MESH_AXES)];
  int32_t count;
} AxesUsed;

static void add_axes(const Draft *d, AxesUsed *used, uint32_t axes) {
  axes = mesh_used(&d->mesh, axes);
  for (int32_t i = 0; i < used->count; i++)
    if (used->at[i] == axes) return;
  if (axes != 0) used->at[used->count++] = axes;
}

static AxesUsed axes_used(const Draft *d) {
  AxesUsed used = {0};
  for (int32_t i = 0; i < d->segments.count; i++)
    for (int32_t k = 0; k < d->segments.at[i].records.count; k++) {
      const Record *record = &d->segments.at[i].records.at[k];
      if (record->meaning != NULL) add_axes(d, &used, record->axes);
    }
  for (int32_t group = 0; group < NORM_GROUPS; group++)
    add_axes(d, &used, norm_group_axes(group));
  add_axes(d, &used, MESH_BIT(MESH_PP) | draft_zero_axes(&d->derived));
  add_axes(d, &used, MESH_BIT(MESH_PP));
  return used;
}

static bool is_same_look(const StageLinks *a, const StageLinks *b, const AxesUsed *used) {
  for (int32_t i = 0; i < used->count; i++)
    if (!price_same_link(&a->link[used->at[i]], &b->link[used->at[i]])) return false;
  return true;
}

static StageLinks *look_new(const ForecastTimes *t, const StageLinks *links) {
  StageLinks *look = ARENA_NEW(t->arena, StageLinks);
  *look = *links;
  look->segment_ns = ARENA_ARRAY(t->arena, int64_t, t->d->segments.count + 1);
  for (int32_t i = 0; i < t->d->segments.count; i++)
    look->segment_ns[i] = -1;
  return look;
}

/* Most stages are placed like the previous one. */
static void look_at_stages(ForecastTimes *t, const Placement *at) {
  const Draft *d = t->d;
  const AxesUsed used = axes_used(d);
  int32_t alike[MESH_BIT(MESH_AXES)] = {0};
  StageLinks own = {0};
  t->look = ARENA_ARRAY(t->arena, StageLinks *, d->stage_count);
  for (int32_t s = 0; s < d->stage_count; s++) {
    for (int32_t i = 0; i < used.count; i++) {
      const int32_t like = place_alike_stage(d->fabric, at, used.at[i], s);
      if (s > 0 && like == alike[i]) continue;
      const Reach reach = place_reach(d->fabric, at, used.at[i], like);
      own.link[used.at[i]] = link_of(&reach, d->cluster);
      alike[i] = like;
    }
    for (int32_t before = s - 1; before >= 0 && t->look[s] == NULL; before--)
      if (is_same_look(t->look[before], &own, &used)) t->look[s] = t->look[before];
    if (t->look[s] == NULL) t->look[s] = look_new(t, &own);
  }
}

const PlanLink *times_link(const ForecastTimes *t, int32_t stage, uint32_t axes) {
  return &t->look[stage]->link[mesh_used(&t->d->mesh, axes)];
}

/* ---- segments */

static int64_t record_ns(const ForecastTimes *t, int32_t stage, const Record *record) {
  if (record->meaning == NULL) return cost_kernel_ns(t->d, record);
  if ((record->axes & t->free_axes) != 0) return 0;
  const Traffic traffic = link_traffic(t->d, record);
  return traffic_ns(&traffic, times_link(t, stage, record->axes));
}

static bool reads_gathered(const Draft *d, const Segment *segment, const Record *record) {
  for (int32_t i = 0; i < record->operand_count; i++) {
    const SegmentBase *base = &segment->bases.at[record->operands[i].base];
    if (base->role == BASE_PARAM && d->blocks.at[base->number].shards_params) return true;
  }
  return false;
}

/* Until its last record on the main lane ends, if all lanes are free before; of segments on another
 * lane, until all end. */
static SegmentTimes segment_times(const ForecastTimes *t, int32_t stage, int32_t number,
                                  uint32_t flags) {
  const Segment *segment = &t->d->segments.at[number];
  int64_t free_ns[Lane_COUNT] = {0}, end_ns = 0, read_ns = 0;
  int64_t *over_ns = ARENA_ARRAY(t->arena, int64_t, segment->records.count + 1);
  bool has_main = false;
  for (int32_t i = 0; i < segment->records.count; i++) {
    const Record *record = &segment->records.at[i];
    if (!record_runs(record, flags)) continue;
    int64_t *lane = &free_ns[record->lane];
    for (int32_t k = 0; k < record->after.count; k++)
      *lane = later(*lane, over_ns[record->after.at[k]]);
    over_ns[i] = *lane += record_ns(t, stage, record);
    has_main |= record->lane == LANE_COMPUTE;
    if (reads_gathered(t->d, segment, record)) read_ns = later(read_ns, over_ns[i]);
  }
  for (int32_t lane = 0; lane < Lane_COUNT; lane++)
    end_ns = later(end_ns, free_ns[lane]);
  return (SegmentTimes){has_main ? free_ns[LANE_COMPUTE] : end_ns, read_ns};
}

int64_t times_segment(const ForecastTimes *t, int32_t stage, int32_t number) {
  if (number == NO_ID) return 0;
  int64_t *ns = &t->look[stage]->segment_ns[number];
  if (*ns < 0) *ns = segment_times(t, stage, number, 0).ns;
  return *ns;
}

/* ---- layers */

static int32_t segment_of(const RegionSegments *parts, PartList list) {
  const int32_t segments[LISTS] = {parts->forward, parts->recompute, parts->backward,
                                   parts->weight};
  return segments[list];
}

/* No record depends on CALL_LAST_MICROBATCH. */
static uint32_t flags_of(const LayerUse *use, bool is_first) {
  return (is_first ? CALL_FIRST_MICROBATCH : 0) | (use->first ? CALL_FIRST_LAYER : 0) |
         (use->last ? CALL_LAST_LAYER : 0) | (use->group_last ? CALL_GROUP_LAST : 0);
}

SegmentTimes times_layer(const ForecastTimes *t, int32_t stage, int32_t u, PartList list,
                         bool is_first) {
  const LayerUse *use = &t->d->chain[u];
  const int32_t segment = segment_of(&t->d->train_parts[use->region], list);
  const uint32_t flags = flags_of(use, is_first);
  if (segment == NO_ID) return (SegmentTimes){0};
  SegmentTimes *at = &t->look[stage]->region[use->region].at[list][flags];
  if (at->ns < 0) *at = segment_times(t, stage, segment, flags);
  return *at;
}

const RegionTimes *times_around(const ForecastTimes *t, int32_t stage, int32_t u) {
  return &t->look[stage]->region[t->d->chain[u].region];
}

static bool is_on_main(const Draft *d, int32_t segment) {
  const Segment *at = &d->segments.at[segment];
  return at->records.count > 0 && at->records.at[at->records.count - 1].lane == LANE_COMPUTE;
}

static bool has_data(const Draft *d, const RegionSegments *parts) {
  for (PartList list = 0; list < LISTS; list++) {
    const int32_t segment = segment_of(parts, list);
    for (int32_t k = 0; segment != NO_ID && k < d->segments.at[segment].bases.count; k++)
      if (d->segments.at[segment].bases.at[k].role == BASE_DATA) return true;
  }
  return false;
}

static int64_t block_ns(const ForecastTimes *t, int32_t stage, int32_t segment, uint32_t flags) {
  return segment == NO_ID ? 0 : segment_times(t, stage, segment, flags).ns;
}

static bool reads_block(const Draft *d, int32_t segment, int32_t b) {
  const Segment *at = segment == NO_ID ? NULL : &d->segments.at[segment];
  for (int32_t i = 0; at != NULL && i < at->bases.count; i++)
    if (at->bases.at[i].role == BASE_PARAM && at->bases.at[i].number == b) return true;
  return false;
}

/* Fetches of a block, on the lane of its readers or beside. */
static void add_fetches(const ForecastTimes *t, int32_t stage, const RegionSegments *parts,
                        int32_t b, RegionTimes *at) {
  const Draft *d = t->d;
  const Block *block = &d->blocks.at[b];
  if (!block->shards_params && !params_are_cast(d)) return;
  if (block->fetch != NO_ID && reads_block(d, parts->forward, b))
    *(is_on_main(d, block->fetch) ? &at->cast_ns : &at->fetch_ns) +=
        block_ns(t, stage, block->fetch, 0);
  if (block->refetch == NO_ID ||
      !(reads_block(d, parts->recompute, b) || reads_block(d, parts->backward, b)))
    return;
  int64_t *refetch_ns = is_on_main(d, block->refetch) ? at->recast_ns : at->refetch_ns;
  for (int32_t last = 0; last <= 1; last++)
    refetch_ns[last] += block_ns(t, stage, block->refetch, last != 0 ? CALL_GROUP_LAST : 0);
}

/* Reductions, and zeroes before backward. Where two stages hold a tied block, both do it. */
static void add_gradients(const ForecastTimes *t, int32_t stage, RegionId r, const Block *block,
                          RegionTimes *at) {
  const bool is_apart = !block->tied || block->clear != NO_ID;
  const bool is_last = !block->tied || r == block->reader_last;
  for (int32_t is_first = 0; is_first <= 1; is_first++) {
    const uint32_t flags = is_first != 0 ? CALL_FIRST_MICROBATCH : 0;
    if (block->reduce != NO_ID && (is_apart || r == block->reader_first)) {
      at->reduce_ns[is_first] += block_ns(t, stage, block->reduce, flags);
      at->reduces_here = is_on_main(t->d, block->reduce);
    }
    at->clear_ns[is_first] += block_ns(t, stage, is_last ? block->pad : block->clear, flags);
  }
}

static void measure_region(ForecastTimes *t, int32_t stage, RegionId r) {
  const Draft *d = t->d;
  const RegionSegments *parts = &d->train_parts[r];
  RegionTimes *at = &t->look[stage]->region[r];
  memset(at->at, -1, sizeof at->at);
  at->loads = has_data(d, parts);
  for (int32_t b = 0; b < d->blocks.count; b++) {
    const Block *block = &d->blocks.at[b];
    if (!block->reads[r]) continue;
    add_fetches(t, stage, parts, b, at);
    add_gradients(t, stage, r, block, at);
    t->reduces |= block->shards_grads && block->reduce != NO_ID;
  }
  t->gathers |= at->fetch_ns + at->refetch_ns[0] > 0;
}

bool times_is_on(const Draft *d, int32_t stage, RegionId region) {
  for (int32_t k = 0; k < draft_chunks(d); k++) {
    const int32_t c = draft_chunk(d, stage, k);
    for (int32_t u = d->chunk_first[c]; u < d->chunk_first[c + 1]; u++)
      if (d->chain[u].region == region) return true;
  }
  return false;
}

ForecastTimes times_measure(Arena *arena, const Draft *d, const Placement *at, uint32_t free_axes) {
  ForecastTimes t = {.d = d, .arena = arena, .free_axes = free_axes};
  look_at_stages(&t, at);
  for (int32_t s = 0; s < d->stage_count; s++) {
    if (t.look[s]->region != NULL) continue;
    t.look[s]->region = ARENA_ARRAY(arena, RegionTimes, d->train->regions.count);
    for (RegionId r = 0; r < d->train->regions.count; r++)
      measure_region(&t, s, r);
  }
  return t;
}

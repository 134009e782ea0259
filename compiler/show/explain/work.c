#include "compiler/show/explain/work.h"

#include "compiler/draft/stages/balance.h"
#include "compiler/show/explain/words.h"
#include "runtime/plan/plan_loops.h"

/* Segments of the plan are those of the draft, in order. */
static RegionId *regions_of_segments(const Draft *d) {
  RegionId *region = ARENA_ARRAY(d->compile->arena, RegionId, d->segments.count + 1);
  for (int32_t i = 0; i < d->segments.count; i++)
    region[i] = NO_ID;
  for (RegionId r = 0; r < d->train->regions.count; r++) {
    const RegionSegments *parts = &d->train_parts[r];
    const int32_t segments[] = {parts->forward, parts->recompute, parts->backward, parts->weight};
    for (size_t i = 0; i < sizeof segments / sizeof *segments; i++)
      if (segments[i] != NO_ID) region[segments[i]] = r;
  }
  return region;
}

static double call_work(const Plan *plan, const PlanCall *call, bool is_time) {
  const PlanSegment *segment = &plan->segments[call->segment];
  double work = 0;
  for (uint32_t i = 0; i < segment->records_count; i++) {
    const PlanRecord *record = &plan->records[segment->records_first + i];
    if (record->kind == RECORD_KERNEL && plan_runs(call, record))
      work += (double)(is_time ? record->predicted_ns : record->flops);
  }
  return work;
}

static void add_calls(const Compiled *compiled, uint32_t class, const RegionId *regions,
                      bool is_time, StageWork *out) {
  const Plan *plan = &compiled->plan;
  const PlanProgram *program = find_peak(compiled, class).program;
  double microbatches = (double)compiled->derived.accumulation;
  for (uint32_t i = 0; i < program->calls_count; i++) {
    const PlanCall *call = &plan->calls[program->calls_first + i];
    RegionId region = regions[call->segment];
    if (region == NO_ID) continue;
    double work = call_work(plan, call, is_time) * plan_call_times(plan, program, i) / microbatches;
    out->all += work;
    out->region[region] += work;
  }
}

static void count_layers(const Draft *d, StageWork *stages) {
  for (int32_t c = 0; c < d->chunk_count; c++)
    for (int32_t u = d->chunk_first[c]; u < d->chunk_first[c + 1]; u++)
      stages[draft_stage(d, c)].layers += d->train->regions.at[d->chain[u].region].is_stack;
}

static double stage_excess(const Draft *d, const Work *work) {
  Arena *arena = d->compile->arena;
  double *costs = ARENA_ARRAY(arena, double, d->stage_count);
  bool *is_layer = ARENA_ARRAY(arena, bool, d->stage_count);
  int32_t *boundaries = ARENA_ARRAY(arena, int32_t, d->stage_count + 1);
  for (int32_t s = 0; s < d->stage_count; s++) {
    costs[s] = work->stages[s].all;
    boundaries[s + 1] = s + 1;
  }
  const BalanceChain chain = {costs, is_layer, d->stage_count};
  return balance_excess(&chain, boundaries, d->stage_count);
}

Work work_of(const Compiled *compiled) {
  const Draft *d = compiled->draft;
  Arena *arena = d->compile->arena;
  const RegionId *regions = regions_of_segments(d);
  Work work = {.stages = ARENA_ARRAY(arena, StageWork, d->stage_count),
               .is_time = step_seconds(compiled) > 0};
  for (int32_t s = 0; s < d->stage_count; s++) {
    work.stages[s].region = ARENA_ARRAY(arena, double, d->train->regions.count);
    add_calls(compiled, (uint32_t)s, regions, work.is_time, &work.stages[s]);
    if (work.stages[s].all > work.stages[work.heaviest].all) work.heaviest = s;
  }
  count_layers(d, work.stages);
  work.excess = stage_excess(d, &work);
  return work;
}

/* ---- words */

const char *work_text(const Compiled *compiled, const Work *work, double amount) {
  Arena *arena = compiled->draft->compile->arena;
  return work->is_time ? format_seconds(arena, amount * 1e-9)
                       : format_scaled(arena, amount, "FLOP");
}

/* Names a region that is no stack of layers: the input side before them, the head after them. */
static const char *place_of(const Graph *g, RegionId r) {
  bool before = false, after = false;
  for (RegionId other = 0; other < g->regions.count; other++) {
    if (!g->regions.at[other].is_stack) continue;
    before |= other > r;
    after |= other < r;
  }
  return after && !before ? "the head" : before && !after ? "the input side" : "the middle";
}

const char *work_reason(const Compiled *compiled, const Work *work) {
  const Graph *g = compiled->draft->train;
  Arena *arena = compiled->draft->compile->arena;
  const StageWork *heaviest = &work->stages[work->heaviest];
  const char *ends = "";
  int32_t layers = 0, stages = compiled->draft->stage_count;
  for (int32_t s = 0; s < stages; s++)
    layers += work->stages[s].layers;
  for (RegionId r = 0; r < g->regions.count; r++) {
    double share = heaviest->region[r] / heaviest->all;
    if (g->regions.at[r].is_stack || share < 0.005) continue;
    ends = arena_printf(arena, "%s%s%s (%s) is %.0f %% of its work", ends, *ends ? ", and " : "",
                        place_of(g, r), g->regions.at[r].name, 100 * share);
  }
  if (*ends && heaviest->layers * stages <= layers) return ends;
  return arena_printf(arena, "it has %d of %d layer%s%s%s", heaviest->layers, layers,
                      plural(layers), *ends ? ", and " : "", ends);
}

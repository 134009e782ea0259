#include "compiler/search/estimate.h"

#include <string.h>

#include "compiler/draft/cost/cost.h"
#include "compiler/draft/memory/memory.h"
#include "compiler/draft/roles.h"
#include "compiler/draft/stages/stages.h"

const char *const estimate_part_words[ESTIMATE_PARTS] = {
    [PART_OF_COMPUTE] = "compute", [PART_OF_TP] = "tp", [PART_OF_CP] = "cp",
    [PART_OF_DP] = "dp",           [PART_OF_PP] = "pp", [PART_OF_BUBBLE] = "bubble"};

/* A draft whose pipeline has `microbatches`, and its estimate. */
typedef struct Sketch {
  const Draft *draft; /* NULL when reported */
  int64_t microbatches;
  bool has_loops; /* on every stage: more micro-batches change no buffer of a call */
  Estimate estimate;
} Sketch;

static int64_t most_of(const Draft *d, Tier tier) {
  int64_t most = 0;
  for (int32_t s = 0; s < d->stage_count; s++)
    if (d->stages[s].arena_bytes[tier] > most) most = d->stages[s].arena_bytes[tier];
  return most;
}

static EstimatePart part_of(const PlanPart *part) {
  if (part->kind == PART_COMPUTE) return PART_OF_COMPUTE;
  if (part->kind == PART_BUBBLE) return PART_OF_BUBBLE;
  switch (part->axis) {
  case MESH_TP:
  case MESH_TP_GROUP: return PART_OF_TP;
  case MESH_CP: return PART_OF_CP;
  case MESH_PP: return PART_OF_PP;
  default: return PART_OF_DP; /* also along several axes at once, one of which is dp */
  }
}

void estimate_times(const Plan *plan, Estimate *out) {
  const PlanProgram *longest = NULL;
  for (uint32_t i = 0; i < plan->programs_count; i++)
    if (plan->programs[i].kind == PROGRAM_TRAIN_STEP &&
        (longest == NULL || plan->programs[i].predicted_ns > longest->predicted_ns))
      longest = &plan->programs[i];
  if (longest == NULL) return;
  out->step_ns = longest->predicted_ns;
  memset(out->part_ns, 0, sizeof out->part_ns);
  for (uint32_t i = 0; i < longest->parts_count; i++) {
    const PlanPart *part = &plan->parts[longest->parts_first + i];
    out->part_ns[part_of(part)] += part->predicted_ns;
  }
}

static bool stage_has_loops(const Draft *d, int32_t stage) {
  return d->stages[stage].programs[PROGRAM_TRAIN_STEP].loops.count > 0;
}

static bool has_loops(const Draft *d) {
  for (int32_t s = 0; s < d->stage_count; s++)
    if (!stage_has_loops(d, s)) return false;
  return true;
}

static Sketch sketch_of(Compile *c, Job *job, const Compiled *known, Recompute recompute,
                        int64_t microbatches) {
  Compiled sketch = *known;
  sketch.derived.accumulation = microbatches;
  sketch.draft = compile_sketch(c, job, &sketch, recompute);
  if (sketch.draft == NULL) return (Sketch){0};
  compile_emit(c, job, &sketch);
  Sketch out = {.draft = sketch.draft,
                .microbatches = microbatches,
                .has_loops = has_loops(sketch.draft),
                .estimate = {.live_bytes = sketch.draft->live_bytes,
                             .arena_bytes = sketch.draft->arena_bytes,
                             .host_bytes = most_of(sketch.draft, TIER_HOST)}};
  estimate_times(&sketch.plan, &out.estimate);
  return out;
}

/* ---- from few micro-batches to all */

/* Bytes of the samples of a step, which a stage has beside everything else. */
static int64_t staged_bytes(const Draft *d, int64_t microbatches, Tier tier) {
  const bool apart = d->cluster->target != TARGET_CPU;
  const int64_t steps = (tier == TIER_DEVICE) == apart ? 1 : draft_prefetch_steps(d);
  if (tier == TIER_HOST && !apart) return 0;
  return round_up(d->sample_bytes * microbatches * steps, tier_align(tier));
}

static int64_t further(int64_t before, int64_t now, const Sketch *a, const Sketch *b, int64_t m) {
  const double each = (double)(now - before) / (double)(b->microbatches - a->microbatches);
  return now + (int64_t)(each * (double)(m - b->microbatches));
}

/* In the steady state each round takes as long as the previous one. */
static Estimate extend(const Sketch *a, const Sketch *b, int64_t m) {
  Estimate out = b->estimate;
  const Estimate *before = &a->estimate, *now = &b->estimate;
  const int64_t staged =
      staged_bytes(b->draft, m, TIER_DEVICE) - staged_bytes(b->draft, b->microbatches, TIER_DEVICE);
  out.live_bytes += staged;
  out.arena_bytes += staged;
  out.host_bytes +=
      staged_bytes(b->draft, m, TIER_HOST) - staged_bytes(b->draft, b->microbatches, TIER_HOST);
  out.step_ns = further(before->step_ns, now->step_ns, a, b, m);
  for (int32_t i = 0; i < ESTIMATE_PARTS; i++)
    out.part_ns[i] = further(before->part_ns[i], now->part_ns[i], a, b, m);
  return out;
}

/* Rounds of a pipeline take `pp` micro-batches, or a divisor. Sketches with more and more of them
 * are made until all stages repeat themselves. */
static bool estimate_pipeline(Compile *c, Job *job, const Compiled *known, Recompute recompute,
                              Sketch *last, Estimate *out) {
  enum { WARM_UP = 2 };
  const int64_t m = known->derived.accumulation, pp = known->derived.pp;
  const int64_t least = pipeline_least((PipeKind)job->parallel.pipeline, (int32_t)pp);
  Sketch before = {0};
  int64_t count = m % pp + WARM_UP * pp, more = pp;
  while (count < least)
    count += pp;
  for (; count < m; count += more) {
    Sketch now = sketch_of(c, job, known, recompute, count);
    if (now.draft == NULL) return false;
    if (before.draft != NULL && now.has_loops) {
      *last = now;
      *out = extend(&before, &now, m);
      return true;
    }
    if (before.draft != NULL) more *= 2;
    before = now;
  }
  *last = sketch_of(c, job, known, recompute, m);
  *out = last->estimate;
  return last->draft != NULL;
}

static bool call_stage(Flows *flows, const Draft *segments, int64_t microbatches, int32_t stage,
                       Draft *out) {
  const Derived *derived = &segments->derived;
  const PipeShape shape = {.kind = draft_pipe_kind(segments),
                           .stages = (int32_t)derived->pp,
                           .chunks = (int32_t)derived->chunks,
                           .microbatches = (int32_t)microbatches,
                           .costs = pipe_costs_even};
  const Pipeline *pipeline = derived->pp == 1 ? NULL : flow_of(flows, shape)->pipeline;
  return compile_stage(segments, pipeline, microbatches, stage, out);
}

/* A stage's train step. The result's calls are those of a few micro-batches where more of them
 * change no buffer; `more_bytes` are of the samples that it then lacks. False: it cannot be cut. */
static bool call_few(Flows *flows, const Draft *segments, int32_t stage, Draft *out,
                     int64_t *more_bytes) {
  enum { WARM_UP = 2 };
  const int64_t m = segments->derived.accumulation, pp = segments->derived.pp;
  const int64_t least = pp == 1 ? 1 : pipeline_least(draft_pipe_kind(segments), (int32_t)pp);
  int64_t count = pp == 1 ? m : m % pp + WARM_UP * pp;
  while (count < least)
    count += pp;
  for (int64_t more = pp; count < m; count += more, more *= 2) {
    if (!call_stage(flows, segments, count, stage, out)) return false;
    *more_bytes = staged_bytes(out, m, TIER_DEVICE) - staged_bytes(out, count, TIER_DEVICE);
    if (stage_has_loops(out, stage)) return true;
  }
  *more_bytes = 0;
  return call_stage(flows, segments, m, stage, out);
}

/* True if two chunks run the same code. */
static bool are_alike(const Draft *d, int32_t a, int32_t b) {
  const int32_t first = d->chunk_first[a], other = d->chunk_first[b];
  const int32_t layers = d->chunk_first[a + 1] - first;
  if (d->chunk_first[b + 1] - other != layers) return false;
  for (int32_t i = 0; i < layers; i++) {
    const LayerUse *x = &d->chain[first + i], *y = &d->chain[other + i];
    if (x->region != y->region || x->first != y->first || x->last != y->last ||
        x->group_last != y->group_last)
      return false;
  }
  return true;
}

/* True if the stage before runs the same code with more micro-batches in flight. Split orders are
 * not looked at: what they keep does not fall from stage to stage. */
static bool keeps_no_more(const Draft *d, int32_t stage) {
  if (stage < 2 || pipe_rules[draft_pipe_kind(d)].is_split) return false;
  for (int32_t k = 0; k < draft_chunks(d); k++)
    if (!are_alike(d, draft_chunk(d, stage - 1, k), draft_chunk(d, stage, k))) return false;
  return true;
}

typedef int64_t BytesOf(const Draft *d, int32_t stage);

/* The first stage usually keeps most, and the last one has the loss. */
static int64_t most_bytes(Flows *flows, const Draft *segments, int64_t enough, BytesOf *bytes_of) {
  Compile *c = segments->compile;
  Arena *kept = c->arena;
  Draft cut = *segments, d;
  int64_t most = 0, more_bytes;
  if (!stages_cut(&cut)) return INT64_MAX;
  for (int32_t i = 0; i < cut.stage_count && most <= enough; i++) {
    const int32_t stage = i == 0 ? 0 : i == 1 ? cut.stage_count - 1 : i - 1;
    if (i > 1 && keeps_no_more(&cut, stage)) continue;
    c->arena = arena_new(); /* the calls of one stage at a time */
    const bool is_cut = call_few(flows, segments, stage, &d, &more_bytes);
    const int64_t bytes = is_cut ? bytes_of(&d, stage) + more_bytes : INT64_MAX;
    arena_free(c->arena);
    c->arena = kept;
    if (bytes > most) most = bytes;
  }
  return most;
}

int64_t estimate_live_most(Flows *flows, const Draft *segments, int64_t enough) {
  return most_bytes(flows, segments, enough, memory_live);
}

int64_t estimate_packed_most(Flows *flows, const Draft *segments, int64_t enough) {
  return most_bytes(flows, segments, enough, memory_packed);
}

double estimate_mfu(const Draft *d, int64_t step_ns) {
  const double peak = cost_peak(d) * (double)mesh_count(&d->mesh, MESH_BIT(MESH_AXES) - 1);
  const double tokens = (double)(d->derived.batch_samples * d->derived.sample_tokens);
  if (peak <= 0 || step_ns <= 0) return 0;
  return (double)d->flops_per_token * tokens / (1e-9 * (double)step_ns * peak);
}

static bool estimate_once(Compile *c, Job *job, const Compiled *known, Recompute recompute,
                          Sketch *last, Estimate *out) {
  const int64_t m = known->derived.accumulation;
  if (known->derived.pp > 1) {
    if (!estimate_pipeline(c, job, known, recompute, last, out)) return false;
  } else {
    *last = sketch_of(c, job, known, recompute, m);
    if (last->draft == NULL) return false;
    *out = last->estimate;
  }
  out->mfu = estimate_mfu(last->draft, out->step_ns);
  return true;
}

bool estimate_fits(const Compiled *known, const Estimate *estimate) {
  const int64_t node_bytes = estimate->host_bytes * known->cluster.devices;
  if (estimate->arena_bytes > known->budget_bytes) return false;
  return known->cluster.target == TARGET_CPU || node_bytes == 0 ||
         (known->host_budget_bytes >= 0 && node_bytes <= known->host_budget_bytes);
}

bool estimate(Compile *c, Job *job, const Compiled *known, Recompute recompute, Estimate *out) {
  Sketch last = {0};
  if (!estimate_once(c, job, known, recompute, &last, out)) return false;
  if (!last.draft->snapshots || job->checkpoint.async != CHOICE_ASYNC_AUTO ||
      estimate_fits(known, out))
    return true;
  Compiled without = *known; /* as fit.c does */
  without.leaves_snapshots = true;
  return estimate_once(c, job, &without, recompute, &last, out);
}

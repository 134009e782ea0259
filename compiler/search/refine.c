#include "compiler/search/refine.h"

#include "compiler/draft/stages/stages.h"
#include "compiler/search/estimate.h"
#include "compiler/search/forecast.h"

/* Packing leaves gaps: what is alive at once fits for certain below this share of the budget. */
#define SURE_SHARE 0.97

/* Segments of replicas, stages and ZeRO, which several orders share. */
typedef struct Base {
  Derived derived;
  Draft *draft;
} Base;

typedef struct Refining {
  Flows *flows;
  Bench *bench;
  const Draft *parts;
  VEC(Base) bases;
  Refined out;
} Refining;

static bool is_same_base(const Derived *a, const Derived *b) {
  return a->dp == b->dp && a->pp == b->pp && a->zero == b->zero &&
         a->shard_ranks == b->shard_ranks && a->accumulation == b->accumulation;
}

static Draft *base_of(Refining *r, const Derived *derived) {
  for (int32_t i = 0; i < r->bases.count; i++)
    if (is_same_base(&r->bases.at[i].derived, derived)) return r->bases.at[i].draft;
  Draft *d = compile_rearranged(r->parts, derived);
  VEC_PUSH(r->bench->compile->arena, &r->bases, (Base){*derived, d});
  return d;
}

/* The segments of a candidate; false: its degrees are refused. */
static bool apply(Refining *r, const Candidate *at, Draft *out) {
  r->bench->job = r->bench->met;
  setting_apply(&at->setting, &r->bench->job);
  if (!compile_derive(r->bench->compile, &r->bench->job, &r->bench->known)) return false;
  const Derived *derived = &r->bench->known.derived;
  const Draft *base = base_of(r, derived);
  *out = *base;
  out->derived = *derived;
  return true;
}

/* On processors copies of the state share the memory that is counted. */
static bool keeps_snapshots(const Draft *d) {
  return d->snapshots && d->cluster->target == TARGET_CPU;
}

static void look(Refining *r, Candidate *at, const Draft *segments) {
  const int64_t budget_bytes = r->bench->known.budget_bytes;
  const int64_t live_bytes = estimate_live_most(r->flows, segments, budget_bytes);
  r->out.looks++;
  at->is_too_large = live_bytes > budget_bytes && !keeps_snapshots(segments);
  if ((double)live_bytes <= SURE_SHARE * (double)budget_bytes && at->forecast_ns < r->out.best_ns)
    r->out.best_ns = at->forecast_ns;
}

int64_t refine_limit(int64_t best_ns) {
  static const double MORE = 0.04;
  return best_ns == INT64_MAX ? INT64_MAX : (int64_t)((double)best_ns * (1 + MORE));
}

int64_t refine_bound(int64_t forecast_ns, int64_t least_ns) {
  static const double TOO_LONG = 0.12, ROUNDING = 0.01;
  const double by_forecast = (double)forecast_ns * (1 - TOO_LONG);
  const double by_least = (double)least_ns * (1 - ROUNDING);
  return (int64_t)(by_forecast > by_least ? by_forecast : by_least);
}

static void forecast_one(Refining *r, Candidate *at, const Draft *segments, int64_t limit_ns) {
  Draft cut = *segments;
  if (!stages_cut(&cut)) return;
  int64_t least_ns;
  at->forecast_ns = forecast_ns(r->flows, &cut, &least_ns);
  r->out.forecasts++;
  least_ns = refine_bound(at->forecast_ns, least_ns);
  if (least_ns > at->least_ns) at->least_ns = least_ns;
  if (at->least_ns < limit_ns && at->forecast_ns < r->out.best_ns) look(r, at, segments);
}

/* Memory and errors of a candidate end with it. */
static void refine_one(Refining *r, Candidate *at, int64_t limit_ns) {
  Compile *c = r->bench->compile;
  Arena *kept = c->arena;
  const Diags before = c->diags;
  Draft segments;
  if (apply(r, at, &segments)) {
    c->arena = arena_new();
    forecast_one(r, at, &segments, limit_ns);
    arena_free(c->arena);
    c->arena = kept;
  }
  c->diags = before;
}

Refined refine_key(Flows *flows, Bench *bench, const Subject *subject, const PartsKey *key,
                   Candidate *const *at, int32_t count, int64_t limit_ns) {
  Refining r = {.flows = flows, .bench = bench, .out.best_ns = INT64_MAX};
  CutRule why;
  if (!bench_again(bench, subject)) return r.out;
  r.parts = parts_of(bench, key, &why);
  for (int32_t i = 0; i < count && r.parts != NULL && forecast_is_known(r.parts); i++) {
    const int64_t own_ns = refine_limit(r.out.best_ns);
    if (at[i]->forecast_ns > 0) continue;
    if (at[i]->least_ns >= limit_ns || at[i]->least_ns >= own_ns) break;
    refine_one(&r, at[i], limit_ns < own_ns ? limit_ns : own_ns);
  }
  return r.out;
}

static bool estimate_cut(const Refining *r, const Draft *segments, Estimate *out) {
  const int64_t budget_bytes = r->bench->known.budget_bytes;
  Draft cut = *segments;
  if (!stages_cut(&cut)) return false;
  *out = (Estimate){.step_ns = forecast_ns(r->flows, &cut, NULL),
                    .live_bytes = estimate_live_most(r->flows, segments, budget_bytes)};
  forecast_parts(r->flows, &cut, out->part_ns);
  out->mfu = estimate_mfu(&cut, out->step_ns);
  out->arena_bytes = out->live_bytes;
  if (out->live_bytes <= budget_bytes)
    out->arena_bytes = estimate_packed_most(r->flows, segments, budget_bytes);
  return true;
}

/* The plan of a large model takes gigabytes: a thread keeps one of them at a time. */
static bool estimate_by_passes(Bench *bench, const Subject *subject, const Candidate *at,
                               Estimate *out, int64_t *steps) {
  if (!bench_again(bench, subject)) return false;
  setting_apply(&at->setting, &bench->job);
  const bool is_known =
      compile_derive(bench->compile, &bench->job, &bench->known) &&
      estimate(bench->compile, &bench->job, &bench->known, at->setting.recompute, out);
  *steps = bench->known.derived.steps;
  bench_close(bench);
  return is_known;
}

bool refine_estimate(Flows *flows, Bench *bench, const Subject *subject, const PartsKey *key,
                     const Candidate *at, Estimate *out, int64_t *steps) {
  Refining r = {.flows = flows, .bench = bench};
  Draft segments;
  CutRule why;
  if (!bench_again(bench, subject)) return false;
  r.parts = parts_of(bench, key, &why);
  if (r.parts == NULL) return false;
  if (!forecast_is_known(r.parts) || keeps_snapshots(r.parts))
    return estimate_by_passes(bench, subject, at, out, steps);
  if (!apply(&r, at, &segments)) return false;
  *steps = bench->known.derived.steps;
  return estimate_cut(&r, &segments, out);
}

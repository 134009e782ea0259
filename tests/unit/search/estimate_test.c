/* Estimates and bounds against plans of random settings.   LINK: search
 *   estimate_test [COUNT [SEED]]     32 38; as many with few tokens, or 16 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/draft/stages/stages.h"
#include "compiler/job/data.h"
#include "compiler/search/estimate.h"
#include "compiler/search/fit.h"
#include "compiler/search/forecast.h"
#include "compiler/search/refine.h"
#include "tests/unit/check.h"

enum { CHANGES_MOST = 12, TEXT = 96 };

/* Estimates with times beyond 1 % of the plan's: buffers of fewer micro-batches are packed
 * otherwise, and work waits for other buffers to become free. */
static int beyond_percent;
/* The same of forecasts, and the largest share by which one was wrong. */
static int forecast_beyond;
static double forecast_worst;

typedef struct Changes {
  char text[CHANGES_MOST][TEXT];
  int32_t count;
} Changes;

static int64_t one_of(int64_t most) { /* a power of two */
  int64_t n = 1;
  while (n < most && rand() % 2 == 0)
    n *= 2;
  return n;
}

#define ADD(changes, ...) (void)snprintf((changes)->text[(changes)->count++], TEXT, __VA_ARGS__)

/* A step of 8 to 1,000 tokens of a rank, in one micro-batch or a few: gradients and their sums
 * weigh as much as products. */
static void draw_small(Changes *changes, int64_t ranks) {
  const int64_t devices = ranks > 8 ? 16 : 8, dp = devices / ranks;
  ADD(changes, "cluster.nodes=%lld", (long long)devices / 8);
  ADD(changes, "train.context=%lld", (long long)(8 * one_of(16)));
  ADD(changes, "train.batch=%lld sequences", (long long)(dp * (ranks > 1 ? 8 : 1) * one_of(8)));
  ADD(changes, "train.microbatch=1");
  if (rand() % 2 == 0) return;
  ADD(changes, "model.width=1024");
  ADD(changes, "model.ffn=4096");
}

static Changes draw(bool is_small) {
  static const char *const orders[] = {"gpipe", "1f1b", "{\"interleaved\", chunks=2}", "zb-h1",
                                       "zb-v"};
  const int64_t tp = one_of(4), pp = one_of(4);
  Changes drawn = {0}, *changes = &drawn;
  ADD(changes, "parallel.tp=%lld", (long long)tp);
  ADD(changes, "parallel.pp=%lld", (long long)pp);
  ADD(changes, "parallel.zero=%d", rand() % 4);
  ADD(changes, "precision=%s", rand() % 2 == 0 ? "bf16" : "fp32");
  if (pp > 1) ADD(changes, "parallel.pipeline=%s", orders[rand() % 5]);
  if (rand() % 3 == 0) ADD(changes, "parallel.zero_keep=0");
  if (is_small) {
    draw_small(changes, tp * pp);
    return drawn;
  }
  ADD(changes, "train.batch=%lld sequences", (long long)(64 * one_of(8)));
  ADD(changes, "train.microbatch=%lld", (long long)one_of(2));
  return drawn;
}

static Recompute draw_recompute(void) {
  static const Recompute all[] = {{CHOICE_RECOMPUTE_NONE, 0},
                                  {CHOICE_RECOMPUTE_SELECTIVE, 1},
                                  {CHOICE_RECOMPUTE_BLOCK, 1},
                                  {CHOICE_RECOMPUTE_EVERY, 2}};
  return all[rand() % 4];
}

static int64_t step_of(const Plan *plan) {
  int64_t most = 0;
  for (uint32_t i = 0; i < plan->programs_count; i++)
    if (plan->programs[i].kind == PROGRAM_TRAIN_STEP && plan->programs[i].predicted_ns > most)
      most = plan->programs[i].predicted_ns;
  return most;
}

static void say(const Changes *changes, Recompute recompute) {
  for (int32_t i = 0; i < changes->count; i++)
    printf(" %s", changes->text[i]);
  printf(" recompute %d every %lld\n", (int)recompute.choice, (long long)recompute.group_layers);
}

/* What bounds say of this setting; none: it is left out. */
static void check_bounds(const Job *job, const Machine *machine, const Compiled *known,
                         Recompute recompute, int64_t live_bytes, int64_t step_ns) {
  const Subject subject = {job, machine, SOURCE_FOLDER "/specs"};
  const Derived *d = &known->derived;
  Bench bench, again = {0};
  Arena *arena = arena_new();
  CHECK(bench_open(&bench, &subject));
  const PartsKeys keys = parts_keys(arena, &bench.job, &bench.known);
  for (int32_t k = 0; k < keys.count; k++) {
    const PartsKey *key = &keys.at[k];
    if (key->recompute.choice != recompute.choice || key->regather || key->cp != 1) continue;
    if (key->recompute.group_layers != recompute.group_layers) continue;
    Candidates out = {0};
    bounds_of(arena, &again, &subject, &keys, k, &out);
    for (int32_t i = 0; i < out.count; i++) {
      const Candidate *at = &out.at[i];
      const Setting *s = &at->setting;
      if (s->zero != d->zero || s->groups_are_nodes || s->chunks != d->chunks ||
          (d->pp > 1 && s->pipeline != job->parallel.pipeline))
        continue;
      CHECK_INT(at->microbatches, d->accumulation);
      CHECK(at->least_bytes <= live_bytes);
      CHECK(at->least_ns <= step_ns);
      if (at->least_bytes > live_bytes || at->least_ns > step_ns)
        printf("least %lld of %lld bytes, %lld of %lld ns\n", (long long)at->least_bytes,
               (long long)live_bytes, (long long)at->least_ns, (long long)step_ns);
    }
  }
  bench_close(&bench);
  if (again.uses > 0) bench_close(&again);
  arena_free(arena);
}

/* The same segments have the bytes of every stage without a plan, and nearly the time. */
static void check_forecast(Compile *c, const Job *job, const Compiled *known, Recompute recompute,
                           int64_t live_bytes, int64_t step_ns) {
  Flows flows = {0};
  Draft *parts = compile_segments(c, job, known, recompute), cut;
  CHECK(parts != NULL);
  Draft *d = compile_rearranged(parts, &known->derived);
  CHECK_INT(estimate_live_most(&flows, d, INT64_MAX), live_bytes);
  cut = *d;
  CHECK(stages_cut(&cut));
  int64_t least_ns;
  const int64_t ns = forecast_ns(&flows, &cut, &least_ns);
  const double wrong = fabs((double)ns / (double)step_ns - 1);
  CHECK(refine_bound(ns, least_ns) <= step_ns);
  CHECK((double)least_ns <= 1.01 * (double)step_ns);
  /* Zero 2 and 3 wait for memory that only packing knows. */
  CHECK(wrong < (known->derived.zero < 2 ? 0.01 : 0.2));
  forecast_beyond += wrong > 0.01;
  forecast_worst = fmax(forecast_worst, wrong);
  flows_free(&flows);
}

/* The budget leaves the buffers of all communicators that the plan opens: no more in the usual
 * order of ranks, and in no order less. */
static void check_outside(Compile *c, const Compiled *known) {
  int64_t most_bytes = 0;
  int32_t most = 0;
  for (uint32_t i = 0; i < known->plan.classes_count; i++) {
    const Communicators opened = communicators_of(c->arena, &known->plan, i);
    most_bytes = opened.size_bytes > most_bytes ? opened.size_bytes : most_bytes;
    most = opened.count > most ? opened.count : most;
  }
  CHECK_INT(known->outside.groups, most);
  const bool is_usual = strcmp(order_text(c->arena, &known->choice.taken->order),
                               order_text(c->arena, &order_usual)) == 0;
  CHECK(most_bytes <= known->outside.nccl_bytes);
  if (is_usual) CHECK_INT(known->outside.nccl_bytes, most_bytes);
}

/* False: the job cannot be compiled. */
static bool check_one(const Machine *machine, const Changes *changes, Recompute recompute) {
  const char *at[CHANGES_MOST];
  for (int32_t i = 0; i < changes->count; i++)
    at[i] = changes->text[i];
  const int before = check_failures;
  Compile *c = compile_new(SOURCE_FOLDER "/specs");
  Job *job = spec_load(c, SOURCE_FOLDER "/tests/unit/search/small.lua", at, changes->count);
  Job pristine = job != NULL ? *job : (Job){0};
  Compiled known = {0};
  Estimate got = {0};
  const bool is_legal = job != NULL && spec_data(c, job) && compile_open(c, job, machine, &known) &&
                        estimate(c, job, &known, recompute, &got);
  if (is_legal) {
    known.draft = compile_once(c, job, &known, recompute);
    compile_emit(c, job, &known);
    const int64_t live_bytes = known.draft->live_bytes, step_ns = step_of(&known.plan);
    check_outside(c, &known);
    check_forecast(c, job, &known, recompute, live_bytes, step_ns);
    CHECK_INT(got.live_bytes, live_bytes);
    CHECK_NEAR(got.step_ns, step_ns, 0.03 * (double)step_ns);
    beyond_percent += fabs((double)(got.step_ns - step_ns)) > 0.01 * (double)step_ns;
    check_bounds(&pristine, machine, &known, recompute, live_bytes, step_ns);
  }
  if (check_failures > before) say(changes, recompute);
  compile_close(&known);
  compile_free(c);
  return is_legal;
}

static bool check_drawn(const Machine *machine, bool is_small) {
  const Changes changes = draw(is_small);
  return check_one(machine, &changes, draw_recompute());
}

static void check_many(const Machine *machine, int32_t wanted, bool is_small) {
  int32_t compiled = 0;
  beyond_percent = forecast_beyond = 0;
  forecast_worst = 0;
  for (int32_t drawn = 0; compiled < wanted && drawn < 4 * wanted; drawn++)
    compiled += check_drawn(machine, is_small);
  CHECK(compiled == wanted);
  CHECK(forecast_beyond * (is_small ? 8 : 12) <= compiled);
  printf("forecasts: %d of %d more than 1 %% wrong, the worst %.1f %%\n", forecast_beyond, compiled,
         100 * forecast_worst);
}

int main(int count, char **words) {
  enum { USUAL = 32, SMALL = 16 };
  const Machine machine = {.memory_bytes = (int64_t)1 << 33, .cores = 2};
  const int32_t wanted = count > 1 ? atoi(words[1]) : USUAL;
  srand(count > 2 ? (unsigned)atoi(words[2]) : 38);
  TEST("an estimate has the bytes of the plan, and its time; bounds are below both") {
    check_many(&machine, wanted, false);
    CHECK(beyond_percent * 200 <= wanted);
  }
  TEST("the same of steps of few tokens") {
    check_many(&machine, count > 1 ? wanted : SMALL, true);
  }
  TEST("a forecast has the links of each stage, late busy stages, and gradients that stay whole") {
    Changes links = {0}, busy = {0}, whole = {0};
    ADD(&links, "parallel.tp=4");
    ADD(&links, "parallel.pp=4");
    ADD(&links, "parallel.pipeline=zb-h1");
    ADD(&links, "train.microbatch=2");
    ADD(&links, "precision=fp32");
    ADD(&busy, "train.batch=256 sequences");
    ADD(&busy, "parallel.tp=2");
    ADD(&busy, "parallel.pp=2");
    ADD(&busy, "parallel.zero=1");
    ADD(&busy, "parallel.pipeline=zb-v");
    ADD(&busy, "train.microbatch=2");
    ADD(&busy, "precision=bf16");
    ADD(&whole, "parallel.tp=1");
    ADD(&whole, "parallel.pp=2");
    ADD(&whole, "train.microbatch=1");
    ADD(&whole, "parallel.zero=1");
    ADD(&whole, "parallel.pipeline=1f1b");
    ADD(&whole, "model.width=2048");
    ADD(&whole, "train.context=128");
    forecast_worst = 0;
    CHECK(check_one(&machine, &whole, (Recompute){0}));
    CHECK(check_one(&machine, &links, (Recompute){CHOICE_RECOMPUTE_BLOCK, 1}));
    CHECK(check_one(&machine, &busy, (Recompute){CHOICE_RECOMPUTE_BLOCK, 1}));
    CHECK(forecast_worst < 0.01);
  }
  return check_failures > 0;
}

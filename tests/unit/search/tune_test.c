/* What tune chooses, against every setting that is legal.   LINK: search */
#include <string.h>

#include "compiler/job/data.h"
#include "compiler/search/fit.h"
#include "compiler/search/tune.h"
#include "compiler/search/workers.h"
#include "tests/unit/check.h"

static const Machine machine = {.memory_bytes = (int64_t)1 << 33, .cores = 2};

static Job *load(Compile *c, const char *const *changes, int32_t count) {
  Job *job = spec_load(c, SOURCE_FOLDER "/tests/unit/search/small.lua", changes, count);
  CHECK(job != NULL && spec_data(c, job));
  return job;
}

/* The least time of all settings that fit, each estimated. */
static int64_t best_of_all(const Subject *subject, const Tuned *tuned) {
  Arena *arena = arena_new();
  Bench bench, again = {0};
  int64_t best_ns = INT64_MAX;
  CHECK(bench_open(&bench, subject));
  const PartsKeys keys = parts_keys(arena, &bench.job, &bench.known);
  bench_close(&bench);
  for (int32_t k = 0; k < keys.count; k++) {
    Candidates all = {0};
    bounds_of(arena, &again, subject, &keys, k, &all);
    for (int32_t i = 0; i < all.count; i++) {
      Estimate got;
      CHECK(bench_open(&bench, subject));
      setting_apply(&all.at[i].setting, &bench.job);
      if (compile_derive(bench.compile, &bench.job, &bench.known) &&
          estimate(bench.compile, &bench.job, &bench.known, all.at[i].setting.recompute, &got) &&
          got.arena_bytes <= tuned->budget_bytes && got.step_ns < best_ns)
        best_ns = got.step_ns;
      bench_close(&bench);
    }
  }
  if (again.uses > 0) bench_close(&again);
  arena_free(arena);
  return best_ns;
}

static const char *const few[] = {"cluster.nodes=1", "cluster.devices=4", "train.batch=8 sequences",
                                  "memory.recompute=none", "model.layers=3"};

static void test_best(void) {
  TEST("no setting that is left out is faster than the first") {
    Compile *c = compile_new(SOURCE_FOLDER "/specs");
    const Subject subject = {load(c, few, 5), &machine, SOURCE_FOLDER "/specs"};
    Tuned tuned;
    CHECK(tune(c, &subject, 1, TUNE_ESTIMATES_MOST, NULL, &tuned));
    CHECK(tuned.row_count > 0);
    const double best_ns = (double)best_of_all(&subject, &tuned);
    CHECK(tuned.row[0].is_proven && tuned.proven > 1);
    CHECK_NEAR((double)tuned.row[0].estimate.step_ns, best_ns, 0.002 * best_ns);
    int64_t left_out = 0;
    for (int32_t r = 0; r < CUT_RULES; r++)
      left_out += tuned.cut[r];
    CHECK_INT(left_out, tuned.seen);
    compile_free(c);
  }
}

int main(void) {
  test_best();
  TEST("any number of threads has the same answer") {
    Compile *c = compile_new(SOURCE_FOLDER "/specs");
    const Subject subject = {load(c, few, 5), &machine, SOURCE_FOLDER "/specs"};
    Tuned one, three;
    CHECK(tune(c, &subject, 1, TUNE_ESTIMATES_MOST, NULL, &one));
    CHECK(tune(c, &subject, 3, TUNE_ESTIMATES_MOST, NULL, &three));
    CHECK_INT(one.row_count, three.row_count);
    for (int32_t i = 0; i < one.row_count && i < three.row_count; i++)
      CHECK(setting_equals(&one.row[i].candidate.setting, &three.row[i].candidate.setting));
    CHECK(memcmp(one.cut, three.cut, sizeof one.cut) == 0);
    compile_free(c);
  }
  TEST("a search that ends at its limit counts what it did not estimate") {
    Compile *c = compile_new(SOURCE_FOLDER "/specs");
    const Subject subject = {load(c, few, 5), &machine, SOURCE_FOLDER "/specs"};
    Tuned tuned;
    int64_t left_out = 0;
    CHECK(tune(c, &subject, 1, 1, NULL, &tuned)); /* one round */
    CHECK(tuned.estimates > 0 && tuned.estimates < 10);
    CHECK(tuned.cut[CUT_LIMIT] > 0);
    for (int32_t r = 0; r < CUT_RULES; r++)
      left_out += tuned.cut[r];
    CHECK_INT(left_out, tuned.seen);
    compile_free(c);
  }
  TEST("a job with parallel = auto says what its search assumed, and what it did not look at") {
    const char *const open[] = {"cluster.nodes=1", "cluster.devices=4", "train.batch=8 sequences",
                                "parallel=auto"};
    Compile *c = compile_new(SOURCE_FOLDER "/specs");
    Job *job = load(c, open, 4);
    Compiled compiled;
    CHECK(fit_plan(c, job, &machine, &compiled) && compiled.limits != NULL);
    CHECK(strstr(compiled.limits->at[0], "no forecast is more than") != NULL);
    CHECK(strstr(compiled.limits->at[compiled.limits->count - 1], "not varied") != NULL);
    compile_free(c);
  }
  TEST("keys that the job sets are kept") {
    const char *const kept[] = {"parallel.tp=2", "parallel.zero=0", "train.microbatch=2"};
    Compile *c = compile_new(SOURCE_FOLDER "/specs");
    const Subject subject = {load(c, kept, 3), &machine, SOURCE_FOLDER "/specs"};
    Tuned tuned;
    CHECK(tune(c, &subject, 2, TUNE_ESTIMATES_MOST, NULL, &tuned) && tuned.row_count > 0);
    for (int32_t i = 0; i < tuned.row_count; i++) {
      CHECK_INT(tuned.row[i].candidate.setting.tp, 2);
      CHECK_INT(tuned.row[i].candidate.setting.zero, 0);
      CHECK_INT(tuned.row[i].candidate.setting.microbatch, 2);
    }
    compile_free(c);
  }
  return check_failures > 0;
}

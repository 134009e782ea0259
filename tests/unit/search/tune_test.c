/* The first row of tune against every setting that is legal.   LINK: search
 *   tune_test [PROBLEMS [SEED]]     3 1: random problems, each setting of which is compiled */
#include <stdlib.h>
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

/* The time of a setting's plan; INT64_MAX: it does not fit, or is refused. */
static int64_t plan_ns(const Subject *subject, const Setting *setting) {
  Bench bench;
  Estimate got = {.step_ns = INT64_MAX};
  CHECK(bench_open(&bench, subject));
  setting_apply(setting, &bench.job);
  if (compile_derive(bench.compile, &bench.job, &bench.known) &&
      fit_draft(bench.compile, &bench.job, &bench.known) &&
      bench.known.draft->arena_bytes <= bench.known.budget_bytes) {
    compile_emit(bench.compile, &bench.job, &bench.known);
    estimate_times(&bench.known.plan, &got);
  }
  bench_close(&bench);
  return got.step_ns;
}

/* The least time of the plans of all settings that fit. */
static int64_t best_of_all(const Subject *subject, int32_t *count) {
  Arena *arena = arena_new();
  Bench bench, again = {0};
  int64_t best_ns = INT64_MAX;
  CHECK(bench_open(&bench, subject));
  const PartsKeys keys = parts_keys(arena, &bench.job, &bench.known);
  bench_close(&bench);
  for (int32_t k = 0; k < keys.count; k++) {
    Candidates all = {0};
    bounds_of(arena, &again, subject, &keys, k, &all);
    *count += all.count;
    for (int32_t i = 0; i < all.count; i++) {
      const int64_t ns = plan_ns(subject, &all.at[i].setting);
      if (ns < best_ns) best_ns = ns;
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
    int32_t count = 0;
    const int64_t best_ns = best_of_all(&subject, &count);
    CHECK(count > 10 && tuned.row[0].is_proven && tuned.proven > 1);
    CHECK_INT(tuned.row[0].estimate.step_ns, best_ns);
    int64_t left_out = 0;
    for (int32_t r = 0; r < CUT_RULES; r++)
      left_out += tuned.cut[r];
    CHECK_INT(left_out, tuned.seen);
    compile_free(c);
  }
}

enum { CHANGES = 7, TEXT = 48 };

static void draw(char text[CHANGES][TEXT]) {
  static const char *const recompute[] = {"none", "selective", "block"};
  (void)snprintf(text[0], TEXT, "cluster.nodes=%d", 1 + rand() % 2);
  (void)snprintf(text[1], TEXT, "cluster.devices=%d", 2 << rand() % 2);
  (void)snprintf(text[2], TEXT, "train.batch=%d sequences", 8 << rand() % 3);
  (void)snprintf(text[3], TEXT, "memory.recompute=%s", recompute[rand() % 3]);
  (void)snprintf(text[4], TEXT, "model.layers=%d", 2 + rand() % 3);
  (void)snprintf(text[5], TEXT, "train.context=%d", 128 << rand() % 2);
  (void)snprintf(text[6], TEXT, "train.microbatch=%d", 1 << rand() % 2);
}

/* One problem: all settings are compiled, and none of their plans is faster than the first row. */
static void check_problem(int64_t *settings) {
  char text[CHANGES][TEXT];
  const char *at[CHANGES];
  const int before = check_failures;
  draw(text);
  for (int32_t i = 0; i < CHANGES; i++)
    at[i] = text[i];
  Compile *c = compile_new(SOURCE_FOLDER "/specs");
  const Subject subject = {load(c, at, CHANGES), &machine, SOURCE_FOLDER "/specs"};
  Tuned tuned;
  int32_t count = 0;
  CHECK(tune(c, &subject, 1, TUNE_ESTIMATES_MOST, NULL, &tuned));
  const int64_t best_ns = best_of_all(&subject, &count);
  CHECK((tuned.row_count > 0) == (best_ns != INT64_MAX));
  if (tuned.row_count > 0) {
    CHECK(tuned.row[0].is_proven);
    CHECK_INT(tuned.row[0].estimate.step_ns, best_ns);
  }
  *settings += count;
  for (int32_t i = 0; i < CHANGES && check_failures > before; i++)
    printf("%s%s", text[i], i + 1 < CHANGES ? "  " : "\n");
  compile_free(c);
}

static void test_problems(int count, char **words) {
  TEST("no plan of a random problem is faster than the first row") {
    const int32_t problems = count > 1 ? atoi(words[1]) : 3;
    int64_t settings = 0;
    srand(count > 2 ? (unsigned)atoi(words[2]) : 1);
    for (int32_t i = 0; i < problems; i++)
      check_problem(&settings);
    printf("%d problems, %lld settings compiled\n", (int)problems, (long long)settings);
  }
}

int main(int count, char **words) {
  test_problems(count, words);
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
    CHECK(strstr(compiled.limits->at[0], "compiled plan") != NULL);
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

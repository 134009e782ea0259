/* automatic_test.c -- offload = "auto" against every other placement: recomputation, states of so
 * many layers, and of so many layers what forward keeps, gradients beside states or not, and
 * updates on either side.
 *
 *   automatic_test                     one job, four budgets; then one random job
 *   automatic_test random JOBS SEED    GPT-2s against all placements, ten budgets a job
 *   automatic_test llama JOBS SEED     the same of Llamas
 *   automatic_test stages JOBS SEED    the same of Llamas in two stages of a pipeline
 *   automatic_test fits JOBS SEED      nothing moves if all fits, and what moves makes the job fit
 * LINK: job_plan simulate test_world */
#include <stdlib.h>
#include <string.h>

#include "compiler/plan/simulate/simulate.h"
#include "tests/parity/job_plan.h"
#include "tests/unit/check.h"

enum {
  RECOMPUTES = 3,
  STATES = 5,
  FRAMES = 4,
  WAYS = 3,
  BUDGETS = 4,
  BUDGETS_RANDOM = 10,
  TEXT_BYTES = 160
};

typedef struct Measured {
  int64_t bytes, step_ns; /* of the device's memory; predicted */
  bool moves, recomputes;
} Measured;

static const char *const recomputes[RECOMPUTES] = {
    "memory.recompute=none", "memory.recompute=selective", "memory.recompute=block"};
static const char *const ways[WAYS] = {"", "grads = \"cpu\",", "update = \"device\","};

/* Keys that all placements of a job share. */
typedef struct Keys {
  const char *job; /* of tests/parity/jobs */
  char text[9][TEXT_BYTES];
  int32_t batch, microbatch; /* sequences */
} Keys;

static const Keys usual = {"gpt2",
                           {"cluster={\"dgx-a100\", devices=1, host_link=\"300GB/s\"}",
                            "cluster.host_bandwidth=2TB/s", "model.layers=6", "model.width=256",
                            "model.positions=512", "train.batch=16 sequences", "train.microbatch=8",
                            "checkpoint.every=never", "parallel.pp=1"},
                           16,
                           8};

static uint64_t state;

static uint32_t draw(uint32_t below) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(state >> 33) % below;
}

static int32_t pick(const int32_t *from, size_t count) {
  return from[draw((uint32_t)count)];
}
#define PICK(...)                                                                                  \
  pick((const int32_t[]){__VA_ARGS__}, sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t))

/* `stages`: of a pipeline, one device each. */
static Keys random_keys(bool is_llama, int32_t stages) {
  Keys k = {.job = is_llama ? "llama" : "gpt2", .microbatch = PICK(1, 2, 4)};
  const int32_t devices = stages > 1 ? stages : PICK(1, 1, 2);
  k.batch = k.microbatch * devices * PICK(1, 2, 4);
  (void)snprintf(k.text[0], TEXT_BYTES, "cluster={\"dgx-a100\", devices=%d, host_link=\"%dGB/s\"}",
                 devices, PICK(20, 50, 150, 400));
  (void)snprintf(k.text[1], TEXT_BYTES, "cluster.host_bandwidth=%dGB/s", PICK(100, 400, 2000));
  (void)snprintf(k.text[2], TEXT_BYTES, "model.layers=%d", PICK(3, 4, 6, 8));
  (void)snprintf(k.text[3], TEXT_BYTES, "model.width=%d", PICK(128, 256, 512));
  (void)snprintf(k.text[4], TEXT_BYTES, is_llama ? "train.context=%d" : "model.positions=%d",
                 PICK(128, 256, 512));
  (void)snprintf(k.text[5], TEXT_BYTES, "train.batch=%d sequences", k.batch);
  (void)snprintf(k.text[6], TEXT_BYTES, "train.microbatch=%d", k.microbatch);
  (void)snprintf(k.text[7], TEXT_BYTES, "precision=%s", draw(2) ? "bf16" : "fp32");
  (void)snprintf(k.text[8], TEXT_BYTES, "parallel.pp=%d", stages);
  return k;
}

static void look_at(const Plan *plan, void *context) {
  Measured *m = context;
  struct Arena *arena = arena_new();
  const LaneTimes *times = simulate(arena, plan, PROGRAM_TRAIN_STEP);
  for (uint32_t c = 0; c < plan->classes_count; c++) {
    const int64_t bytes = (int64_t)plan_arena_bytes(plan, &plan->classes[c], TIER_DEVICE);
    if (bytes > m->bytes) m->bytes = bytes;
    if (times[c].span_ns > m->step_ns) m->step_ns = times[c].span_ns;
  }
  for (uint32_t i = 0; i < plan->records_count; i++)
    m->moves |= plan->records[i].purpose == PURPOSE_OFFLOAD;
  arena_free(arena);
}

/* True if the job compiles. */
static bool measure(const Keys *k, const char *offload, const char *recompute, const char *budget,
                    Measured *m) {
  JobChanges changes = {{offload, recompute, budget, "checkpoint.every=never"}};
  for (size_t i = 0; i < sizeof k->text / sizeof *k->text; i++)
    changes.text[4 + i] = k->text[i];
  *m = (Measured){0};
  return job_plan_look(k->job, &changes, look_at, m);
}

static const char no_limit[] = "memory.budget=70GB";

static bool measure_auto(const Keys *k, int64_t budget_bytes, Measured *m) {
  char budget[64];
  (void)snprintf(budget, sizeof budget, "memory.budget=%lldB", (long long)budget_bytes);
  return measure(k, "offload=auto", "memory.recompute=auto", budget, m);
}

typedef Measured Placements[RECOMPUTES][WAYS][STATES][FRAMES];

static void measure_all(const Keys *k, Placements *all) {
  char text[TEXT_BYTES];
  memset(*all, 0, sizeof *all);
  for (int32_t r = 0; r < RECOMPUTES; r++)
    for (int32_t w = 0; w < WAYS; w++)
      for (int32_t s = 0; s < STATES; s++)
        for (int32_t f = 0; f < FRAMES; f++) {
          char states[64] = "", frames[64] = "";
          if (s > 0)
            (void)snprintf(states, sizeof states, "optimizer = { \"cpu\", share = \"%.1f%%\" },",
                           100.0 * s / (STATES - 1));
          if (f > 0)
            (void)snprintf(frames, sizeof frames, "activations = { \"cpu\", share = \"%.1f%%\" }",
                           100.0 * f / (FRAMES - 1));
          if (s == 0 && w > 0) continue;
          (void)snprintf(text, sizeof text, "offload={ %s %s %s }", states, ways[w], frames);
          CHECK(measure(k, text, recomputes[r], no_limit, &(*all)[r][w][s][f]));
        }
}

/* Names the placement of that number. */
static void print_placement(int32_t number) {
  const int32_t f = number % FRAMES, s = number / FRAMES % STATES;
  const int32_t w = number / FRAMES / STATES % WAYS, r = number / FRAMES / STATES / WAYS;
  printf("the best: %s, states %d/%d, what forward keeps %d/%d, %s\n", recomputes[r], s, STATES - 1,
         f, FRAMES - 1, ways[w]);
}

/* Checks so many budgets between the least that any placement needs and the job with all on the
 * device. */
static void check_budgets(const Keys *k, Placements *all, int32_t budgets, bool tells) {
  const Measured *first = &(*all)[0][0][0][0];
  int64_t least = first->bytes;
  const int32_t count = (int32_t)(sizeof *all / sizeof *first);
  for (int32_t i = 0; i < count; i++)
    if (first[i].bytes > 0 && first[i].bytes < least) least = first[i].bytes;
  for (int32_t part = 1; part <= budgets; part++) {
    const int64_t limit = least + (first->bytes - least) * part / (budgets + 1);
    int64_t best_ns = INT64_MAX;
    int32_t best = 0;
    for (int32_t i = 0; i < count; i++)
      if (first[i].bytes > 0 && first[i].bytes <= limit && first[i].step_ns < best_ns)
        best_ns = first[i].step_ns, best = i;
    Measured got;
    CHECK(measure_auto(k, limit, &got));
    if (tells || (double)got.step_ns > 1.03 * (double)best_ns) {
      printf("budget %.6f MB: %.3f ms, the best %.3f ms\n", (double)limit * 1e-6,
             (double)got.step_ns * 1e-6, (double)best_ns * 1e-6);
      print_placement(best);
    }
    CHECK(got.bytes <= limit);
    CHECK((double)got.step_ns <= 1.03 * (double)best_ns);
  }
}

static void print_keys(const Keys *k) {
  printf("%s:", k->job);
  for (size_t i = 0; i < sizeof k->text / sizeof *k->text; i++)
    printf(" %s", k->text[i]);
  printf("\n");
}

static void test_random(int32_t jobs, bool is_llama, int32_t stages) {
  static Placements all;
  for (int32_t i = 0; i < jobs; i++) {
    const Keys k = random_keys(is_llama, stages);
    const int32_t before = check_failures;
    measure_all(&k, &all);
    check_budgets(&k, &all, BUDGETS_RANDOM, false);
    if (check_failures > before) print_keys(&k);
  }
}

/* A budget of what all takes moves nothing; of what is needed with all out of the way, a little
 * more or a little less than half way, the job fits. */
static void test_fits(int32_t jobs) {
  for (int32_t i = 0; i < jobs; i++) {
    const Keys k = random_keys(i % 2 == 1, 1);
    const int32_t before = check_failures;
    Measured all, least, got;
    CHECK(measure(&k, "offload.optimizer=none", recomputes[0], no_limit, &all));
    CHECK(measure(&k, "offload={ optimizer = \"cpu\", activations = \"cpu\" }", recomputes[2],
                  no_limit, &least));
    CHECK(measure_auto(&k, all.bytes, &got) && !got.moves && got.step_ns == all.step_ns);
    const int64_t limit =
        least.bytes + (int64_t)((double)(all.bytes - least.bytes) * (1 + (double)draw(98)) / 100);
    if (limit < all.bytes) CHECK(measure_auto(&k, limit, &got) && got.bytes <= limit);
    if (check_failures > before) print_keys(&k);
  }
}

int main(int argc, char **argv) {
  static Placements all;
  Measured got;
  const int32_t jobs = argc > 2 ? (int32_t)strtol(argv[2], NULL, 10) : 1;
  state = argc > 3 ? strtoull(argv[3], NULL, 10) : 11;
  if (argc > 1 && strcmp(argv[1], "random") == 0)
    test_random(jobs, false, 1);
  else if (argc > 1 && strcmp(argv[1], "llama") == 0)
    test_random(jobs, true, 1);
  else if (argc > 1 && strcmp(argv[1], "stages") == 0)
    test_random(jobs, true, 2);
  else if (argc > 1)
    test_fits(jobs);
  else {
    TEST("nothing moves if all fits") {
      CHECK(measure(&usual, "offload=auto", "memory.recompute=auto", no_limit, &got) && !got.moves);
      test_fits(5);
    }
    TEST("what moves is within 3 % of the fastest placement, and fits") {
      measure_all(&usual, &all);
      check_budgets(&usual, &all, BUDGETS, true);
    }
  }
  CHECK_DONE();
}

/* automatic_test.c -- offload = "auto" against every other placement: recomputation, states of so
 * many layers, and of so many layers what forward keeps.
 * LINK: job_plan simulate test_world */
#include <stdlib.h>
#include <unistd.h>

#include "compiler/plan/simulate/simulate.h"
#include "runtime/plan/plan_io.h"
#include "tests/parity/job_plan.h"
#include "tests/unit/check.h"

enum { RECOMPUTES = 3, STATES = 5, FRAMES = 4, BUDGETS = 4 };

static char folder[] = "/tmp/lockstep_automatic.XXXXXX";

typedef struct Measured {
  int64_t bytes, step_ns; /* of the device's memory; predicted */
  bool moves;
} Measured;

static const char *const recomputes[RECOMPUTES] = {
    "memory.recompute=none", "memory.recompute=selective", "memory.recompute=block"};

static Measured measure(const char *offload, const char *recompute, const char *budget) {
  Measured m = {0};
  Plan plan;
  char path[128];
  (void)snprintf(path, sizeof path, "%s/plan", folder);
  const JobChanges changes = {
      {"cluster={\"dgx-a100\", devices=1, host_link=\"300GB/s\"}", "cluster.host_bandwidth=2TB/s",
       "checkpoint.every=never", "model.layers=6", "model.width=256", "model.positions=512",
       "train.batch=16 sequences", "train.microbatch=8", recompute, offload, budget}};
  CHECK(job_plan("gpt2", &changes, path, &plan));
  struct Arena *arena = arena_new();
  m.bytes = (int64_t)plan_arena_bytes(&plan, &plan.classes[0], TIER_DEVICE);
  m.step_ns = simulate(arena, &plan, PROGRAM_TRAIN_STEP)[0].span_ns;
  for (uint32_t i = 0; i < plan.records_count; i++)
    m.moves |= plan.records[i].purpose == PURPOSE_OFFLOAD;
  arena_free(arena);
  plan_close(&plan);
  return m;
}

int main(void) {
  static Measured all[RECOMPUTES][STATES][FRAMES];
  char text[160], budget[64];
  CHECK(mkdtemp(folder) != NULL);
  for (int32_t r = 0; r < RECOMPUTES; r++)
    for (int32_t s = 0; s < STATES; s++)
      for (int32_t f = 0; f < FRAMES; f++) {
        char states[64] = "", frames[64] = "";
        if (s > 0)
          (void)snprintf(states, sizeof states, "optimizer = { \"cpu\", share = \"%.1f%%\" },",
                         100.0 * s / (STATES - 1));
        if (f > 0)
          (void)snprintf(frames, sizeof frames, "activations = { \"cpu\", share = \"%.1f%%\" }",
                         100.0 * f / (FRAMES - 1));
        (void)snprintf(text, sizeof text, "offload={ %s %s }", states, frames);
        all[r][s][f] = measure(text, recomputes[r], "memory.budget=70GB");
      }
  const int64_t most = all[0][0][0].bytes, least = all[2][STATES - 1][FRAMES - 1].bytes;
  TEST("nothing moves if all fits") {
    CHECK(!measure("offload=auto", "memory.recompute=auto", "memory.budget=70GB").moves);
  }
  TEST("what moves is within 3 % of the fastest placement, and fits") {
    for (int32_t part = 1; part <= BUDGETS; part++) {
      const int64_t limit = least + (most - least) * part / (BUDGETS + 1);
      int64_t best_ns = INT64_MAX;
      for (int32_t i = 0; i < RECOMPUTES * STATES * FRAMES; i++) {
        const Measured *m = &all[0][0][0] + i;
        if (m->bytes <= limit && m->step_ns < best_ns) best_ns = m->step_ns;
      }
      (void)snprintf(budget, sizeof budget, "memory.budget=%lldB", (long long)limit);
      const Measured got = measure("offload=auto", "memory.recompute=auto", budget);
      printf("budget %.1f MB: %.3f ms, the best %.3f ms\n", (double)limit * 1e-6,
             (double)got.step_ns * 1e-6, (double)best_ns * 1e-6);
      CHECK(got.bytes <= limit);
      CHECK((double)got.step_ns <= 1.03 * (double)best_ns);
    }
  }
  (void)snprintf(text, sizeof text, "%s/plan", folder);
  (void)unlink(text);
  (void)rmdir(folder);
  CHECK_DONE();
}

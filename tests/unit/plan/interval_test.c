/* LINK: m
 * The advised interval against simulated runs: it loses at most 5 % more than the best of a grid.
 */
#include <stdint.h>

#include "runtime/plan/interval.h"
#include "tests/unit/check.h"

typedef struct Costs {
  double stall_s, write_s, restart_s, failure_s;
} Costs;

static uint64_t seed;

static double next_failure(const Costs *c) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return -c->failure_s * log(((double)(seed >> 11) + 1) / 9007199254740993.0);
}

/* The lost share of a run of 20,000 failures, which come at random. A save is durable write_s after
 * it began, and what was done since the last durable one is lost. */
static double simulate(const Costs *c, double every_s) {
  double all_s = 0, kept_s = 0;
  seed = 7;
  for (int32_t failure = 0; failure < 20000; failure++) {
    double left_s = next_failure(c), round_s = every_s + c->stall_s;
    all_s += left_s;
    left_s -= c->restart_s;
    if (left_s <= 0) continue;
    double saves = floor((left_s - every_s - c->write_s) / round_s) + 1;
    if (saves > 0) kept_s += saves * every_s;
  }
  return 1 - kept_s / all_s;
}

static void check_advice(Costs c) {
  double best = 1, advised = interval_best_s(c.stall_s, c.write_s, c.failure_s);
  for (int i = 0; i < 86; i++) { /* from an eighth of the advice to eight times as much */
    double every_s = advised / 8 * pow(1.05, i);
    if (every_s >= c.write_s) best = fmin(best, simulate(&c, every_s));
  }
  CHECK(simulate(&c, advised) <= 1.05 * best);
  CHECK_NEAR(simulate(&c, advised),
             interval_lost(advised, c.stall_s, c.write_s, c.restart_s, c.failure_s), 0.006);
}

int main(void) {
  TEST("the intervals of Llama 3's failures: with a snapshot, and without") {
    CHECK_NEAR(interval_best_s(0.5, 50, 11135), 105.5, 0.1);
    CHECK_NEAR(interval_best_s(20, 20, 11135), 667.4, 0.1);
    CHECK_NEAR(interval_lost(667.4, 20, 20, 120, 11135), 0.0725, 0.0002);
    check_advice((Costs){0.5, 50, 120, 11135});
    check_advice((Costs){20, 20, 120, 11135});
  }
  TEST("a save that takes longer than the best interval is taken one after another") {
    CHECK_NEAR(interval_best_s(0.1, 300, 10000), 300, 1e-9);
    check_advice((Costs){0.1, 300, 60, 10000});
  }
  CHECK_DONE();
}

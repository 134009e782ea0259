/* scale_test.c -- the size of a plan depends on what its ranks do differently, not on their number:
 * the Llama 3 405B of examples/, on 1,024 to 16,384 ranks. Nothing here is timed; bench/compile.c
 * is.
 */
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/plan/plan_io.h"
#include "tests/golden_numbers/golden.h"
#include "tests/unit/check.h"

enum { PLAN_BYTES_MAX = 8 * 1000 * 1000 };

typedef struct Extent {
  int64_t ranks, classes, segments, records, calls, bindings, bytes;
} Extent;

static int64_t written_bytes(Plan *plan) {
  char path[64], why[PLAN_WHY_BYTES] = "";
  struct stat file = {0};
  (void)snprintf(path, sizeof path, "/tmp/lockstep_golden_%d.plan", (int)getpid());
  CHECK(plan_write(plan, path, why));
  CHECK_TEXT(why, "");
  CHECK_INT(stat(path, &file), 0);
  (void)unlink(path);
  return file.st_size;
}

typedef struct Strategy {
  int layers, zero;
  const char *pipeline;
} Strategy;

/* Replicas of tp 8 x cp 2 x pp 16, with 32 micro-batches of one sequence each. */
static Extent extent(const Strategy *strategy, int dp) {
  Golden g;
  golden_open(&g,
              "model = { \"llama3-405b\", layers = %d }, "
              "train = { batch = \"%d sequences\", context = 8192, steps = 1 }, "
              "memory = { recompute = \"block\" }, "
              "parallel = { tp = 8, cp = 2, pp = 16, zero = %d, "
              "pipeline = %s }, "
              "cluster = { \"dgx-h100\", nodes = %d },",
              strategy->layers, 32 * dp, strategy->zero, strategy->pipeline, 32 * dp);
  CHECK(g.is_compiled);
  Extent e = {0};
  if (g.is_compiled) {
    const Plan *plan = g.plan;
    e = (Extent){0,
                 plan->classes_count,
                 plan->segments_count,
                 plan->records_count,
                 plan->calls_count,
                 plan->bindings_count,
                 written_bytes(&g.compiled.plan)};
    for (uint32_t c = 0; c < plan->classes_count; c++)
      e.ranks += plan->classes[c].rank_count;
  }
  golden_close(&g);
  return e;
}

static void check_growth(const Strategy *strategy) {
  Extent few = extent(strategy, 4), many = extent(strategy, 64);
  CHECK_INT(few.ranks, 1024);
  CHECK_INT(many.ranks, 16384);
  CHECK_INT(many.classes, 16);
  CHECK_INT(many.classes, few.classes);
  CHECK_INT(many.segments, few.segments);
  CHECK_INT(many.records, few.records);
  CHECK_INT(many.calls, few.calls);
  CHECK_INT(many.bindings, few.bindings);
  /* Names and the like; and launches, of which there are fewer where a rank updates less. */
  CHECK_NEAR(many.bytes, few.bytes, 2000);
  CHECK(many.bytes < PLAN_BYTES_MAX);
}

int main(void) {
  TEST("a plan for 16,384 ranks has the classes, records and calls of one for 1,024")
  check_growth(&(Strategy){126, 1, "{ \"interleaved\", chunks = 8 }"});
  TEST("the same when weights are shared too, of fewer layers: every gather is a call")
  check_growth(&(Strategy){30, 3, "\"1f1b\""});
  CHECK_DONE();
}

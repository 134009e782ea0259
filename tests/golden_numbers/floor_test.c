/* floor_test.c -- the floor of a step: each of its four times from first principles, and none above
 * the time of a published run. */
#include "compiler/draft/cost/floor.h"
#include "compiler/show/explain/explain.h"
#include "tests/golden_numbers/golden.h"
#include "tests/unit/check.h"

static Floor floor_of_job(const Golden *g) {
  return g->is_compiled ? floor_of(g->compiled.draft, g->plan) : (Floor){0};
}

/* Rates of dgx-h100: dense bf16 FLOP/s, bytes/s of memory and of NVLink one way, and of one NIC. */
static const double PEAK = 989.4e12, MEMORY = 3.35e12, NVLINK = 450e9, NIC = 50e9;

#define JOB(sequences, context, microbatch)                                                        \
  "train = { batch = \"" sequences " sequences\", context = " context ", microbatch = " microbatch \
  ", steps = 1 }, precision = \"bf16\", "

static void test_compute(void) {
  TEST("compute is the model's FLOPs at the peak, with or without recomputation") {
    for (int i = 0; i < 2; i++) {
      Golden g;
      golden_open(
          &g,
          "model = \"llama3-8b\", " JOB(
              "64", "4096", "1") "memory = { recompute = \"%s\" }, parallel = { zero = 3 }, "
                                 "cluster = { \"dgx-h100\", nodes = 4 }",
          i == 0 ? "none" : "block");
      double flops = (double)g.compiled.flops_per_token * 64 * 4096;
      CHECK_NEAR(floor_of_job(&g).seconds[FLOOR_COMPUTE], flops / 32 / PEAK,
                 2e-3 * flops / 32 / PEAK);
      CHECK_INT(floor_of_job(&g).bound, FLOOR_COMPUTE);
      CHECK(floor_seconds(&g.compiled) <= step_seconds(&g.compiled));
      golden_close(&g);
    }
  }
  TEST("the last of four stages waits for a micro-batch to pass the stages before it") {
    Golden g;
    golden_open(&g,
                "model = { \"llama3-8b\", layers = 16 }, " JOB(
                    "8", "2048",
                    "1") "parallel = { pp = 4, tp = 2 }, cluster = { \"dgx-h100\", nodes = 1 }");
    double flops = (double)g.compiled.flops_per_token * 8 * 2048, seconds = flops / 8 / PEAK;
    CHECK(floor_of_job(&g).seconds[FLOOR_COMPUTE] > seconds * (1 + 0.5 / 8));
    CHECK(floor_seconds(&g.compiled) <= step_seconds(&g.compiled));
    golden_close(&g);
  }
}

/* ZeRO 3 with fp32 gradients: each micro-batch gathers bf16 parameters twice and scatters gradients
 * once. */
static void test_links(void) {
  for (int nodes = 1; nodes <= 128; nodes *= 128)
    TEST(nodes == 1 ? "inside a node ranks have NVLink"
                    : "between nodes the NICs of a node, no latency") {
      Golden g;
      golden_open(
          &g,
          "model = \"llama3-8b\", " JOB(
              "2048", "512", "1") "parallel = { zero = 3 }, cluster = { \"dgx-h100\", nodes = %d }",
          nodes);
      double rounds = 2048.0 / (8 * nodes), whole = 8.03e9 * (2 + 2 + 4) * rounds;
      double least = nodes == 1 ? whole * 7 / 8 / NVLINK : whole * 127 / 128 / (8 * NIC);
      Floor floor = floor_of_job(&g);
      double found = floor.seconds[nodes == 1 ? FLOOR_INSIDE : FLOOR_NETWORK];
      CHECK_NEAR(found, least, 0.02 * least);
      CHECK_NEAR(floor.seconds[nodes == 1 ? FLOOR_NETWORK : FLOOR_INSIDE], 0, 0);
      CHECK(floor_seconds(&g.compiled) <= step_seconds(&g.compiled));
      golden_close(&g);
    }
  TEST("stages send a value that tp repeats once, in parts, as Megatron-LM does") {
    double seconds[2];
    for (int i = 0; i < 2; i++) {
      Golden g;
      golden_open(&g,
                  "model = { \"llama3-8b\", layers = 4 }, " JOB(
                      "4", "512", "1") "parallel = { tp = 8, pp = 2, sequence = %s }, "
                                       "cluster = { \"dgx-h100\", nodes = 2 }",
                  i == 0 ? "true" : "false");
      seconds[i] = floor_of_job(&g).seconds[FLOOR_NETWORK];
      golden_close(&g);
    }
    CHECK(seconds[0] > 0);
    CHECK_NEAR(seconds[1], seconds[0], 1e-9 * seconds[0]);
  }
  TEST("memory is a pass of AdamW: gradient, master and moments, weight") {
    Golden g;
    golden_open(
        &g, "model = { \"gpt2\", layers = 4, width = 512, heads = 8 }, " JOB(
                "1", "128",
                "1") "parallel = { zero = 0 }, cluster = { \"dgx-h100\", nodes = 1, devices = 1 }");
    double least = 30 * (double)g.compiled.parameters / MEMORY;
    CHECK_NEAR(floor_of_job(&g).seconds[FLOOR_MEMORY], least, 0.01 * least);
    golden_close(&g);
  }
}

/* Seconds of a step as published. */
static const struct {
  const char *source, *job;
  double seconds;
} runs[] = {
    {"dgxc-benchmarking 24.11, Llama 3.1 8B on 128 H100",
     "model = \"llama3-8b\", " JOB(
         "2048", "8192",
         "1") "parallel = { cp = 2, zero = 1 }, cluster = { \"dgx-h100\", nodes = 16 }",
     13.1},
    {"torchtitan, 2024-12, Llama 3.1 8B on 128 H100",
     "model = \"llama3-8b\", " JOB(
         "256", "8192", "2") "memory = { recompute = \"block\" }, parallel = { zero = 3 }, "
                             "cluster = { \"dgx-h100\", nodes = 16 }",
     256.0 * 8192 / (128 * 6514.0)},
    /* 74 days for 300e9 tokens */
    {"Narayanan et al. 2021, table 2, GPT of 174.6e9, ZeRO 3 on 1,536 A100",
     "model = { \"gpt2\", layers = 96, width = 12288, heads = 96, vocab = 51200, positions = 2048 "
     "}, " JOB("1536", "2048", "1") "memory = { recompute = \"block\" }, parallel = { zero = 3 }, "
                                    "cluster = { \"dgx-a100\", nodes = 192 }",
     74 * 86400.0 * 1536 * 2048 / 300e9},
    {"Narayanan et al. 2021, table 1, GPT of 39.1e9 on 512 A100",
     "model = { \"gpt2\", layers = 48, width = 8192, heads = 64, vocab = 51200, positions = 2048 "
     "}, " JOB("1536", "2048",
               "1") "memory = { recompute = \"block\" }, parallel = { tp = 8, pp = 2 }, "
                    "cluster = { \"dgx-a100\", nodes = 64 }",
     96.0 * 1536 * 2048 * 48 * 8192 * 8192 *
         (1 + 2048 / (6.0 * 8192) + 51200 / (16.0 * 48 * 8192)) / (512 * 138e12)},
};

static void test_published(void) {
  for (size_t i = 0; i < sizeof runs / sizeof *runs; i++)
    TEST(runs[i].source) {
      Golden g;
      golden_open(&g, "%s", runs[i].job);
      double seconds = floor_seconds(&g.compiled);
      CHECK(g.is_compiled && seconds > 0.08 * runs[i].seconds);
      CHECK(seconds < runs[i].seconds);
      if (seconds >= runs[i].seconds)
        printf("%g s, published %g s, simulated %g s\n", seconds, runs[i].seconds,
               step_seconds(&g.compiled));
      golden_close(&g);
    }
}

int main(void) {
  test_compute();
  test_links();
  test_published();
  CHECK_DONE();
}

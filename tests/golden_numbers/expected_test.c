/* expected_test.c -- the expected time of a step beside published and measured ones. The whole of
 * the tables: bench/published. */
#include "compiler/draft/cost/breakdown.h"
#include "compiler/draft/cost/range.h"
#include "compiler/show/explain/explain.h"
#include "tests/golden_numbers/golden.h"
#include "tests/unit/check.h"

#define TRAIN(sequences, context, microbatch)                                                      \
  "train = { batch = \"" sequences " sequences\", context = " context ", microbatch = " microbatch \
  ", steps = 1 }, "
#define ROOM(recompute) "memory = { budget = \"100TB\", recompute = \"" recompute "\" }, "

/* Seconds of a step as measured, and the largest error. */
static const struct {
  const char *source, *job;
  double seconds, error;
} runs[] = {
    {"dgxc-benchmarking 24.11, Llama 3.1 8B on 128 H100",
     "model = \"llama3-8b\", " TRAIN("2048", "8192", "1")
         ROOM("none") "parallel = { cp = 2, zero = 1 }, precision = \"bf16\", "
                      "cluster = { \"dgx-h100\", nodes = 16, software = \"nemo-2411\" }",
     13.1, 0.06},
    {"Korthikanti et al. 2022, table 5, 175B, all recomputed",
     "model = { \"gpt2\", layers = 96, width = 12288, heads = 96, vocab = 51200, positions = 2048, "
     "dropout = 0.1 }, " TRAIN("64", "2048", "1")
         ROOM("block") "parallel = { tp = 8, pp = 8, sequence = false, "
                       "pipeline = { \"interleaved\", chunks = 3 } }, precision = \"fp16\", "
                       "cluster = { \"dgx-a100\", nodes = 8, software = \"megatron-2022\" }",
     18.13, 0.04},
    {"Zero Bubble, table 4, 6.2B, 1F1B, 24 micro-batches",
     "model = { \"gpt2\", layers = 30, width = 4096, heads = 32, vocab = 51200, positions = 1024, "
     "dropout = 0.1 }, " TRAIN("72", "1024", "3")
         ROOM("none") "parallel = { pp = 8, stages = { 3, 4, 4, 4, 4, 4, 4, 3 } }, "
                      "precision = \"bf16\", "
                      "cluster = { \"dgx-a100\", nodes = 1, software = \"megatron-2023\" }",
     72.0 / 8 / 3.5, 0.05},
    {"llm.c, GPT-2 774M on 8 A100",
     "model = { \"gpt2\", layers = 36, width = 1280, heads = 20, vocab = 50304, positions = 1024 "
     "}, " TRAIN("512", "1024", "32") ROOM("none") "parallel = { zero = 1 }, precision = \"bf16\", "
                                                   "cluster = { \"dgx-a100\", nodes = 1, "
                                                   "software = \"llmc\" }",
     1.7, 0.06},
    {"torchtitan, Llama 3.1 8B on 8 H100 of 500 W, without torch.compile",
     "model = { \"llama\", layers = 32, width = 4096, heads = 32, kv_heads = 8, ffn = 14336, "
     "vocab = 128256, positions = 8192 }, " TRAIN(
         "16", "8192",
         "2") "memory = { budget = \"100TB\", recompute = { \"every\", blocks = 2 } }, parallel = "
              "{ zero = 3 }, "
              "precision = { \"bf16\", grad = \"fp32\" }, "
              "cluster = { \"dgx-h100\", device = \"h100-sxm-96\", software = \"fsdp\" }",
     2.843, 0.08},
    {"this program, GPT-2 124M on one H100",
     "model = { \"gpt2-124m\", vocab_multiple = 128 }, " TRAIN("64", "1024", "32")
         ROOM("none") "precision = \"bf16\", cluster = { \"dgx-h100\", devices = 1 }",
     0.1199, 0.05},
};

static void test_published(void) {
  for (size_t i = 0; i < sizeof runs / sizeof *runs; i++)
    TEST(runs[i].source) {
      Golden g;
      golden_open(&g, "%s", runs[i].job);
      CHECK(g.is_compiled);
      double seconds = g.is_compiled ? step_seconds(&g.compiled) : 0;
      TimeRange range = time_range(&g.compiled.cluster);
      CHECK_NEAR(seconds, runs[i].seconds, runs[i].error * runs[i].seconds);
      CHECK(seconds * range.low < runs[i].seconds && runs[i].seconds < seconds * range.high);
      golden_close(&g);
    }
}

/* Milliseconds of a step on one H100, by kind: docs/measurements/expected.md. */
static void test_kinds(void) {
  TEST("kernels by kind, 8 layers of Llama 3 8B on one H100, within 10 %") {
    static const double measured[COMPUTE_KINDS] = {
        [COMPUTE_PRODUCTS] = 119.3, [COMPUTE_ATTENTION] = 34.3, [COMPUTE_OPTIMIZER] = 20.7};
    Golden g;
    golden_open(&g, "model = { \"llama\", layers = 8, width = 4096, heads = 32, kv_heads = 8, "
                    "ffn = 14336, vocab = 512, positions = 8192 }, " TRAIN("1", "8192", "1")
                        ROOM("none") "precision = \"bf16\", "
                                     "cluster = { \"dgx-h100\", devices = 1 }");
    CHECK(g.is_compiled);
    CostBreakdown kinds = g.is_compiled
                              ? breakdown_of(g.compiled.draft->compile->arena, &g.compiled.plan)
                              : (CostBreakdown){0};
    for (int i = 0; i < COMPUTE_KINDS; i++)
      if (measured[i] > 0) CHECK_NEAR(1e3 * kinds.seconds[i], measured[i], 0.1 * measured[i]);
    golden_close(&g);
  }
}

int main(void) {
  test_published();
  test_kinds();
  CHECK_DONE();
}

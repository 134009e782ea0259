/* sent_test.c -- what each rank sends in a step, counted by the runtime while it runs, against the
 * formulas that textbooks give for each way to divide the work. In elements, n ranks:
 *
 *   ddp, zero 1       2 P (n-1)/n        all-reduce, or reduce-scatter and all-gather
 *   zero 2            the same with one micro-batch; one more reduce-scatter for each other one
 *   zero 3            3 P (n-1)/n        a micro-batch, less the embedding's gather backward, whose
 *                                        weights nothing reads
 *   groups of n       P (n-1)/n          each way inside, 2 P/n (r-1)/r between r groups
 *   tp                8 s b h (t-1)/t    a layer and micro-batch; with sequence the same bytes
 *   tp, regather      2 s b h (t-1)/t    more
 *   pp                s b h              a boundary each way and micro-batch
 *   cp ring           2 (c-1) s/c b k d  a layer forward. Backward: keys and values as often, and c
 *                                        times their gradients, which come home; in bf16 those that
 *                                        are sums are fp32, all but the first and the last
 *   cp ulysses        (2 h + 2 k d) s/c b (c-1)/c   a layer forward, and backward
 *
 * P has no padding here: every parameter is a multiple of 32 n elements. */
#include "tests/golden_numbers/golden.h"
#include "tests/golden_numbers/ranks.h"
#include "tests/unit/check.h"

enum { LAYERS = 4, H = 128, HEADS = 4, KV_HEADS = 2, D = H / HEADS, S = 32, B = 2, VOCAB = 256 };
enum { SBH = S * B * H, FP32 = 4, BF16 = 2 };

typedef struct Run {
  Golden golden;
  Ranks ranks;
  bool has_run;
} Run;

/* The bytes that explain counts in the plan are those that ran. Here ranks of a stage are
 * consecutive: dp or pp is 1. */
static void check_runs(const Run *run) {
  const Plan *plan = run->golden.plan;
  for (int32_t rank = 0; rank < run->ranks.count; rank++) {
    uint32_t class = (uint32_t)rank * plan->classes_count / (uint32_t)run->ranks.count;
    int64_t runs = 0;
    for (uint32_t r = 0; r < plan->records_count; r++)
      if (plan_is_communication(&plan->records[r])) runs += run->ranks.counts[rank][r].runs;
    CHECK_INT(runs, golden_find(plan, class, (Which){0}).runs);
  }
}

/* Two sequences a micro-batch. */
static void run_open(Run *run, int batch, int ranks, const char *parallel, const char *precision) {
  golden_open(&run->golden,
              "model = { \"llama\", layers = %d, width = %d, heads = %d, kv_heads = %d, ffn = 256, "
              "vocab = %d }, train = { batch = \"%d sequences\", context = %d, microbatch = %d, "
              "steps = 1 }, memory = { recompute = \"none\" }, precision = %s, "
              "parallel = { %s }, cluster = { \"here\", devices = %d },",
              LAYERS, H, HEADS, KV_HEADS, VOCAB, batch, S, B, precision, parallel, ranks);
  CHECK(run->golden.is_compiled);
  run->has_run = run->golden.is_compiled && ranks_run(run->golden.plan, &run->ranks);
  CHECK(run->has_run);
  if (run->has_run) check_runs(run);
}

static void run_close(Run *run) {
  if (run->has_run) ranks_close(&run->ranks);
  golden_close(&run->golden);
}

static int64_t sent_bytes(const Run *run, int32_t rank, Which which) {
  const Plan *plan = run->golden.plan;
  int64_t bytes = 0;
  for (uint32_t s = 0; s < plan->segments_count; s++) {
    const PlanSegment *segment = &plan->segments[s];
    for (uint32_t r = segment->records_first; r < segment->records_first + segment->records_count;
         r++)
      if (golden_is(plan, segment, r, &which)) bytes += run->ranks.counts[rank][r].sent_bytes;
  }
  return bytes;
}

/* An all-reduce sends parts that differ by an element between ranks: only their mean is the
 * formula's. */
static void check_mean(const Run *run, Which which, int64_t want_bytes) {
  int64_t bytes = 0;
  for (int32_t rank = 0; run->has_run && rank < run->ranks.count; rank++)
    bytes += sent_bytes(run, rank, which);
  if (run->has_run) CHECK_INT(bytes, want_bytes * run->ranks.count);
}

static void check_all_send(const Run *run, Which which, int64_t want_bytes) {
  for (int32_t rank = 0; run->has_run && rank < run->ranks.count; rank++)
    CHECK_INT(sent_bytes(run, rank, which), want_bytes);
}

/* ---- data parallel */

static int64_t count_all(int64_t weights) {
  int64_t layer = H + 2 * H * H + 2 * KV_HEADS * D * H + H + 3 * H * 256;
  CHECK_INT(weights, 2 * VOCAB * H + H + LAYERS * layer);
  return weights;
}

static void test_replicas(void) {
  enum { N = 4 };
  static const Which gradients = {"*.reduce", "dp", "*gradients", RECORD_KERNEL};
  static const Which weights = {"*gather", "dp", NULL, RECORD_KERNEL};
  Run run;
  TEST("ddp: 2 P (n-1)/n, once a step") {
    run_open(&run, 2 * N * B, N, "zero = 0", "\"fp32\"");
    int64_t p = count_all(run.golden.compiled.parameters);
    check_mean(&run, gradients, FP32 * 2 * p * (N - 1) / N);
    check_all_send(&run, weights, 0);
    run_close(&run);
  }
  TEST("zero 1: half of it to reduce, half to gather, once a step") {
    run_open(&run, 2 * N * B, N, "zero = 1", "\"fp32\"");
    int64_t p = run.golden.compiled.parameters;
    check_all_send(&run, gradients, FP32 * p * (N - 1) / N);
    check_all_send(&run, weights, FP32 * p * (N - 1) / N);
    run_close(&run);
  }
  for (int m = 1; m <= 2; m++)
    TEST("zero 2: gradients leave after every micro-batch, weights are gathered once a step") {
      run_open(&run, m * N * B, N, "zero = 2", "\"fp32\"");
      int64_t p = run.golden.compiled.parameters;
      check_all_send(&run, gradients, m * FP32 * p * (N - 1) / N);
      check_all_send(&run, weights, FP32 * p * (N - 1) / N);
      run_close(&run);
    }
  TEST("zero 2 that reduces at the end of the step: 2 P (n-1)/n again") {
    run_open(&run, 2 * N * B, N, "zero = 2, zero_reduce = \"step\"", "\"fp32\"");
    int64_t p = run.golden.compiled.parameters;
    check_all_send(&run, gradients, FP32 * p * (N - 1) / N);
    check_all_send(&run, weights, FP32 * p * (N - 1) / N);
    run_close(&run);
  }
}

static void test_shards(void) {
  enum { N = 4 };
  Run run;
  for (int m = 1; m <= 2; m++)
    TEST("zero 3: 3 P (n-1)/n a micro-batch, 1.5 times ddp") {
      run_open(&run, m * N * B, N, "zero = 3, zero_keep = \"1B\"", "\"fp32\"");
      int64_t p = run.golden.compiled.parameters;
      int64_t embedding = VOCAB * H;
      check_all_send(&run, (Which){"*.reduce", "dp", "*gradients", RECORD_KERNEL},
                     m * FP32 * p * (N - 1) / N);
      check_all_send(&run, (Which){"*gather", "dp", NULL, RECORD_KERNEL},
                     m * FP32 * (2 * p - embedding) * (N - 1) / N);
      run_close(&run);
    }
}

/* Groups of two that share, repeated twice. */
static void test_groups(void) {
  enum { N = 2, GROUPS = 2 };
  Run run;
  TEST("groups: scatter and gather inside, an all-reduce of one's piece between them") {
    run_open(&run, N * GROUPS * B, N * GROUPS, "zero = 1, zero_group = 2", "\"fp32\"");
    int64_t p = run.golden.compiled.parameters;
    check_all_send(&run, (Which){"*.reduce", "dp", "*gradients", RECORD_REDUCE_SCATTER},
                   FP32 * p * (N - 1) / N);
    check_mean(&run, (Which){"*.reduce", "dp_replicate", "*gradients", RECORD_ALL_REDUCE},
               FP32 * 2 * (p / N) * (GROUPS - 1) / GROUPS);
    check_all_send(&run, (Which){"*gather", "dp", NULL, RECORD_ALL_GATHER}, FP32 * p * (N - 1) / N);
    run_close(&run);
  }
}

/* Gathered weights may stay until their backward, or for the whole step. */
static void test_reshard(void) {
  enum { N = 4, M = 2 };
  static const Which weights = {"*gather", "dp", NULL, RECORD_KERNEL};
  Run run;
  TEST("zero 3, weights kept until backward: one gather a micro-batch, as forward needs") {
    run_open(&run, M * N * B, N, "zero = 3, zero_keep = \"1B\", zero_reshard = \"chunk\"",
             "\"fp32\"");
    check_all_send(&run, weights, M * FP32 * run.golden.compiled.parameters * (N - 1) / N);
    run_close(&run);
  }
  TEST("zero 3, weights kept for the step: one gather a step") {
    run_open(&run, M * N * B, N, "zero = 3, zero_keep = \"1B\", zero_reshard = \"step\"",
             "\"fp32\"");
    check_all_send(&run, weights, FP32 * run.golden.compiled.parameters * (N - 1) / N);
    run_close(&run);
  }
}

/* ---- tensor parallel */

static void test_tensor(void) {
  enum { T = 2, M = 2 };
  static const Which layers = {"model.layers.*ward", "tp", NULL, RECORD_KERNEL};
  static const int64_t plain = (int64_t)M * LAYERS * FP32 * 8 * SBH * (T - 1) / T;
  Run run;
  TEST("tp: 8 s b h (t-1)/t a layer") {
    run_open(&run, M * B, T, "tp = 2, sequence = false", "\"fp32\"");
    check_all_send(&run, layers, plain);
    run_close(&run);
  }
  TEST("tp with sequence: the same bytes") {
    run_open(&run, M * B, T, "tp = 2", "\"fp32\"");
    check_all_send(&run, layers, plain);
    run_close(&run);
  }
  TEST("tp, inputs gathered again: a quarter more") {
    run_open(&run, M * B, T, "tp = 2, regather = true", "\"fp32\"");
    check_all_send(&run, layers, plain / 4 * 5);
    run_close(&run);
  }
}

/* ---- pipeline */

static void test_pipeline(void) {
  enum { P = 2, M = 4 };
  Run run;
  TEST("pp: s b h forward from the first stage, s b h back from the last") {
    run_open(&run, M * B, P, "pp = 2", "\"fp32\"");
    check_all_send(&run, (Which){"exchange *", "pp", "carried*", RECORD_EXCHANGE},
                   (int64_t)M * FP32 * SBH);
    run_close(&run);
  }
  TEST("pp with sequence: a part of tp each") {
    run_open(&run, M * B, 2 * P, "pp = 2, tp = 2", "\"fp32\"");
    check_all_send(&run, (Which){"exchange *", "pp", "carried*", RECORD_EXCHANGE},
                   (int64_t)M * FP32 * SBH / 2);
    run_close(&run);
  }
  TEST("interleaved: two chunks a stage cross three boundaries, each stage's last one but one") {
    run_open(&run, M * B, P, "pp = 2, pipeline = { \"interleaved\", chunks = 2 }", "\"fp32\"");
    check_all_send(&run, (Which){"exchange *", "pp", "carried*", RECORD_EXCHANGE},
                   (int64_t)M * FP32 * SBH * 3);
    run_close(&run);
  }
}

/* ---- context parallel */

static void test_ring(void) {
  enum { C = 4, M = 1, BLOCK = S / C * B * KV_HEADS * D };
  static const struct {
    const char *precision;
    int64_t bytes, blocks; /* of an element; backward */
  } cases[] = {{"\"fp32\"", FP32, C - 1 + C}, {"\"bf16\"", BF16, C - 1 + 1 + 2 * (C - 2) + 1}};
  Run run;
  for (int i = 0; i < 2; i++)
    TEST("cp ring: (c-1) blocks of keys and values forward; with their gradients backward") {
      int64_t block = (int64_t)M * LAYERS * cases[i].bytes * 2 * BLOCK; /* keys and values */
      run_open(&run, M * B, C, "cp = 4, zero = 0", cases[i].precision);
      check_all_send(&run, (Which){"model.layers.forward", "cp", NULL, RECORD_EXCHANGE},
                     (C - 1) * block);
      check_all_send(&run, (Which){"model.layers.backward", "cp", NULL, RECORD_EXCHANGE},
                     cases[i].blocks * block);
      run_close(&run);
    }
}

static void test_ulysses(void) {
  enum { C = 2, M = 1 };
  static const int64_t pass =
      (int64_t)M * LAYERS * FP32 * (2 * H + 2 * KV_HEADS * D) * (S / C) * B * (C - 1) / C;
  Run run;
  TEST("cp ulysses: queries, keys, values and the result, forward and backward") {
    run_open(&run, M * B, C, "cp = 2, cp_kind = \"ulysses\", zero = 0", "\"fp32\"");
    check_all_send(&run, (Which){"model.layers.forward", "cp", NULL, RECORD_ALL_TO_ALL}, pass);
    check_all_send(&run, (Which){"model.layers.backward", "cp", NULL, RECORD_ALL_TO_ALL}, pass);
    run_close(&run);
  }
}

int main(void) {
  test_replicas();
  test_shards();
  test_groups();
  test_reshard();
  test_tensor();
  test_pipeline();
  test_ring();
  test_ulysses();
  CHECK_DONE();
}

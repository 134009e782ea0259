/* Which samples a step reads, in which order, and what is wrong with files.
 * LINK: runtime plan_builder */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/data/permute.h"
#include "runtime/data/staging.h"
#include "runtime/plan/plan_job.h"
#include "tests/unit/check.h"
#include "tests/unit/plan_builder.h"

enum { CONTEXT = 4, TOKENS = 103, ROWS_MAX = 64 };

static char folder[64], path[256];

static const char *make(const char *name, const void *bytes, size_t count) {
  (void)snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "wb");
  if (!file || fwrite(bytes, 1, count, file) != count) abort();
  fclose(file);
  return path;
}

/* Tokens 0 .. 102 in two files, the cut inside a window; validation is a file of 10. */
static PlanBuilder builder;

static Plan token_plan(int64_t microbatch, int64_t batch, uint32_t shuffle) {
  build_free(&builder);
  memset(&builder, 0, sizeof builder);
  BuildJob job = {.seed = 9, .batch_samples = batch, .microbatch_samples = microbatch};
  job.context = CONTEXT;
  job.vocab = 128;
  job.shuffle = shuffle;
  job.prefetch_steps = 2;
  job.data = DATA_TOKENS;
  job.loss = "cross_entropy";
  job.validate_samples = 100;
  build_job(&builder, job);
  uint32_t none = build_string(&builder, "");
  build_inputs(&builder, (PlanInput){CONTEXT, DTYPE_I32, INPUT_TOKENS, none, none, 0, 0});
  build_inputs(&builder, (PlanInput){CONTEXT, DTYPE_I32, INPUT_TARGETS, none, none, 0, 0});
  uint8_t bytes[TOKENS];
  for (int i = 0; i < TOKENS; i++)
    bytes[i] = (uint8_t)i;
  uint32_t first = build_string(&builder, make("a.u8", bytes, 42));
  uint32_t second = build_string(&builder, make("b.u8", bytes + 42, TOKENS - 42));
  uint32_t valid = build_string(&builder, make("v.u8", bytes, 10));
  build_files(&builder, (PlanFile){0, FORMAT_U8, first, 0});
  build_files(&builder, (PlanFile){1, FORMAT_U8, valid, 0});
  build_files(&builder, (PlanFile){0, FORMAT_U8, second, 0});
  Plan plan = build_view(&builder);
  *build_count(&builder, JOB_sample_bytes) = (int64_t)samples_input_offset(&plan, 2);
  return plan;
}

static void test_permutation(void) {
  static const int64_t counts[] = {1, 2, 3, 5, 16, 17, 1000};
  TEST("every count has a bijection, and keys differ") {
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
      static bool seen[1000];
      memset(seen, 0, sizeof seen);
      for (int64_t i = 0; i < counts[c]; i++)
        seen[permute(7, counts[c], i)] = true;
      for (int64_t i = 0; i < counts[c]; i++)
        CHECK(seen[i]);
    }
    int32_t equal = 0;
    for (int64_t i = 0; i < 1000; i++)
      equal += permute(7, 1000, i) == permute(8, 1000, i);
    CHECK(equal < 20);
  }
}

static void test_windows(void) {
  Plan plan = token_plan(1, 1, 0);
  Samples samples;
  Status status;
  int32_t slot[32];
  TEST("windows overlap by the token that is target and start, across files") {
    CHECK(samples_open(&samples, &plan, false, &status));
    CHECK_INT(samples.count, 25);
    CHECK(samples_fill(&samples, samples_at(&samples, 10), 0, (uint8_t *)slot, &status));
    for (int i = 0; i < CONTEXT; i++) {
      CHECK_INT(slot[i], 40 + i);
      CHECK_INT(slot[16 + i], 41 + i); /* the targets begin at the next 64 bytes */
    }
    CHECK_INT(samples_at(&samples, 27), 2);
    samples_close(&samples);
  }
  TEST("validation ends in padding") {
    CHECK(samples_open(&samples, &plan, true, &status));
    CHECK_INT(samples.count, 3);
    CHECK(samples_fill(&samples, 2, 0, (uint8_t *)slot, &status));
    CHECK(slot[0] == 8 && slot[1] == 9 && slot[2] == 0 && slot[3] == 0);
    CHECK(slot[16] == 9 && slot[17] == -1 && slot[19] == -1);
    CHECK(samples_fill(&samples, INT64_MAX / 2, 0, (uint8_t *)slot, &status));
    CHECK(slot[0] == 0 && slot[16] == -1);
    samples_close(&samples);
  }
  TEST("validation has no more samples than the plan says; the rest is padding") {
    *build_count(&builder, JOB_validate_samples) = 2;
    CHECK(samples_open(&samples, &plan, true, &status));
    CHECK_INT(samples.count, 2);
    CHECK(samples_fill(&samples, 1, 0, (uint8_t *)slot, &status));
    CHECK(slot[0] == 4 && slot[16] == 5 && slot[19] == 8);
    CHECK(samples_fill(&samples, 2, 0, (uint8_t *)slot, &status));
    CHECK(slot[0] == 0 && slot[16] == -1);
    samples_close(&samples);
  }
  TEST("another loss than the cross-entropy has no weights: its last short window is left out") {
    *build_count(&builder, JOB_validate_samples) = 100;
    build_word(&builder, JOB_loss, "mse");
    plan = build_view(&builder);
    CHECK(samples_open(&samples, &plan, true, &status));
    CHECK_INT(samples.count, 2);
    samples_close(&samples);
  }
  TEST("an id beyond the vocabulary is named with its place") {
    CHECK(samples_open(&samples, &plan, false, &status));
    *build_count(&builder, JOB_vocab) = 50;
    CHECK(!samples_fill(&samples, 12, 0, (uint8_t *)slot, &status));
    CHECK(strstr(status.text, "b.u8: token 50 at position 8, vocab = 50"));
    samples_close(&samples);
    status = (Status){0};
    CHECK(
        !samples_open(&samples, &plan, false, &status)); /* those it looks at are refused at once */
    CHECK(strstr(status.text, "b.u8: token 50 at position 8, vocab = 50"));
    CHECK_INT(status.code, STATUS_USER);
  }
}

/* First tokens of all samples of a step, in the order of the global batch. */
static void stage_step(int64_t microbatch, int32_t replicas, int64_t loads, int64_t steps,
                       int32_t *out) {
  Plan plan = token_plan(microbatch, 8, 1);
  Samples train, valid;
  Status status = {0};
  CHECK(samples_open(&train, &plan, false, &status) && samples_open(&valid, &plan, true, &status));
  uint64_t sample_bytes = job_sample_bytes(&plan);
  *build_count(&builder, JOB_accumulation) = loads;
  uint8_t *ring = malloc(2 * (uint64_t)loads * sample_bytes);
  for (int32_t replica = 0; replica < replicas; replica++) {
    StagingSetup setup = {&plan, &train, &valid, ring,  replicas, replica,
                          0,     steps,  0,      loads, 0,        true};
    Staging *staging = staging_start(&setup, &status);
    staging_begin(staging, 1, 0);
    const uint8_t *step = NULL;
    for (int64_t i = 0; i < steps * loads; i++) {
      if (i % loads == 0) step = staging_take(staging, &status);
      CHECK(step != NULL);
      const uint8_t *staged = step + (uint64_t)(i % loads) * sample_bytes;
      const int32_t *tokens = (const int32_t *)(const void *)staged;
      const int32_t *targets = tokens + samples_input_offset(&plan, 1) / 4;
      int64_t first = i / loads * 8 + (i % loads * replicas + replica) * microbatch;
      for (int64_t row = 0; row < microbatch; row++) {
        out[first + row] = tokens[row * CONTEXT];
        CHECK_INT(targets[row * CONTEXT], tokens[row * CONTEXT] + 1);
      }
      if (i % loads == loads - 1) staging_give_back(staging);
    }
    staging_stop(staging);
  }
  free(ring);
  samples_close(&train);
  samples_close(&valid);
}

/* Sources by turns, each in its own order; no window has tokens of two. */
static void test_mix(void) {
  Plan plan = token_plan(1, 1, 1);
  build_settings(&builder, (PlanSetting){.kind = SETTING_TEXT,
                                         .key = build_string(&builder, PLAN_MIX_KEY),
                                         .text = build_string(&builder, "2:1 2:1")});
  plan = build_view(&builder);
  Samples samples;
  Status status;
  int32_t slot[32], seen[TOKENS] = {0};
  TEST("a mix reads its sources by turns, and each whole in an epoch of it") {
    CHECK(samples_open(&samples, &plan, false, &status));
    CHECK_INT(samples.count, 25);
    for (int64_t at = 0; at < 30; at++) {
      const int64_t number = samples_at(&samples, at);
      CHECK(samples_fill(&samples, number, 0, (uint8_t *)slot, &status));
      CHECK(slot[CONTEXT - 1] == slot[0] + CONTEXT - 1 && slot[16] == slot[0] + 1);
      CHECK_INT(samples_source(&samples, number).source, slot[0] >= 42);
      seen[slot[0]]++;
    }
    int32_t of_first = 0;
    for (int32_t i = 0; i < 42; i++)
      of_first += seen[i];
    CHECK_INT(of_first, 15);
    for (int32_t i = 0; i < 10; i++) /* its second epoch has begun */
      CHECK(seen[4 * i] == 1 || seen[4 * i] == 2);
    samples_close(&samples);
  }
}

static void test_stage(void) {
  enum { STEPS = 7 };
  int32_t one[8 * STEPS], other[8 * STEPS];
  stage_step(8, 1, 1, STEPS, one);
  TEST("replicas and micro-batches divide the same samples") {
    static const int32_t cells[][3] = {{4, 1, 2}, {2, 1, 4}, {4, 2, 1}, {2, 2, 2}, {1, 4, 2}};
    for (size_t c = 0; c < sizeof cells / sizeof *cells; c++) {
      stage_step(cells[c][0], cells[c][1], cells[c][2], STEPS, other);
      CHECK(memcmp(one, other, sizeof one) == 0);
    }
  }
  TEST("an epoch has every sample once, and goes on into the next") {
    int32_t seen[25] = {0};
    for (int i = 0; i < 25; i++)
      seen[one[i] / CONTEXT]++;
    for (int i = 0; i < 25; i++)
      CHECK_INT(seen[i], 1);
    CHECK(memcmp(one, one + 25, 25 * sizeof *one) != 0);
  }
  TEST("leaving early ends the thread") {
    Plan plan = token_plan(1, 1, 0);
    Samples train;
    Status status;
    CHECK(samples_open(&train, &plan, false, &status));
    uint8_t *ring = malloc(2 * job_sample_bytes(&plan));
    StagingSetup setup = {&plan, &train, &train, ring, 1, 0, 1, 1000000, 0, 1, 0, false};
    staging_stop(staging_start(&setup, &status));
    setup.is_held = true;
    staging_stop(staging_start(&setup, &status));
    free(ring);
    samples_close(&train);
  }
}

/* Every sample once, in any number of replicas and rows; what is over is padding. */
static void check_passes(int64_t count, int32_t replicas, int64_t rows) {
  Plan plan = token_plan(rows, rows * replicas, 0);
  Samples samples = {.plan = &plan, .valid = true, .count = count};
  int64_t passes = samples_passes(&samples, replicas), counted = 0;
  for (int64_t pass = 0; pass < passes; pass++)
    for (int32_t replica = 0; replica < replicas; replica++)
      counted += rows - samples_padded(&samples, replicas, replica, pass);
  CHECK_INT(counted, count);
  CHECK(passes * replicas * rows < count + replicas * rows);
}

static void test_passes(void) {
  TEST("passes cover every sample once, at any degrees") {
    for (int64_t count = 0; count < 30; count++)
      for (int32_t replicas = 1; replicas <= 4; replicas++)
        for (int64_t rows = 1; rows <= 4; rows++)
          check_passes(count, replicas, rows);
  }
}

static void check_table(const char *text, const char *reason) {
  build_free(&builder);
  memset(&builder, 0, sizeof builder);
  BuildJob job = {.microbatch_samples = 1, .data = DATA_TABLE};
  build_job(&builder, job);
  uint32_t none = build_string(&builder, "");
  uint32_t x = build_string(&builder, "area,rooms"), y = build_string(&builder, "price");
  build_inputs(&builder, (PlanInput){2, DTYPE_F32, INPUT_COLUMNS, none, x, 0, 0});
  build_inputs(&builder, (PlanInput){1, DTYPE_F32, INPUT_COLUMNS, none, y, 0, 0});
  uint32_t file = build_string(&builder, make("t.csv", text, strlen(text)));
  build_files(&builder, (PlanFile){0, FORMAT_CSV, file, 0});
  Plan plan = build_view(&builder);
  Samples samples;
  Status status = {0};
  bool opened = samples_open(&samples, &plan, false, &status);
  CHECK(opened == (reason == NULL));
  if (reason) {
    if (!strstr(status.text, reason)) printf("got: %s\nwant: %s\n", status.text, reason);
    CHECK(strstr(status.text, reason) && !strchr(status.text, '\n'));
    return;
  }
  float slot[32];
  CHECK_INT(samples.count, 2);
  CHECK(samples_fill(&samples, 1, 0, (uint8_t *)slot, &status));
  CHECK(slot[0] == 1.5F && slot[1] == 3 && slot[16] == -2e3F);
  samples_close(&samples);
}

/* A column of classes below 3. */
static void check_ids(const char *text, const char *reason) {
  build_free(&builder);
  memset(&builder, 0, sizeof builder);
  build_job(&builder, (BuildJob){.microbatch_samples = 1, .data = DATA_TABLE});
  uint32_t none = build_string(&builder, ""), kind = build_string(&builder, "kind");
  build_inputs(&builder, (PlanInput){1, DTYPE_I32, INPUT_COLUMNS, none, kind, 3, 0});
  uint32_t file = build_string(&builder, make("t.csv", text, strlen(text)));
  build_files(&builder, (PlanFile){0, FORMAT_CSV, file, 0});
  Plan plan = build_view(&builder);
  Samples samples;
  Status status = {0};
  bool opened = samples_open(&samples, &plan, false, &status);
  CHECK(opened == (reason == NULL));
  if (reason) {
    CHECK_INT(status.code, STATUS_USER);
    CHECK(strstr(status.text, reason) != NULL);
    return;
  }
  int32_t slot[16] = {0};
  CHECK(samples_fill(&samples, 0, 0, (uint8_t *)slot, &status) && slot[0] == 2);
  CHECK(samples_fill(&samples, 1, 0, (uint8_t *)slot, &status) && slot[0] == -1);
  slot[0] = 1;
  CHECK(samples_fill(&samples, 2, 0, (uint8_t *)slot, &status) && slot[0] == -1); /* padding */
  samples_close(&samples);
}

int main(void) {
  (void)snprintf(folder, sizeof folder, "/tmp/lockstep_data_%d", (int)getpid());
  (void)mkdir(folder, 0777);
  test_permutation();
  test_windows();
  test_mix();
  test_stage();
  test_passes();
  TEST("tables are read by column name") {
    check_table("price,rooms,\"area\"\n1,2,1\n\n -2e3, 3 ,1.5\r\n", NULL);
  }
  TEST("tables with mistakes are refused at line and column") {
    check_table("price,rooms\n1,2\n", "t.csv:1: no column is named 'area'");
    check_table("price,rooms,area\n1,2,1\n1,x,3\n", "t.csv:3:rooms: 'x' is not a number; a "
                                                    "category or a class is a whole number from 0");
    check_table("price,rooms,area\n1,2,1\n1,2\n", "t.csv:3: 2 fields, but the header names 3");
    check_table("price,rooms,area\n1,nan,1\n", "t.csv:2:rooms: 'nan' is not a finite number");
    check_table("price,rooms,area\n", "the plan names no training data");
    check_table("", "t.csv: is empty");
  }
  TEST("a column of ids holds whole numbers below their number") {
    check_ids("kind\n2\n-1\n", NULL);
    check_ids("kind\n2\n3\n", "t.csv:3:kind: '3' is not an id: ids are whole numbers from 0 to 2");
    check_ids("kind\n0.5\n", "t.csv:2:kind: '0.5' is not an id");
    check_ids("kind\n-1e30\n", "t.csv:2:kind: '-1e30' is not an id");
  }
  build_free(&builder);
  char command[128];
  (void)snprintf(command, sizeof command, "rm -r %s", folder);
  CHECK_INT(system(command), 0);
  CHECK_DONE();
}

/* LINK: spec tokens plan base */
#include <stdlib.h>
#include <unistd.h>

#include "compiler/spec/job.h"
#include "tests/unit/check.h"

static const char text[] =
    "return job {\n"
    "  model = { \"gpt2\", layers = 2, tied = true },\n"
    "  data = \"synthetic\",\n"
    "  train = { batch = \"48 sequences\", microbatch = 4, steps = \"10Ki tokens\" },\n"
    "  optimizer = { \"adamw\", lr = 1e-3 },\n"
    "  cluster = { \"here\", devices = 3 },\n"
    "}\n";

static char path[64] = "/tmp/spec_derive_test_XXXXXX";

static void write_job(void) {
  int file = mkstemp(path);
  FILE *out = fdopen(file, "w");
  fputs(text, out);
  fclose(out);
}

/* Loads and derives with positions = 64. */
static bool derive(Compile *c, const char *const *overrides, int32_t count, Job **job,
                   Derived *derived) {
  Machine machine = {.memory_bytes = (int64_t)12 << 30, .cores = 12};
  Cluster cluster;
  *job = spec_load(c, path, overrides, count);
  return *job && spec_cluster(c, *job, &machine, &cluster) &&
         spec_derive(c, *job, &cluster, 64, derived);
}

int main(void) {
  write_job();
  TEST("what is absent follows from what is there") {
    Compile *c = compile_new("specs");
    Job *job;
    Derived d;
    CHECK(derive(c, NULL, 0, &job, &d));
    CHECK_INT(d.dp, 3);
    CHECK_INT(d.accumulation, 4);
    CHECK_INT(d.sample_tokens, 64);
    CHECK_INT(d.steps, 4); /* 10,240 tokens in batches of 3,072, rounded up */
    CHECK_INT(job->schedule.over, 4);
    CHECK_INT(job->precision.master, CHOICE_MASTER_FP32);
    CHECK_INT(job->cluster.memory, (int64_t)4 << 30);
    CHECK_INT(job->sizes.count, 2);
    CHECK_INT(job->sizes.at[1].kind, SIZE_FLAG);
    compile_free(c);
  }
  TEST("-D takes the type of its key, the last one wins, and its origin is kept") {
    Compile *c = compile_new("specs");
    const char *const overrides[] = {"train.steps=5",   "train.steps=2 epochs",
                                     "train.steps=2^3", "precision=fp32",
                                     "model.layers=7",  "data.shuffle=false"};
    Job *job;
    Derived d;
    CHECK(derive(c, overrides, 6, &job, &d));
    CHECK_INT(d.steps, 8);
    CHECK_INT(job->precision.param, CHOICE_FP32);
    CHECK_INT(job->precision.master, CHOICE_MASTER_NONE);
    CHECK_INT(job->origin[FIELD_train_steps].kind, ORIGIN_OVERRIDE);
    CHECK_INT(job->origin[FIELD_train_microbatch].kind, ORIGIN_JOB);
    CHECK_INT(job->origin[FIELD_train_microbatch].span.line, 4);
    CHECK_INT(job->origin[FIELD_parallel_dp].kind, ORIGIN_DERIVED);
    CHECK_NEAR(job->sizes.at[0].number, 7, 0);
    CHECK(!job->data.shuffle);
    compile_free(c);
  }
  TEST("the fix of a batch that does not divide is a batch that does") {
    for (int batch = 1; batch < 200; batch++) {
      Compile *c = compile_new("specs");
      const char *override = arena_printf(c->arena, "train.batch=%d sequences", batch);
      Job *job;
      Derived d;
      bool is_good = derive(c, &override, 1, &job, &d);
      CHECK(is_good == (batch % 12 == 0));
      if (!is_good) {
        CHECK(strcmp(c->diags.list.at[0].name, "batch-identity") == 0);
        long long fixed = 0;
        CHECK(sscanf(c->diags.list.at[0].fix, "batch = \"%lld sequences\"", &fixed) == 1);
        CHECK(fixed % 12 == 0 && fixed > batch && fixed < batch + 13);
      }
      compile_free(c);
    }
  }
  unlink(path);
  return check_failures != 0;
}

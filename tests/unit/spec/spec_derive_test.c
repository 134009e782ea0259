/* LINK: job tokens plan base */
#include <stdlib.h>
#include <unistd.h>

#include "compiler/job/job.h"
#include "compiler/job/pipelines/pipeline.h"
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
  if (!*job || !spec_cluster(c, *job, &machine, &cluster)) return false;
  cluster.ranks =
      cluster.nodes * cluster.devices; /* compiler/machine/place counts those of described nodes */
  return spec_derive(c, *job, &cluster, &(ModelFacts){.positions = 64}, derived);
}

static void test_derived(void) {
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
}

static void test_overrides(void) {
  TEST("-D takes the type of its key, the last one wins, and its origin is kept") {
    Compile *c = compile_new("specs");
    const char *const overrides[] = {"train.steps=5",   "train.steps=2 epochs",
                                     "train.steps=2^3", "precision=fp32",
                                     "model.layers=7",  "train.deterministic=true"};
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
    CHECK(job->train.deterministic);
    compile_free(c);
  }
}

static void test_batch_fix(void) {
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
        CHECK(sscanf(c->diags.list.at[0].fix, "-D 'train.batch=%lld sequences'", &fixed) == 1);
        CHECK(fixed % 12 == 0 && fixed > batch && fixed < batch + 13);
      }
      compile_free(c);
    }
  }
}

static void test_degrees(void) {
  TEST("degrees divide the ranks, and states are shared over dp x cp") {
    Compile *c = compile_new("specs");
    const char *const overrides[] = {"cluster.devices=32", "parallel.tp=2", "parallel.cp=2",
                                     "parallel.pp=2", "parallel.stages=1,1"};
    Job *job;
    Derived d;
    CHECK(derive(c, overrides, 5, &job, &d));
    CHECK_INT(d.tp, 2);
    CHECK_INT(d.cp, 2);
    CHECK_INT(d.pp, 2);
    CHECK_INT(d.dp, 4);
    CHECK_INT(d.accumulation, 3);
    CHECK_INT(d.chunks, 1);
    CHECK_INT(d.zero, 1);
    CHECK_INT(d.shard_ranks, 8);
    CHECK(d.sequence);
    CHECK(!job->parallel.regather);
    CHECK_INT(job->parallel.pipeline, PIPE_1F1B);
    CHECK_INT(job->parallel.cp_kind, CHOICE_RING);
    CHECK_INT(job->parallel.stages.count, 2);
    CHECK_INT(job->parallel.stages.at[1], 1);
    CHECK_INT(job->parallel.bucket, (int64_t)25 << 20);
    CHECK_INT(job->parallel.zero_keep, 64 << 10);
    CHECK_INT(job->parallel.zero_prefetch, 1);
    CHECK_INT(job->model.vocab_multiple, 1);
    compile_free(c);
  }
}

static void test_one_rank(void) {
  TEST("one rank shares nothing, and tp 1 cuts no sequence") {
    Compile *c = compile_new("specs");
    const char *override = "cluster.devices=1";
    Job *job;
    Derived d;
    CHECK(derive(c, &override, 1, &job, &d));
    CHECK_INT(d.zero, 0);
    CHECK_INT(d.shard_ranks, 1);
    CHECK_INT(d.dp * d.cp * d.tp * d.pp, 1);
    CHECK(!d.sequence);
    compile_free(c);
  }
}

static void test_groups(void) {
  TEST("groups that share states: by number, and one a node") {
    static const struct {
      const char *overrides[4];
      int64_t zero, shard_ranks;
    } cases[] = {
        {{"parallel.zero=2", "parallel.zero_group=4", "parallel.tp=1", "parallel.cp=1"}, 2, 4},
        {{"parallel.zero=3", "parallel.zero_group=node", "parallel.tp=2", "parallel.cp=1"}, 3, 2},
        {{"parallel.shard=hybrid", "parallel.pp=2", "parallel.tp=1", "parallel.cp=2"}, 3, 2},
        {{"parallel.shard=hybrid", "parallel.pp=1", "parallel.tp=1", "parallel.cp=2"}, 3, 4},
        {{"parallel.shard=grad_op", "parallel.pp=1", "parallel.tp=4", "parallel.cp=1"}, 2, 4},
        {{"parallel.shard=none", "parallel.pp=1", "parallel.tp=4", "parallel.cp=1"}, 0, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
      Compile *c = compile_new("specs");
      const char *const *more = cases[i].overrides;
      const char *const overrides[] = {
          "cluster.nodes=4", "cluster.devices=4",       more[0], more[1], more[2],
          more[3],           "train.batch=64 sequences"};
      Job *job;
      Derived d;
      CHECK(derive(c, overrides, 7, &job, &d));
      CHECK_INT(d.zero, cases[i].zero);
      CHECK_INT(d.shard_ranks, cases[i].shard_ranks);
      compile_free(c);
    }
  }
}

static void test_degrees_fix(void) {
  TEST("the fix of degrees that do not divide is degrees that do") {
    for (int tp = 1; tp < 40; tp++) {
      Compile *c = compile_new("specs");
      const char *const overrides[] = {
          "cluster.devices=36", arena_printf(c->arena, "parallel.tp=%d", tp), "parallel.pp=3",
          "train.batch=144 sequences", "parallel.sequence=false"};
      Job *job;
      Derived d;
      bool is_good = derive(c, overrides, tp == 1 ? 4 : 5, &job, &d);
      CHECK(is_good == (12 % tp == 0));
      if (!is_good) {
        CHECK(strcmp(c->diags.list.at[0].name, "degrees") == 0);
        int fixed = 0;
        CHECK(sscanf(c->diags.list.at[0].fix, "-D parallel.tp=%d", &fixed) == 1);
        CHECK(fixed > 0 && 12 % fixed == 0);
      }
      compile_free(c);
    }
  }
}

static void test_many_ranks(void) {
  TEST("32 ranks on two cores have one thread each") {
    Compile *c = compile_new("specs");
    const char *override = "cluster.devices=32";
    Machine machine = {.memory_bytes = (int64_t)64 << 30, .cores = 2};
    Cluster cluster;
    Job *job = spec_load(c, path, &override, 1);
    CHECK(job && spec_cluster(c, job, &machine, &cluster));
    CHECK_INT(cluster.nodes * cluster.devices, 32);
    CHECK_INT(cluster.threads, 1);
    CHECK_INT(cluster.memory_bytes, (int64_t)2 << 30);
    compile_free(c);
  }
}

static void test_nodes_here(void) {
  TEST("nodes of here share this machine as its devices do") {
    Compile *c = compile_new("specs");
    const char *const overrides[] = {"cluster.devices=2", "cluster.nodes=4"};
    Machine machine = {.memory_bytes = (int64_t)64 << 30, .cores = 32};
    Cluster cluster;
    Job *job = spec_load(c, path, overrides, 2);
    CHECK(job && spec_cluster(c, job, &machine, &cluster));
    CHECK_INT(cluster.threads, 4);
    CHECK_INT(cluster.memory_bytes, (int64_t)8 << 30);
    compile_free(c);
  }
}

int main(void) {
  write_job();
  test_derived();
  test_overrides();
  test_batch_fix();
  test_degrees();
  test_one_rank();
  test_groups();
  test_degrees_fix();
  test_many_ranks();
  test_nodes_here();
  unlink(path);
  return check_failures != 0;
}

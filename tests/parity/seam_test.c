/* seam_test.c -- steps whose updates on the host go on beside the next step: the bits of states on
 * the device, with queues that wait at random. */
#include <stdio.h>
#include <unistd.h>

#include "runtime/plan/plan_io.h"
#include "runtime/plan/plan_seam.h"
#include "tests/parity/fleet.h"
#include "tests/parity/job_plan.h"
#include "tests/unit/check.h"

enum { STEPS = 4, SEEDS = 3, DELAY_NS = 300000 };

static const char *job, *const *set;

/* Nothing looks at the state: losses and norms follow from all of it. */
static void look(void *context, const Fleet *fleet, int64_t step) {
  (void)context, (void)fleet, (void)step;
}

static bool plan_job(const char *offload, Plan *plan) {
  char path[64];
  JobChanges changes = {{"train.steps=4", "train.batch=8 sequences", "train.microbatch=1", offload,
                         set[0], set[1], set[2], set[3]}};
  (void)snprintf(path, sizeof path, "/tmp/lockstep_seam_run_%d.plan", (int)getpid());
  const bool planned = job_plan(job, &changes, path, plan);
  (void)unlink(path);
  CHECK(planned);
  return planned;
}

static void check_same(const FleetRank *got, const FleetRank *want) {
  for (int64_t step = 1; step <= STEPS; step++) {
    CHECK(got->loss[step] == want->loss[step]);
    CHECK(got->norm[step] == want->norm[step]);
  }
}

static void check_set(const char *model, const char *offload, const char *a, const char *b,
                      const char *c, const char *d) {
  static FleetRank stays[FLEET_RANKS_MAX], leaves[FLEET_RANKS_MAX];
  const char *const keys[] = {a, b, c, d};
  Plan plan;
  job = model, set = keys;
  if (!plan_job("offload.optimizer=none", &plan)) return;
  CHECK(fleet_run(&plan, STEPS, (FleetQueues){0}, look, NULL, stays));
  plan_close(&plan);
  if (!plan_job(offload, &plan)) return;
  CHECK(plan_follows_itself(&plan, plan_program(&plan, plan.classes, PROGRAM_TRAIN_STEP)));
  for (uint64_t seed = 0; seed <= SEEDS; seed++) {
    const FleetQueues queues = {seed > 0, seed > 0 ? DELAY_NS : 0, seed};
    CHECK(fleet_run(&plan, STEPS, queues, look, NULL, leaves));
    check_same(leaves, stays);
  }
  plan_close(&plan);
}

int main(void) {
  TEST("a step goes on beside the next one, and no bit changes") {
    check_set("llama", "offload=cpu", "cluster.devices=1", "precision=bf16", NULL, NULL);
    check_set("gpt2", "offload=cpu", "cluster.devices=2", "precision=bf16", "parallel.zero=1",
              "precision.master=split");
    check_set("llama", "offload={ optimizer = { \"cpu\", share = \"50%\" }, weights = \"cpu\" }",
              "cluster.devices=2", "precision=bf16", "parallel.zero=3", "parallel.zero_keep=0B");
    check_set("llama", "offload={ optimizer = \"cpu\", activations = \"cpu\" }",
              "cluster.devices=4", "parallel.pp=2", "parallel.zero=2", "model.layers=4");
    check_set("llama", "offload={ optimizer = \"cpu\", grads = \"cpu\" }", "cluster.devices=2",
              "precision=bf16", "parallel.zero=2", NULL);
    check_set("llama", "offload={ optimizer = \"cpu\", update = \"device\" }", "cluster.devices=2",
              "precision=bf16", "parallel.zero=1", NULL);
    check_set("llama", "offload={ optimizer = \"nvme\", path = \"/tmp\" }", "cluster.devices=4",
              "parallel.tp=2", "precision=bf16", "optimizer.clip=0.1");
  }
  CHECK_DONE();
}

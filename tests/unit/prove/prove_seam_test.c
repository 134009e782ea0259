/* LINK: job_plan plan_builder plan
 * A step that goes on beside the next one: a plan in which the next step may read a weight before
 * its update, or overwrite what an update still reads, is refused. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/plan/prove/prove.h"
#include "runtime/plan/plan_io.h"
#include "runtime/plan/plan_seam.h"
#include "tests/parity/job_plan.h"
#include "tests/unit/check.h"
#include "tests/unit/plan_builder.h"

enum { CP = 1 }; /* lane.h: it has no records here */

static PlanBuilder b;
static ProveReport report;

static bool is_refused(const char *words) {
  Plan plan = build_view(&b);
  if (prove(&plan, &report)) return false;
  for (uint32_t i = 0; i < report.finding_count && i < PROVE_FINDINGS_MAX; i++)
    if (strstr(report.finding[i], words) != NULL) return true;
  printf("%s: %s\n", words, report.finding[0]);
  return false;
}

static bool is_own(const PlanWait *wait) {
  return wait->run_back > 0 && wait->program == PROGRAM_TRAIN_STEP;
}

/* Without the only one, a plan would not follow itself: then it is right, and waits at its end. */
static void test_waits(void) {
  static const char words[] = "of the run before, and nothing orders the two";
  int tried = 0;
  TEST("each wait for the run before is needed, and none for an earlier record is enough")
  for (uint32_t i = 0; i < b.waits_count; i++) {
    PlanWait *wait = &b.waits[i];
    if (!is_own(wait)) continue;
    const PlanWait was = *wait;
    tried++;
    wait->lane = CP;
    CHECK(is_refused(words));
    *wait = was;
    wait->call = wait->record = 0;
    CHECK(is_refused(words));
    *wait = was;
  }
  CHECK(tried > 2);
}

static bool is_copy_of_control(const PlanRecord *record) {
  return record->kind == RECORD_COPY && b.operands[record->operands_first + 1].size_bytes < 1024 &&
         record->value == PLAN_NONE && record->purpose == PURPOSE_OFFLOAD;
}

static void test_control(void) {
  TEST("control of the next step is not copied in while another lane still reads it")
  for (uint32_t i = 0; i < b.records_count; i++) {
    PlanRecord *record = &b.records[i];
    if (!is_copy_of_control(record)) continue;
    const uint32_t was = record->lane;
    for (uint32_t lane = 0; lane < b.lanes_count; lane++)
      if (strcmp(b.strings + b.lanes[lane].name, "save") == 0) record->lane = lane;
    CHECK(record->lane != was);
    CHECK(is_refused("control or samples are copied in while lane save"));
    record->lane = was;
  }
}

static void try_job(const char *offload, const char *a, const char *more) {
  char path[64];
  Plan plan;
  JobChanges changes = {{"train.steps=20", "precision=bf16", offload, a, more}};
  (void)snprintf(path, sizeof path, "/tmp/lockstep_seam_%d.plan", (int)getpid());
  const bool planned = job_plan("llama", &changes, path, &plan);
  (void)unlink(path);
  CHECK(planned);
  if (!planned) return;
  b = (PlanBuilder){0};
  build_copy(&b, &plan);
  CHECK(prove(&plan, &report));
  CHECK(plan_follows_itself(&plan, plan_program(&plan, plan.classes, PROGRAM_TRAIN_STEP)));
  test_waits();
  test_control();
  CHECK(prove(&plan, &report)); /* all is as it was */
  build_free(&b);
}

int main(void) {
  try_job("offload=cpu", "cluster.devices=1", NULL);
  try_job("offload=cpu", "cluster.devices=2", "parallel.zero=1");
  try_job("offload=cpu", "cluster.devices=2", "parallel.zero=3");
  try_job("offload={ optimizer = \"cpu\", weights = \"cpu\" }", "cluster.devices=1",
          "train.microbatch=1");
  CHECK_DONE();
}

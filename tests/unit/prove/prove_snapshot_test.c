/* LINK: job_plan plan_builder plan
 * Snapshots: a plan in which one is incomplete, disturbed, or written over too early is refused, in
 * words that name it. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/plan/prove/prove.h"
#include "runtime/plan/plan_io.h"
#include "tests/parity/job_plan.h"
#include "tests/unit/check.h"
#include "tests/unit/plan_builder.h"

enum { PP = 3 }; /* lane.h */

static PlanBuilder b;
static ProveReport report;

static bool is_proven(void) {
  Plan plan = build_view(&b);
  return prove(&plan, &report);
}

/* True if the plan is refused with a finding that has the words. */
static bool is_refused(const char *words) {
  if (is_proven()) return false;
  for (uint32_t i = 0; i < report.finding_count && i < PROVE_FINDINGS_MAX; i++)
    if (strstr(report.finding[i], words) != NULL) return true;
  printf("%s: %s\n", words, report.finding_count > 0 ? report.finding[0] : "nothing is found");
  return false;
}

static PlanRecord *first_copy(void) {
  for (uint32_t i = 0; i < b.records_count; i++)
    if (b.records[i].purpose == PURPOSE_SAVE) return &b.records[i];
  return NULL;
}

static PlanProgram *program(ProgramKind kind) {
  for (uint32_t i = 0; i < b.programs_count; i++)
    if (b.programs[i].kind == (uint32_t)kind) return &b.programs[i];
  return NULL;
}

static PlanWait *wait_for_copy(uint32_t *index) {
  for (uint32_t i = *index; i < b.waits_count; i++)
    if (b.waits[i].run_back > 0) {
      *index = i;
      return &b.waits[i];
    }
  return NULL;
}

/* Every wait is needed: without it an update may be earlier than the copy. */
static void test_waits(void) {
  int tried = 0;
  uint32_t i = 0;
  TEST("an update waits for the copies of what it writes")
  for (PlanWait *wait; (wait = wait_for_copy(&i)) != NULL; i++, tried++) {
    const PlanWait was = *wait;
    wait->lane = PP; /* which has no records */
    CHECK(is_refused("may not have copied yet"));
    *wait = was;
    if (wait->call == 0) continue;
    wait->call = wait->record = 0;
    CHECK(is_refused("may not have copied yet"));
    *wait = was;
  }
  CHECK(tried > 0);
  TEST("a wait for another run names a call that the other program has") {
    i = 0;
    PlanWait *wait = wait_for_copy(&i);
    const PlanWait was = *wait;
    wait->call = program(PROGRAM_SNAPSHOT)->calls_count;
    CHECK(is_refused("has no call"));
    *wait = was;
    wait->run_back = 2;
    CHECK(is_refused("is to its latest run"));
    *wait = was;
    wait->iteration_back = 1;
    CHECK(is_refused("is to its latest run"));
    *wait = was;
  }
}

static void test_copies(void) {
  const PlanRecord *copy = first_copy();
  PlanOperand *from = &b.operands[copy->operands_first], *to = from + 1;
  const PlanOperand read = *from, written = *to;
  TEST("every tensor is copied, whole") {
    from->size_bytes -= 64, to->size_bytes -= 64;
    CHECK(is_refused("no copy has all of"));
    *from = read, *to = written;
    from->offset += 64, from->size_bytes -= 64, to->size_bytes -= 64;
    CHECK(is_refused("no copy has all of"));
    *from = read, *to = written;
  }
  TEST("no copy writes over another") {
    PlanOperand *next = to + 2; /* of the record after it */
    const PlanOperand was = *next;
    next->offset = written.offset;
    CHECK(is_refused("it writes over another copy"));
    *next = was;
    CHECK(is_proven());
  }
}

static void test_arena(void) {
  TEST("the buffer of the snapshot is nobody else's") {
    PlanCall *update = NULL;
    const PlanProgram *train = program(PROGRAM_TRAIN_STEP);
    const PlanCall *save = &b.calls[program(PROGRAM_SNAPSHOT)->calls_first];
    for (uint32_t i = 0; i < train->calls_count && update == NULL; i++) {
      PlanCall *call = &b.calls[train->calls_first + i];
      if (b.records[b.segments[call->segment].records_first].purpose == PURPOSE_UPDATE)
        update = call;
    }
    const uint32_t last = save->bindings_first + save->bindings_count - 1;
    PlanBinding *binding = &b.bindings[update->bindings_first], was = *binding;
    for (uint32_t i = save->bindings_first; i <= last; i++)
      if (b.bindings[i].offset > binding->offset) *binding = b.bindings[i];
    CHECK(!is_proven());
    *binding = was;
  }
  TEST("ranks without slots cannot tell each other of parts") {
    const uint32_t count = b.slots_count;
    for (uint32_t i = 0; i < count; i++)
      if (strcmp(b.strings + b.slots[i].name, "parts_done") == 0) {
        const PlanSlot was = b.slots[i];
        b.slots[i].name = b.slots[i].unit;
        CHECK(!is_proven());
        b.slots[i] = was;
      }
    CHECK(is_proven());
  }
}

static void try_all(void) {
  CHECK(is_proven());
  test_waits();
  test_copies();
  test_arena();
  CHECK(is_proven()); /* all is as it was */
}

int main(void) {
  char path[64];
  Plan plan;
  JobChanges changes = {
      {"train.steps=2000", "parallel.zero=1", "cluster.devices=2", "checkpoint.async=on"}};
  (void)snprintf(path, sizeof path, "/tmp/lockstep_snapshot_%d.plan", (int)getpid());
  const bool planned = job_plan("gpt2", &changes, path, &plan);
  (void)unlink(path);
  CHECK(planned);
  if (planned) build_copy(&b, &plan);
  if (planned) try_all();
  build_free(&b);
  CHECK_DONE();
}

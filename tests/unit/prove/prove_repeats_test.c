/* LINK: job_plan plan_builder plan
 * Repeated calls are checked once, and calls that only seem to repeat are found: in a plan of many
 * micro-batches every call is changed in turn. */
#include <stdlib.h>
#include <unistd.h>

#include "compiler/plan/prove/prove.h"
#include "runtime/plan/plan_io.h"
#include "tests/parity/job_plan.h"
#include "tests/unit/check.h"
#include "tests/unit/plan_builder.h"

static char folder[] = "/tmp/lockstep_repeats.XXXXXX";
static PlanBuilder b;
static ProveReport report;

static bool is_proven(void) {
  Plan plan = build_view(&b);
  return prove(&plan, &report);
}

static void say(uint32_t call, const char *what) {
  printf("call %u of %s: %s is accepted\n", call,
         b.strings + b.segments[b.calls[call].segment].name, what);
}

static bool is_called(uint32_t call, const char *name) {
  return strcmp(b.strings + b.segments[b.calls[call].segment].name, name) == 0;
}

/* Does anything that the call runs go by the base? Scratch may lie anywhere in its buffer, and
 * positions, which the beginning keeps, are those of every micro-batch. */
static bool is_used(uint32_t call, uint32_t base) {
  const PlanSegment *segment = &b.segments[b.calls[call].segment];
  uint32_t kind = b.bases[segment->bases_first + base].kind;
  const char *name = b.strings + b.bases[segment->bases_first + base].name;
  if (is_called(call, "begin.backward") && strcmp(name, "kept") == 0) return false;
  if (kind == BUFFER_WORKSPACE || kind == BUFFER_COMM) return false;
  for (uint32_t r = 0; r < segment->records_count; r++) {
    const PlanRecord *record = &b.records[segment->records_first + r];
    if (!plan_when(record->when_all, record->when_none, b.calls[call].flags)) continue;
    for (uint32_t i = 0; i < record->operands_count; i++)
      if (b.operands[record->operands_first + i].base == base) return true;
  }
  return false;
}

/* Another call of the segment has other bases; a base of this one goes there. */
static int try_bindings(uint32_t call, uint32_t other) {
  int tried = 0;
  for (uint32_t i = 0; i < b.calls[call].bindings_count; i++) {
    PlanBinding *binding = &b.bindings[b.calls[call].bindings_first + i];
    PlanBinding good = *binding;
    *binding = b.bindings[b.calls[other].bindings_first + i];
    bool differs = binding->offset != good.offset && is_used(call, i);
    bool proven = differs && is_proven();
    if (proven)
      say(call, b.strings + b.bases[b.segments[b.calls[call].segment].bases_first + i].name);
    CHECK(!proven);
    tried += differs;
    *binding = good;
  }
  return tried;
}

/* Records that only the first, or no, micro-batch runs. */
static int try_flags(uint32_t call) {
  uint32_t good = b.calls[call].flags;
  b.calls[call].flags ^= CALL_FIRST_MICROBATCH;
  bool proven = is_proven();
  if (proven) say(call, "another flag");
  CHECK(!proven);
  b.calls[call].flags = good;
  return 1;
}

static int try_layer(uint32_t call) {
  int32_t good = b.calls[call].layer;
  if (good < 0 || is_called(call, "h.pad")) return 0; /* zeros are those of every layer */
  b.calls[call].layer = good == 0 ? 1 : 0;
  bool proven = is_proven();
  if (proven) say(call, "another layer");
  CHECK(!proven);
  b.calls[call].layer = good;
  return 1;
}

/* The next call of the same segment in the list of the class; PLAN_NONE: there is none. */
static uint32_t next_like(const PlanProgram *program, uint32_t call) {
  for (uint32_t i = call + 1; i < program->calls_first + program->calls_count; i++)
    if (b.calls[i].segment == b.calls[call].segment) return i;
  return PLAN_NONE;
}

static void try_all(const JobChanges *changes) {
  char path[80];
  (void)snprintf(path, sizeof path, "%s/plan", folder);
  Plan plan;
  int tried = 0;
  if (!job_plan("gpt2", changes, path, &plan)) exit(1); /* it has said why */
  build_free(&b);
  build_copy(&b, &plan);
  plan_close(&plan);
  (void)unlink(path);
  CHECK(is_proven());
  for (uint32_t p = 0; p < b.programs_count; p++) {
    const PlanProgram *program = &b.programs[p];
    for (uint32_t i = 0; i < program->calls_count; i++) {
      uint32_t call = program->calls_first + i, other = next_like(program, call);
      if (program->kind != PROGRAM_TRAIN_STEP || b.calls[call].microbatch < 0) continue;
      tried += try_flags(call) + try_layer(call);
      if (other != PLAN_NONE) tried += try_bindings(call, other);
    }
  }
  CHECK(is_proven()); /* all is as it was */
  CHECK(tried > 100);
}

int main(void) {
  if (mkdtemp(folder) == NULL) return 1;
  try_all(&(JobChanges){
      {"cluster.devices=2", "parallel.pp=2", "train.microbatch=1", "train.batch=6 sequences"}});
  try_all(
      &(JobChanges){{"cluster.devices=4", "parallel.pp=2", "parallel.cp=2", "train.microbatch=1",
                     "train.batch=5 sequences", "memory.recompute=block"}});
  try_all(&(JobChanges){{"cluster.devices=4", "parallel.pp=2", "parallel.zero=2",
                         "train.microbatch=1", "train.batch=10 sequences"}});
  build_free(&b);
  (void)rmdir(folder);
  CHECK_DONE();
}

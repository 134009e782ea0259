/* LINK: job_plan plan_builder plan
 * Checkpoints: a plan is refused in which an element of the state would be saved by no rank, by
 * two, or by one that does not have it. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "compiler/plan/prove/prove.h"
#include "compiler/plan/prove/walk.h"
#include "runtime/plan/plan_io.h"
#include "runtime/plan/plan_text.h"
#include "runtime/state/rows.h"
#include "tests/parity/job_plan.h"
#include "tests/unit/check.h"
#include "tests/unit/plan_builder.h"

static PlanBuilder b;
static ProveReport report;

static bool is_proven(void) {
  Plan plan = build_view(&b);
  return prove(&plan, &report);
}

static void expect_refused(const PlanTensor *tensor, const char *what) {
  const bool proven = is_proven();
  if (proven)
    printf("%s: %s of %s\n", what, BufferKind_names[tensor->kind], b.strings + tensor->name);
  CHECK(!proven);
}

static bool has_finding(const char *words) {
  CHECK(!is_proven());
  for (uint32_t i = 0; i < report.finding_count && i < PROVE_FINDINGS_MAX; i++)
    if (strstr(report.finding[i], words) != NULL) return true;
  printf("%s: %s\n", words, report.finding_count > 0 ? report.finding[0] : "nothing is found");
  return false;
}

/* Its row says that it is something else, elsewhere, or cut otherwise. */
static void change_row(PlanTensor *at) {
  const PlanTensor was = *at;
  const Plan plan = build_view(&b);
  for (uint32_t kind = 0; kind < BufferKind_COUNT; kind++) {
    at->kind = kind;
    if (kind != was.kind) expect_refused(&was, BufferKind_names[kind]);
  }
  *at = was;
  for (uint32_t layout = 0; layout < b.layouts_count; layout++) {
    at->layout = layout;
    if (!layouts_alike(&plan, layout, was.layout)) expect_refused(&was, "another layout");
  }
  *at = was;
  if (at->layer_count == 1) return;
  at->layer_count--;
  expect_refused(&was, "a layer less");
  at->layer_first++;
  expect_refused(&was, "other layers");
  at->layer_first--, at->offset += at->layer_stride;
  expect_refused(&was, "one layer further on");
  *at = was;
}

/* A row of the class is another one twice: the tensor itself is then saved by nobody. */
static void replace_row(const PlanClass *class, uint32_t index) {
  PlanTensor *at = &b.tensors[class->tensors_first + index];
  const PlanTensor was = *at;
  for (uint32_t other = index % 3; other < class->tensors_count; other += 3) {
    *at = b.tensors[class->tensors_first + other];
    if (other != index) expect_refused(&was, "a row of another");
    *at = was;
  }
}

/* A flat layout whose pieces do not reach the end of the tensor, or reach beyond it. */
static void change_pieces(void) {
  for (uint32_t i = 0; i < b.tensors_count; i++) {
    PlanLayout *layout = &b.layouts[b.tensors[i].layout], was = *layout;
    if (was.flat_axes == 0) continue;
    layout->piece--;
    expect_refused(&b.tensors[i], "shorter pieces");
    layout->piece += 2;
    expect_refused(&b.tensors[i], "longer pieces");
    *layout = was;
  }
}

/* Loading makes a weight of its master. It is what an update has left only if the update writes the
 * weight of that master, whole, and no other record writes it later. */
static void change_updates(void) {
  for (uint32_t i = 0; i < b.records_count; i++) {
    const PlanRecord *record = &b.records[i];
    for (uint32_t k = 0; k < record->operands_count && record->purpose == PURPOSE_UPDATE; k++) {
      PlanOperand *operand = &b.operands[record->operands_first + k], was = *operand;
      if (operand->access != ACCESS_WRITE) continue;
      operand->offset += 64;
      CHECK(!is_proven());
      *operand = was;
      operand->access = ACCESS_READ;
      CHECK(!is_proven());
      *operand = was;
    }
  }
}

static void try_job(const char *model, JobChanges changes) {
  char path[64];
  Plan plan;
  (void)snprintf(path, sizeof path, "/tmp/lockstep_saves_%d.plan", (int)getpid());
  const bool planned = job_plan(model, &changes, path, &plan);
  (void)unlink(path);
  CHECK(planned);
  if (planned) build_copy(&b, &plan);
  CHECK(!planned || is_proven());
  for (uint32_t c = 0; planned && c < b.classes_count; c++)
    for (uint32_t i = 0; i < b.classes[c].tensors_count; i += 5) {
      PlanTensor *at = &b.tensors[b.classes[c].tensors_first + i];
      if (state_kind_of(at->kind) == NULL) continue;
      change_row(at);
      replace_row(&b.classes[c], i);
    }
  if (planned) change_pieces();
  if (planned) change_updates();
}

/* A tensor of layers, of the kind, in the class. */
static PlanTensor *of_layers(const PlanClass *class, BufferKind kind) {
  for (uint32_t i = class->tensors_first; i < class->tensors_first + class->tensors_count; i++)
    if (b.tensors[i].kind == (uint32_t)kind && b.tensors[i].layer_first >= 0) return &b.tensors[i];
  return NULL;
}

static void test_findings(void) {
  TEST("two tensors are not saved as one") {
    (void)build_tensors(&b, b.tensors[b.tensors_count - 1]);
    b.classes[b.classes_count - 1].tensors_count++;
    CHECK(has_finding("is in the table twice, so two tensors would have one key"));
    b.classes[b.classes_count - 1].tensors_count--;
    b.tensors_count--;
  }
  TEST("a tensor is left out only if an earlier stage has it") {
    const PlanTensor *moment = of_layers(&b.classes[b.classes_count - 1], BUFFER_MOMENT1);
    PlanTensor *first = of_layers(&b.classes[0], BUFFER_PARAM);
    const PlanTensor was = *first;
    first->name = moment->name, first->layer_first = moment->layer_first;
    first->layer_count = moment->layer_count;
    CHECK(has_finding("that stage has no such tensor"));
    *first = was;
    CHECK(is_proven());
  }
}

int main(void) {
  TEST("each element is saved by a rank that has it") {
    try_job("gpt2", (JobChanges){{"parallel.zero=1", "cluster.devices=2", "precision=bf16"}});
    build_free(&b);
    try_job("llama",
            (JobChanges){{"parallel.zero=3", "parallel.zero_keep=0B", "cluster.devices=2"}});
    build_free(&b);
    try_job("gpt2", (JobChanges){{"parallel.pp=2", "cluster.devices=2"}});
  }
  test_findings();
  build_free(&b);
  CHECK_DONE();
}

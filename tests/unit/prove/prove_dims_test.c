/* LINK: job_plan plan_builder plan
 * The dims of the model's values fit each other: each dim of each value is changed alone, with all
 * operands and tensors that hold the value, and the plan is refused. */
#include <stdlib.h>
#include <unistd.h>

#include "compiler/plan/prove/prove.h"
#include "runtime/plan/plan_io.h"
#include "tests/parity/job_plan.h"
#include "tests/unit/check.h"
#include "tests/unit/plan_builder.h"

typedef enum Change {
  CHANGE_NAME,
  CHANGE_REAL_SIZE,
  CHANGE_SIZE,
  CHANGE_SHAPE, /* twice the size, and the next dim half of its: as many elements */
  CHANGE_COUNT
} Change;

static char folder[] = "/tmp/lockstep_dims.XXXXXX";
static PlanBuilder b;
static ProveReport report;

/* A copy of the layout in which one dim is another. */
static uint32_t with_dim(uint32_t layout, uint32_t dim, Change change) {
  PlanLayout copy = b.layouts[layout];
  const uint32_t first = b.layout_dims_count;
  for (uint32_t i = 0; i < copy.dims_count; i++) {
    PlanLayoutDim of = b.layout_dims[copy.dims_first + i];
    const uint32_t cuts = b.cuts_count;
    for (uint32_t k = 0; k < of.cuts_count; k++)
      build_cuts(&b, b.cuts[of.cuts_first + k]);
    of.cuts_first = cuts;
    if (i == dim && change == CHANGE_NAME) of.name = build_string(&b, "another");
    if (i == dim && (change == CHANGE_REAL_SIZE || change == CHANGE_SIZE)) of.real_size++;
    if (i == dim && change == CHANGE_SIZE) of.size++;
    if (i == dim && change == CHANGE_SHAPE) of.real_size *= 2, of.size *= 2;
    if (i == dim + 1 && change == CHANGE_SHAPE) of.real_size /= 2, of.size /= 2;
    build_layout_dims(&b, of);
  }
  copy.dims_first = first;
  return build_layouts(&b, copy);
}

static void change_value(uint32_t value, uint32_t dim, Change change) {
  b.values[value].layout = with_dim(b.values[value].layout, dim, change);
  for (uint32_t i = 0; i < b.operands_count; i++)
    if (b.operands[i].value == value && b.operands[i].layout != PLAN_NONE)
      b.operands[i].layout = with_dim(b.operands[i].layout, dim, change);
  for (uint32_t i = 0; i < b.tensors_count; i++)
    if (b.tensors[i].value == value)
      b.tensors[i].layout = with_dim(b.tensors[i].layout, dim, change);
}

/* Rows of numbers that only backward reads, and losses: how many they are is all that counts. */
static bool are_numbers(const Plan *plan, uint32_t value) {
  const PlanLayout *layout = &plan->layouts[plan->values[value].layout];
  return layout->dims_count == 1 &&
         strcmp(plan_string(plan, plan->layout_dims[layout->dims_first].name), "statistics") == 0;
}

static bool halves(const Plan *plan, uint32_t value, uint32_t dim) {
  const PlanLayout *layout = &plan->layouts[plan->values[value].layout];
  return dim < layout->dims_count && plan->layout_dims[layout->dims_first + dim].size % 2 == 0;
}

static void try_value(const Plan *plan, uint32_t value) {
  static const char *const changes[] = {"name", "size without padding", "size", "shape"};
  const uint32_t dims = plan->layouts[plan->values[value].layout].dims_count;
  for (uint32_t dim = 0; dim < dims && !are_numbers(plan, value); dim++)
    for (Change change = 0; change < CHANGE_COUNT; change++) {
      if (change == CHANGE_SHAPE && !halves(plan, value, dim + 1)) continue;
      build_free(&b);
      build_copy(&b, plan);
      change_value(value, dim, change);
      const Plan changed = build_view(&b);
      const bool accepted = prove(&changed, &report);
      CHECK(!accepted);
      if (accepted)
        printf("accepted with another %s of dim %u of %s\n", changes[change], dim,
               plan_string(plan, plan->values[value].name));
    }
}

static void try_model(const char *model, const JobChanges *changes) {
  char path[80];
  (void)snprintf(path, sizeof path, "%s/plan", folder);
  Plan plan;
  if (!job_plan(model, changes, path, &plan)) exit(1); /* it has said why */
  for (uint32_t value = 0; value < plan.values_count; value++)
    try_value(&plan, value);
  plan_close(&plan);
  (void)unlink(path);
}

#define TRY(model, ...) try_model(model, &(JobChanges){{__VA_ARGS__}})

int main(void) {
  if (mkdtemp(folder) == NULL) return 1;
  TEST("another dim of one value is refused") {
    TRY("gpt2", "model.dropout=0.1", "train.context=16");
    TRY("llama", "cluster.devices=4", "parallel.tp=2", "parallel.cp=2");
    TRY("mlp", "cluster.devices=2", "parallel.zero=1");
  }
  build_free(&b);
  (void)rmdir(folder);
  CHECK_DONE();
}

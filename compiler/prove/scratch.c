/* scratch.c -- the scratch of a kernel is as large as the compiler gives it.
 *
 * A kernel lives within what it is given, and cuts its sums into as many parts as fit: with less
 * room it rounds otherwise. How much each gets is said once, in runtime/plan/workspace.h. */
#include <string.h>

#include "compiler/prove/walk.h"
#include "runtime/plan/workspace.h"

typedef enum Need { NEED_GEMM, NEED_NORM, NEED_HEADS, NEED_HEADS_BACK, NEED_ROWS, NEED_SUM } Need;

static const struct {
  const char *kernel;
  Need need;
  int64_t vectors; /* of a norm */
} needs[] = {
    {"linear", NEED_GEMM, 0},
    {"linear_bias", NEED_GEMM, 0},
    {"linear_dx", NEED_GEMM, 0},
    {"linear_dw", NEED_GEMM, 0},
    {"layernorm_backward", NEED_NORM, 2},
    {"rmsnorm_backward", NEED_NORM, 1},
    {"attention", NEED_HEADS, 0},
    {"attention_backward", NEED_HEADS_BACK, 0},
    {"cross_entropy", NEED_ROWS, 0},
    {"cross_entropy_train", NEED_ROWS, 0},
    {"cross_entropy_parts", NEED_ROWS, 0},
    {"cross_entropy_parts_train", NEED_ROWS, 0},
    {"mse", NEED_SUM, 0},
    {"mse_train", NEED_SUM, 0},
    {"square_sum", NEED_SUM, 0},
};

enum { NEEDS = sizeof needs / sizeof *needs };

/* The last operand of the contract, when it is scratch. */
static bool has_scratch(const Plan *plan, const PlanRecord *record) {
  if (record->kind != RECORD_KERNEL || record->operands_count == 0) return false;
  const char *contract = kernel_contract(plan_string(plan, plan->kernels[record->kernel].name));
  if (contract == NULL || contract[strlen(contract) - 1] != 'S') return false;
  uint32_t operands = 1;
  for (const char *at = contract; *at != '\0'; at++)
    operands += *at == ' ';
  return operands == record->operands_count;
}

/* shapes: the dims are there, and their products are sizes. */
static int64_t bytes_needed(const Plan *plan, const PlanRecord *record, size_t index) {
  const int64_t *dim = plan->ints + record->dims_first;
  int64_t threads = plan->jobs[0].threads;
  switch (needs[index].need) {
  case NEED_GEMM: return WORK_GEMM;
  case NEED_NORM: return work_norm_backward(needs[index].vectors, dim[1]);
  case NEED_HEADS: return work_attention(threads);
  case NEED_HEADS_BACK:
    return dim[3] == 0 ? 0 : work_attention_backward(threads, dim[2] / dim[3], dim[1], dim[4]);
  case NEED_ROWS: return work_rows(dim[0]);
  case NEED_SUM: return work_sum(dim[0]);
  }
  return 0;
}

static void check_record(const Walk *walk, uint32_t index) {
  const Plan *plan = walk->view->plan;
  const PlanRecord *record = walk_record(walk, index);
  if (!has_scratch(plan, record)) return;
  const char *kernel = plan_string(plan, plan->kernels[record->kernel].name);
  uint64_t given = plan->operands[record->operands_first + record->operands_count - 1].size_bytes;
  for (size_t i = 0; i < NEEDS; i++) {
    if (strcmp(needs[i].kernel, kernel) != 0) continue;
    int64_t needed = bytes_needed(plan, record, i);
    if (given != (uint64_t)needed)
      prove_finding(walk->view, walk, index, "shapes", "%llu bytes of scratch, not %lld",
                    (unsigned long long)given, (long long)needed);
    return;
  }
  prove_finding(walk->view, walk, index, "shapes", "how much scratch it needs is not known");
}

/* Judged when shapes are right. */
void prove_scratch(const Plan *plan, ProveReport *report) {
  View view = {.plan = plan, .report = report};
  for (uint32_t s = 0; s < plan->segments_count && report->finding_count == 0; s++) {
    PlanCall call = {.segment = s, .layer = -1, .microbatch = -1};
    PlanProgram program = {.calls_count = 1};
    Walk walk = {.view = &view, .program = &program, .call = &call, .segment = &plan->segments[s]};
    for (uint32_t i = 0; i < walk.segment->records_count; i++)
      check_record(&walk, i);
  }
}

#include "compiler/draft/cost/breakdown.h"

#include "compiler/draft/cost/demand.h"
#include "kernels/contract/contract.h"

static ComputeKind kind_of(const Plan *plan, const PlanRecord *record) {
  const KernelContract *kernel =
      contract_find(plan_string(plan, plan->kernels[record->kernel].name));
  switch (kernel ? kernel->row->role : ROLE_NONE) {
  case ROLE_LINEAR: return record->flops > 0 ? COMPUTE_PRODUCTS : COMPUTE_OTHER;
  case ROLE_ATTENTION: return COMPUTE_ATTENTION;
  case ROLE_LOSS: return COMPUTE_LOSS;
  case ROLE_UPDATE:
  case ROLE_SQUARE_SUM:
  case ROLE_SUM:
  case ROLE_GRAD_NORM: return COMPUTE_OPTIMIZER;
  default: return COMPUTE_OTHER;
  }
}

uint32_t longest_class(const Plan *plan) {
  int64_t most_ns = 0;
  uint32_t longest = PLAN_NONE;
  for (uint32_t i = 0; i < plan->classes_count; i++) {
    const PlanProgram *step = plan_program(plan, &plan->classes[i], PROGRAM_TRAIN_STEP);
    if (step == NULL || step->predicted_ns <= most_ns) continue;
    most_ns = step->predicted_ns;
    longest = i;
  }
  return longest;
}

CostBreakdown breakdown_of(Arena *arena, const Plan *plan) {
  const uint32_t longest = longest_class(plan);
  CostBreakdown all = {0};
  for (uint32_t c = 0; c < plan->classes_count; c++) {
    const PlanProgram *step = plan_program(plan, &plan->classes[c], PROGRAM_TRAIN_STEP);
    int64_t *times = ARENA_ARRAY(arena, int64_t, plan->records_count + 1);
    if (step == NULL) continue;
    count_records(arena, plan, step, times);
    for (uint32_t i = 0; i < plan->records_count; i++) {
      const PlanRecord *record = &plan->records[i];
      if (times[i] == 0 || record->kind != RECORD_KERNEL) continue;
      all.flops += (double)plan->classes[c].rank_count * (double)times[i] * (double)record->flops;
      if (c == longest && record->lane == plan_main_lane(plan))
        all.seconds[kind_of(plan, record)] +=
            (double)times[i] * (double)record->predicted_ns * 1e-9;
    }
  }
  return all;
}

#include "runtime/metrics/cost.h"

#include <math.h>

#include "runtime/plan/plan_job.h"

RunCost cost_of(const ReportSetup *setup, double seconds) {
  bool has_gpus = setup->gpu != NULL;
  bool is_planned =
      has_gpus == (job_target(setup->plan) == TARGET_CUDA); /* a node here is a node of the job */
  double hours = seconds / 3600;
  /* Ranks that share cores hold no more than there are. */
  double share = setup->cores_wanted > setup->cores_allowed && setup->cores_wanted > 0
                     ? (double)setup->cores_allowed / setup->cores_wanted
                     : 1;
  return (RunCost){
      .gpu_hours = has_gpus ? hours * setup->ranks : NAN,
      .core_hours = has_gpus ? NAN : hours * setup->ranks * job_threads(setup->plan) * share,
      .node_hours = hours * setup->nodes,
      .dollars = is_planned ? hours * setup->nodes * setup->node_price : NAN,
  };
}

double expected_step_s(const ReportSetup *setup) {
  const Plan *plan = setup->plan;
  int64_t longest_ns = 0;
  if (setup->gpu == NULL && job_target(plan) != TARGET_CPU) return 0; /* --on cpu */
  for (uint32_t i = 0; i < plan->programs_count; i++) {
    const PlanProgram *program = &plan->programs[i];
    if (program->kind == PROGRAM_TRAIN_STEP && program->predicted_ns > longest_ns)
      longest_ns = program->predicted_ns;
  }
  return (double)longest_ns / 1e9;
}

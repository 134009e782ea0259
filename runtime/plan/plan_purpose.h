/* plan_purpose.h -- for plan.h: what a plan is for. */
#ifndef LOCKSTEP_PLAN_PURPOSE_H
#define LOCKSTEP_PLAN_PURPOSE_H

/* The slots after `count` of a sampled model: class and log probability of each further sample. */
#define PLAN_DRAWN_PREFIX "drawn."

/* The dim of a cache's positions. */
#define PLAN_CONTEXT_DIM "cache.context"

/* True if the plan trains; else it only evaluates, with weights that it is given. All classes have
 * the same programs (programs.h). */
static inline bool plan_trains(const Plan *plan) {
  return plan->classes_count == 0 ||
         plan_program(plan, &plan->classes[0], PROGRAM_TRAIN_STEP) != NULL ||
         (plan_program(plan, &plan->classes[0], PROGRAM_EVAL_STEP) == NULL &&
          plan_program(plan, &plan->classes[0], PROGRAM_PREFILL) == NULL);
}

/* True if it draws tokens. */
static inline bool plan_samples(const Plan *plan) {
  return plan->classes_count > 0 && plan_program(plan, &plan->classes[0], PROGRAM_PREFILL) != NULL;
}

/* The program that the plan is for. */
static inline ProgramKind plan_purpose(const Plan *plan) {
  return plan_trains(plan)    ? PROGRAM_TRAIN_STEP
         : plan_samples(plan) ? PROGRAM_PREFILL
                              : PROGRAM_EVAL_STEP;
}

/* The regions of that program come first. */
static inline bool plan_is_main(const Plan *plan, const PlanRegion *region) {
  return region->program == plan->regions[0].program;
}

#endif

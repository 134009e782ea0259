/* programs.c -- walks over the calls of a program, without running them. */
#include "runtime/plan/programs.h"

#include <string.h>

#include "runtime/plan/plan_job.h"
#include "runtime/plan/plan_loops.h"
#include "runtime/process/plural.h"

static int64_t class_loads(const Plan *plan, const PlanClass *class, ProgramKind kind) {
  const PlanProgram *program = plan_program(plan, class, kind);
  return plan_loads(plan, program);
}

int64_t programs_loads(const Plan *plan, ProgramKind kind) {
  int64_t most = 0;
  for (uint32_t i = 0; i < plan->classes_count; i++) {
    int64_t loads = class_loads(plan, &plan->classes[i], kind);
    if (loads > most) most = loads;
  }
  return most;
}

/* A class loads either every micro-batch of both programs, or none of both. */
static bool check_class(const Plan *plan, const PlanClass *class, const int64_t loads[2],
                        Status *status) {
  const char *name = plan_string(plan, class->name);
  if (!plan_program(plan, class, PROGRAM_INIT) || !plan_program(plan, class, plan_purpose(plan)))
    return status_fail(status, STATUS_OURS, "plan: class %s lacks a program", name);
  for (ProgramKind kind = PROGRAM_TRAIN_STEP; kind <= PROGRAM_EVAL_STEP; kind++)
    if ((plan_program(plan, class, kind) == NULL) !=
        (plan_program(plan, &plan->classes[0], kind) == NULL))
      return status_fail(status, STATUS_OURS, "plan: class %s lacks a program", name);
  int64_t train = class_loads(plan, class, PROGRAM_TRAIN_STEP);
  int64_t eval = class_loads(plan, class, PROGRAM_EVAL_STEP);
  if ((train == 0 && eval == 0) || (train == loads[0] && eval == loads[1])) return true;
  return status_fail(status, STATUS_OURS,
                     "plan: class %s loads %lld micro-batch%s in train_step and %lld in eval_step",
                     name, (long long)train, plural_es(train), (long long)eval);
}

bool programs_check(const Plan *plan, const Mesh *mesh, Status *status) {
  const int64_t loads[2] = {programs_loads(plan, PROGRAM_TRAIN_STEP),
                            programs_loads(plan, PROGRAM_EVAL_STEP)};
  for (uint32_t i = 0; i < plan->classes_count; i++)
    if (!check_class(plan, &plan->classes[i], loads, status)) return false;
  int32_t replicas = mesh_replicas(mesh);
  const int64_t loaded = plan_trains(plan) ? loads[0] : loads[1];
  if (loaded != job_accumulation(plan) ||
      job_batch_samples(plan) != loaded * job_microbatch_samples(plan) * replicas)
    return status_fail(status, STATUS_OURS,
                       "plan: %lld load%s of %lld sample%s on %d replica%s are not a batch of %lld",
                       (long long)loaded, plural(loaded), (long long)job_microbatch_samples(plan),
                       plural(job_microbatch_samples(plan)), replicas, plural(replicas),
                       (long long)job_batch_samples(plan));
  if (loads[1] > 1) /* the control block gives the padding of one micro-batch only */
    return status_fail(status, STATUS_OURS, "plan: eval_step loads %lld micro-batch%s, at most 1",
                       (long long)loads[1], plural_es(loads[1]));
  return true;
}

/* Axes along which ranks have losses of different samples, tokens or stages; tensor-parallel ranks
 * have equal losses. */
static uint32_t loss_axes(const Plan *plan) {
  uint32_t axes = 0;
  for (uint32_t i = 0; i < plan->axes_count; i++)
    if (plan->axes[i].size > 1 && plan->axes[i].divides != DIVIDES_FEATURES) axes |= 1u << i;
  return axes;
}

static bool reduces_control(const Plan *plan, const PlanRecord *record, uint32_t axes) {
  return record->kind == RECORD_ALL_REDUCE && record->meaning != PLAN_NONE &&
         plan->meanings[record->meaning].direction == DIRECTION_CONTROL &&
         (axes & ~plan->comms[record->comm].axes_mask) == 0;
}

bool programs_reduce(const Plan *plan, const PlanProgram *program) {
  uint32_t axes = loss_axes(plan);
  for (uint32_t i = 0; i < program->calls_count; i++) {
    const PlanSegment *segment = &plan->segments[plan->calls[program->calls_first + i].segment];
    for (uint32_t k = 0; k < segment->records_count; k++)
      if (reduces_control(plan, &plan->records[segment->records_first + k], axes)) return true;
  }
  return axes == 0;
}

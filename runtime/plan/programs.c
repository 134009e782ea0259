/* programs.c -- walks over the calls of a program, without running them. */
#include "runtime/plan/programs.h"

#include <string.h>

#include "runtime/plan/plan_job.h"
#include "runtime/plan/plan_loops.h"
#include "runtime/plan/plan_text.h"
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

/* The programs that load samples: the one that the plan is for, and one that runs now and then. */
typedef struct Loading {
  ProgramKind main, other;
} Loading;

static Loading loading(const Plan *plan) {
  return plan_samples(plan) ? (Loading){PROGRAM_PREFILL, PROGRAM_DECODE}
                            : (Loading){PROGRAM_TRAIN_STEP, PROGRAM_EVAL_STEP};
}

/* A class loads either every micro-batch of both programs, or none of both. */
static bool check_class(const Plan *plan, const PlanClass *class, const int64_t loads[2],
                        Status *status) {
  const char *name = plan_string(plan, class->name);
  const Loading of = loading(plan);
  if (!plan_program(plan, class, PROGRAM_INIT) || !plan_program(plan, class, plan_purpose(plan)) ||
      (plan_samples(plan) && !plan_program(plan, class, PROGRAM_DECODE)))
    return status_fail(status, STATUS_OURS, "plan: class %s lacks a program", name);
  for (ProgramKind kind = PROGRAM_TRAIN_STEP; kind < ProgramKind_COUNT; kind++)
    if (kind != PROGRAM_SNAPSHOT && (plan_program(plan, class, kind) == NULL) !=
                                        (plan_program(plan, &plan->classes[0], kind) == NULL))
      return status_fail(status, STATUS_OURS, "plan: class %s lacks a program", name);
  int64_t main = class_loads(plan, class, of.main);
  int64_t other = class_loads(plan, class, of.other);
  if ((main == 0 && other == 0) || (main == loads[0] && other == loads[1])) return true;
  return status_fail(status, STATUS_OURS,
                     "plan: class %s loads %lld micro-batch%s in %s and %lld in %s", name,
                     (long long)main, plural_es(main), ProgramKind_names[of.main], (long long)other,
                     ProgramKind_names[of.other]);
}

bool programs_check(const Plan *plan, const Mesh *mesh, Status *status) {
  const Loading of = loading(plan);
  const int64_t loads[2] = {programs_loads(plan, of.main), programs_loads(plan, of.other)};
  for (uint32_t i = 0; i < plan->classes_count; i++)
    if (!check_class(plan, &plan->classes[i], loads, status)) return false;
  int32_t replicas = mesh_replicas(mesh);
  const int64_t loaded = plan_trains(plan) || plan_samples(plan) ? loads[0] : loads[1];
  if (loaded != job_accumulation(plan) ||
      job_batch_samples(plan) != loaded * job_microbatch_samples(plan) * replicas)
    return status_fail(status, STATUS_OURS,
                       "plan: %lld load%s of %lld sample%s on %d replica%s are not a batch of %lld",
                       (long long)loaded, plural(loaded), (long long)job_microbatch_samples(plan),
                       plural(job_microbatch_samples(plan)), replicas, plural(replicas),
                       (long long)job_batch_samples(plan));
  if (loads[1] > 1) /* the control block gives the padding of one micro-batch only */
    return status_fail(status, STATUS_OURS, "plan: %s loads %lld micro-batch%s, at most 1",
                       ProgramKind_names[of.other], (long long)loads[1], plural_es(loads[1]));
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

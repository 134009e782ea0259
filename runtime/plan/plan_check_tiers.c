/* plan_check_tiers.c -- each record touches memory that its lane's processor reaches.
 *
 *   kernels, loads, communications of device lanes    device memory
 *   copies of device lanes                            device and host memory
 *   kernels and copies of host lanes                  host memory
 *   reads and writes, of host lanes alone             one operand in a file, the other in host
 * memory
 *
 * Kernels of host lanes read control slots from the mirror, a copy in host memory. */
#include "runtime/plan/plan_job.h"
#include "runtime/plan/plan_text.h"
#include "runtime/plan/plan_why.h"

static bool is_reached(const Plan *plan, const PlanRecord *record, uint32_t operand,
                       uint32_t tier) {
  if (record->kind == RECORD_READ || record->kind == RECORD_WRITE) {
    const bool is_file = operand == (record->kind == RECORD_WRITE);
    return plan_is_host_lane(plan, record->lane) && tier == (is_file ? TIER_FILE : TIER_HOST);
  }
  if (plan_is_host_lane(plan, record->lane)) return tier == TIER_HOST;
  return tier == TIER_DEVICE || (tier == TIER_HOST && record->kind == RECORD_COPY);
}

bool plan_check_reach(const Plan *plan, const PlanCall *call, char *why) {
  const PlanSegment *segment = &plan->segments[call->segment];
  for (uint32_t i = 0; i < segment->records_count; i++) {
    const PlanRecord *record = &plan->records[segment->records_first + i];
    if (!plan_runs(call, record)) continue;
    for (uint32_t k = 0; k < record->operands_count; k++) {
      const PlanOperand *operand = &plan->operands[record->operands_first + k];
      uint32_t tier = plan->bindings[call->bindings_first + operand->base].tier;
      if (!is_reached(plan, record, k, tier))
        return plan_refuse(
            why, "calls[%u]: operand %u of %s (records[%u], lane %s) is in %s memory",
            (uint32_t)(call - plan->calls), k, RecordKind_names[record->kind],
            segment->records_first + i, plan_lane_name(plan, record->lane), Tier_names[tier]);
    }
  }
  return true;
}

/* True if a kernel on a host lane reads or writes control slots. */
static bool needs_mirror(const Plan *plan) {
  for (uint32_t i = 0; i < plan->records_count; i++)
    if (plan->records[i].controls_count > 0 && plan_is_host_lane(plan, plan->records[i].lane))
      return true;
  return false;
}

/* The mirror holds every slot, and is the only one. */
static bool check_mirror(const Plan *plan, const PlanClass *class, char *why) {
  const PlanBuffer *mirror = plan_control_mirror(plan, class);
  const PlanBuffer *end = &plan->buffers[class->buffers_first + class->buffers_count];
  if (mirror == NULL)
    return plan_refuse(why, "class %s: kernels on the host read control, and have no mirror of it",
                       plan_string(plan, class->name));
  for (const PlanBuffer *other = mirror + 1; other < end; other++)
    if (other->kind == BUFFER_MIRROR)
      return plan_refuse(why, "buffers[%u]: the plan has two buffers that mirror the control block",
                         (uint32_t)(other - plan->buffers));
  if (mirror->tier == TIER_HOST && mirror->program == PLAN_NONE && mirror->offset % 8 == 0 &&
      mirror->size_bytes == job_control_bytes(plan))
    return true;
  return plan_refuse(why, "buffers[%u]: a mirror of control is %llu lasting bytes of host memory",
                     (uint32_t)(mirror - plan->buffers),
                     (unsigned long long)job_control_bytes(plan));
}

bool plan_check_mirrors(const Plan *plan, char *why) {
  const bool needed = needs_mirror(plan);
  for (uint32_t c = 0; c < plan->classes_count; c++) {
    const PlanClass *class = &plan->classes[c];
    if ((needed || plan_control_mirror(plan, class) != NULL) && !check_mirror(plan, class, why))
      return false;
  }
  return true;
}

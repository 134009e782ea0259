#include "compiler/plan/simulate/parts.h"

/* Index into LaneParts.exposed_ns: the axis of the communicator; the last one if it has several. */
static uint32_t axis_of(const Plan *plan, const PlanRecord *record) {
  uint32_t mask = plan->comms[record->comm].axes_mask, axis = 0;
  while (axis < PLAN_AXES_MAX && mask != 1U << axis)
    axis++;
  return axis;
}

void parts_add_exposed(const Plan *plan, LaneParts *parts, const PlanRecord *record,
                       int64_t took_ns, int64_t moving_ns) {
  uint32_t axis = axis_of(plan, record);
  bool is_stage = axis < plan->axes_count && plan->axes[axis].divides == DIVIDES_DEPTH &&
                  record->kind == RECORD_EXCHANGE;
  if (!is_stage || moving_ns > took_ns) moving_ns = took_ns;
  parts->exposed_ns[axis] += moving_ns;
  parts->bubble_ns += took_ns - moving_ns;
}

void parts_add_record(const Plan *plan, LaneParts *parts, const PlanRecord *record,
                      int64_t took_ns) {
  if (plan_is_communication(record))
    parts_add_exposed(plan, parts, record, took_ns, took_ns);
  else
    parts->compute_ns += took_ns;
}

void parts_add(LaneParts *to, const LaneParts *parts) {
  to->compute_ns += parts->compute_ns;
  to->bubble_ns += parts->bubble_ns;
  for (uint32_t axis = 0; axis <= PLAN_AXES_MAX; axis++)
    to->exposed_ns[axis] += parts->exposed_ns[axis];
}

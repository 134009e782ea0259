/* plan_lanes.h -- what lanes of a plan are, and which processor and control block their kernels
 * have. Part of plan.h. */
#ifndef LOCKSTEP_PLAN_LANES_H
#define LOCKSTEP_PLAN_LANES_H

/* A bit for each lane on which records use the communicator. */
static inline uint32_t plan_comm_lanes(const Plan *plan, uint32_t comm) {
  uint32_t mask = 0;
  for (uint32_t i = 0; i < plan->records_count; i++) {
    const PlanRecord *record = &plan->records[i];
    if (plan_is_communication(record) && record->comm == comm) mask |= 1u << record->lane;
  }
  return mask;
}

/* The lane of priority 0. */
static inline uint32_t plan_main_lane(const Plan *plan) {
  uint32_t lane = 0;
  while (lane + 1 < plan->lanes_count && plan->lanes[lane].priority != 0)
    lane++;
  return lane;
}

/* True if the lane's kernels run on the host's processor. */
static inline bool plan_is_host_lane(const Plan *plan, uint32_t lane) {
  return plan->lanes[lane].processor == PROCESSOR_HOST;
}

/* The copy of the control block from which kernels on host lanes read their slots: the class's
 * persistent buffer of this kind. NULL: it has none. */
static inline const PlanBuffer *plan_control_mirror(const Plan *plan, const PlanClass *class) {
  for (uint32_t i = 0; i < class->buffers_count; i++)
    if (plan->buffers[class->buffers_first + i].kind == BUFFER_MIRROR)
      return &plan->buffers[class->buffers_first + i];
  return NULL;
}

static inline const char *plan_lane_name(const Plan *plan, uint32_t lane) {
  return plan_string(plan, plan->lanes[lane].name);
}

/* True if a step's record is there only because something lies in host memory or a file: copies,
 * reads, writes, and updates by the host's processors. */
static inline bool plan_is_offload(const Plan *plan, const PlanRecord *record) {
  return plan_is_copy(record) || plan_is_host_lane(plan, record->lane);
}

/* True if the lane has such records, and only such records. */
static inline bool plan_is_offload_lane(const Plan *plan, uint32_t lane) {
  const char *name = plan_lane_name(plan, lane);
  return plan_is_host_lane(plan, lane) || strcmp(name, "d2h") == 0 || strcmp(name, "h2d") == 0;
}

#endif

/* replay_between.c -- between runs: control values that last, and whether a snapshot is over. */
#include "runtime/plan/plan_job.h"
#include "runtime/replay/replay.h"

bool replay_snapshot_is_over(const Replay *replay) {
  const DeviceOps *ops = replay->device->ops;
  return ops->query(ops->queue(replay->device, replay->snapshot_lane), replay->snapshot_number) ==
         PROGRESS_PASSED;
}

bool replay_snapshot_await(Replay *replay, Status *status) {
  const DeviceOps *ops = replay->device->ops;
  return ops->await(ops->queue(replay->device, replay->snapshot_lane), replay->snapshot_number,
                    status);
}

bool replay_read_lasting(const Replay *replay, Control *lasting, Status *status) {
  const DeviceOps *ops = replay->device->ops;
  const Plan *plan = replay->setup.plan;
  const void *block = ops->open_window(replay->device, replay->control, job_control_bytes(plan),
                                       ACCESS_READ, status);
  if (block == NULL) return false;
  plan_control_load(&replay->slots, SLOT_LASTING, SLOT_LASTING, block, lasting);
  return ops->close_window(replay->device, status);
}

bool replay_write_lasting(const Replay *replay, const Control *lasting, Status *status) {
  const DeviceOps *ops = replay->device->ops;
  const Plan *plan = replay->setup.plan;
  PlanBytes bytes = plan_slots_of_kinds(plan, SLOT_LASTING, SLOT_LASTING);
  void *seen = ops->open_window(replay->device, replay->control + bytes.first,
                                bytes.end - bytes.first, ACCESS_WRITE, status);
  if (seen == NULL) return false;
  plan_control_store(&replay->slots, SLOT_LASTING, SLOT_LASTING, lasting,
                     (uint8_t *)seen - bytes.first);
  return ops->close_window(replay->device, status);
}

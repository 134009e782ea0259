/* replay_end.c -- how a run ends: on all lanes, or for the main lane while others continue beside
 * the next run (plan_seam.h). */
#include "runtime/replay/replay_end.h"

#include "runtime/plan/plan_seam.h"

/* All queues finish what they have before `queue` continues, or the other way round. */
bool replay_meet(const Replay *replay, bool others_wait, uint64_t number, Status *status) {
  const DeviceOps *ops = replay->device->ops;
  Queue *compute = ops->queue(replay->device, replay->main_lane);
  for (uint32_t lane = 0; lane < PLAN_LANES_MAX; lane++) {
    bool has_work = others_wait || replay->last[lane] > 0;
    if ((replay->queues_mask >> lane & 1u) == 0 || !has_work) continue;
    Queue *other = ops->queue(replay->device, lane);
    if (others_wait ? !ops->wait(other, compute, number, status)
                    : !ops->wait(compute, other, replay->last[lane], status))
      return false;
  }
  return true;
}

/* Work issued before a failure is finished, too, so that no queue keeps work of an earlier step. */
bool replay_end_failed(const Replay *replay, Status *status) {
  Status ended = {0};
  if (replay->device->ops->finish(replay->device, &ended)) return false;
  if (status->code == STATUS_ECHO && ended.code != STATUS_ECHO) *status = ended;
  return false;
}

/* A WorkRun: the bytes that this lane has sent so far. */
static bool note_lane(const Work *work, Queue *queue, Status *status) {
  (void)status;
  Replay *replay = work->context;
  const uint32_t lane = replay->device->ops->lane(queue);
  replay->lane_sent[lane] = 0;
  for (uint32_t i = 0; i < replay->setup.plan->records_count; i++)
    if (replay->setup.plan->records[i].lane == lane)
      replay->lane_sent[lane] += replay->count[i].sent_bytes;
  return true;
}

/* The last record number of a call is nobody's. */
bool replay_end_for_main(Replay *replay, uint64_t number, Status *status) {
  const DeviceOps *ops = replay->device->ops;
  Queue *compute = ops->queue(replay->device, replay->main_lane);
  const Work note = {.run = note_lane, .context = replay};
  for (uint32_t lane = 0; lane < PLAN_LANES_MAX; lane++) {
    if ((replay->parted_mask >> lane & 1u) == 0) continue;
    Queue *queue = ops->queue(replay->device, lane);
    replay->last[lane] = number;
    if (!ops->issue(queue, &note, number, status) || !ops->wait(compute, queue, number, status))
      return false;
  }
  return true;
}

/* A WorkRun: adds up the bytes that were sent. For lanes that continue, it takes their last noted
 * count. */
bool replay_note_sent(const Work *work, Queue *queue, Status *status) {
  (void)queue, (void)status;
  const Replay *replay = work->context;
  const PlanRecord *records = replay->setup.plan->records;
  const uint32_t parted_mask = work->operand[1] == NULL ? 0 : replay->parted_mask;
  int64_t *sent_bytes = work->operand[0];
  *sent_bytes = 0;
  for (uint32_t i = 0; i < replay->setup.plan->records_count; i++)
    if ((parted_mask >> records[i].lane & 1u) == 0) *sent_bytes += replay->count[i].sent_bytes;
  for (uint32_t lane = 0; lane < PLAN_LANES_MAX; lane++)
    if ((parted_mask >> lane & 1u) != 0) *sent_bytes += replay->lane_sent[lane];
  return true;
}

/* A run whose records are looked at or timed is alone. */
uint32_t replay_end_call(const Replay *replay, const PlanProgram *program) {
  const Plan *plan = replay->setup.plan;
  const bool is_alone =
      replay->queues_mask == 0 || replay->watch != NULL || replay->setup.ends_on_all_lanes;
  return is_alone || !plan_follows_itself(plan, program) ? PLAN_NONE : plan_main_end(plan, program);
}

/* A WorkRun. */
static bool do_nothing(const Work *work, Queue *queue, Status *status) {
  (void)work, (void)queue, (void)status;
  return true;
}

bool replay_settle(Replay *replay, Status *status) {
  const DeviceOps *ops = replay->device->ops;
  Queue *compute = ops->queue(replay->device, replay->main_lane);
  const Work nothing = {.run = do_nothing, .context = replay};
  if (replay->open == NULL) return true;
  const uint64_t number = replay_next_number(replay);
  replay->open = NULL;
  return (replay_meet(replay, false, 0, status) && ops->issue(compute, &nothing, number, status) &&
          ops->mark(compute, MARK_FOR_HOST, status) && ops->await(compute, number, status)) ||
         replay_end_failed(replay, status);
}

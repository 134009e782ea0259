/* replay_end.h -- how a run ends. Private to replay. */
#ifndef LOCKSTEP_REPLAY_END_H
#define LOCKSTEP_REPLAY_END_H

#include "runtime/replay/replay.h"

/* The main queue waits until all queues have finished their work; with `others_wait`, the other
 * queues wait for its mark of this number. */
bool replay_meet(const Replay *replay, bool others_wait, uint64_t number, Status *status);

/* Always false. */
bool replay_end_failed(const Replay *replay, Status *status);

/* The call after which a run ends for the main lane; PLAN_NONE: no other lane continues after it.
 */
uint32_t replay_end_call(const Replay *replay, const PlanProgram *program);

/* There the main lane waits for what lanes that communicate have; `number` is nobody's. */
bool replay_end_for_main(Replay *replay, uint64_t number, Status *status);

/* A WorkRun: adds up what has been sent. operand[1] is not NULL: of a run that continues. */
WorkRun replay_note_sent;

#endif

/* replay_heard.h -- turns the times that a device tells of works into times of records. */
#ifndef LOCKSTEP_REPLAY_HEARD_H
#define LOCKSTEP_REPLAY_HEARD_H

#include "runtime/replay/replay.h"

/* From here on the times of the program's records go to `log`, while the device listens. Only of a
 * replay that hears (ReplaySetup.hears), between runs. NULL: no times go anywhere. */
bool replay_hear(Replay *replay, const PlanProgram *program, StepLog *log, Status *status);

/* A run of a program begins, whose first call's first record has this number. Works of other
 * programs, as copies of a snapshot that continue beside it, are not heard. */
void replay_hear_run(Replay *replay, const PlanProgram *program, uint64_t number_first);

/* A DeviceHeard, whose context is the replay. */
void replay_heard(void *context, uint64_t number, int64_t start_ns, int64_t end_ns);

#endif

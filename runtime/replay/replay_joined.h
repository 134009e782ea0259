/* replay_joined.h -- two records that run as one: where a plan allows it and the kernels have a way
 * to. */
#ifndef LOCKSTEP_REPLAY_JOINED_H
#define LOCKSTEP_REPLAY_JOINED_H

#include "runtime/replay/replay.h"

/* Asks the kernels of all such records, after they were prepared. */
bool replay_bind_joined(Replay *replay, Status *status);
void replay_free_joined(const Replay *replay);

/* Makes the work of a record that of two, if in this call one runs as one with it. */
bool replay_join_work(Replay *replay, const Position *at, Work *work);

#endif

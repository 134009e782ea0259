/* replay_fused.h -- two records that are fused: where the plan allows it and a kernel can. */
#ifndef LOCKSTEP_REPLAY_FUSED_H
#define LOCKSTEP_REPLAY_FUSED_H

#include "runtime/replay/replay.h"

/* Asks the kernels of all such records, after they were prepared. */
bool replay_bind_fused(Replay *replay, Status *status);
void replay_free_fused(const Replay *replay);

/* Turns the work of a record into the work of two, if in this call the next one is fused with it.
 */
bool replay_fuse_work(Replay *replay, const Position *at, Work *work);

#endif

/* replay_fused.h -- records that are fused: where the plan allows it and a kernel can. */
#ifndef LOCKSTEP_REPLAY_FUSED_H
#define LOCKSTEP_REPLAY_FUSED_H

#include "runtime/replay/replay.h"

/* Asks the kernels of all such records, after they were prepared. */
bool replay_bind_fused(Replay *replay, Status *status);
void replay_free_fused(const Replay *replay);

/* Adds to the work of a record those that are fused with it in this call. */
void replay_fuse_work(Replay *replay, const Position *at, Work *work);

#endif

/* near_moves.h -- collectives between processes on one node: a member copies its data for other
 * members into its window, from which they read. Arguments as in comm.h. */
#ifndef LOCKSTEP_COMM_NEAR_MOVES_H
#define LOCKSTEP_COMM_NEAR_MOVES_H

#include "kernels/threads/threads.h"
#include "runtime/comm/barrier.h"
#include "runtime/comm/comm.h"

/* One communicator all of whose members are on this node, for the thread of one lane. */
typedef struct NearGroup {
  Barrier *barrier;    /* one for all members; NULL: they are not all here */
  char *const *window; /* of each member, as this process sees it */
  int32_t count;
  int32_t member;
} NearGroup;

/* Buffers of a lane's thread. */
typedef struct NearMover {
  int64_t window_bytes;
  const void **source; /* of a reduction, of each member */
  Threads *threads;    /* NULL: the caller reduces alone */
  const atomic_bool *is_aborted;
  int64_t sent_bytes; /* to other ranks, so far */
} NearMover;

bool near_all_reduce(NearMover *mover, NearGroup at, const void *x, void *y, CommElements elements,
                     ReduceOp reduce);
bool near_all_gather(NearMover *mover, NearGroup at, const void *x, void *y,
                     const CommPieces *pieces);
bool near_reduce_scatter(NearMover *mover, NearGroup at, void *x, void *y, const CommPieces *pieces,
                         ReduceOp reduce);
bool near_all_to_all(NearMover *mover, NearGroup at, const void *x, void *y, const CommTurn *turn);

#endif

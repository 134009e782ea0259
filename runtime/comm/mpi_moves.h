/* mpi_moves.h -- collectives between processes: what is posted when, and what is reduced where.
 * Arguments as in comm.h. */
#ifndef LOCKSTEP_COMM_MPI_MOVES_H
#define LOCKSTEP_COMM_MPI_MOVES_H

#include "kernels/threads/threads.h"
#include "runtime/comm/comm.h"
#include "runtime/comm/wire.h"

/* One communicator, for the thread of one lane. */
typedef struct MpiGroup {
  MPI_Comm comm;
  int32_t count;
  int32_t member;
} MpiGroup;

/* Buffers of a lane's thread. For bytes that are not contiguous, each member has one slot for
 * received bytes, and another for sent bytes. */
typedef struct MpiMover {
  Wire wire;
  char *incoming;
  char *outgoing;
  int64_t all_slots_bytes; /* of each of the two */
  const void **source;     /* of a reduction, of each member */
  Threads *threads;        /* NULL: the caller reduces alone */
} MpiMover;

bool mpi_all_reduce(MpiMover *mover, MpiGroup at, const void *x, void *y, CommElements elements,
                    ReduceOp reduce);
bool mpi_all_gather(MpiMover *mover, MpiGroup at, const void *x, void *y, const CommPieces *pieces);
bool mpi_reduce_scatter(MpiMover *mover, MpiGroup at, void *x, void *y, const CommPieces *pieces,
                        ReduceOp reduce);
bool mpi_all_to_all(MpiMover *mover, MpiGroup at, const void *x, void *y, const CommTurn *turn);
bool mpi_exchange(MpiMover *mover, MpiGroup at, const CommPost *post, int32_t count);

#endif

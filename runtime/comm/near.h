/* near.h -- finds the communicators whose members are all on one node, and the memory that these
 * members share. */
#ifndef LOCKSTEP_COMM_NEAR_H
#define LOCKSTEP_COMM_NEAR_H

#include <mpi.h>

#include "runtime/comm/near_moves.h"
#include "runtime/plan/mesh.h"

typedef struct Near Near;

typedef struct NearSetup {
  const Plan *plan;
  const Mesh *mesh;
  int32_t rank;
  const int32_t *node; /* of every rank */
  MPI_Comm all;        /* every rank of the job, in order */
  int32_t spins;       /* as of a barrier */
} NearSetup;

/* Every rank of the job calls it, and it succeeds for all or returns NULL for all: on some systems
 * a process cannot map memory of another. */
Near *near_open(const NearSetup *setup);
void near_close(Near *near);

/* The group of this rank; its barrier is NULL if members are on other nodes, or if it is alone. */
NearGroup near_group(const Near *near, uint32_t comm, uint32_t lane);

/* The size of the window that each rank has for each lane. */
int64_t near_window_bytes(void);

#endif

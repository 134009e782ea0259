/* local.h -- communication between ranks that are threads of one process. */
#ifndef LOCKSTEP_COMM_LOCAL_H
#define LOCKSTEP_COMM_LOCAL_H

#include "kernels/threads.h"
#include "runtime/comm/comm.h"
#include "runtime/comm/group.h"
#include "runtime/mesh.h"
#include "runtime/status.h"

typedef struct LocalWorld LocalWorld;

/* One meeting place per group of every communicator of the plan. NULL when memory is short.
 * `threads_per_rank` tells waiters whether the machine has cores to spin on. */
LocalWorld *local_world_new(const Plan *plan, const Mesh *mesh, int32_t threads_per_rank);
void local_world_free(LocalWorld *world);

/* The comm of one rank; it lives as long as the world. Large reductions use `threads` (may be
 * NULL). */
Comm *local_comm(LocalWorld *world, int32_t rank, Threads *threads);

/* More of the same rank, one for the thread of each lane beside the main lane: what is called on
 * them meets only what peers call on theirs. Two lanes do not use one communicator of the plan at
 * once. They reduce on the calling thread. */
CommLanes local_comm_beside(LocalWorld *world, int32_t rank);

/* Set it before anything is sent. */
void local_world_delay(LocalWorld *world, CommDelay delay);

/* As the entry of the same name, for whoever has no rank. */
void local_world_abort(LocalWorld *world);

#endif

/* local.h -- communication between ranks that are threads of one process. */
#ifndef LOCKSTEP_COMM_LOCAL_H
#define LOCKSTEP_COMM_LOCAL_H

#include "kernels/threads/threads.h"
#include "runtime/comm/comm.h"
#include "runtime/comm/group.h"
#include "runtime/plan/mesh.h"
#include "runtime/process/status.h"

typedef struct LocalWorld LocalWorld;

/* Has one Group for each group of every communicator of the plan. NULL when out of memory.
 * `threads_per_rank` tells waiters whether the machine has cores to spin on. */
LocalWorld *local_world_new(const Plan *plan, const Mesh *mesh, int32_t threads_per_rank);
void local_world_free(LocalWorld *world);

/* The comm of one rank, valid as long as the world. Large reductions use `threads` (may be NULL).
 */
Comm *local_comm(LocalWorld *world, int32_t rank, Threads *threads);

/* Further comms of the same rank, one for the thread of each lane beside the main lane: calls on
 * them match only peers' calls on the same lane. Two lanes must not use one communicator of the
 * plan at the same time. They reduce on the calling thread. */
CommLanes local_comm_beside(LocalWorld *world, int32_t rank);

/* Call before anything is sent. */
void local_world_delay(LocalWorld *world, CommDelay delay);

/* As the entry of the same name, for a caller without a rank. */
void local_world_abort(LocalWorld *world);

#endif

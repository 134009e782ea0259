/* mpi.h -- communication between ranks that are processes, through MPI.
 *
 * MPI only carries bytes: members send each other parts, and each reduces its own in member order
 * (reduce.h), so that results are bitwise those of ranks that are threads. Collectives of ranks of
 * one node go through memory that they share instead (near.h), where the system lets them. */
#ifndef LOCKSTEP_COMM_MPI_H
#define LOCKSTEP_COMM_MPI_H

#include "kernels/threads/threads.h"
#include "runtime/comm/comm.h"
#include "runtime/plan/mesh.h"
#include "runtime/process/status.h"

typedef struct MpiWorld MpiWorld;

/* Sets the variables that MPI_Init needs; those that the user has set are kept. mpi_world_open also
 * calls it. */
void mpi_prepare_environment(void);

/* Starts MPI; every rank of the job calls it, once in a process. Refuses if MPI's world is not all
 * ranks in the launcher's order, or if MPI cannot be called by several threads. `node` is the node
 * of every rank; `has_cores` tells waiters whether there are cores to spin on. NULL: `status` says
 * why. */
MpiWorld *mpi_world_open(const Plan *plan, const Mesh *mesh, int32_t rank, const int32_t *node,
                         bool has_cores, Status *status);

/* After an abort MPI is not finalized, because it would wait for peers that are gone. */
void mpi_world_close(MpiWorld *world);

/* As local_comm and local_comm_beside, for this process's rank. */
Comm *mpi_comm(MpiWorld *world, Threads *threads);
CommLanes mpi_comm_beside(MpiWorld *world);

/* Makes every present and future call of this process return false. */
void mpi_world_abort(MpiWorld *world);

#endif

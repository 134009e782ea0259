/* mpi.h -- communication between ranks that are processes, through MPI.
 *
 * MPI only carries bytes: members send each other parts, and each reduces its own in member order
 * (reduce.h), so that results are bitwise those of ranks that are threads. Collectives of ranks of
 * one node go through memory that they share instead (near.h), where the system lets them. */
#ifndef LOCKSTEP_COMM_MPI_H
#define LOCKSTEP_COMM_MPI_H

#include "kernels/threads.h"
#include "runtime/comm/comm.h"
#include "runtime/mesh.h"
#include "runtime/status.h"

typedef struct MpiWorld MpiWorld;

/* What MPI_Init wants to find; what the user has set stays. mpi_world_open does it, too. */
void mpi_prepare_environment(void);

/* Brings MPI up; every rank of the job calls it. Refuses when MPI is not one world of all ranks in
 * the launcher's order, or cannot be called by several threads. `node` is of every rank;
 * `has_cores` tells waiters whether there are cores to spin on. Once in a process. NULL: `status`
 * says why. */
MpiWorld *mpi_world_open(const Plan *plan, const Mesh *mesh, int32_t rank, const int32_t *node,
                         bool has_cores, Status *status);

/* After an abort MPI is left as it is, for it would wait for peers that are gone. */
void mpi_world_close(MpiWorld *world);

/* As local_comm and local_comm_beside, of this process's rank. */
Comm *mpi_comm(MpiWorld *world, Threads *threads);
CommLanes mpi_comm_beside(MpiWorld *world);

/* Makes every present and future call of this process return false. */
void mpi_world_abort(MpiWorld *world);

#endif

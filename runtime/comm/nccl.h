/* nccl.h -- communication between ranks on GPUs, through NCCL.
 *
 * Calls issue to the stream of their lane and return; they are complete when the stream's next
 * event has passed. NCCL chooses the order of sums: results are equal on all members, but not
 * bitwise those of ranks on processors, and bf16 is rounded at every hop. */
#ifndef LOCKSTEP_COMM_NCCL_H
#define LOCKSTEP_COMM_NCCL_H

#include "runtime/comm/comm.h"
#include "runtime/comm/nccl_api.h"
#include "runtime/plan/mesh.h"

typedef struct NcclWorld NcclWorld;

/* Makes an NCCL communicator for each communicator of the plan in which this rank has peers, and
 * each lane that uses it: by splitting the smallest of those made so far that has all its members,
 * where there is one and the library can, else from ids. Every rank of the job calls it, on a
 * thread that has chosen its GPU. `host` carries the ids, and later everything between the ranks'
 * hosts (barrier, bytes, abort); it must live as long as the world. NULL: `status` says why. */
NcclWorld *nccl_world_open(const NcclApi *api, const Plan *plan, const Mesh *mesh, int32_t rank,
                           Comm *host, Status *status);

/* For tests: how long the opening of a communicator may take from now on. */
void nccl_opening_most(int32_t seconds);

/* Registers this memory with every communicator (ncclCommRegister), so that NCCL can read and write
 * it without its own buffers where network and GPUs allow. Before the first call; until the world
 * is closed. Results do not change. Returns how many communicators have registered it; 0: the
 * library cannot, or none did. */
int32_t nccl_world_hold(NcclWorld *world, void *at, size_t size_bytes);

/* A DeviceLook (device.h), called while waiting for a device: false if a communicator has failed
 * after its call was issued, for example because a peer is gone, or if another rank has aborted the
 * job. Issued work then never ends: `status` says why, and the caller aborts. */
bool nccl_world_look(void *world, Status *status);

/* After a failure of the job: ends running work, with undefined results. Afterwards the world can
 * only be closed. NULL is allowed. */
void nccl_world_abort(NcclWorld *world);

/* Call when nothing is running, or after an abort. NULL is allowed. */
void nccl_world_close(NcclWorld *world);

/* Before the first call: sets the stream to which calls on the lane's comm are issued. */
void nccl_world_stream(NcclWorld *world, uint32_t lane, void *stream);

/* The comms of the main lane, and of the lanes beside it; valid as long as the world. */
Comm *nccl_comm(NcclWorld *world);
CommLanes nccl_comm_beside(NcclWorld *world);

#endif

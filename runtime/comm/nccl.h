/* nccl.h -- communication between ranks on GPUs, through NCCL.
 *
 * Calls issue to the stream of their lane and return; what they move has moved when the stream's
 * next event has passed. NCCL sums in an order of its own: results are equal on all members, but
 * not bitwise those of ranks on processors, and bf16 rounds at every hop. */
#ifndef LOCKSTEP_COMM_NCCL_H
#define LOCKSTEP_COMM_NCCL_H

#include "runtime/comm/comm.h"
#include "runtime/comm/nccl_api.h"
#include "runtime/mesh.h"

typedef struct NcclWorld NcclWorld;

/* A communicator of NCCL for each of the plan's that this rank is in with others, and each lane
 * that uses it. Every rank of the job calls it, on a thread that has chosen its GPU. `host` carries
 * the ids, and from then on what the ranks' hosts tell each other (barrier, bytes, abort); it lives
 * as long as the world. NULL: `status` says why. */
NcclWorld *nccl_world_open(const NcclApi *api, const Plan *plan, const Mesh *mesh, int32_t rank,
                           Comm *host, Status *status);

/* Every communicator is told of this memory, so that NCCL may read and write there without buffers
 * of its own where the network and the GPUs allow it: ncclCommRegister. Before the first call;
 * until the world is closed. The results are the same. Returns how many communicators have taken
 * it; 0: the library cannot, or none did. */
int32_t nccl_world_hold(NcclWorld *world, void *at, size_t size_bytes);

/* A DeviceLook (device.h), for a device that is waited for: false where a communicator has failed
 * after its call was issued, as when a peer is gone, or another rank has aborted the job. What was
 * issued then never ends: `status` says why, and the caller aborts. */
bool nccl_world_look(void *world, Status *status);

/* The job has failed: what is under way ends, with whatever it has. After it the world is only
 * closed. NULL is fine. */
void nccl_world_abort(NcclWorld *world);

/* Nothing is under way, or the world was aborted. NULL is fine. */
void nccl_world_close(NcclWorld *world);

/* Before the first call: where what is called on the lane's comm is issued. */
void nccl_world_stream(NcclWorld *world, uint32_t lane, void *stream);

/* Of the main lane, and of the lanes beside it; they live as long as the world. */
Comm *nccl_comm(NcclWorld *world);
CommLanes nccl_comm_beside(NcclWorld *world);

#endif

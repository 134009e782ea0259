/* nccl_world.h -- a rank's NCCL communicators. Shared by the files of nccl.h. */
#ifndef LOCKSTEP_COMM_NCCL_WORLD_H
#define LOCKSTEP_COMM_NCCL_WORLD_H

#include <stdatomic.h>

#include "runtime/comm/nccl.h"

typedef struct NcclComm {
  Comm base;
  NcclWorld *world;
  uint32_t lane;
  void *stream;
  int moves; /* calls in the open group */
  int error; /* of the group's first call that failed */
} NcclComm;

/* One of the plan's communicators on one lane. */
typedef struct NcclGroup {
  NcclHandle *handle; /* NULL: it has no other members, or the lane does not use it */
  int32_t count, member;
  void *held; /* the rank's memory, as the handle knows it; or NULL */
} NcclGroup;

struct NcclWorld {
  const NcclApi *api;
  const Plan *plan;
  Mesh mesh;
  int32_t rank;
  Comm *host;
  NcclGroup *group; /* of each of the plan's communicators, lane after lane */
  NcclComm lane[PLAN_LANES_MAX];
  atomic_bool is_aborted;
  bool is_gone; /* its communicators have been freed */
};

NcclGroup *nccl_group(const NcclWorld *world, uint32_t comm, uint32_t lane);

/* Ends communication: this rank or another one has failed. */
bool nccl_is_over(const NcclWorld *world);

/* True if `result` is success; otherwise `status` says which call failed, and why. */
bool nccl_good(const NcclWorld *world, int result, const char *call, Status *status);

/* The result of a call on a nonblocking communicator, which accepts no other call until then. */
int nccl_settle(const NcclWorld *world, NcclHandle *handle, int result);

/* The same of a call that opens a communicator. It is limited in time: a network without an answer
 * would be tried for hours. */
int nccl_settle_open(const NcclWorld *world, NcclHandle *handle, int result);

/* Every rank makes the same calls in the same order: all of it follows from the plan. */
bool nccl_open_groups(NcclWorld *world, Status *status);

#endif

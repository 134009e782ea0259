/* communicators.h -- NCCL's communicators of a plan, and what they keep on a GPU outside the arena:
 * an estimate from how NCCL sets up connections, which nobody has measured here.
 *
 * NCCL connects ranks channel by channel, and only for what a communicator is used for
 * (NCCL_RUNTIME_CONNECT, the default where it has CUDA's virtual memory). A connection has a fifo
 * for each of three protocols where it receives, 512 KiB, 4.7 MiB and 4 MiB, and little where it
 * sends; both are rounded up to 2 MiB: src/init.cc (computeBuffSizes) and src/transport/p2p.cc of
 * NCCL 2.30. An all-to-all of 8 GPUs was seen to allocate these very sizes (NVIDIA/nccl, issue
 * 1685). Not counted: the buffers of reductions inside NVSwitches, and what NCCL pins of the host's
 * memory. */
#ifndef LOCKSTEP_COST_COMMUNICATORS_H
#define LOCKSTEP_COST_COMMUNICATORS_H

#include "compiler/base/base.h"
#include "runtime/plan/plan.h"

/* How one class uses one of the plan's communicators on one lane. */
typedef struct Communicator {
  uint32_t comm, lane;
  uint32_t ranks;
  bool is_in_node;          /* all members of the class's first rank are on its node */
  bool gathers;             /* also scatters: rings */
  bool sums;                /* trees as well */
  uint32_t sends, receives; /* how many members it sends to, and receives from */
  int64_t size_bytes;
} Communicator;

typedef struct Communicators {
  const Communicator *at;
  int32_t count;
  int64_t size_bytes; /* of all */
} Communicators;

/* Bytes of its buffers, by its use. */
int64_t communicator_bytes(const Communicator *use);

/* All that a rank of the class opens, in the plan's order; of those that it does not use, only the
 * numbers are filled. */
Communicators communicators_of(Arena *arena, const Plan *plan, uint32_t class);

#endif

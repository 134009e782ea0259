/* fleet.h -- all ranks of a plan as threads of the test, step by step, with a look into their
 * arenas between steps. */
#ifndef LOCKSTEP_TESTS_FLEET_H
#define LOCKSTEP_TESTS_FLEET_H

#include "kernels/kernel.h"
#include "runtime/comm/nccl_api.h"
#include "runtime/plan/plan.h"

enum { FLEET_STEPS_MAX = 64, FLEET_RANKS_MAX = 32, FLEET_AXES_MAX = 8 };

/* The results of a rank. */
typedef struct FleetRank {
  double loss[FLEET_STEPS_MAX + 1]; /* by step, from 1 */
  double norm[FLEET_STEPS_MAX + 1]; /* of the gradient, before clipping */
  double valid_loss;                /* after the last step; 0: the job does not validate */
  uint64_t planned_bytes, used_bytes;
} FleetRank;

typedef struct Fleet Fleet;

/* How queues run: as in a job, or each a thread of its own that waits up to so long, at random,
 * before each work. */
typedef struct FleetQueues {
  bool are_threads;
  int64_t delay_most_ns;
  uint64_t delay_seed;
} FleetQueues;

/* The kernels of all ranks' devices, by KernelId; NULL: the fast ones of this processor. */
extern const Kernel *fleet_kernels;

/* The library that moves data: NCCL's stand-in, or NULL: copies between threads. */
extern const NcclApi *fleet_nccl;

/* Called by one thread after step 1 and after the last step, while all ranks wait and their
 * arenas may be read. */
typedef void FleetLook(void *context, const Fleet *fleet, int64_t step);

/* Runs init and `steps` steps. False when something was printed. Ranks are then ranks[0 ..
 * rank_count). */
bool fleet_run(const Plan *plan, int64_t steps, FleetQueues queues, FleetLook *look, void *context,
               FleetRank ranks[FLEET_RANKS_MAX]);

int32_t fleet_rank_count(const Fleet *fleet);
const uint8_t *fleet_arena(const Fleet *fleet, int32_t rank);
void fleet_coordinates(const Fleet *fleet, int32_t rank, int32_t coordinate[FLEET_AXES_MAX]);

#endif

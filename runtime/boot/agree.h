/* agree.h -- what processes must have in common before any of them maps memory, and on which node
 * each is. */
#ifndef LOCKSTEP_BOOT_AGREE_H
#define LOCKSTEP_BOOT_AGREE_H

#include "runtime/boot/seat.h"
#include "runtime/plan/mesh.h"
#include "runtime/plan/plan.h"
#include "runtime/process/status.h"

/* The facts that a process shares with all others. */
typedef struct BootFacts {
  uint64_t plan_id;
  int32_t plan_version;
  int32_t cores; /* cores that the process may use */
  int32_t first_core;
  char version[32]; /* of lockstep-rank */
  char kernels[96]; /* the variants of the matrix product that its processor uses */
  char node[256];   /* the launcher's name for it */
  char machine[SEAT_MACHINE_BYTES];
  char seat[SEAT_WHY_BYTES]; /* the devices of the plan that the rank's node lacks; "": none */
} BootFacts;

/* Fills in the facts of this process as `rank`; its node is left empty. */
BootFacts facts_here(const Plan *plan, int32_t rank, bool reference_kernels);

/* Numbers the nodes in the order of their first ranks. Returns how many there are. */
int32_t agree_nodes(const BootFacts *facts, int32_t rank_count, int32_t *node);

/* True if all ranks have the same program, plan and kernels. Otherwise names the first rank that
 * differs from rank 0, with both values. */
bool agree_versions(const BootFacts *facts, int32_t rank_count, Status *status);

/* True if exactly the ranks that the plan puts on one node are on one node. */
bool agree_places(const Plan *plan, const BootFacts *facts, int32_t rank_count, Status *status);

/* True if every node has the hardware that the plan names on it, and nodes of one kind are alike.
 */
bool agree_seats(const Plan *plan, const BootFacts *facts, int32_t rank_count, Status *status);

/* The ranks on the node of `rank` that may use the same cores; a launcher may have divided them.
 */
Neighbours agree_neighbours(const BootFacts *facts, const int32_t *node, int32_t rank_count,
                            int32_t rank);

#endif

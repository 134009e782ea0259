/* pmix.h -- ranks as processes: a PMIx server has started one process for each. */
#ifndef LOCKSTEP_BOOT_PMIX_H
#define LOCKSTEP_BOOT_PMIX_H

#include "runtime/boot/boot.h"
#include "runtime/plan/mesh.h"

/* True if such a server started this process. */
bool boot_pmix_is_launched(void);

typedef struct BootPmixSetup {
  const Plan *plan;
  const Mesh *mesh;
  bool reference_kernels;
  bool any_place; /* ranks may be on other nodes than in the plan */
} BootPmixSetup;

/* Waits for all ranks, checks that they run the same plan in the same way on the planned nodes, and
 * starts MPI. Rank 0 reports what is wrong with the job; others end as its echoes. NULL: `status`
 * says why. */
Boot *boot_pmix_new(const BootPmixSetup *setup, Status *status);

#endif

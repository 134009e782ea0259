/* pmix.h -- ranks as processes: a PMIx server has started one process for each. */
#ifndef LOCKSTEP_BOOT_PMIX_H
#define LOCKSTEP_BOOT_PMIX_H

#include "runtime/boot/boot.h"
#include "runtime/mesh.h"

/* Whether such a server started this process. */
bool boot_pmix_is_launched(void);

typedef struct BootPmixSetup {
  const Plan *plan;
  const Mesh *mesh;
  bool reference_kernels;
  bool any_place; /* ranks may be on other nodes than the plan has them on */
} BootPmixSetup;

/* Meets all ranks, checks that they run the same plan in the same way and where the plan has them,
 * and brings MPI up. What is wrong with the job is said by rank 0; others end as its echo. NULL:
 * `status` says why. */
Boot *boot_pmix_new(const BootPmixSetup *setup, Status *status);

#endif

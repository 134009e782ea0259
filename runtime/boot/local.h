/* local.h -- ranks as threads of this process. */
#ifndef LOCKSTEP_BOOT_LOCAL_H
#define LOCKSTEP_BOOT_LOCAL_H

#include "runtime/boot/boot.h"
#include "runtime/comm/local.h"

/* All ranks of the job in this process. NULL when out of memory. `threads_per_rank` and `delay` are
 * those of LocalWorld. */
Boot *boot_local_new(const Plan *plan, const Mesh *mesh, int32_t threads_per_rank, CommDelay delay);

/* Called in the thread of the first rank that fails; it must make the others return. */
typedef void BootAbort(void *context);

/* Runs `body` for ranks 0 .. rank_count-1, rank 0 on the calling thread, and returns when all have
 * returned. `status` as of BootOps.run. */
bool boot_local(int32_t rank_count, BootRank *body, BootAbort *abort_all, void *context,
                Status *status);

#endif

/* local.h -- ranks as threads of this process. */
#ifndef LOCKSTEP_BOOT_LOCAL_H
#define LOCKSTEP_BOOT_LOCAL_H

#include "runtime/status.h"

/* What one rank does from start to end. False with STATUS_ECHO: it ended because another rank did.
 */
typedef bool BootRank(void *context, int32_t rank, Status *status);

/* Called by the first rank that fails, in its thread: makes the others return. */
typedef void BootAbort(void *context);

/* Runs `body` for ranks 0 .. rank_count-1, rank 0 on the calling thread, and returns when all have
 * returned. False: `status` is that of the rank that failed first, an echo only when there is
 * nothing else. */
bool boot_local(int32_t rank_count, BootRank *body, BootAbort *abort_all, void *context,
                Status *status);

/* The first core of a rank's threads when the job takes exactly the cores that this process may
 * use, else -1: let the system place them. (Two jobs that each take part of a machine must not meet
 * on its first cores.) Ask before any thread is bound. */
int32_t boot_first_core(int32_t rank_count, int32_t threads_per_rank);

#endif

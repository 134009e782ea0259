/* rank.h -- the life of one rank: opens everything, runs all steps, closes everything. */
#ifndef LOCKSTEP_RANK_H
#define LOCKSTEP_RANK_H

#include "runtime/rank/run.h"

/* A BootRank: opens everything, runs all steps, closes everything. True: the status code is
 * STATUS_DONE or STATUS_STOPPED. */
bool rank_main(void *run, int32_t rank, Status *status);

/* The file beside the plan that keeps which algorithms products have used. */
bool rank_read_choices(const CudaPlugin *cuda, const RunOptions *options, Status *status);

#endif

/* fused.h -- an add fused with the norm after it: the task that makes a row's statistics adds the
 * row first, so that it is in the first-level cache.
 *
 * The sum is rounded to its dtype and stored, so that the results have the bits of the two kernels
 * run one after the other, whatever the number of threads. */
#ifndef LOCKSTEP_KERNELS_CPU_FUSED_H
#define LOCKSTEP_KERNELS_CPU_FUSED_H

#include "kernels/cpu/cpu.h"

/* Elements [first, end) of y = a + b, where adds_all says that there are this many and none of b is
 * repeated, all of dtypes of the fast path. */
void CPU(add_elements)(const KernelArgs *args, int64_t first, int64_t end);
bool CPU(adds_all)(const KernelArgs *args, int64_t elements);

#endif

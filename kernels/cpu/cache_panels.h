/* cache_panels.h -- attention of many tokens to a cache: cache_panels.c. */
#ifndef LOCKSTEP_KERNELS_CPU_CACHE_PANELS_H
#define LOCKSTEP_KERNELS_CPU_CACHE_PANELS_H

#include "kernels/cpu/cpu.h"

enum { CACHE_PANELS_LEAST = 16 }; /* tokens of a sample: fewer leave most of a panel empty */

/* False, and nothing is done: there are fewer tokens, wider heads, or positions that fall. Operands
 * 0 to 4 are floats. */
bool CPU(cache_panels)(const KernelArgs *args);

#endif

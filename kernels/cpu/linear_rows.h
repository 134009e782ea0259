/* linear_rows.h -- products of a few rows: linear_rows.c. */
#ifndef LOCKSTEP_KERNELS_CPU_LINEAR_ROWS_H
#define LOCKSTEP_KERNELS_CPU_LINEAR_ROWS_H

#include "kernels/cpu/cpu.h"

enum {
  LINEAR_ROWS_MOST = 4,       /* above, packed weights are read often enough */
  LINEAR_ROWS_BYTES = 1 << 18 /* below, weights come from a cache, and packing costs little */
};

/* False, and nothing is done: there are more rows, a small weight, or one that lies [in, out].
 * `bias`: its operand, or -1; `out`: that of y. */
bool CPU(linear_rows)(const KernelArgs *args, int32_t bias, int32_t out);

#endif

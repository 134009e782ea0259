/* columns.h -- sums of a matrix's columns, for bias gradients. */
#ifndef LOCKSTEP_KERNELS_CPU_COLUMNS_H
#define LOCKSTEP_KERNELS_CPU_COLUMNS_H

#include "kernels/cpu/cpu.h"

typedef struct Columns {
  const void *x; /* [rows,width] */
  void *y;       /* [width] */
  DType x_dtype, y_dtype;
  bool accumulate;
  int64_t rows, width;
} Columns;

/* y = or += the sums over x's rows. Each column is summed by one thread, in blocks of 128 rows. */
void CPU(column_sums)(const KernelArgs *args, Columns columns);

#endif

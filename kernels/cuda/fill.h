/* fill.h -- sets a part of a tensor to one number. */
#ifndef LOCKSTEP_CUDA_FILL_H
#define LOCKSTEP_CUDA_FILL_H

#include "kernels/kernel.h"

/* So many rows of each sample, all `width` elements of them; strides are in elements. */
typedef struct FillRows {
  int64_t samples, rows, width, sample_stride, row_stride;
} FillRows;

/* On the stream of `args`. */
KernelStatus cuda_fill(const KernelArgs *args, const FillRows *rows, uint32_t dtype, void *first,
                       float value, const char **why);

#endif

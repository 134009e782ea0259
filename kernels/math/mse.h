/* mse.h -- how many elements of a micro-batch count in mse. */
#ifndef LOCKSTEP_MSE_H
#define LOCKSTEP_MSE_H

#include <stdint.h>

#include "kernels/inline.h"

/* The number of elements that count; the rest is padding at the end, sample by sample. The control
 * slots are those of mse's row. */
KERNEL_INLINE int64_t mse_counted(int64_t elements, const int64_t *microbatch_samples,
                                  const int64_t *padded_samples) {
  if (*padded_samples <= 0 || *microbatch_samples <= 0) return elements;
  if (*padded_samples >= *microbatch_samples) return 0;
  return elements / *microbatch_samples * (*microbatch_samples - *padded_samples);
}

#endif

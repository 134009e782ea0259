/* racing.h -- see racing.cu. */
#ifndef LOCKSTEP_CUDA_HOST_RACING_H
#define LOCKSTEP_CUDA_HOST_RACING_H

#include <stdbool.h>

typedef enum Racing {
  RACING_SHARED,
  RACING_LANES,
  RACING_BYTES,
  RACING_PART,
  RACING_BLOCKS, /* from here on with two blocks */
  RACING_READS,
  RACING_VECTOR,
  RACING_COUNT
} Racing;

/* Runs a kernel with a fault, or `good` without, on 128 numbers: a multiple of 16 bytes. */
void racing_run(Racing which, bool good, const float *x, float *y);

#endif

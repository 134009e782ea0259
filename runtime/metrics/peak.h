/* peak.h -- the measured speed of the machine's matmul, which MFU refers to. */
#ifndef LOCKSTEP_METRICS_PEAK_H
#define LOCKSTEP_METRICS_PEAK_H

#include "kernels/kernel.h"

typedef struct Peak {
  double flops_per_s; /* of one rank; 0: not measured */
  int32_t size;       /* of the square matmul */
} Peak;

/* Runs the `linear` kernel on square matrices for at most about 0.3 s and takes the fastest run.
 * Allocates and frees: call it before the first step, on all ranks at once when they share the
 * machine. */
Peak peak_measure(KernelVariant variant, DType dtype, Threads *threads);

#endif

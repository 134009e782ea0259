/* peak.h -- the measured speed of the machine's matmul, which MFU refers to. */
#ifndef LOCKSTEP_METRICS_PEAK_H
#define LOCKSTEP_METRICS_PEAK_H

#include "kernels/kernel.h"

typedef struct Peak {
  double flops_per_s; /* of one rank; 0: not measured */
  int32_t size;       /* of the square matmul */
} Peak;

/* The seconds that a product of square matrices took; infinity if it could not run. */
typedef double PeakRun(void *context, int32_t size);

/* The fastest of several products, of growing sizes. Other work on the machine makes a product take
 * up to a hundred thousand times as long, so every size is run several times, and what a size takes
 * is judged by its fastest run. */
Peak peak_of(PeakRun *run, void *context);

/* Runs the `linear` kernel for at most about 0.3 s, and 1 s beside other work, and takes peak_of.
 * Allocates and frees: call it before the first step, on all ranks at once when they share the
 * machine. */
Peak peak_measure(KernelVariant variant, DType dtype, Threads *threads);

#endif

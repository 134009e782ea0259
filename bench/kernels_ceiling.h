/* kernels_ceiling.h -- what the machine can do at most, measured. */
#ifndef LOCKSTEP_BENCH_KERNELS_CEILING_H
#define LOCKSTEP_BENCH_KERNELS_CEILING_H

#include "kernels/threads/threads.h"

typedef struct Ceiling {
  double f32_flops_per_s, bf16_flops_per_s; /* multiply-adds on registers, all threads */
  double bytes_per_s; /* a = b + s c over 64 MiB arrays: 12 bytes counted per element */
} Ceiling;

Ceiling ceiling_measure(Threads *threads);

#endif

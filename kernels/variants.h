/* variants.h -- declares every kernel of kernels.def: reference_NAME, and cpu_NAME where it is
 * FAST; and fusions. */
#ifndef LOCKSTEP_VARIANTS_H
#define LOCKSTEP_VARIANTS_H

#include "kernels/kernel.h"

#define FAST(name)  cpu_##name
#define PLAIN(name) reference_##name
#define KERNEL(name, variant, ...)                                                                 \
  void reference_##name(const KernelArgs *args);                                                   \
  void variant(name)(const KernelArgs *args);
#include "kernels/kernels.def"
#undef KERNEL

/* A fusion: cpu_FIRST_SECOND where fusions.def says ANY. False, and nothing is done, where the fast
 * path cannot. */
typedef bool CpuFused(const KernelArgs *first, const KernelArgs *second);
#define ANY(first, second) CpuFused cpu_##first##_##second;
#define CUDA(first, second)
#define OVER(first, second)
#define FUSION(first, of_first, second, of_second, targets) targets(first, second)
#include "kernels/fusions.def"
#undef FUSION
#undef OVER
#undef CUDA
#undef ANY

#endif

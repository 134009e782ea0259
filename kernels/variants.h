/* variants.h -- declares every kernel of kernels.def: reference_NAME, and cpu_NAME where it is
 * FAST. */
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

#endif

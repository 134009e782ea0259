/* kernel.h -- how the replay calls a kernel.
 *
 * Every kernel of kernels.def exists twice on the CPU: reference/NAME.c is the plain definition,
 * computed in double and right for every dtype; cpu/NAME.c is the fast path. Operands, sizes and
 * attributes come in the order kernels.def states. Row-major, first dimension slowest. Kernels
 * allocate nothing.
 *
 * Determinism: the result of a kernel is a function of its arguments and of the number of threads
 * it was given. */
#ifndef LOCKSTEP_KERNEL_H
#define LOCKSTEP_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/threads.h"
#include "runtime/plan/control.h"
#include "runtime/plan/dtype.h"
#include "runtime/plan/limits.h"

typedef struct KernelArgs {
  void *const *operand;  /* addresses; const inputs are not written */
  const uint32_t *dtype; /* DType of each operand */
  const int64_t *bytes;  /* size of each operand: the last one of many kernels is its workspace */
  const int64_t *dim;    /* sizes, in elements */
  const double *attr;
  int32_t operand_count;
  bool accumulate; /* parameter gradients are added to, not assigned */
  uint64_t key;    /* random stream: logical op path or tensor name, and layer, already mixed */
  int64_t
      sample_first; /* number, within the step's global batch, of this micro-batch's first sample */
  Control *control;
  Threads *threads;
} KernelArgs;

typedef void (*KernelFn)(const KernelArgs *args);

typedef enum KernelVariant { KERNEL_REFERENCE, KERNEL_FAST } KernelVariant;

/* The function for `name`, or NULL when no kernel has that name. KERNEL_FAST answers with the
 * reference where kernels.def lists no fast path. Fast paths hand dtypes they do not know to the
 * reference. */
KernelFn kernel_find(const char *name, KernelVariant variant);

/* The instruction set that fast kernels use on this machine: "avx512", "avx2", or "none" when all
 * of them answer with the reference. */
const char *kernel_isa(void);

/* Called once by each rank before its first step, with the rank's threads: libraries create what
 * they keep (thread buffers, JIT code) here and never in a step. */
void kernels_prepare(Threads *threads);

#endif

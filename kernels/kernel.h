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

#include "kernels/contract/contract.h"
#include "kernels/threads/threads.h"
#include "runtime/plan/dtype.h"
#include "runtime/plan/limits.h"

typedef struct KernelArgs {
  void *const *operand;  /* addresses; const inputs are not written */
  const uint32_t *dtype; /* DType of each operand */
  const int64_t *bytes;  /* size of each operand: the last one of many kernels is its workspace */
  const int64_t *dim;    /* sizes, in elements */
  const double *attr;
  int32_t operand_count;
  bool tf32;       /* the record has the attr tf32: products round their f32 inputs */
  bool accumulate; /* parameter gradients are added to, not assigned */
  uint64_t key;    /* random stream: logical op path or tensor name, and layer, already mixed */
  /* The number, within the step's global batch, of this micro-batch's first sample. By address, as
   * `control`: it is read when the kernel runs, so that captured work is valid for every
   * micro-batch. */
  const int64_t *sample_first;
  void *state; /* the result of prepare for the record */
  /* Addresses of the slots that the row names, in its order; NULL: the plan lacks an optional one.
   */
  void *const *control;
  int32_t control_count;
  Threads *threads;
  void *stream; /* of a GPU: where the work is issued; NULL on a processor */
} KernelArgs;

/* Rows of kernels that draw numbers begin their control with "seed"; after it is "step", where
 * masks change from step to step. */
static inline uint64_t kernel_seed(const KernelArgs *args) {
  return *(const uint64_t *)args->control[0];
}
static inline int64_t kernel_step(const KernelArgs *args) {
  return *(const int64_t *)args->control[1];
}

/* An optional slot, the index-th of the row: the number of targets, or the loss scale. NULL: the
 * plan does not have it. */
static inline const double *kernel_slot(const KernelArgs *args, int32_t index) {
  return args->control_count > index ? (const double *)args->control[index] : NULL;
}

/* The result of preparing or running. On failure `why` is a constant text without a full stop. */
typedef enum KernelStatus {
  KERNEL_DONE,
  KERNEL_REFUSED, /* the record asks for something that the row in kernels.def does not allow: a
                     defect */
  KERNEL_FAILED   /* memory or the device: a retry may help */
} KernelStatus;

/* The facts that all calls of a record share, known before the first. */
typedef struct KernelUse {
  KernelTarget target; /* the target of the plan */
  const uint32_t *dtype;
  const int64_t *bytes;
  const int64_t *dim;
  const double *attr;
  int32_t operand_count, dim_count, attr_count;
  bool accumulate;
  int64_t threads;
  int64_t align_bytes; /* a power of two: all addresses that its calls give are multiples of it */
  const char *path;    /* of its op, for what is told of it; NULL: it has none */
} KernelUse;

/* The fused form of several records (fusions.def). */
typedef struct KernelFused {
  /* Runs a call of each record. Afterwards memory is as if they had run one after the other; where
   * one overwrites the result of another, that result need never be in memory. The `state` of each
   * record's arguments is the result of that record's own prepare. NULL: they run one after the
   * other. */
  KernelStatus (*run)(const struct KernelFused *fused, const KernelArgs *args, const char **why);
  void (*release)(void *state); /* NULL: there is nothing to release */
  void *state;
} KernelFused;

/* A kernel on one processor. */
typedef struct Kernel {
  KernelId id;
  /* Called once for each record, before its first call: checks that it can run, and makes what its
   * calls need (a library's plan for the shape, JIT code), which they find at args->state. NULL
   * state: nothing.
   */
  KernelStatus (*prepare)(const struct Kernel *kernel, const KernelUse *use, void **state,
                          const char **why);
  KernelStatus (*run)(const KernelArgs *args, const char **why);
  /* Records of the kernel that share dtypes, control and `accumulate`, none of which touches what
   * another one writes, in as few launches as may be. NULL: they are run one after another. */
  KernelStatus (*run_batch)(const struct Kernel *kernel, const KernelArgs *args, int32_t count,
                            const char **why);
  void (*release)(void *state); /* NULL: prepare makes nothing */
  /* Called once for `count` records that a plan allows to fuse (plan.def, `fuses`), after they were
   * prepared: kernel[0] is this one, the others are those of the records that run right after, in
   * order, and use[i] is kernel[i]'s. Fills in `fused`, all zeros before, or leaves it so: then it
   * is called for fewer of them, down to two. The choice may depend on the uses and on this
   * machine's libraries only, so that replicas agree. NULL: this kernel fuses none. */
  KernelStatus (*fuse)(const struct Kernel *const *kernel, const KernelUse *use, int32_t count,
                       KernelFused *fused, const char **why);
} Kernel;

/* The kernels of a processor, by KernelId. KERNEL_FAST has the reference where kernels.def lists no
 * fast path, and hands dtypes that it does not know to the reference. */
typedef enum KernelVariant { KERNEL_REFERENCE, KERNEL_FAST } KernelVariant;
const Kernel *kernels_of(KernelVariant variant);

/* The kernel of that name, or NULL. */
const Kernel *kernel_find(const char *name, KernelVariant variant);

/* The instruction set that fast kernels use on this machine: "avx512", "avx2", or "none" when all
 * of them answer with the reference. */
const char *kernel_isa(void);

#endif

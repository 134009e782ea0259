/* ranges.h -- splits n elements among the team's threads. */
#ifndef LOCKSTEP_KERNELS_CPU_RANGES_H
#define LOCKSTEP_KERNELS_CPU_RANGES_H

#include "kernels/cpu/cpu.h"

/* Handles elements first .. end-1. `context` is the kernel's own. */
typedef void CpuRange(const KernelArgs *args, const void *context, int64_t first, int64_t end);

typedef struct CpuRanges {
  const KernelArgs *args;
  const void *context;
  CpuRange *run;
  int64_t n, grain;
} CpuRanges;

static inline void cpu_ranges_task(void *context, int64_t task, int32_t worker) {
  const CpuRanges *r = (const CpuRanges *)context;
  (void)worker;
  r->run(r->args, r->context, task * r->grain, min64((task + 1) * r->grain, r->n));
}

/* Calls `run` on consecutive ranges of `grain` elements (the last may be shorter). Ranges depend on
 * n and grain alone, so sums kept per range do not depend on the number of threads. */
static inline void cpu_ranges(const KernelArgs *args, int64_t n, int64_t grain, CpuRange *run,
                              const void *context) {
  CpuRanges ranges = {args, context, run, n, grain};
  threads_run(args->threads, ceil_div(n, grain), cpu_ranges_task, &ranges);
}

enum {
  GRAIN_ELEMENTS = 1 << 14, /* of element-wise work: tens of microseconds, a part of the cache */
  GRAIN_STREAM = 1 << 16,   /* where every operand comes from memory */
  GRAIN_COLUMNS = 256       /* where each is a sum over blocks of rows */
};

/* Rows per task such that a task has about GRAIN_ELEMENTS. */
static inline int64_t grain_rows(int64_t width) {
  return max64(1, GRAIN_ELEMENTS / max64(width, 1));
}

#endif

/* timed.h -- one record on the first GPU, run often enough to time it. Whatever fails ends the
 * program: with 77 where there is no GPU or no CUDA back end, with 1 otherwise, after it has said
 * why. */
#ifndef LOCKSTEP_TESTS_GPU_TIMED_H
#define LOCKSTEP_TESTS_GPU_TIMED_H

#include "kernels/contract/contract.h"
#include "runtime/device/cuda/plugin.h"
#include "runtime/plan/control.h"

/* The caller sets the contract, dims, attrs, dtypes, the number of operands and control. */
typedef struct TimedRecord {
  const KernelContract *contract;
  int32_t operand_count;
  int64_t dim[KERNEL_DIMS_MAX], bytes[KERNEL_OPERANDS_MAX];
  double attr[KERNEL_ATTRS_MAX];
  uint32_t dtype[KERNEL_OPERANDS_MAX];
  Control control;
  void *operand[KERNEL_OPERANDS_MAX], *memory, *slot[KERNEL_CONTROLS_MAX];
} TimedRecord;

/* Writes a part of an operand, at `at` in host memory. */
typedef void TimedWrite(const TimedRecord *record, int32_t operand, void *at, size_t size_bytes);

const CudaPlugin *timed_open(void);
const Kernel *timed_kernels(KernelVariant variant);

/* Gives the operands memory of the GPU, and values to those that the kernel reads; frees it. */
void timed_lay_out(TimedRecord *record, TimedWrite *write);
void timed_free(TimedRecord *record);

/* Microseconds of one call: the least of several rounds. */
double timed_call_us(const Kernel *kernel, const TimedRecord *record);

#endif

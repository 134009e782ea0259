/* cpu.h -- included by every file of kernels/cpu.
 *
 * Each op's file is compiled once per instruction set (LEVEL = avx2 or avx512, see
 * kernels/CMakeLists.txt), so CPU(linear) is cpu_linear_avx2 in one object and cpu_linear_avx512 in
 * the other. dispatch.c defines cpu_linear, which picks at run time. */
#ifndef LOCKSTEP_KERNELS_CPU_H
#define LOCKSTEP_KERNELS_CPU_H

#include "kernels/kernel.h"
#include "kernels/variants.h"

#define CPU_PASTE_(a, b, c) a##b##_##c
#define CPU_PASTE(a, b, c)  CPU_PASTE_(a, b, c)
#define CPU(name)           CPU_PASTE(cpu_, name, LEVEL)

static inline int64_t min64(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static inline int64_t max64(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static inline int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

/* Bytes of a scratch operand that a record may leave out; 0: left out. */
static inline int64_t cpu_scratch_bytes(const KernelArgs *args, int32_t operand) {
  return args->operand_count > operand ? args->bytes[operand] : 0;
}

/* True when operands 0 .. count-1, except those whose bit is set in `skip`, are f32, bf16 or fp16.
 */
static inline bool cpu_floats(const KernelArgs *args, int32_t count, uint32_t skip) {
  for (int32_t i = 0; i < count; i++)
    if (!(skip >> i & 1u) &&
        !(dtype_is_float((DType)args->dtype[i]) && args->dtype[i] != DTYPE_F64))
      return false;
  return true;
}

#endif

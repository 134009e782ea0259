/* kernel_call.h -- for tests: one call of a kernel, with its own memory. */
#ifndef LOCKSTEP_TESTS_KERNEL_CALL_H
#define LOCKSTEP_TESTS_KERNEL_CALL_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernel.h"
#include "kernels/math/floats.h"
#include "kernels/math/fp8.h"
#include "kernels/math/philox.h"

enum { CALL_ALIGN_BYTES = 64 };

typedef struct Call {
  const char *kernel;
  int32_t operand_count;
  void *operand[KERNEL_OPERANDS_MAX];
  uint32_t dtype[KERNEL_OPERANDS_MAX];
  int64_t bytes[KERNEL_OPERANDS_MAX];
  bool shared[KERNEL_OPERANDS_MAX]; /* memory of an earlier operand or of another call */
  int64_t dim[KERNEL_DIMS_MAX];
  double attr[KERNEL_ATTRS_MAX];
  bool tf32, accumulate;
  uint64_t key;
  int64_t sample_first;
  Control control;
} Call;

/* The end of the memory is where the operand ends, so that a sanitizer sees the first byte beyond.
 */
static inline int32_t call_add(Call *call, DType dtype, int64_t count) {
  int32_t i = call->operand_count++;
  call->dtype[i] = dtype;
  call->bytes[i] = count * dtype_bytes(dtype);
  void *memory = NULL;
  if (posix_memalign(&memory, CALL_ALIGN_BYTES, (size_t)call->bytes[i])) abort();
  memset(memory, 0, (size_t)call->bytes[i]);
  call->operand[i] = memory;
  return i;
}

static inline int32_t call_share(Call *call, const Call *owner, int32_t operand) {
  int32_t i = call->operand_count++;
  call->dtype[i] = owner->dtype[operand];
  call->bytes[i] = owner->bytes[operand];
  call->operand[i] = owner->operand[operand];
  call->shared[i] = true;
  return i;
}

static inline void call_free(Call *call) {
  for (int32_t i = 0; i < call->operand_count; i++)
    if (!call->shared[i]) free(call->operand[i]);
  call->operand_count = 0;
}

static inline int64_t call_count(const Call *call, int32_t operand) {
  return call->bytes[operand] / dtype_bytes((DType)call->dtype[operand]);
}

static inline double call_get(const Call *call, int32_t operand, int64_t i) {
  const void *at = call->operand[operand];
  switch ((DType)call->dtype[operand]) {
  case DTYPE_F32: return (double)((const float *)at)[i];
  case DTYPE_BF16: return (double)bf16_to_float(((const uint16_t *)at)[i]);
  case DTYPE_I32: return ((const int32_t *)at)[i];
  case DTYPE_F64: return ((const double *)at)[i];
  case DTYPE_I16: return ((const int16_t *)at)[i];
  case DTYPE_F16: return (double)f16_to_float(((const uint16_t *)at)[i]);
  case DTYPE_E4M3:
  case DTYPE_E5M2:
    return (double)fp8_to_float(((const uint8_t *)at)[i], call->dtype[operand] == DTYPE_E5M2);
  case DTYPE_U8: return ((const uint8_t *)at)[i];
  case DTYPE_COUNT: break;
  }
  abort();
}

static inline void call_set(Call *call, int32_t operand, int64_t i, double value) {
  void *at = call->operand[operand];
  switch ((DType)call->dtype[operand]) {
  case DTYPE_F32: ((float *)at)[i] = (float)value; return;
  case DTYPE_BF16: ((uint16_t *)at)[i] = bf16_from_float((float)value); return;
  case DTYPE_I32: ((int32_t *)at)[i] = (int32_t)value; return;
  case DTYPE_F64: ((double *)at)[i] = value; return;
  case DTYPE_I16: ((int16_t *)at)[i] = (int16_t)(value * 1000); return;
  case DTYPE_F16: ((uint16_t *)at)[i] = f16_from_float((float)value); return;
  case DTYPE_E4M3:
  case DTYPE_E5M2:
    ((uint8_t *)at)[i] = fp8_from_float((float)value, call->dtype[operand] == DTYPE_E5M2);
    return;
  case DTYPE_U8: ((uint8_t *)at)[i] = (uint8_t)(int16_t)(value * 1000); return;
  case DTYPE_COUNT: break;
  }
  abort();
}

/* Standard normal numbers, a function of `seed` and the operand's number. */
static inline void call_fill(Call *call, int32_t operand, uint64_t seed) {
  uint64_t key = philox_mix(seed, (uint64_t)operand);
  int64_t count = call_count(call, operand);
  for (int64_t first = 0; first < count; first += 4) {
    uint32_t word[4];
    double normal[4];
    philox4(key, 0, (uint64_t)first / 4, word);
    philox_normal4(word, normal);
    for (int64_t i = first; i < count && i < first + 4; i++)
      call_set(call, operand, i, normal[i - first]);
  }
}

/* Addresses, in these values, of the slots that the kernel's row names. */
static inline void control_addresses(const KernelContract *contract, Control *control,
                                     void *at[KERNEL_CONTROLS_MAX]) {
  for (int32_t i = 0; i < contract->control_count; i++)
    at[i] = control_value(control, contract->controls[i].slot);
}

/* `control` has the addresses of the slots, and lives as long as the arguments. */
static inline KernelArgs call_args(Call *call, void **control) {
  return (KernelArgs){
      .operand = call->operand,
      .dtype = call->dtype,
      .bytes = call->bytes,
      .dim = call->dim,
      .attr = call->attr,
      .operand_count = call->operand_count,
      .tf32 = call->tf32,
      .accumulate = call->accumulate,
      .key = call->key,
      .sample_first = &call->sample_first,
      .control = control,
      .control_count = control == NULL ? 0 : contract_find(call->kernel)->control_count,
  };
}

/* False: the kernel says why. */
static inline bool call_try(Call *call, const Kernel *kernel, Threads *threads, const char **why) {
  void *control[KERNEL_CONTROLS_MAX];
  control_addresses(contract_of(kernel->id), &call->control, control);
  KernelArgs args = call_args(call, control);
  args.threads = threads;
  return kernel->run(&args, why) == KERNEL_DONE;
}

static inline void call_run(Call *call, KernelVariant variant, Threads *threads) {
  const Kernel *kernel = kernel_find(call->kernel, variant);
  const char *why = "there is no such kernel";
  if (kernel != NULL && call_try(call, kernel, threads, &why)) return;
  printf("%s: %s\n", call->kernel, why);
  abort();
}

#endif

/* numbers.h -- values in memory as f32: float, Bf16 and F16, and how each is read and rounded. */
#ifndef LOCKSTEP_KERNELS_CUDA_NUMBERS_H
#define LOCKSTEP_KERNELS_CUDA_NUMBERS_H

#ifdef __CUDACC__
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#else
#include "kernels/cuda/host/shim.h"
#endif

#ifndef _Static_assert
#define _Static_assert static_assert /* C's word, in headers that C and C++ share */
#endif
extern "C" {
#include "kernels/cuda/variants.h"
#include "kernels/math/f16.h"
#include "kernels/math/tf32.h"
}

struct Bf16 {
  uint16_t bits;
};

struct F16 {
  uint16_t bits;
};

__device__ inline float to_float(float x) {
  return x;
}
__device__ inline float to_float(Bf16 x) {
  uint32_t wide = (uint32_t)x.bits << 16;
  float value;
  memcpy(&value, &wide, sizeof value);
  return value;
}

__device__ inline void put(float *at, float value) {
  *at = value;
}
/* As bf16_from_float: to nearest, ties to even; a NaN stays one, on GPUs always the same. */
__device__ inline void put(Bf16 *at, float value) {
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(at->bits) : "f"(value));
#else
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  at->bits = (uint16_t)(is_nan ? bits >> 16 | 0x40u : (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
#endif
}

/* As f16.h; on GPUs every NaN becomes the same one. */
__device__ inline float to_float(F16 x) {
#ifdef __CUDACC__
  float value; /* of 32 bits: values stay two to a register, where __half2float takes one each */
  asm("{.reg .b16 low, high; mov.b32 {low, high}, %1; cvt.f32.f16 %0, low;}"
      : "=f"(value)
      : "r"((uint32_t)x.bits));
  return value;
#else
  return f16_to_float(x.bits);
#endif
}
__device__ inline void put(F16 *at, float value) {
#ifdef __CUDACC__
  at->bits = __half_as_ushort(__float2half_rn(value));
#else
  at->bits = f16_from_float(value);
#endif
}

template <class T> __device__ inline void put_or_add(T *at, float value, bool add) {
  put(at, add ? to_float(*at) + value : value);
}

/* An input of a product: f32 may be rounded to tf32. */
__device__ inline float to_factor(float x, bool tf32) {
  return tf32 ? tf32_round(x) : x;
}
template <class T> __device__ inline float to_factor(T x, bool tf32) {
  (void)tf32;
  return to_float(x);
}

/* The value after it has been stored as T and read back. */
template <class T> __device__ inline float rounded(float value) {
  T stored;
  put(&stored, value);
  return to_float(stored);
}

#endif

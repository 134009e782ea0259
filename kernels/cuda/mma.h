/* mma.h -- products of small matrices by a warp, on tensor cores (sm_80 and later).
 *
 * A product is 16 x 8 of bf16 or fp16, 16 deep, its sums f32 (PTX ISA, mma.m16n8k16). Numbers of
 * two bytes are factors as they are. An f32 is split into three bf16: each is the remainder of
 * the earlier ones, rounded to nearest, and the sum of all three is exact. Nine products of parts
 * make a product of two numbers; the three smallest are left out, which are at most 2^-23 of it,
 * like one rounding in f32.
 *
 * Tensor cores may truncate sums where f32 arithmetic would round. Therefore they sum over the
 * width of a head or the rows of a tile only, smaller products first or in separate sums; f32
 * additions add these up to longer sums. */
#ifndef LOCKSTEP_KERNELS_CUDA_MMA_H
#define LOCKSTEP_KERNELS_CUDA_MMA_H

#include "kernels/cuda/vectors.h"

enum { MMA_ROWS = 16, MMA_COLS = 8, MMA_DEPTH = 16 };

/* The parts of a number as a factor. */
template <class T> struct Parts {
  typedef T Part;
  static constexpr int COUNT = 1;
};
template <> struct Parts<float> {
  typedef Bf16 Part;
  static constexpr int COUNT = 3;
};

/* ---- numbers to parts */

__device__ inline uint32_t pack(Bf16 *, float low, float high) {
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
  uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
#else
  Bf16 two[2];
  put(&two[0], low), put(&two[1], high);
  return two[0].bits | (uint32_t)two[1].bits << 16;
#endif
}

__device__ inline uint32_t pack(F16 *, float low, float high) {
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
  uint32_t pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
#else
  F16 two[2];
  put(&two[0], low), put(&two[1], high);
  return two[0].bits | (uint32_t)two[1].bits << 16;
#endif
}

/* Splits two neighbours: part p of both becomes the word part[p * stride]. */
template <class T>
__device__ inline void split_pair(float low, float high, uint32_t *part, int stride) {
  constexpr int COUNT = Parts<T>::COUNT;
#pragma unroll
  for (int p = 0; p < COUNT; p++) {
    const uint32_t pair = pack((typename Parts<T>::Part *)nullptr, low, high);
    part[p * stride] = pair;
    if (p + 1 == COUNT) continue;
    low -= to_float(Bf16{(uint16_t)pair});
    high -= to_float(Bf16{(uint16_t)(pair >> 16)});
  }
}

/* ---- fragments: what a lane has of a matrix of 16 x 16, four words of two neighbours */

#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
template <bool ACROSS> __device__ inline void load_matrices(uint32_t *to, const uint32_t *row) {
  const uint32_t at = (uint32_t)__cvta_generic_to_shared(row);
  if (ACROSS)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(at));
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(at));
}
#endif

/* The first factor: rows `row` .. row + 15, columns `col` .. col + 15 of a tile. */
template <int STRIDE>
__device__ inline void load_first(uint32_t *to, const uint32_t *part, int row, int col) {
  const int lane = threadIdx.x % WARP_LANES;
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
  load_matrices<false>(to, part + (row + lane % 16) * STRIDE + col / 2 + lane / 16 * 4);
#else
  for (int i = 0; i < 4; i++)
    to[i] = part[(row + lane / 4 + i % 2 * 8) * STRIDE + col / 2 + lane % 4 + i / 2 * 4];
#endif
}

/* The second factor of two products: rows `row` .. row + 15 of the tile are its columns, and the
 * sum runs over the tile's columns `col` .. col + 15. */
template <int STRIDE>
__device__ inline void load_second(uint32_t *to, const uint32_t *part, int row, int col) {
  const int lane = threadIdx.x % WARP_LANES;
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
  load_matrices<false>(to, part + (row + lane % 8 + lane / 16 * 8) * STRIDE + col / 2 +
                               lane / 8 % 2 * 4);
#else
  for (int i = 0; i < 4; i++)
    to[i] = part[(row + lane / 4 + i / 2 * 8) * STRIDE + col / 2 + lane % 4 + i % 2 * 4];
#endif
}

/* The same, but the sum runs over the tile's rows, and its columns are the factor's columns. */
template <int STRIDE>
__device__ inline void load_second_across(uint32_t *to, const uint32_t *part, int row, int col) {
  const int lane = threadIdx.x % WARP_LANES;
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
  load_matrices<true>(to, part + (row + lane % 16) * STRIDE + col / 2 + lane / 16 * 4);
#else
  for (int i = 0; i < 4; i++) {
    const int column = col + lane / 4 + i / 2 * 8, shift = column % 2 * 16;
    const uint32_t *first = part + (row + lane % 4 * 2 + i % 2 * 8) * STRIDE + column / 2;
    to[i] = (first[0] >> shift & 0xffffu) | (first[STRIDE] >> shift & 0xffffu) << 16;
  }
#endif
}

/* ---- products */

__device__ inline void multiply_add(Bf16 *, float *sum, const uint32_t *a, const uint32_t *b) {
#if defined __CUDA_ARCH__
#if __CUDA_ARCH__ >= 800
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
               "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
  (void)sum, (void)a, (void)b;
  __trap();
#endif
#elif !defined __CUDACC__
  shim::multiply_add(false, sum, a, b);
#endif
}

__device__ inline void multiply_add(F16 *, float *sum, const uint32_t *a, const uint32_t *b) {
#if defined __CUDA_ARCH__
#if __CUDA_ARCH__ >= 800
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
               "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
  (void)sum, (void)a, (void)b;
  __trap();
#endif
#elif !defined __CUDACC__
  shim::multiply_add(true, sum, a, b);
#endif
}

/* Makes two neighbouring products of 16 x 8: those of first parts are added to `most`, all others,
 * the smallest first, to `rest`. */
template <class T>
__device__ inline void multiply_parts(float (*most)[4], float (*rest)[4], const uint32_t (*a)[4],
                                      const uint32_t (*b)[4]) {
  constexpr int COUNT = Parts<T>::COUNT;
  typename Parts<T>::Part *const part = nullptr;
#pragma unroll
  for (int rank = COUNT - 1; rank > 0; rank--)
#pragma unroll
    for (int p = 0; p <= rank; p++)
#pragma unroll
      for (int half = 0; half < 2; half++)
        multiply_add(part, rest[half], a[p], &b[rank - p][half * 2]);
#pragma unroll
  for (int half = 0; half < 2; half++)
    multiply_add(part, most[half], a[0], &b[0][half * 2]);
}

#endif

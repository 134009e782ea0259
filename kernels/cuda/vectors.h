/* vectors.h -- kernels that go element by element move 16 bytes at once where they can.
 *
 * A GPU's memory is read and written in the fewest instructions so: four f32 or eight of two bytes.
 * A kernel is a template of how many values it moves, and is launched by Launch::vectors. */
#ifndef LOCKSTEP_KERNELS_CUDA_VECTORS_H
#define LOCKSTEP_KERNELS_CUDA_VECTORS_H

#include "kernels/cuda/cuda.h"

/* V neighbours, moved at once: they begin at a multiple of their size. */
enum { VECTOR_BYTES = 16 };
template <class T, int V> struct alignas(V * sizeof(T)) Vector { T at[V]; };

template <int V, class T> __device__ inline void load_vector(const T *from, float *to) {
  const Vector<T, V> vector = *(const Vector<T, V> *)from;
#pragma unroll
  for (int v = 0; v < V; v++)
    to[v] = to_float(vector.at[v]);
}

template <int V, class T> __device__ inline void store_vector(T *to, const float *from) {
  Vector<T, V> vector;
#pragma unroll
  for (int v = 0; v < V; v++)
    put(&vector.at[v], from[v]);
  *(Vector<T, V> *)to = vector;
}

#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
/* Two conversions in one instruction. */
template <int V> __device__ inline void store_vector(Bf16 *to, const float *from) {
  if constexpr (V % 2 != 0) {
    for (int v = 0; v < V; v++)
      put(to + v, from[v]);
  } else {
    Vector<uint32_t, V / 2> pairs;
#pragma unroll
    for (int v = 0; v < V / 2; v++)
      asm("cvt.rn.bf16x2.f32 %0, %1, %2;"
          : "=r"(pairs.at[v])
          : "f"(from[2 * v + 1]), "f"(from[2 * v]));
    *(Vector<uint32_t, V / 2> *)to = pairs;
  }
}
#endif

/* How many at once; its type says it to templates. */
template <int V> struct Count { static constexpr int VALUE = V; };

/* Calls `body` for elements 0 .. n-1, divided among all threads of the grid: for vectors of V, then
 * for the rest one by one, with the first and the Count. */
template <int V, class Body> __device__ inline void each_vector(int64_t n, Body body) {
  for (EACH_ELEMENT(i, n / V))
    body(i * V, Count<V>());
  for (EACH_ELEMENT(i, n % V))
    body(n - n % V + i, Count<1>());
}

/* ---- on the host ---- */

/* Calls `run` with the Count of values, the largest of them of this size, that are moved at once:
 * VECTOR_BYTES of them if `in_vectors`, else one. */
template <size_t VALUE_BYTES, class Run> void with_vectors(bool in_vectors, Run run) {
  if (in_vectors)
    run(Count<VECTOR_BYTES / (int)VALUE_BYTES>());
  else
    run(Count<1>());
}

static inline bool is_aligned(const void *at) {
  return (uintptr_t)at % VECTOR_BYTES == 0;
}

#endif

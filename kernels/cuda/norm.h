/* norm.h -- what norm.cu and norm_backward.cu share: how the threads of a block share out a row. */
#ifndef LOCKSTEP_KERNELS_CUDA_NORM_H
#define LOCKSTEP_KERNELS_CUDA_NORM_H

#include "kernels/cuda/vectors.h"
extern "C" {
#include "kernels/cuda/dense.h"
}

enum { WIDEST = 16 * 1024, KEPT_MOST = 16 };

/* THREADS threads have a row, each of them PER vectors of V neighbours: the first thread's first
 * vector at column 0, the others every THREADS V. Rows are no wider than all of them, and hold
 * whole vectors. Backward, a block has ROWS rows at once: enough narrow ones to saturate memory. */
template <class T_, int V_, int THREADS_, int PER_, int ROWS_> struct Columns {
  typedef T_ T;
  static constexpr int V = V_, THREADS = THREADS_, PER = PER_, COUNT = PER * V, ROWS = ROWS_;
  static __device__ int64_t first(int vector) {
    const unsigned thread = ROWS > 1 ? threadIdx.x % THREADS : threadIdx.x;
    return ((int64_t)vector * THREADS + thread) * V;
  }
};

/* Loops over the vectors of a thread that are in the row: the vector's number, and its first
 * column. */
#define EACH_VECTOR(C, vector, column, width)                                                      \
  _Pragma("unroll") for (int vector = 0; vector < (C).PER;                                         \
                         vector++) if (int64_t column = (C).first(vector); column < (width))

/* Runs `run` with columns for rows of this width, forward; in vectors of 16 bytes where rows begin
 * and end at multiples of it. */
template <class T, class Run> static void with_columns(int64_t width, bool in_vectors, Run run) {
  constexpr int V = VECTOR_BYTES / (int)sizeof(T);
  if (!in_vectors && width <= 1024)
    run(Columns<T, 1, 128, 8, 4>());
  else if (!in_vectors)
    run(Columns<T, 1, 512, 32, 1>());
  else if (width <= 1024)
    run(Columns<T, V, 128, 8 / V, 4>());
  else if (width <= 2048)
    run(Columns<T, V, 256, 8 / V, 2>());
  else if (width <= 4096)
    run(Columns<T, V, 256, 16 / V, 1>());
  else if (width <= 8192)
    run(Columns<T, V, 512, 16 / V, 1>());
  else
    run(Columns<T, V, 512, 32 / V, 1>());
}

template <class T> static bool are_vectors(int64_t width, const void *const *at, int count) {
  bool good = width * (int64_t)sizeof(T) % VECTOR_BYTES == 0;
  for (int i = 0; i < count; i++)
    good = good && is_aligned(at[i]);
  return good;
}

static bool is_taken(int64_t width, const char **why) {
  *why = "kernels for GPUs take rows of up to 16,384";
  return width <= WIDEST;
}

/* True if an addition has the rows of a norm, repeating none. */
static inline bool adds_rows(const KernelUse *add, const KernelUse *norm) {
  return combines_all(add, norm->dim[0] * norm->dim[1], norm->dtype[0]);
}

#endif

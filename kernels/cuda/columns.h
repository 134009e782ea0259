/* columns.h -- the sums of a matrix' columns. */
#ifndef LOCKSTEP_KERNELS_CUDA_COLUMNS_H
#define LOCKSTEP_KERNELS_CUDA_COLUMNS_H

#include "kernels/cuda/vectors.h"

/* A block sums few columns, so that narrow layers have blocks enough: STRIP_LANES vectors of them,
 * by each of STRIP_GROUPS groups of threads for a part of the rows. A thread has STRIP_AT_ONCE
 * loads under way. */
enum { STRIP_LANES = 8, STRIP_GROUPS = 128, STRIP_AT_ONCE = 8 };

template <class T, class G, int V>
__global__ void __launch_bounds__(STRIP_LANES *STRIP_GROUPS)
    sum_strip(const T *x, G *sum_of, int64_t rows, int64_t width, bool accumulate) {
  SHARED(float, part, STRIP_LANES *STRIP_GROUPS *V);
  const int64_t column = ((int64_t)blockIdx.x * STRIP_LANES + threadIdx.x % STRIP_LANES) * V;
  const int group = (int)threadIdx.x / STRIP_LANES;
  float sum[V] = {};
  for (int64_t first = group; first < rows && column < width;
       first += STRIP_GROUPS * STRIP_AT_ONCE) {
    Vector<T, V> value[STRIP_AT_ONCE] = {};
#pragma unroll
    for (int i = 0; i < STRIP_AT_ONCE; i++)
      if (first + i * STRIP_GROUPS < rows)
        value[i] = *(const Vector<T, V> *)(x + (first + i * STRIP_GROUPS) * width + column);
#pragma unroll
    for (int i = 0; i < STRIP_AT_ONCE; i++)
      for (int v = 0; v < V; v++)
        sum[v] += to_float(value[i].at[v]);
  }
  for (int v = 0; v < V; v++)
    part[threadIdx.x * V + v] = sum[v];
  for (int left = STRIP_GROUPS / 2; left > 0; left /= 2) {
    __syncthreads();
    for (int v = 0; v < V && group < left; v++)
      part[threadIdx.x * V + v] += part[(threadIdx.x + left * STRIP_LANES) * V + v];
  }
  for (int v = 0; v < V && group == 0 && column < width; v++)
    put_or_add(sum_of + column + v, part[threadIdx.x * V + v], accumulate);
}

/* ---- on the host ---- */

/* sums[width], or added to it, of the rows of x. */
template <class T, class G>
static void sum_columns(Launch &run, const T *x, G *sums, int64_t rows, int64_t width,
                        bool accumulate) {
  auto issue = [&](auto count) {
    constexpr int V = decltype(count)::VALUE;
    const int64_t columns = STRIP_LANES * V;
    run.blocks(dim3((unsigned)((width + columns - 1) / columns)), STRIP_LANES * STRIP_GROUPS,
               sum_strip<T, G, V>, x, sums, rows, width, accumulate);
  };
  if (width % 2 == 0 && is_aligned(x))
    issue(Count<2>());
  else
    issue(Count<1>());
}

#endif

/* columns.h -- the sums of a matrix' columns.
 *
 * A block of threads has a strip of columns: LANES threads side by side have a vector each, and
 * GROUPS of them a part of the rows each. With scratch, blocks also share the rows of a strip, so
 * that narrow matrices keep all multiprocessors busy, and their sums are added up in order
 * afterwards; a strip is then WORK_COLUMN_STRIP bytes of a row wide, which memory reads in whole
 * lines. Without scratch one block has all rows of a strip, and strips are narrow. */
#ifndef LOCKSTEP_KERNELS_CUDA_COLUMNS_H
#define LOCKSTEP_KERNELS_CUDA_COLUMNS_H

#include "kernels/cuda/vectors.h"
extern "C" {
#include "kernels/contract/workspace.h"
}

/* STRIP_AT_ONCE: loads that a thread has in flight. */
enum { STRIP_THREADS = 256, STRIP_AT_ONCE = 4, STRIP_NARROW_BYTES = 32 };

/* Sums of the columns of x. The sums over part p of the rows go to sums + p * width. */
template <class T, class G> struct ColumnSums {
  const T *x;
  G *sums;
  int64_t rows, width;
  int64_t part_rows;
  bool accumulate;
};

template <class T, class G, int V, int LANES>
__global__ void __launch_bounds__(STRIP_THREADS, 3) sum_strip(ColumnSums<T, G> s) {
  enum { GROUPS = STRIP_THREADS / LANES };
  SHARED(float, part, STRIP_THREADS *V);
  const int64_t column = ((int64_t)blockIdx.x * LANES + threadIdx.x % LANES) * V;
  const int group = (int)threadIdx.x / LANES;
  const int64_t begin = blockIdx.y * s.part_rows;
  const int64_t end = begin + s.part_rows < s.rows ? begin + s.part_rows : s.rows;
  float sum[V] = {};
  for (int64_t first = begin + group; first < end && column < s.width;
       first += GROUPS * STRIP_AT_ONCE) {
    Vector<T, V> value[STRIP_AT_ONCE] = {};
#pragma unroll
    for (int i = 0; i < STRIP_AT_ONCE; i++)
      if (first + i * GROUPS < end)
        value[i] = *(const Vector<T, V> *)(s.x + (first + i * GROUPS) * s.width + column);
#pragma unroll
    for (int i = 0; i < STRIP_AT_ONCE; i++)
#pragma unroll
      for (int v = 0; v < V; v++)
        sum[v] += to_float(value[i].at[v]);
  }
#pragma unroll
  for (int v = 0; v < V; v++)
    part[v * STRIP_THREADS + threadIdx.x] = sum[v];
  for (int left = GROUPS / 2; left > 0; left /= 2) {
    __syncthreads();
#pragma unroll
    for (int v = 0; v < V; v++)
      if (group < left)
        part[v * STRIP_THREADS + threadIdx.x] +=
            part[v * STRIP_THREADS + threadIdx.x + left * LANES];
  }
  G *to = s.sums + blockIdx.y * s.width;
  for (int v = 0; v < V && group == 0 && column < s.width; v++)
    put_or_add(to + column + v, part[v * STRIP_THREADS + threadIdx.x], s.accumulate);
}

/* ---- on the host ---- */

/* `work`: NULL, or as sum_columns takes it. */
template <class T, class G, int V, int LANES>
static void issue_strips(Launch &run, ColumnSums<T, G> s, float *work) {
  const int64_t strips = (s.width + LANES * V - 1) / (LANES * V);
  const int64_t parts = work == nullptr ? 1 : column_parts(s.rows, strips);
  const dim3 grid((unsigned)strips, (unsigned)parts);
  if (parts == 1) {
    s.part_rows = s.rows;
    run.blocks(grid, STRIP_THREADS, sum_strip<T, G, V, LANES>, s);
    return;
  }
  const int64_t part_rows = (s.rows + parts - 1) / parts;
  const ColumnSums<T, float> first = {s.x, work, s.rows, s.width, part_rows, false};
  run.blocks(grid, STRIP_THREADS, sum_strip<T, float, V, LANES>, first);
  const ColumnSums<float, G> last = {work, s.sums, parts, s.width, parts, s.accumulate};
  run.blocks(dim3((unsigned)((s.width + WARP_LANES - 1) / WARP_LANES)), STRIP_THREADS,
             sum_strip<float, G, 1, WARP_LANES>, last);
}

/* Writes or adds the sums of the columns of x to sums[width]. `work`: the scratch that the contract
 * gives linear_db, or NULL. */
template <class T, class G>
static void sum_columns(Launch &run, const T *x, G *sums, int64_t rows, int64_t width,
                        bool accumulate, float *work) {
  constexpr int V = VECTOR_BYTES / (int)sizeof(T);
  const ColumnSums<T, G> s = {x, sums, rows, width, rows, accumulate};
  if (width % V != 0 || !is_aligned(x))
    issue_strips<T, G, 1, WARP_LANES>(run, s, work);
  else if (work == nullptr)
    issue_strips<T, G, V, STRIP_NARROW_BYTES / VECTOR_BYTES>(run, s, work);
  else
    issue_strips<T, G, V, WORK_COLUMN_STRIP / VECTOR_BYTES>(run, s, work);
}

#endif

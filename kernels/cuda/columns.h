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

enum { STRIP_THREADS = 256, STRIP_NARROW_BYTES = 32 };

/* Rows in memory. `load` begins to read V neighbours, which `numbers` has as f32. A thread has the
 * loads of AT_ONCE rows in flight. */
template <class T_> struct RowsOf {
  typedef T_ T;
  template <int V> using Loaded = Vector<T, V>;
  static constexpr int AT_ONCE = 4;
  static constexpr bool WRITES = false; /* true: `numbers` must not be called beyond the end */
  const T *x;

  template <int V> __device__ void load(int64_t at, Loaded<V> *to) const {
    *to = *(const Vector<T, V> *)(x + at);
  }
  template <int V> __device__ void numbers(int64_t, const Loaded<V> &loaded, float *to) const {
#pragma unroll
    for (int v = 0; v < V; v++)
      to[v] = to_float(loaded.at[v]);
  }
};

/* Sums of the columns of x, whose rows are Rows. The sums over part p of the rows go to
 * sums + p * width. */
template <class Rows, class G> struct ColumnSums {
  Rows x;
  G *sums;
  int64_t rows, width;
  int64_t part_rows;
  bool accumulate;
};

template <class Rows, class G, int V, int LANES>
__global__ void __launch_bounds__(STRIP_THREADS, 3) sum_strip(ColumnSums<Rows, G> s) {
  enum { GROUPS = STRIP_THREADS / LANES };
  SHARED(float, part, STRIP_THREADS *V);
  const int64_t column = ((int64_t)blockIdx.x * LANES + threadIdx.x % LANES) * V;
  const int group = (int)threadIdx.x / LANES;
  const int64_t begin = blockIdx.y * s.part_rows;
  const int64_t end = begin + s.part_rows < s.rows ? begin + s.part_rows : s.rows;
  float sum[V] = {};
  for (int64_t first = begin + group; first < end && column < s.width;
       first += GROUPS * Rows::AT_ONCE) {
    typename Rows::template Loaded<V> loaded[Rows::AT_ONCE] = {};
#pragma unroll
    for (int i = 0; i < Rows::AT_ONCE; i++)
      if (first + i * GROUPS < end)
        s.x.template load<V>((first + i * GROUPS) * s.width + column, &loaded[i]);
#pragma unroll
    for (int i = 0; i < Rows::AT_ONCE; i++) {
      float value[V];
      if (Rows::WRITES && first + i * GROUPS >= end) break;
      s.x.template numbers<V>((first + i * GROUPS) * s.width + column, loaded[i], value);
#pragma unroll
      for (int v = 0; v < V; v++)
        sum[v] += value[v];
    }
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
template <class Rows, class G, int V, int LANES>
static void issue_strips(Launch &run, ColumnSums<Rows, G> s, float *work) {
  const int64_t strips = (s.width + LANES * V - 1) / (LANES * V);
  const int64_t parts = work == nullptr ? 1 : column_parts(s.rows, strips);
  const dim3 grid((unsigned)strips, (unsigned)parts);
  if (parts == 1) {
    s.part_rows = s.rows;
    run.blocks(grid, STRIP_THREADS, sum_strip<Rows, G, V, LANES>, s);
    return;
  }
  const int64_t part_rows = (s.rows + parts - 1) / parts;
  const ColumnSums<Rows, float> first = {s.x, work, s.rows, s.width, part_rows, false};
  run.blocks(grid, STRIP_THREADS, sum_strip<Rows, float, V, LANES>, first);
  const ColumnSums<RowsOf<float>, G> last = {{work}, s.sums, parts, s.width, parts, s.accumulate};
  run.blocks(dim3((unsigned)((s.width + WARP_LANES - 1) / WARP_LANES)), STRIP_THREADS,
             sum_strip<RowsOf<float>, G, 1, WARP_LANES>, last);
}

/* Writes or adds the sums of the columns of x to sums[width]. `work`: the scratch that the contract
 * gives linear_db, or NULL. */
template <class T, class G>
static void sum_columns(Launch &run, const T *x, G *sums, int64_t rows, int64_t width,
                        bool accumulate, float *work) {
  constexpr int V = VECTOR_BYTES / (int)sizeof(T);
  typedef RowsOf<T> Rows;
  const ColumnSums<Rows, G> s = {{x}, sums, rows, width, rows, accumulate};
  if (width % V != 0 || !is_aligned(x))
    issue_strips<Rows, G, 1, WARP_LANES>(run, s, work);
  else if (work == nullptr)
    issue_strips<Rows, G, V, STRIP_NARROW_BYTES / VECTOR_BYTES>(run, s, work);
  else
    issue_strips<Rows, G, V, WORK_COLUMN_STRIP / VECTOR_BYTES>(run, s, work);
}

#endif

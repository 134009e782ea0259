/* tile.h -- a tile of a product of matrices by one block of threads: 64 x 64, every thread 4 x 4 of
 * it. The caller loads the factors, so it decides their dtype. */
#ifndef LOCKSTEP_KERNELS_CUDA_TILE_H
#define LOCKSTEP_KERNELS_CUDA_TILE_H

#include "kernels/cuda/cuda.h"

enum { TILE = 64, TILE_DEPTH = 16, TILE_THREADS = 256, EACH = 4 };

/* c[m,n] = or += a sum over k; c has strides in elements. */
struct TileProduct {
  int64_t m, n, k, c_m, c_n;
  bool accumulate;
};

static inline dim3 tile_grid(int64_t m, int64_t n) {
  /* m may be tokens, of which there are more than a grid's y takes tiles. */
  return dim3((unsigned)((m + TILE - 1) / TILE), (unsigned)((n + TILE - 1) / TILE));
}

/* stage_a(to, line, k) and stage_b put 64 lines of a factor, by 16 of k, into shared memory:
 * element (k, line) at k * (TILE + 1) + line, zeros outside the matrix. `bias` [n] may be NULL. */
template <class StageA, class StageB, class C>
__device__ inline void multiply_tile(StageA stage_a, StageB stage_b, const C *bias, C *c,
                                     const TileProduct &p) {
  SHARED(float, a_tile, TILE_DEPTH *(TILE + 1));
  SHARED(float, b_tile, TILE_DEPTH *(TILE + 1));
  int64_t m_first = (int64_t)blockIdx.x * TILE, n_first = (int64_t)blockIdx.y * TILE;
  int m0 = (int)threadIdx.x / (TILE / EACH), n0 = (int)threadIdx.x % (TILE / EACH);
  float sum[EACH][EACH] = {};
  for (int64_t k = 0; k < p.k; k += TILE_DEPTH) {
    stage_a(a_tile, m_first, k);
    stage_b(b_tile, n_first, k);
    __syncthreads();
#pragma unroll 4
    for (int d = 0; d < TILE_DEPTH; d++)
      for (int i = 0; i < EACH; i++)
        for (int j = 0; j < EACH; j++)
          sum[i][j] += a_tile[d * (TILE + 1) + m0 + i * (TILE / EACH)] *
                       b_tile[d * (TILE + 1) + n0 + j * (TILE / EACH)];
    __syncthreads();
  }
  for (int i = 0; i < EACH; i++)
    for (int j = 0; j < EACH; j++) {
      int64_t m = m_first + m0 + i * (TILE / EACH), n = n_first + n0 + j * (TILE / EACH);
      if (m >= p.m || n >= p.n) continue;
      float value = bias != nullptr ? sum[i][j] + to_float(bias[n]) : sum[i][j];
      put_or_add(c + m * p.c_m + n * p.c_n, value, p.accumulate);
    }
}

#endif

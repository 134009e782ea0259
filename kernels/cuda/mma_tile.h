/* mma_tile.h -- products of tiles in shared memory on tensor cores (mma.h). */
#ifndef LOCKSTEP_KERNELS_CUDA_MMA_TILE_H
#define LOCKSTEP_KERNELS_CUDA_MMA_TILE_H

#include "kernels/cuda/mma.h"

/* Rows of WIDTH numbers, part after part, two numbers a word. 16 bytes of padding a row make eight
 * neighbouring rows begin in different banks. */
template <class T, int WIDTH> struct Tile {
  static constexpr int STRIDE = WIDTH / 2 + 4;

  uint32_t *at;
  int rows;

  static constexpr __host__ __device__ int words(int rows) {
    return rows * STRIDE * Parts<T>::COUNT;
  }
  __device__ uint32_t *part(int p) const { return at + p * rows * STRIDE; }
  __device__ uint32_t *end() const { return at + words(rows); }

  /* Copies the tokens of a head from `first` on; zeros where there is no token or column.
   * `vectors`: head and strides are multiples of four, and `from` is aligned to four numbers. */
  __device__ void stage(const T *from, int64_t stride, int64_t first, int64_t tokens, int64_t head,
                        bool tf32, bool vectors) const {
#pragma unroll 2
    for (int i = threadIdx.x; i < rows * (WIDTH / 4); i += blockDim.x) {
      const int row = i / (WIDTH / 4), c = i % (WIDTH / 4) * 4;
      const int64_t token = first + row;
      float x[4] = {0, 0, 0, 0};
      uint32_t pair[Parts<T>::COUNT][2];
      if (token < tokens && c < head) take(from + token * stride + c, head - c, vectors, tf32, x);
      split_pair<T>(x[0], x[1], &pair[0][0], 2);
      split_pair<T>(x[2], x[3], &pair[0][1], 2);
#pragma unroll
      for (int p = 0; p < Parts<T>::COUNT; p++)
        *(Vector<uint32_t, 2> *)(part(p) + row * STRIDE + c / 2) = {pair[p][0], pair[p][1]};
    }
  }

private:
  static __device__ void take(const T *from, int64_t left, bool vectors, bool tf32, float *x) {
    if (vectors) {
      load_vector<4>(from, x);
    } else {
#pragma unroll
      for (int v = 0; v < 4; v++)
        if (v < left) x[v] = to_float(from[v]);
    }
    if constexpr (std::is_same<T, float>::value) {
#pragma unroll
      for (int v = 0; v < 4; v++)
        x[v] = to_factor(x[v], tf32);
    }
  }
};

/* sum [16, ROWS] = rows a_row .. a_row + 15 of a, times the rows of b. For heads up to 64 wide the
 * smaller products have separate sums; wider heads have no registers for these. */
template <class T, int WIDTH, int ROWS>
__device__ inline void rows_by_rows(float (*sum)[4], const Tile<T, WIDTH> &a, int a_row,
                                    const Tile<T, WIDTH> &b) {
  constexpr int COUNT = Parts<T>::COUNT, STRIDE = Tile<T, WIDTH>::STRIDE;
  constexpr bool APART = COUNT > 1 && WIDTH <= 64;
  float rest[ROWS / MMA_COLS][4];
#pragma unroll
  for (int n = 0; n < ROWS / MMA_COLS; n++)
#pragma unroll
    for (int e = 0; e < 4; e++)
      sum[n][e] = rest[n][e] = 0;
#pragma unroll 4 /* unrolling all of it is no faster for wide heads */
  for (int c = 0; c < WIDTH; c += MMA_DEPTH) {
    uint32_t x[COUNT][4];
#pragma unroll
    for (int p = 0; p < COUNT; p++)
      load_first<STRIDE>(x[p], a.part(p), a_row, c);
#pragma unroll
    for (int n = 0; n < ROWS; n += 2 * MMA_COLS) {
      uint32_t y[COUNT][4];
#pragma unroll
      for (int p = 0; p < COUNT; p++)
        load_second<STRIDE>(y[p], b.part(p), n, c);
      multiply_parts<T>(&sum[n / MMA_COLS], APART ? &rest[n / MMA_COLS] : &sum[n / MMA_COLS], x, y);
    }
  }
#pragma unroll
  for (int n = 0; APART && n < ROWS / MMA_COLS; n++)
#pragma unroll
    for (int e = 0; e < 4; e++)
      sum[n][e] += rest[n][e];
}

/* Sums of 16 rows by DEPTH columns as the first factor of the next product. No lane needs another's
 * numbers, because mma has a result and a first factor in the same lanes. */
template <class T, int DEPTH> struct Factors {
  uint32_t at[DEPTH / MMA_DEPTH][Parts<T>::COUNT][4];

  __device__ explicit Factors(const float (*sum)[4]) {
#pragma unroll
    for (int d = 0; d < DEPTH / MMA_DEPTH; d++)
#pragma unroll
      for (int i = 0; i < 4; i++) {
        const float *pair = &sum[2 * d + i / 2][i % 2 * 2];
        split_pair<T>(pair[0], pair[1], &at[d][0][i], 4);
      }
  }
};

/* sum [16, COLUMNS] = sum times the row's factor (row g and g + 8 of a lane), plus x times the
 * columns of b from `first` on. */
template <int COLUMNS, class T, int WIDTH, int DEPTH>
__device__ inline void add_columns(float (*sum)[4], const float *factor, const Factors<T, DEPTH> &x,
                                   const Tile<T, WIDTH> &b, int first) {
  constexpr int COUNT = Parts<T>::COUNT, STRIDE = Tile<T, WIDTH>::STRIDE;
#pragma unroll
  for (int n = 0; n < COLUMNS; n += 2 * MMA_COLS) {
    float more[2][4] = {};
#pragma unroll
    for (int d = 0; d < DEPTH / MMA_DEPTH; d++) {
      uint32_t y[COUNT][4];
#pragma unroll
      for (int p = 0; p < COUNT; p++)
        load_second_across<STRIDE>(y[p], b.part(p), d * MMA_DEPTH, first + n);
      multiply_parts<T>(more, more, x.at[d], y);
    }
#pragma unroll
    for (int half = 0; half < 2; half++)
#pragma unroll
      for (int e = 0; e < 4; e++) {
        float *to = &sum[n / MMA_COLS + half][e];
        *to = *to * factor[e / 2] + more[half][e];
      }
  }
}

#endif

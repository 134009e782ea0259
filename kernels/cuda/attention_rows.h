/* attention_rows.h -- the scores of a warp in attention on tensor cores: which lane has which of
 * them, and which are seen and kept. */
#ifndef LOCKSTEP_KERNELS_CUDA_ATTENTION_ROWS_H
#define LOCKSTEP_KERNELS_CUDA_ATTENTION_ROWS_H

#include "kernels/cuda/attention.h"
#include "kernels/cuda/mma_tile.h"

/* Columns of the sums that a launch makes: registers have no room for more, so that wide heads take
 * two launches, which both make all scores. */
template <int WIDTH> constexpr int columns = WIDTH > 128 ? WIDTH / 2 : WIDTH;

/* The launch's first column, which is known at compile time where there is one launch. */
template <int WIDTH> static __device__ int first_of(int column) {
  return columns<WIDTH> < WIDTH ? column : 0;
}

static __device__ int warp_row(void) {
  return (int)threadIdx.x / WARP_LANES * MMA_ROWS;
}

static __device__ int rows_of_block(void) {
  return (int)blockDim.x / WARP_LANES * MMA_ROWS;
}

/* The row and the column in a tile of element e of the lane's block n of scores. */
static __device__ int row_of(int e) {
  return (int)threadIdx.x % WARP_LANES / 4 + e / 2 * 8;
}

static __device__ int column_of(int n, int e) {
  return n * MMA_COLS + (int)threadIdx.x % 4 * 2 + e % 2;
}

/* Sums over lanes that have parts of the same rows. */
static __device__ float row_sum(float value) {
  value += __shfl_xor_sync(0xffffffffu, value, 1);
  return value + __shfl_xor_sync(0xffffffffu, value, 2);
}

static __device__ float row_max(float value) {
  float other = __shfl_xor_sync(0xffffffffu, value, 1);
  value = other > value ? other : value;
  other = __shfl_xor_sync(0xffffffffu, value, 2);
  return other > value ? other : value;
}

/* Stores a warp's [16, COLUMNS] sums in rows `row` .. row + 15 and columns from `first` on, each
 * row times its factor. */
template <class T, int COLUMNS>
static __device__ void store_rows(T *to, int64_t stride, const float (*sum)[4], const float *factor,
                                  int row, int first, const Attention &a) {
#pragma unroll
  for (int r = 0; r < 2; r++) {
    const int i = row + row_of(2 * r);
    if (i >= (int)a.seq) continue;
    T *const at = to + i * stride;
#pragma unroll
    for (int n = 0; n < COLUMNS / MMA_COLS; n++)
#pragma unroll
      for (int e = 0; e < 2; e++) {
        const int column = first + column_of(n, e);
        if (column < (int)a.head) put(at + column, sum[n][2 * r + e] * factor[r]);
      }
  }
}

/* Tokens are at most 2^30 (is_taken), so that their positions are numbers of 32 bits here. */
static __device__ int position_of(const Runs &runs, int token) {
  return token < (int)(runs.seq / 2) ? (int)runs.first + token
                                     : (int)(runs.second - runs.seq / 2) + token;
}

static __device__ int token_within(const Attention &a, int token) {
  return token < (int)a.seq ? token : (int)a.seq - 1;
}

/* One bit for each score that a lane has of its warp's with ROWS keys or queries; element e of
 * block n has bit 4 n + e. The loop is not unrolled, because the operands of all bits at once would
 * need more registers than a thread has. */
template <int ROWS, class Is> static __device__ unsigned score_bits(Is is) {
  unsigned bits = 0;
#pragma unroll 1
  for (int j = 0; j < ROWS / 2; j++)
    bits |= (unsigned)is(column_of(j / 4, j % 4), j / 2 % 2) << j;
  return bits;
}

/* Selects without an index: one that is unknown at compile time would put the array in local
 * memory.
 */
static __device__ int of_row(const int (&two)[2], int r) {
  return r > 0 ? two[1] : two[0];
}

static __device__ bool has(unsigned bits, int n, int e) {
  return bits >> (4 * n + e) & 1u;
}

/* Scores that dropout leaves: `positions` gives a query's position and a key's. */
template <int ROWS, class Positions>
static __device__ unsigned kept_scores(const Attention &a, int head, Positions positions) {
  if (a.threshold == 0) return ~0u;
  const uint64_t key = philox_mix(*a.seed, a.record_key);
  const int64_t step = *a.step;
  return score_bits<ROWS>([&](int column, int r) {
    int query, at;
    positions(column, r, &query, &at);
    return mask(a, key, step, blockIdx.z, head, query, at) > 0;
  });
}

/* A bit that no score has: set if any lane of the warp may see a score, even if this lane sees
 * none.
 */
static const unsigned SOME = 1u << 31;

#endif

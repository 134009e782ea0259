/* fp8.cu -- codes and scales of numbers, and products of codes by tiles: the plain way, and the
 * reference for a library's. */
#include "kernels/cuda/tile.h"
extern "C" {
#include "kernels/math/fp8.h"
}

/* A matrix in equal blocks, one scale each. */
struct Blocks {
  int64_t rows, cols, row_blocks, col_blocks;
};

/* ---- quantise ---- */

enum { RANGE = 4096 }; /* of elements of one whole block, whose highest are kept: workspace.h */

__device__ inline uint32_t magnitude_of(float x) {
  return fp8_bits(x) & 0x7fffffffu;
}

/* The highest of the block of threads. */
static __device__ uint32_t highest_of(uint32_t value) {
  SHARED(uint32_t, part, WARPS_MAX);
  unsigned warp = threadIdx.x / WARP_LANES, warps = blockDim.x / WARP_LANES;
  for (int lanes = WARP_LANES / 2; lanes > 0; lanes /= 2) {
    uint32_t other = __shfl_xor_sync(0xffffffffu, value, lanes);
    value = other > value ? other : value;
  }
  __syncthreads();
  if (threadIdx.x % WARP_LANES == 0) part[warp] = value;
  __syncthreads();
  for (unsigned i = 0; i < warps; i++)
    value = part[i] > value ? part[i] : value;
  return value;
}

template <class T> __global__ void highest_ranges(const T *x, uint32_t *highest, int64_t n) {
  int64_t first = (int64_t)blockIdx.x * RANGE;
  uint32_t own = 0;
  for (int64_t i = first + threadIdx.x; i < first + RANGE && i < n; i += blockDim.x) {
    uint32_t bits = magnitude_of(to_float(x[i]));
    own = bits > own ? bits : own;
  }
  own = highest_of(own);
  if (threadIdx.x == 0) highest[blockIdx.x] = own;
}

template <class T>
__global__ void encode_whole(const T *x, const uint32_t *highest, int64_t ranges, uint8_t *codes,
                             float *scale, int64_t n, bool e5m2) {
  uint32_t all = 0;
  for (int64_t i = threadIdx.x; i < ranges; i += blockDim.x)
    all = highest[i] > all ? highest[i] : all;
  all = highest_of(all);
  int64_t first = (int64_t)blockIdx.x * RANGE;
  for (int64_t i = first + threadIdx.x; i < first + RANGE && i < n; i += blockDim.x)
    codes[i] = fp8_code(to_float(x[i]), all, e5m2);
  if (blockIdx.x == 0 && threadIdx.x == 0) scale[0] = fp8_scale(all, e5m2);
}

/* Each block of threads has one block of the matrix. */
template <class T>
__global__ void encode_blocks(const T *x, uint8_t *codes, float *scale, Blocks b, bool e5m2) {
  int64_t rows = b.rows / b.row_blocks, cols = b.cols / b.col_blocks;
  int64_t first = (int64_t)blockIdx.x / b.col_blocks * rows * b.cols +
                  (int64_t)blockIdx.x % b.col_blocks * cols;
  uint32_t own = 0;
  for (int64_t i = threadIdx.x; i < rows * cols; i += blockDim.x) {
    uint32_t bits = magnitude_of(to_float(x[first + i / cols * b.cols + i % cols]));
    own = bits > own ? bits : own;
  }
  own = highest_of(own);
  for (int64_t i = threadIdx.x; i < rows * cols; i += blockDim.x) {
    int64_t at = first + i / cols * b.cols + i % cols;
    codes[at] = fp8_code(to_float(x[at]), own, e5m2);
  }
  if (threadIdx.x == 0) scale[blockIdx.x] = fp8_scale(own, e5m2);
}

CUDA_KERNEL(quantise) {
  const int64_t *dim = args->dim;
  const Blocks b = {dim[0], dim[1], dim[2], dim[3]};
  const int64_t n = b.rows * b.cols, ranges = (n + RANGE - 1) / RANGE;
  const bool e5m2 = args->dtype[1] == DTYPE_E5M2, is_whole = b.row_blocks * b.col_blocks == 1;
  return with_float(args->dtype[0], why, [=](auto value) {
    typedef decltype(value) T;
    Launch run(args, why, "quantise");
    const T *x = (const T *)args->operand[0];
    uint8_t *codes = (uint8_t *)args->operand[1];
    float *scale = (float *)args->operand[2];
    uint32_t *work = (uint32_t *)args->operand[3];
    if (n == 0) return KERNEL_DONE;
    if (!is_whole) {
      run.blocks(dim3((unsigned)(b.row_blocks * b.col_blocks)), ROW_THREADS, encode_blocks<T>, x,
                 codes, scale, b, e5m2);
      return run.status;
    }
    run.blocks(dim3((unsigned)ranges), FLAT_THREADS, highest_ranges<T>, x, work, n);
    run.blocks(dim3((unsigned)ranges), FLAT_THREADS, encode_whole<T>, x, (const uint32_t *)work,
               ranges, codes, scale, n, e5m2);
    return run.status;
  });
}

/* ---- turning ---- */

enum { TURN = 32 };

__global__ void turn_codes(const uint8_t *from, uint8_t *to, int64_t rows, int64_t cols) {
  SHARED(uint8_t, tile, TURN * (TURN + 1));
  int64_t row0 = (int64_t)blockIdx.y * TURN, col0 = (int64_t)blockIdx.x * TURN;
  for (int i = threadIdx.x; i < TURN * TURN; i += FLAT_THREADS) {
    int64_t row = row0 + i / TURN, col = col0 + i % TURN;
    if (row < rows && col < cols) tile[i / TURN * (TURN + 1) + i % TURN] = from[row * cols + col];
  }
  __syncthreads();
  for (int i = threadIdx.x; i < TURN * TURN; i += FLAT_THREADS) {
    int64_t col = col0 + i / TURN, row = row0 + i % TURN;
    if (row < rows && col < cols) to[col * rows + row] = tile[i % TURN * (TURN + 1) + i / TURN];
  }
}

extern "C" KernelStatus cuda_turn_codes(const KernelArgs *args, const void *from, void *to,
                                        int64_t rows, int64_t cols, const char **why) {
  Launch run(args, why, "turn_codes");
  dim3 grid((unsigned)((cols + TURN - 1) / TURN), (unsigned)((rows + TURN - 1) / TURN));
  run.blocks(grid, FLAT_THREADS, turn_codes, (const uint8_t *)from, (uint8_t *)to, rows, cols);
  return run.status;
}

__global__ void order_scales(const float *from, float *to, int64_t rows, int64_t cols,
                             int64_t stride, bool turned) {
  int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows * cols) return;
  int64_t row = i / cols, col = i % cols;
  to[turned ? col * stride + row : row * stride + col] = from[i];
}

extern "C" KernelStatus cuda_order_scales(const KernelArgs *args, const void *from, void *to,
                                          int64_t rows, int64_t cols, int64_t stride, bool turned,
                                          const char **why) {
  Launch run(args, why, "order_scales");
  run.blocks(dim3((unsigned)((rows * cols + FLAT_THREADS - 1) / FLAT_THREADS)), FLAT_THREADS,
             order_scales, (const float *)from, (float *)to, rows, cols, stride, turned);
  return run.status;
}

/* ---- products ---- */

/* A factor of a product: element (line, k) is at row line and column k, or the other way round. */
struct Factor {
  const uint8_t *codes;
  const float *scale;
  Blocks blocks;
  bool e5m2, flipped;
};

static __device__ float number_at(const Factor &f, int64_t line, int64_t k) {
  const Blocks &b = f.blocks;
  int64_t row = f.flipped ? k : line, col = f.flipped ? line : k;
  if (row >= b.rows || col >= b.cols) return 0;
  int64_t block = row / (b.rows / b.row_blocks) * b.col_blocks + col / (b.cols / b.col_blocks);
  return fp8_to_float(f.codes[row * b.cols + col], f.e5m2) * f.scale[block];
}

/* 64 lines by 16 of k into shared memory, slowest k. */
static __device__ void stage(float *to, const Factor &f, int64_t line, int64_t k) {
  for (int i = threadIdx.x; i < TILE * TILE_DEPTH; i += TILE_THREADS) {
    int d = f.flipped ? i / TILE : i % TILE_DEPTH, e = f.flipped ? i % TILE : i / TILE_DEPTH;
    to[d * (TILE + 1) + e] = number_at(f, line + e, k + d);
  }
}

struct Product {
  Factor a, b;
  TileProduct tile;
};

template <class C>
__global__ void __launch_bounds__(TILE_THREADS, 2) multiply_codes(const C *bias, C *c, Product p) {
  multiply_tile([&](float *to, int64_t m, int64_t k) { stage(to, p.a, m, k); },
                [&](float *to, int64_t n, int64_t k) { stage(to, p.b, n, k); }, bias, c, p.tile);
}

static KernelStatus multiply(const KernelArgs *args, const char **why, const char *name, int bias,
                             int c, Product p) {
  return with_float(args->dtype[c], why, [=](auto result) {
    typedef decltype(result) C;
    Launch run(args, why, name);
    run.blocks(tile_grid(p.tile.m, p.tile.n), TILE_THREADS, multiply_codes<C>,
               bias < 0 ? nullptr : (const C *)args->operand[bias], (C *)args->operand[c], p);
    return run.status;
  });
}

/* The codes of a matrix rows x cols, whose lines are its columns when flipped. */
static Factor factor(const KernelArgs *args, int operand, int blocks, int64_t rows, int64_t cols,
                     bool flipped) {
  Factor f = {(const uint8_t *)args->operand[operand],
              (const float *)args->operand[operand + 1],
              {rows, cols, args->dim[blocks], args->dim[blocks + 1]},
              args->dtype[operand] == DTYPE_E5M2,
              flipped};
  return f;
}

struct Sizes {
  int64_t rows, in, out;
  bool transposed;
};

static Sizes sizes_of(const KernelArgs *args) {
  const int64_t *dim = args->dim;
  Sizes s = {dim[0], dim[1], dim[2], dim[3] != 0};
  return s;
}

static Factor weight(const KernelArgs *args, const Sizes &s, bool flipped) {
  return factor(args, 2, 6, s.transposed ? s.in : s.out, s.transposed ? s.out : s.in, flipped);
}

static KernelStatus forward(const KernelArgs *args, const char **why, const char *name, int bias,
                            int y) {
  Sizes s = sizes_of(args);
  Product p = {factor(args, 0, 4, s.rows, s.in, false),
               weight(args, s, s.transposed),
               {s.rows, s.out, s.in, s.out, 1, false}};
  return multiply(args, why, name, bias, y, p);
}

CUDA_KERNEL(linear_fp8) {
  return forward(args, why, "linear_fp8", -1, 4);
}

CUDA_KERNEL(linear_fp8_bias) {
  return forward(args, why, "linear_fp8_bias", 4, 5);
}

CUDA_KERNEL(linear_fp8_dx) {
  Sizes s = sizes_of(args);
  Product p = {factor(args, 0, 4, s.rows, s.out, false),
               weight(args, s, !s.transposed),
               {s.rows, s.in, s.out, s.in, 1, false}};
  return multiply(args, why, "linear_fp8_dx", -1, 4, p);
}

CUDA_KERNEL(linear_fp8_dw) {
  Sizes s = sizes_of(args);
  Product p = {
      factor(args, 2, 6, s.rows, s.out, true),
      factor(args, 0, 4, s.rows, s.in, true),
      {s.out, s.in, s.rows, s.transposed ? 1 : s.in, s.transposed ? s.out : 1, args->accumulate}};
  return multiply(args, why, "linear_fp8_dw", -1, 4, p);
}

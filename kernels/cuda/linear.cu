/* linear.cu -- products of matrices by tiles: the plain way, and the reference for a library's.
 *
 * All four products are c[m,n] = sum over k of a(m,k) b(k,n), with their own strides. */
#include "kernels/cuda/columns.h"
#include "kernels/cuda/tile.h"

struct Product {
  int64_t m, n, k;
  int64_t a_m, a_k, b_k, b_n, c_m, c_n; /* strides in elements */
  bool accumulate, tf32;
};

/* `depth` x 64 elements into shared memory, slowest the depth; zeros outside. */
template <class T>
static __device__ void stage(float *to, const T *from, int64_t first, int64_t count, int64_t stride,
                             int64_t depth_first, int64_t depth, int64_t depth_stride, bool tf32) {
  bool along_depth = depth_stride == 1; /* neighbouring threads read neighbours */
  for (int i = threadIdx.x; i < TILE * TILE_DEPTH; i += TILE_THREADS) {
    int d = along_depth ? i % TILE_DEPTH : i / TILE, e = along_depth ? i / TILE_DEPTH : i % TILE;
    bool is_inside = first + e < count && depth_first + d < depth;
    int64_t at = (first + e) * stride + (depth_first + d) * depth_stride;
    to[d * (TILE + 1) + e] = is_inside ? to_factor(from[at], tf32) : 0;
  }
}

template <class T, class C>
__global__ void __launch_bounds__(TILE_THREADS, 2)
    multiply_tiles(const T *a, const T *b, const C *bias, C *c, Product p) {
  multiply_tile(
      [&](float *to, int64_t m, int64_t k) { stage(to, a, m, p.m, p.a_m, k, p.k, p.a_k, p.tf32); },
      [&](float *to, int64_t n, int64_t k) { stage(to, b, n, p.n, p.b_n, k, p.k, p.b_k, p.tf32); },
      bias, c, TileProduct{p.m, p.n, p.k, p.c_m, p.c_n, p.accumulate});
}

/* Operands a and b share a type; c may have another. */
static KernelStatus multiply(const KernelArgs *args, const char **why, const char *name, int a,
                             int b, int bias, int c, Product p) {
  return with_floats(args->dtype[a], args->dtype[c], why, [=](auto value, auto result) {
    typedef decltype(value) T;
    typedef decltype(result) C;
    Launch run(args, why, name);
    run.blocks(tile_grid(p.m, p.n), TILE_THREADS, multiply_tiles<T, C>, (const T *)args->operand[a],
               (const T *)args->operand[b], bias < 0 ? nullptr : (const C *)args->operand[bias],
               (C *)args->operand[c], p);
    return run.status;
  });
}

struct Sizes {
  int64_t rows, in, out;
  int64_t w_out, w_in; /* strides of the weight */
  bool tf32;
};

static Sizes sizes_of(const KernelArgs *args) {
  const int64_t *dim = args->dim;
  bool transposed = dim[3] != 0;
  Sizes s = {dim[0], dim[1], dim[2], transposed ? 1 : dim[1], transposed ? dim[2] : 1, args->tf32};
  return s;
}

static Product forward_product(const Sizes &s) {
  Product p = {s.rows, s.out, s.in, s.in, 1, s.w_in, s.w_out, s.out, 1, false, s.tf32};
  return p;
}

CUDA_KERNEL(linear) {
  return multiply(args, why, "linear", 0, 1, -1, 2, forward_product(sizes_of(args)));
}

CUDA_KERNEL(linear_bias) {
  return multiply(args, why, "linear_bias", 0, 1, 2, 3, forward_product(sizes_of(args)));
}

CUDA_KERNEL(linear_dx) {
  Sizes s = sizes_of(args);
  Product p = {s.rows, s.in, s.out, s.out, 1, s.w_out, s.w_in, s.in, 1, false, s.tf32};
  return multiply(args, why, "linear_dx", 0, 1, -1, 2, p);
}

CUDA_KERNEL(linear_dw) {
  Sizes s = sizes_of(args);
  Product p = {s.out, s.in, s.rows, 1, s.out, s.in, 1, s.w_out, s.w_in, args->accumulate, s.tf32};
  return multiply(args, why, "linear_dw", 1, 0, -1, 2, p);
}

CUDA_KERNEL(linear_db) {
  int64_t rows = args->dim[0], out = args->dim[1];
  float *work = args->operand_count > 2 ? (float *)args->operand[2] : nullptr;
  return with_floats(args->dtype[0], args->dtype[1], why, [=](auto value, auto gradient) {
    typedef decltype(value) T;
    typedef decltype(gradient) G;
    Launch run(args, why, "linear_db");
    sum_columns(run, (const T *)args->operand[0], (G *)args->operand[1], rows, out,
                args->accumulate, work);
    return run.status;
  });
}

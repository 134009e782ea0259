/* norm.cu -- layernorm and rmsnorm, also fused with the addition before them. A block has a row,
 * and keeps it in registers: x is read once. */
#include "kernels/cuda/norm.h"

/* The arguments of layernorm and rmsnorm; rmsnorm has no mean and no bias. With b, x is not read
 * but made: a + b. */
template <class T> struct NormForward {
  const T *a, *b;
  T *x;
  const T *weight, *bias;
  T *y;
  float *stats;
  int64_t width;
  float eps, offset;
};

template <class C>
__global__ void __launch_bounds__(C::THREADS) norm_row(NormForward<typename C::T> n) {
  typedef typename C::T T;
  const C columns;
  const int64_t row = blockIdx.x * n.width;
  float x[C::COUNT], sum = 0, square = 0;
  EACH_VECTOR (columns, p, c, n.width) {
    load_vector<C::V>(n.a + row + c, x + p * C::V);
    if (n.b != nullptr) {
      float more[C::V];
      load_vector<C::V>(n.b + row + c, more);
#pragma unroll
      for (int v = 0; v < C::V; v++)
        x[p * C::V + v] = rounded<T>(x[p * C::V + v] + more[v]);
      store_vector<C::V>(n.x + row + c, x + p * C::V);
    }
#pragma unroll
    for (int v = 0; v < C::V; v++)
      sum += x[p * C::V + v];
  }
  float mean = n.bias != nullptr ? block_sum(sum) / (float)n.width : 0;
  EACH_VECTOR (columns, p, c, n.width) {
#pragma unroll
    for (int v = 0; v < C::V; v++)
      square += (x[p * C::V + v] - mean) * (x[p * C::V + v] - mean);
  }
  float rstd = 1 / sqrtf(block_sum(square) / (float)n.width + n.eps);
  EACH_VECTOR (columns, p, c, n.width) {
    float weight[C::V], bias[C::V] = {};
    load_vector<C::V>(n.weight + c, weight);
    if (n.bias != nullptr) load_vector<C::V>(n.bias + c, bias);
#pragma unroll
    for (int v = 0; v < C::V; v++)
      x[p * C::V + v] = (x[p * C::V + v] - mean) * rstd * (weight[v] + n.offset) + bias[v];
    store_vector<C::V>(n.y + row + c, x + p * C::V);
  }
  if (threadIdx.x > 0) return;
  if (n.bias != nullptr) n.stats[2 * (int64_t)blockIdx.x] = mean;
  n.stats[n.bias != nullptr ? 2 * (int64_t)blockIdx.x + 1 : blockIdx.x] = rstd;
}

/* The operands of layernorm are x, weight, bias, y, stats; rmsnorm has no bias. `add`, of operands
 * a, b, y, makes x; or NULL. */
static KernelStatus norm_forward(const KernelArgs *add, const KernelArgs *args, bool has_bias,
                                 const char **why, const char *name) {
  if (!is_taken(args->dim[1], why)) return KERNEL_REFUSED;
  return with_float(args->dtype[0], why, [=](auto number) {
    typedef decltype(number) T;
    void *const *at = args->operand;
    const int y = has_bias ? 3 : 2;
    const void *b = add != nullptr ? add->operand[1] : nullptr;
    NormForward<T> n = {(const T *)(add != nullptr ? add->operand[0] : at[0]),
                        (const T *)b,
                        (T *)at[0],
                        (const T *)at[1],
                        has_bias ? (const T *)at[2] : nullptr,
                        (T *)at[y],
                        (float *)at[y + 1],
                        args->dim[1],
                        (float)args->attr[0],
                        (float)args->attr[1]};
    const void *rows[] = {n.a, n.b, n.x, n.weight, n.bias, n.y};
    Launch run(args, why, name);
    with_columns<T>(n.width, are_vectors<T>(n.width, rows, 6), [&](auto columns) {
      typedef decltype(columns) C;
      run.blocks(dim3((unsigned)args->dim[0]), C::THREADS, norm_row<C>, n);
    });
    return run.status;
  });
}

CUDA_KERNEL(layernorm) {
  return norm_forward(nullptr, args, true, why, "layernorm");
}

CUDA_KERNEL(rmsnorm) {
  return norm_forward(nullptr, args, false, why, "rmsnorm");
}

/* ---- an addition before a norm, in one pass over the rows. Results are bitwise those of
 * the two: the value between is rounded as it is in memory. ---- */

template <bool HAS_BIAS>
static KernelStatus run_added(const KernelFused *, const KernelArgs *args, const char **why) {
  const KernelArgs *add = &args[0], *norm = &args[1];
  if (add->operand[2] == norm->operand[0])
    return norm_forward(add, norm, HAS_BIAS, why, HAS_BIAS ? "layernorm" : "rmsnorm");
  KernelStatus ended = cuda_add(add, why);
  return ended != KERNEL_DONE ? ended
         : HAS_BIAS           ? cuda_layernorm(norm, why)
                              : cuda_rmsnorm(norm, why);
}

CUDA_FUSION(add) {
  (void)why;
  if (count > 2 || !adds_rows(&use[0], &use[1])) return KERNEL_DONE;
  if (kernel[1]->id == KERNEL_layernorm) fused->run = run_added<true>;
  if (kernel[1]->id == KERNEL_rmsnorm) fused->run = run_added<false>;
  return KERNEL_DONE;
}

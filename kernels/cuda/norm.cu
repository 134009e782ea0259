/* norm.cu -- layernorm and rmsnorm, also fused with the addition before them. A warp (rows up to
 * 1,024 wide) or a block has a row, and keeps it in registers: x is read once. */
#include "kernels/cuda/norm.h"

/* The arguments of layernorm and rmsnorm; rmsnorm has no mean and no bias. With b, x is written and
 * not read: it is a + b. */
template <class T> struct NormForward {
  const T *a, *b;
  T *x;
  const T *weight, *bias;
  T *y;
  float *stats;
  int64_t rows, width;
  float eps, offset;
};

/* Runs `run` with columns for rows of this width: narrow rows in vectors have a warp each, and no
 * warp waits for another. */
template <class T, class Run>
static void with_forward_columns(int64_t width, bool in_vectors, Run run) {
  constexpr int V = VECTOR_BYTES / (int)sizeof(T);
  if (in_vectors && width <= 256)
    run(Columns<T, V, WARP_LANES, 8 / V, 4>());
  else if (in_vectors && width <= 512)
    run(Columns<T, V, WARP_LANES, 16 / V, 4>());
  else if (in_vectors && width <= 768)
    run(Columns<T, V, WARP_LANES, 24 / V, 4>());
  else if (in_vectors && width <= 1024)
    run(Columns<T, V, WARP_LANES, 32 / V, 4>());
  else
    with_columns<T>(width, in_vectors, run);
}

template <class C> static constexpr bool HAS_WARP = C::THREADS == WARP_LANES;

/* Threads of a block. */
template <class C>
static constexpr unsigned FORWARD_THREADS = HAS_WARP<C> ? C::THREADS *C::ROWS : C::THREADS;

/* The sum over the threads that share a row. */
template <class C> static __device__ float row_sum(float value) {
  if constexpr (HAS_WARP<C>)
    return warp_sum(value);
  else
    return block_sum(value);
}

template <class C>
__global__ void __launch_bounds__(FORWARD_THREADS<C>, 1) norm_row(NormForward<typename C::T> n) {
  typedef typename C::T T;
  const C columns;
  int64_t r = blockIdx.x;
  if (HAS_WARP<C>) r = r * C::ROWS + threadIdx.x / WARP_LANES;
  if (HAS_WARP<C> && r >= n.rows) return; /* no barrier follows */
  const int64_t row = r * n.width;
  Vector<T, C::V> a[C::PER], b[C::PER];
  float x[C::COUNT], sum = 0, square = 0;
  EACH_VECTOR (columns, p, c, n.width) { /* all loads of the row are in flight */
    a[p] = *(const Vector<T, C::V> *)(n.a + row + c);
    if (n.b != nullptr) b[p] = *(const Vector<T, C::V> *)(n.b + row + c);
  }
  EACH_VECTOR (columns, p, c, n.width) {
#pragma unroll
    for (int v = 0; v < C::V; v++) {
      float value = to_float(a[p].at[v]);
      if (n.b != nullptr) value = rounded<T>(value + to_float(b[p].at[v]));
      x[p * C::V + v] = value;
      sum += value;
    }
    if (n.b != nullptr) store_vector<C::V>(n.x + row + c, x + p * C::V);
  }
  float mean = n.bias != nullptr ? row_sum<C>(sum) / (float)n.width : 0;
  EACH_VECTOR (columns, p, c, n.width) {
#pragma unroll
    for (int v = 0; v < C::V; v++)
      square += (x[p * C::V + v] - mean) * (x[p * C::V + v] - mean);
  }
  float rstd = 1 / sqrtf(row_sum<C>(square) / (float)n.width + n.eps);
  EACH_VECTOR (columns, p, c, n.width) {
    float weight[C::V], bias[C::V] = {};
    load_vector<C::V>(n.weight + c, weight);
    if (n.bias != nullptr) load_vector<C::V>(n.bias + c, bias);
#pragma unroll
    for (int v = 0; v < C::V; v++)
      x[p * C::V + v] = (x[p * C::V + v] - mean) * rstd * (weight[v] + n.offset) + bias[v];
    store_vector<C::V>(n.y + row + c, x + p * C::V);
  }
  if (threadIdx.x % C::THREADS > 0) return;
  if (n.bias != nullptr) n.stats[2 * r] = mean;
  n.stats[n.bias != nullptr ? 2 * r + 1 : r] = rstd;
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
                        args->dim[0],
                        args->dim[1],
                        (float)args->attr[0],
                        (float)args->attr[1]};
    const void *rows[] = {n.a, n.b, n.x, n.weight, n.bias, n.y};
    Launch run(args, why, name);
    with_forward_columns<T>(n.width, are_vectors<T>(n.width, rows, 6), [&](auto columns) {
      typedef decltype(columns) C;
      const int64_t blocks = HAS_WARP<C> ? (n.rows + C::ROWS - 1) / C::ROWS : n.rows;
      run.blocks(dim3((unsigned)blocks), FORWARD_THREADS<C>, norm_row<C>, n);
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

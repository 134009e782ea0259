/* norm.cu -- layernorm and rmsnorm: a block a row forward. Backward reads x and d_y once from the
 * GPU's memory (the second time they are in its caches): each block walks over rows, writes d_x,
 * and keeps its sums for the weights' gradients in registers; a second kernel adds the blocks' sums
 * in order. */
#include "kernels/cuda/cuda.h"

/* ---- forward ---- */

template <class T>
__global__ void layernorm_row(const T *x, const T *weight, const T *bias, T *y, float *stats,
                              int64_t width, float eps) {
  const T *row = x + blockIdx.x * width;
  float sum = 0, square = 0;
  for (int64_t c = threadIdx.x; c < width; c += blockDim.x)
    sum += to_float(row[c]);
  float mean = block_sum(sum) / (float)width;
  for (int64_t c = threadIdx.x; c < width; c += blockDim.x)
    square += (to_float(row[c]) - mean) * (to_float(row[c]) - mean);
  float rstd = 1 / sqrtf(block_sum(square) / (float)width + eps);
  for (int64_t c = threadIdx.x; c < width; c += blockDim.x)
    put(y + blockIdx.x * width + c,
        (to_float(row[c]) - mean) * rstd * to_float(weight[c]) + to_float(bias[c]));
  if (threadIdx.x > 0) return;
  stats[2 * (int64_t)blockIdx.x] = mean;
  stats[2 * (int64_t)blockIdx.x + 1] = rstd;
}

CUDA_KERNEL(layernorm) {
  return with_float(args->dtype[0], why, [=](auto number) {
    typedef decltype(number) T;
    void *const *at = args->operand;
    Launch run(args, why, "layernorm");
    run.blocks(dim3((unsigned)args->dim[0]), ROW_THREADS, layernorm_row<T>, (const T *)at[0],
               (const T *)at[1], (const T *)at[2], (T *)at[3], (float *)at[4], args->dim[1],
               (float)args->attr[0]);
    return run.status;
  });
}

template <class T>
__global__ void rmsnorm_row(const T *x, const T *weight, T *y, float *rstd, int64_t width,
                            float eps) {
  const T *row = x + blockIdx.x * width;
  float square = 0;
  for (int64_t c = threadIdx.x; c < width; c += blockDim.x)
    square += to_float(row[c]) * to_float(row[c]);
  float scale = 1 / sqrtf(block_sum(square) / (float)width + eps);
  for (int64_t c = threadIdx.x; c < width; c += blockDim.x)
    put(y + blockIdx.x * width + c, to_float(row[c]) * scale * to_float(weight[c]));
  if (threadIdx.x == 0) rstd[blockIdx.x] = scale;
}

CUDA_KERNEL(rmsnorm) {
  return with_float(args->dtype[0], why, [=](auto number) {
    typedef decltype(number) T;
    void *const *at = args->operand;
    Launch run(args, why, "rmsnorm");
    run.blocks(dim3((unsigned)args->dim[0]), ROW_THREADS, rmsnorm_row<T>, (const T *)at[0],
               (const T *)at[1], (T *)at[2], (float *)at[3], args->dim[1], (float)args->attr[0]);
    return run.status;
  });
}

/* ---- backward ---- */

/* What layernorm_backward and rmsnorm_backward have in common; rmsnorm's mean is 0, and its d_bias
 * is not made. */
struct NormBackward {
  int64_t rows, width;
  int64_t vectors, padded; /* of the blocks' sums: 1 or 2, and elements of one */
  bool has_mean, accumulate;
};

/* PER: columns of a thread, threadIdx.x and every THREADS from there on. */
template <class T, int THREADS, int PER>
__global__ void __launch_bounds__(THREADS)
    norm_backward_rows(const T *d_y, const T *x, const T *weight, const float *stats, T *d_x,
                       float *sums, NormBackward n) {
  float d_weight[PER] = {}, d_bias[PER] = {};
  for (int64_t r = blockIdx.x; r < n.rows; r += gridDim.x) {
    float mean = n.has_mean ? stats[2 * r] : 0, rstd = n.has_mean ? stats[2 * r + 1] : stats[r];
    float sum_g = 0, sum_gn = 0;
#pragma unroll
    for (int i = 0; i < PER; i++) {
      int64_t c = threadIdx.x + (int64_t)i * THREADS;
      if (c >= n.width) continue;
      float slope = to_float(d_y[r * n.width + c]), g = slope * to_float(weight[c]);
      float unit = (to_float(x[r * n.width + c]) - mean) * rstd;
      d_weight[i] += slope * unit;
      d_bias[i] += slope;
      sum_g += g;
      sum_gn += g * unit;
    }
    float mean_gn = block_sum(sum_gn) / (float)n.width;
    float mean_g = n.has_mean ? block_sum(sum_g) / (float)n.width : 0;
    for (int64_t c = threadIdx.x; c < n.width; c += THREADS) {
      float g = to_float(d_y[r * n.width + c]) * to_float(weight[c]);
      float unit = (to_float(x[r * n.width + c]) - mean) * rstd;
      put(d_x + r * n.width + c, rstd * (g - mean_g - unit * mean_gn));
    }
  }
  float *own = sums + blockIdx.x * n.vectors * n.padded;
#pragma unroll
  for (int i = 0; i < PER; i++) {
    int64_t c = threadIdx.x + (int64_t)i * THREADS;
    if (c >= n.width) continue;
    own[c] = d_weight[i];
    if (n.vectors > 1) own[n.padded + c] = d_bias[i];
  }
}

template <class G>
__global__ void add_blocks(const float *sums, G *d_weight, G *d_bias, NormBackward n,
                           int64_t blocks) {
  for (EACH_ELEMENT(i, n.vectors * n.width)) {
    int64_t vector = i / n.width, c = i % n.width;
    float sum = 0;
    for (int64_t b = 0; b < blocks; b++)
      sum += sums[(b * n.vectors + vector) * n.padded + c];
    put_or_add((vector == 0 ? d_weight : d_bias) + c, sum, n.accumulate);
  }
}

/* The operands d_y, x, weight, stats, d_x stand at 0 .. 4. */
template <class T, int THREADS, int PER>
static void launch_rows(Launch &run, const KernelArgs *args, int64_t blocks, float *sums,
                        const NormBackward &n) {
  void *const *at = args->operand;
  run.blocks(dim3((unsigned)blocks), THREADS, norm_backward_rows<T, THREADS, PER>, (const T *)at[0],
             (const T *)at[1], (const T *)at[2], (const float *)at[3], (T *)at[4], sums, n);
}

static KernelStatus norm_backward(const KernelArgs *args, const char **why, const char *name,
                                  NormBackward n) {
  enum { WIDEST = 16 * 1024 };
  *why = "kernels for GPUs take rows of up to 16,384";
  if (n.width > WIDEST) return KERNEL_REFUSED;
  float *sums = (float *)args->operand[n.vectors > 1 ? 7 : 6];
  int64_t blocks = n.rows < WORK_NORM_BLOCKS ? n.rows : (int64_t)WORK_NORM_BLOCKS;
  n.padded = (n.width + 15) / 16 * 16;
  return with_floats(args->dtype[0], args->dtype[5], why, [=](auto value, auto gradient) {
    typedef decltype(value) T;
    typedef decltype(gradient) G;
    Launch run(args, why, name);
    if (n.width <= 128)
      launch_rows<T, 128, 1>(run, args, blocks, sums, n);
    else if (n.width <= 1024)
      launch_rows<T, 256, 4>(run, args, blocks, sums, n);
    else if (n.width <= 4096)
      launch_rows<T, 256, 16>(run, args, blocks, sums, n);
    else
      launch_rows<T, 512, 32>(run, args, blocks, sums, n);
    G *d_weight = (G *)args->operand[5], *d_bias = n.vectors > 1 ? (G *)args->operand[6] : nullptr;
    run.flat(n.vectors * n.width, add_blocks<G>, sums, d_weight, d_bias, n, blocks);
    return run.status;
  });
}

CUDA_KERNEL(layernorm_backward) {
  NormBackward n = {args->dim[0], args->dim[1], 2, 0, true, args->accumulate};
  return norm_backward(args, why, "layernorm_backward", n);
}

CUDA_KERNEL(rmsnorm_backward) {
  NormBackward n = {args->dim[0], args->dim[1], 1, 0, false, args->accumulate};
  return norm_backward(args, why, "rmsnorm_backward", n);
}

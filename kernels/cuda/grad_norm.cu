/* grad_norm.cu -- the gradient's norm: sums the squares of many tensors, and takes one root; and
 * what follows from it. */
#include "kernels/cuda/tensors.h"
extern "C" {
#include "kernels/math/loss_scale.h"
}

template <class T> struct SquaresTensor {
  const T *x;
  double *block_sums, *out;
  int64_t n;
};

/* A block for each chunk. */
template <class T> __global__ void square_blocks(Tensors<SquaresTensor<T>> all) {
  const Chunk chunk = all.chunk(blockIdx.x);
  const SquaresTensor<T> at = all.of[chunk.tensor];
  double sum = 0;
  for (EACH_OF_CHUNK(i, chunk))
    sum += (double)to_float(at.x[i]) * (double)to_float(at.x[i]);
  sum = block_sum(sum);
  if (threadIdx.x == 0) at.block_sums[chunk.number] = sum;
}

/* A block for each tensor. Each thread adds neighbours, then the threads' sums are added in order.
 */
template <class T> __global__ void add_block_sums(Tensors<SquaresTensor<T>> all) {
  const SquaresTensor<T> at = all.of[blockIdx.x];
  int64_t n = (at.n + WORK_SUM_BLOCK - 1) / WORK_SUM_BLOCK;
  int64_t each = (n + blockDim.x - 1) / blockDim.x, first = threadIdx.x * each;
  double sum = 0;
  for (int64_t i = first; i < first + each && i < n; i++)
    sum += at.block_sums[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) *at.out = sum;
}

CUDA_KERNEL_TOGETHER(square_sum) {
  return with_float(args->dtype[0], why, [=](auto number) {
    typedef decltype(number) T;
    typedef SquaresTensor<T> One;
    auto make = [](const KernelArgs *of) {
      void *const *at = of->operand;
      return One{(const T *)at[0], (double *)at[2], (double *)at[1], of->dim[0]};
    };
    return with_tensors<One>(args, count, make, [=](const Tensors<One> &all, int64_t chunks) {
      Launch run(args, why, "square_sum");
      run.blocks(dim3((unsigned)chunks), ROW_THREADS, square_blocks<T>, all);
      run.blocks(dim3((unsigned)all.count), ROW_THREADS, add_block_sums<T>, all);
      return run.status;
    });
  });
}

/* One after another, as on a processor: there are few. Thread 0 of the one block has the sum. */
static __device__ double ordered_sum(const double *x, int64_t n) {
  SHARED(double, next, ROW_THREADS);
  double sum = 0;
  for (int64_t first = 0; first < n; first += ROW_THREADS) {
    int64_t i = first + threadIdx.x;
    __syncthreads();
    next[threadIdx.x] = i < n ? x[i] : 0;
    __syncthreads();
    for (int k = 0; threadIdx.x == 0 && k < ROW_THREADS && first + k < n; k++)
      sum += next[k];
  }
  return sum;
}

__global__ void sum_all(const double *x, double *y, int64_t n) {
  double sum = ordered_sum(x, n);
  if (threadIdx.x == 0) y[0] = sum;
}

CUDA_KERNEL(sum) {
  Launch run(args, why, "sum");
  run.blocks(dim3(1), ROW_THREADS, sum_all, (const double *)args->operand[0],
             (double *)args->operand[1], args->dim[0]);
  return run.status;
}

__global__ void take_norm(const double *partial, double *grad_norm, double *clip_scale,
                          int64_t *step_counts, int64_t *updates, const double *targets,
                          const double *loss_scale, int64_t n, double clip) {
  double sum = ordered_sum(partial, n);
  if (threadIdx.x > 0) return;
  double scale = loss_scale != nullptr ? *loss_scale : 1;
  double norm = sqrt(sum) / scale;
  bool is_number = norm - norm == 0;
  *grad_norm = norm;
  *clip_scale = (is_number && clip > 0 && norm > clip ? clip / (norm + 1e-6) : 1) / scale;
  *step_counts = is_number && (targets == nullptr || *targets > 0);
  *updates += *step_counts;
}

CUDA_KERNEL(grad_norm) {
  Launch run(args, why, "grad_norm");
  run.blocks(dim3(1), ROW_THREADS, take_norm, (const double *)args->operand[0],
             (double *)args->control[0], (double *)args->control[1], (int64_t *)args->control[2],
             (int64_t *)args->control[3], kernel_slot(args, 4), kernel_slot(args, 5), args->dim[0],
             args->attr[0]);
  return run.status;
}

struct LossScaleAttrs {
  double at[LOSS_SCALE_ATTRS];
};

__global__ void step_loss_scale(const double *grad_norm, LossScaleState state,
                                LossScaleAttrs attrs) {
  if (threadIdx.x == 0) loss_scale_step(state, *grad_norm - *grad_norm != 0, attrs.at);
}

CUDA_KERNEL(loss_scale) {
  Launch run(args, why, "loss_scale");
  void *const *at = args->control;
  LossScaleAttrs attrs;
  for (int i = 0; i < LOSS_SCALE_ATTRS; i++)
    attrs.at[i] = args->attr[i];
  run.blocks(dim3(1), WARP_LANES, step_loss_scale, (const double *)at[0],
             LossScaleState{(double *)at[1], (int64_t *)at[2], (int64_t *)at[3], (int64_t *)at[4],
                            (int64_t *)at[5]},
             attrs);
  return run.status;
}

/* loss.cu -- cross-entropy, a block a row, the slopes over the logits; and squared error.
 *
 * A row is read twice, and with smoothing once more for the sum of its logits. Of wide rows a
 * multiprocessor works on few at once, so that all that are being worked on are in the second level
 * of cache when they are read again. */
#include "kernels/cuda/vectors.h"
extern "C" {
#include "kernels/math/mse.h"
#include "kernels/math/slope.h"
}

/* ---- cross-entropy ---- */

/* The part of the classes that logits hold. */
struct Classes {
  int64_t first, held, real; /* held: of a row of logits; real: those that are no padding */
  float smoothing, share, z; /* share: of smoothing, each class's */
};

static Classes classes_of(const KernelArgs *args, double first, double smoothing, double z) {
  Classes c = {(int64_t)first,
               args->dim[1],
               args->dim[2] - (int64_t)first,
               (float)smoothing,
               (float)(smoothing / (double)args->dim[2]),
               (float)z};
  if (c.real < 0) c.real = 0;
  if (c.real > c.held) c.real = c.held;
  return c;
}

enum { WIDE_BYTES = 32 * 1024, WIDE_THREADS = 1024 };

static unsigned threads_of(const Classes &c, int64_t logit_bytes) {
  return c.held * logit_bytes >= WIDE_BYTES ? (unsigned)WIDE_THREADS : (unsigned)FLAT_THREADS;
}

/* sum of exp(logit - highest). aim: the target's logit, 0 if it is not held here; with smoothing e
 * (1 - e) of it and e of the mean over the classes. */
struct RowSoftmax {
  float highest, sum, aim;
};

template <int V, class T> static __device__ void add_logits(RowSoftmax *s, const T *at) {
  float logit[V];
  load_vector<V>(at, logit);
  float highest = s->highest;
#pragma unroll
  for (int v = 0; v < V; v++)
    highest = logit[v] > highest ? logit[v] : highest;
  if (highest > s->highest) {
    s->sum *= expf(s->highest - highest);
    s->highest = highest;
  }
#pragma unroll
  for (int v = 0; v < V; v++)
    s->sum += logit[v] == -INFINITY ? 0 : expf(logit[v] - highest); /* where all are, too */
}

/* By all threads of the block, which is the row's. */
template <int V, class T>
static __device__ RowSoftmax local_softmax(const T *row, const Classes &c, int32_t target) {
  const int64_t in_vectors = c.real - c.real % V;
  RowSoftmax s = {-INFINITY, 0, 0};
  for (int64_t k = (int64_t)threadIdx.x * V; k < in_vectors; k += (int64_t)blockDim.x * V)
    add_logits<V>(&s, row + k);
  for (int64_t k = in_vectors + threadIdx.x; k < c.real; k += blockDim.x)
    add_logits<1>(&s, row + k);
  float highest = block_max(s.highest);
  s.sum = block_sum(s.sum > 0 ? s.sum * expf(s.highest - highest) : s.sum);
  s.highest = highest;
  if (target >= c.first && target < c.first + c.real) s.aim = to_float(row[target - c.first]);
  if (c.smoothing > 0) {
    float sum = 0;
    for (int64_t k = threadIdx.x; k < c.real; k += blockDim.x)
      sum += to_float(row[k]);
    s.aim = (1 - c.smoothing) * s.aim + c.share * block_sum(sum);
  }
  return s;
}

/* stats[ranks,rows,3]: of all ranks together, added in their order. */
static __device__ RowSoftmax gathered_softmax(const float *stats, int64_t ranks, int64_t rows,
                                              int64_t row) {
  RowSoftmax s = {-INFINITY, 0, 0};
  for (int64_t k = 0; k < ranks; k++) {
    float highest = stats[(k * rows + row) * 3];
    s.highest = highest > s.highest ? highest : s.highest;
  }
  for (int64_t k = 0; k < ranks; k++) {
    const float *of_rank = stats + (k * rows + row) * 3;
    s.sum += of_rank[1] * expf(of_rank[0] - s.highest);
    s.aim += of_rank[2];
  }
  return s;
}

/* stats: null where logits hold all classes. */
template <class T, int V>
__global__ void __launch_bounds__(WIDE_THREADS)
    loss_row(T *logits, const int32_t *targets, const float *stats, double *row_loss, Classes c,
             int64_t rows, int64_t ranks, bool train, double scale_of_all,
             const double *counted_targets, const double *loss_scale) {
  int64_t row = blockIdx.x;
  int32_t target = targets[row];
  T *own = logits + row * c.held;
  RowSoftmax s = {0, 1, 0};
  if (target >= 0)
    s = stats != nullptr ? gathered_softmax(stats, ranks, rows, row)
                         : local_softmax<V>(own, c, target);
  __syncthreads(); /* everyone has the target's logit */
  float log_sum = logf(s.sum);
  float lse = s.highest + log_sum;
  if (threadIdx.x == 0)
    row_loss[row] = target >= 0 ? (double)(s.highest - s.aim) + (double)log_sum +
                                      (double)c.z * (double)lse * (double)lse
                                : 0;
  const float of_lse = 1 + 2 * c.z * lse;
  const float scale = (float)slope_scale(scale_of_all, counted_targets, loss_scale);
  for (int64_t k = (int64_t)threadIdx.x * V; train && k < c.held; k += (int64_t)blockDim.x * V) {
    float slope[V];
    load_vector<V>(own + k, slope);
#pragma unroll
    for (int v = 0; v < V; v++) {
      bool counted = target >= 0 && k + v < c.real;
      float onehot = (c.first + k + v == target ? 1 - c.smoothing : 0) + c.share;
      slope[v] = counted ? (expf(slope[v] - lse) * of_lse - onehot) * scale : 0;
    }
    store_vector<V>(own + k, slope);
  }
}

/* Calls `run` with the Count of logits that are moved at once. */
template <class T, class Run>
static void with_logits(const void *logits, const Classes &c, Run run) {
  with_vectors<sizeof(T)>(is_aligned(logits) && c.held * sizeof(T) % VECTOR_BYTES == 0, run);
}

/* In order: each thread adds neighbouring rows, then the threads' sums are added. */
__global__ void add_rows(const double *row_loss, const int32_t *targets, double *loss, int64_t rows,
                         bool accumulate) {
  int64_t each = (rows + blockDim.x - 1) / blockDim.x, first = threadIdx.x * each;
  double sum = 0, weights = 0;
  for (int64_t r = first; r < first + each && r < rows; r++) {
    sum += row_loss[r];
    weights += targets[r] >= 0;
  }
  sum = block_sum(sum);
  weights = block_sum(weights);
  if (threadIdx.x > 0) return;
  loss[0] = accumulate ? loss[0] + sum : sum;
  loss[1] = accumulate ? loss[1] + weights : weights;
}

/* parts: logits are some ranks' shares of the classes, from attr `first` on. */
static KernelStatus cross_entropy(const KernelArgs *args, const char **why, const char *name,
                                  bool parts, bool train) {
  void *const *at = args->operand;
  const int32_t *targets = (const int32_t *)at[1];
  const float *stats = parts ? (const float *)at[2] : nullptr;
  double *loss = (double *)at[parts ? 3 : 2], *row_loss = (double *)at[parts ? 4 : 3];
  const double *attr = args->attr + (parts ? 2 : train ? 1 : 0);
  Classes c = classes_of(args, parts ? args->attr[1] : 0, attr[0], attr[1]);
  return with_float(args->dtype[0], why, [=](auto number) {
    typedef decltype(number) T;
    int64_t rows = args->dim[0], ranks = parts ? args->dim[3] : 1;
    Launch run(args, why, name);
    with_logits<T>(at[0], c, [&](auto count) {
      run.blocks(dim3((unsigned)rows), threads_of(c, sizeof(T)),
                 loss_row<T, decltype(count)::VALUE>, (T *)at[0], targets, stats, row_loss, c, rows,
                 ranks, train, train ? args->attr[0] : 0, train ? kernel_slot(args, 0) : nullptr,
                 train ? kernel_slot(args, 1) : nullptr);
    });
    run.blocks(dim3(1), FLAT_THREADS, add_rows, row_loss, targets, loss, rows, args->accumulate);
    return run.status;
  });
}

CUDA_KERNEL(cross_entropy) {
  return cross_entropy(args, why, "cross_entropy", false, false);
}
CUDA_KERNEL(cross_entropy_train) {
  return cross_entropy(args, why, "cross_entropy_train", false, true);
}
CUDA_KERNEL(cross_entropy_parts) {
  return cross_entropy(args, why, "cross_entropy_parts", true, false);
}
CUDA_KERNEL(cross_entropy_parts_train) {
  return cross_entropy(args, why, "cross_entropy_parts_train", true, true);
}

template <class T, int V>
__global__ void __launch_bounds__(WIDE_THREADS)
    stats_row(const T *logits, const int32_t *targets, float *stats, Classes c) {
  int64_t row = blockIdx.x;
  RowSoftmax s = {0, 0, 0};
  if (targets[row] >= 0) s = local_softmax<V>(logits + row * c.held, c, targets[row]);
  if (threadIdx.x > 0) return;
  stats[row * 3] = s.highest;
  stats[row * 3 + 1] = s.sum;
  stats[row * 3 + 2] = s.aim;
}

CUDA_KERNEL(cross_entropy_stats) {
  return with_float(args->dtype[0], why, [=](auto number) {
    typedef decltype(number) T;
    Launch run(args, why, "cross_entropy_stats");
    const Classes c = classes_of(args, args->attr[0], args->attr[1], 0);
    with_logits<T>(args->operand[0], c, [&](auto count) {
      run.blocks(dim3((unsigned)args->dim[0]), threads_of(c, sizeof(T)),
                 stats_row<T, decltype(count)::VALUE>, (const T *)args->operand[0],
                 (const int32_t *)args->operand[1], (float *)args->operand[2], c);
    });
    return run.status;
  });
}

/* ---- squared error ---- */

/* Control slots, on the device; null where there is no padding. */
struct Padding {
  const int64_t *microbatch_samples, *padded_samples;
};

static __device__ int64_t counted_of(int64_t n, Padding padding) {
  if (padding.padded_samples == nullptr) return n;
  return mse_counted(n, padding.microbatch_samples, padding.padded_samples);
}

/* A block for each WORK_SUM_BLOCK elements. d_y: null where there is no backward pass. */
template <class T>
__global__ void square_errors(const T *y, const T *target, T *d_y, double *block_sums, int64_t n,
                              Padding padding, double unscaled, const double *loss_scale) {
  int64_t first = (int64_t)blockIdx.x * WORK_SUM_BLOCK, end = first + WORK_SUM_BLOCK;
  int64_t counted = counted_of(n, padding);
  const float scale = (float)slope_scale(unscaled, nullptr, loss_scale);
  double sum = 0;
  for (int64_t i = first + threadIdx.x; i < end && i < counted; i += blockDim.x) {
    float difference = to_float(y[i]) - to_float(target[i]);
    sum += (double)difference * (double)difference;
    if (d_y != nullptr) put(d_y + i, 2 * difference * scale);
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) block_sums[blockIdx.x] = sum;
}

__global__ void add_errors(const double *block_sums, double *loss, int64_t n, Padding padding,
                           bool accumulate) {
  int64_t counted = counted_of(n, padding);
  double sum = 0;
  for (int64_t i = threadIdx.x; i * WORK_SUM_BLOCK < n; i += blockDim.x)
    sum += block_sums[i];
  sum = block_sum(sum);
  if (threadIdx.x > 0) return;
  loss[0] = accumulate ? loss[0] + sum : sum;
  loss[1] = accumulate ? loss[1] + (double)counted : (double)counted;
}

static KernelStatus mse(const KernelArgs *args, const char **why, const char *name, bool train) {
  void *const *at = args->operand;
  int64_t n = args->dim[0], blocks = (n + WORK_SUM_BLOCK - 1) / WORK_SUM_BLOCK;
  Padding padding = {nullptr, nullptr};
  if (!train) padding = {(const int64_t *)args->control[0], (const int64_t *)args->control[1]};
  double *loss = (double *)at[2], *block_sums = (double *)at[train ? 4 : 3];
  return with_float(args->dtype[0], why, [=](auto number) {
    typedef decltype(number) T;
    Launch run(args, why, name);
    run.blocks(dim3((unsigned)blocks), ROW_THREADS, square_errors<T>, (const T *)at[0],
               (const T *)at[1], train ? (T *)at[3] : nullptr, block_sums, n, padding,
               train ? args->attr[0] : 0, train ? kernel_slot(args, 0) : nullptr);
    run.blocks(dim3(1), ROW_THREADS, add_errors, block_sums, loss, n, padding, args->accumulate);
    return run.status;
  });
}

CUDA_KERNEL(mse) {
  return mse(args, why, "mse", false);
}
CUDA_KERNEL(mse_train) {
  return mse(args, why, "mse_train", true);
}

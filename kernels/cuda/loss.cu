/* loss.cu -- cross-entropy, a block a row, the slopes over the logits; and squared error.
 *
 * A row is read from memory once and kept in shared memory while its highest logit, the sum and the
 * slopes are computed. Of a row that is larger than that the rest is read again, from the second
 * level of cache where it is still there. */
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

/* ---- a row and the block that has it ---- */

enum { WIDE_BYTES = 32 * 1024, PAIR_THREADS = 512, WIDE_THREADS = 1024, SHARED_BESIDE = 2048 };

/* Bytes of shared memory: of a multiprocessor, and the most that one block may have. */
struct SharedMemory {
  int64_t all, most;
};

static SharedMemory shared_memory() {
#ifdef __CUDACC__
  int device = 0, all = 0, most = 0;
  (void)cudaGetDevice(&device);
  (void)cudaDeviceGetAttribute(&all, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device);
  (void)cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  return SharedMemory{all, most};
#else
  /* longer rows are kept in part in shared memory */
  return SharedMemory{4 * SHARED_BESIDE, 3 * SHARED_BESIDE};
#endif
}

/* A block of `threads` works on a row and keeps its first logits in shared memory. A multiprocessor
 * has two rows at once where both fit: one row is read while the other one is computed. */
struct RowBlock {
  unsigned threads;
  int kept;
};

static RowBlock row_block(const Classes &c, int64_t logit_bytes) {
  const SharedMemory shared = shared_memory();
  const int64_t bytes = c.held * logit_bytes, room = shared.most - SHARED_BESIDE;
  const int64_t kept = bytes < room ? bytes : room / VECTOR_BYTES * VECTOR_BYTES;
  RowBlock block = {(unsigned)WIDE_THREADS, (int)(kept / logit_bytes)};
  if (2 * (bytes + SHARED_BESIDE) <= shared.all) block.threads = PAIR_THREADS;
  if (bytes < WIDE_BYTES) block.threads = FLAT_THREADS;
  return block;
}

/* e^x: of values of two bytes in one instruction, within 2^-21 or so. */
template <class T> static __device__ float exp_of(float x) {
#ifdef __CUDACC__
  if constexpr (sizeof(T) == 2) {
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(x) : "f"(x * 1.44269504088896340736f));
    return x;
  }
#endif
  return expf(x);
}

/* The logits of a row: those below `kept` also lie in shared memory once keep_row is done, where
 * each thread reads what it has put there itself. */
template <class T> struct Row {
  T *at, *copy;
  int held, real, kept;
};

/* A vector with -inf for padding. */
template <int V, class T> static __device__ void load_logits(const Row<T> &row, int k, float *to) {
  load_vector<V>(row.at + k, to);
  if (k + V <= row.real) return;
#pragma unroll
  for (int v = 0; v < V; v++)
    if (k + v >= row.real) to[v] = -INFINITY;
}

/* Calls `body` with the first class and the logits of each vector of the thread below `end`. */
template <int V, class T, class Body>
static __device__ void each_logits(const Row<T> &row, int end, Body body) {
  const int kept = row.kept < end ? row.kept : end, step = (int)blockDim.x * V;
  int k = (int)threadIdx.x * V;
  float logit[V];
  for (; k < kept; k += step) {
    load_vector<V>(row.copy + k, logit);
    body(k, logit);
  }
  for (; k < end; k += step) {
    load_logits<V>(row, k, logit);
    body(k, logit);
  }
}

enum { ROW_AT_ONCE = 4 }; /* loads of a thread that are under way */

/* Reads the row from memory, keeps what is to be kept, and returns the thread's highest logit. */
template <int V, class T> static __device__ float keep_row(const Row<T> &row) {
  const int step = (int)blockDim.x * V;
  float highest = -INFINITY;
  for (int first = (int)threadIdx.x * V; first < row.real; first += step * ROW_AT_ONCE) {
    float logit[ROW_AT_ONCE][V];
#pragma unroll
    for (int i = 0; i < ROW_AT_ONCE; i++)
      if (first + i * step < row.real) load_logits<V>(row, first + i * step, logit[i]);
#pragma unroll
    for (int i = 0; i < ROW_AT_ONCE; i++) {
      const int k = first + i * step;
      if (k >= row.real) break;
      if (k < row.kept) store_vector<V>(row.copy + k, logit[i]);
#pragma unroll
      for (int v = 0; v < V; v++)
        highest = fmaxf(highest, logit[i][v]);
    }
  }
  return highest;
}

/* sum of exp(logit - highest). aim: the target's logit, 0 if it is not held here; with smoothing e
 * (1 - e) of it and e of the mean over the classes. */
struct RowSoftmax {
  float highest, sum, aim;
};

/* By all threads of the block, which is the row's. */
template <int V, class T>
static __device__ RowSoftmax local_softmax(const Row<T> &row, const Classes &c, int32_t target) {
  RowSoftmax s = {block_max(keep_row<V>(row)), 0, 0};
  const float from = s.highest == -INFINITY ? 0 : s.highest; /* where all are, too */
  each_logits<V>(row, row.real, [&](int, const float *logit) {
#pragma unroll
    for (int v = 0; v < V; v++)
      s.sum += exp_of<T>(logit[v] - from);
  });
  s.sum = block_sum(s.sum);
  if (target >= c.first && target < c.first + c.real) s.aim = to_float(row.at[target - c.first]);
  if (c.smoothing > 0) {
    float sum = 0;
    for (int k = (int)threadIdx.x; k < row.real; k += (int)blockDim.x)
      sum += to_float(row.at[k]);
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

/* The slopes of a row over its logits: (exp(logit - lse) of_lse - share, and for the target less
 * `hot`) scale. */
struct Slopes {
  float lse, of_lse, share, hot, scale;
  int target; /* its index in the row; outside the row: another rank has it */
};

template <int V, class T> static __device__ void store_slopes(const Row<T> &row, const Slopes &s) {
  each_logits<V>(row, row.held, [&](int k, const float *logit) {
    float slope[V];
    const bool has_target = s.target >= k && s.target<k + V, has_padding = k + V> row.real;
#pragma unroll
    for (int v = 0; v < V; v++)
      slope[v] = (exp_of<T>(logit[v] - s.lse) * s.of_lse - s.share) * s.scale;
    if (has_target || has_padding)
#pragma unroll
      for (int v = 0; v < V; v++) {
        const float onehot = (k + v == s.target ? s.hot : 0) + s.share;
        slope[v] =
            k + v < row.real ? (exp_of<T>(logit[v] - s.lse) * s.of_lse - onehot) * s.scale : 0;
      }
    store_vector<V>(row.at + k, slope);
  });
}

template <int V, class T> static __device__ void clear_row(const Row<T> &row) {
  const float zero[V] = {};
  for (int k = (int)threadIdx.x * V; k < row.held; k += (int)blockDim.x * V)
    store_vector<V>(row.at + k, zero);
}

/* stats: null where logits hold all classes. kept: of RowBlock; 0 with stats, for the row is then
 * read once anyway. */
template <class T, int V>
__global__ void __launch_bounds__(WIDE_THREADS, 1)
    loss_row(T *logits, const int32_t *targets, const float *stats, double *row_loss, Classes c,
             int64_t rows, int64_t ranks, bool train, double scale_of_all,
             const double *counted_targets, const double *loss_scale, int kept) {
  SHARED_OF_LAUNCH(T, copy, kept);
  const int64_t number = blockIdx.x;
  const int32_t target = targets[number];
  const Row<T> row = {logits + number * c.held, copy, (int)c.held, (int)c.real, kept};
  if (target < 0) {
    if (threadIdx.x == 0) row_loss[number] = 0;
    if (train) clear_row<V>(row);
    return;
  }
  const RowSoftmax s = stats != nullptr ? gathered_softmax(stats, ranks, rows, number)
                                        : local_softmax<V>(row, c, target);
  __syncthreads(); /* everyone has the target's logit */
  const float log_sum = logf(s.sum), lse = s.highest + log_sum;
  if (threadIdx.x == 0)
    row_loss[number] =
        (double)(s.highest - s.aim) + (double)log_sum + (double)c.z * (double)lse * (double)lse;
  if (!train) return;
  const int64_t place = target - c.first;
  store_slopes<V>(row, Slopes{lse, 1 + 2 * c.z * lse, c.share, 1 - c.smoothing,
                              (float)slope_scale(scale_of_all, counted_targets, loss_scale),
                              place >= 0 && place < c.real ? (int)place : -1});
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
    const RowBlock block = row_block(c, sizeof(T));
    const int kept = parts ? 0 : block.kept;
    with_logits<T>(at[0], c, [&](auto count) {
      run.blocks_with(dim3((unsigned)rows), block.threads, (size_t)kept * sizeof(T),
                      loss_row<T, decltype(count)::VALUE>, (T *)at[0], targets, stats, row_loss, c,
                      rows, ranks, train, train ? args->attr[0] : 0,
                      train ? kernel_slot(args, 0) : nullptr,
                      train ? kernel_slot(args, 1) : nullptr, kept);
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
__global__ void __launch_bounds__(WIDE_THREADS, 1)
    stats_row(T *logits, const int32_t *targets, float *stats, Classes c, int kept) {
  SHARED_OF_LAUNCH(T, copy, kept);
  const int64_t number = blockIdx.x;
  const Row<T> row = {logits + number * c.held, copy, (int)c.held, (int)c.real, kept};
  RowSoftmax s = {0, 0, 0};
  if (targets[number] >= 0) s = local_softmax<V>(row, c, targets[number]);
  if (threadIdx.x > 0) return;
  stats[number * 3] = s.highest;
  stats[number * 3 + 1] = s.sum;
  stats[number * 3 + 2] = s.aim;
}

CUDA_KERNEL(cross_entropy_stats) {
  return with_float(args->dtype[0], why, [=](auto number) {
    typedef decltype(number) T;
    Launch run(args, why, "cross_entropy_stats");
    const Classes c = classes_of(args, args->attr[0], args->attr[1], 0);
    const RowBlock block = row_block(c, sizeof(T));
    with_logits<T>(args->operand[0], c, [&](auto count) {
      run.blocks_with(dim3((unsigned)args->dim[0]), block.threads, (size_t)block.kept * sizeof(T),
                      stats_row<T, decltype(count)::VALUE>, (T *)args->operand[0],
                      (const int32_t *)args->operand[1], (float *)args->operand[2], c, block.kept);
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

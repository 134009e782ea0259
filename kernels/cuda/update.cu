/* update.cu -- AdamW, SGD and Lion, and the gradient's norm. */
#include <type_traits>

#include "kernels/cuda/packs.h"
extern "C" {
#include "kernels/init.h"
#include "kernels/math/loss_scale.h"
#include "kernels/math/split.h"
#include "kernels/math/stochastic.h"
}

/* ---- many tensors in one launch ---- */

/* As many as fit into the 4 kB that every GPU takes as a kernel's arguments, and at most 64. */
template <class T> struct TensorsMost {
  static constexpr int FIT = (4096 - 192) / (int)(sizeof(T) + sizeof(int32_t));
  static constexpr int VALUE = FIT < 64 ? FIT : 64;
};

/* A part of one tensor, which a block works on at a time. */
struct Chunk {
  int32_t tensor;
  int64_t first, end; /* elements */
  int64_t number;     /* within the tensor */
};

template <class T> struct Tensors {
  typedef T Tensor;
  T of[TensorsMost<T>::VALUE];        /* each has its number of elements, `n` */
  int32_t end[TensorsMost<T>::VALUE]; /* chunks of this one and all before it */
  int32_t count;

  __device__ int64_t chunks() const { return end[count - 1]; }
  __device__ Chunk chunk(int64_t number) const {
    int32_t t = 0;
    while (number >= end[t])
      t++;
    if (t > 0) number -= end[t - 1];
    int64_t first = number * WORK_SUM_BLOCK, last = first + WORK_SUM_BLOCK;
    return {t, first, last < of[t].n ? last : of[t].n, number};
  }
};

/* Elements of the chunk, shared out over the threads of the block. */
#define EACH_OF_CHUNK(i, chunk)                                                                    \
  int64_t i = (chunk).first + threadIdx.x;                                                         \
  i < (chunk).end;                                                                                 \
  i += blockDim.x

/* The same in packs of V, then the rest one by one: calls `body` with the first and the Count. */
template <int V, class Body> static __device__ void each_pack_of(const Chunk &chunk, Body body) {
  const int64_t packed = chunk.end - (chunk.end - chunk.first) % V;
  for (int64_t i = chunk.first + (int64_t)threadIdx.x * V; i < packed; i += (int64_t)blockDim.x * V)
    body(i, Count<V>());
  for (int64_t i = packed + threadIdx.x; i < chunk.end; i += blockDim.x)
    body(i, Count<1>());
}

/* Calls `start` with tables of the tensors that `make` makes of the records. */
template <class T, class Make, class Start>
static KernelStatus with_tensors(const KernelArgs *args, int32_t count, Make make, Start start) {
  static_assert(sizeof(Tensors<T>) <= 4096 - 128, "a table fits beside the other arguments");
  KernelStatus status = KERNEL_DONE;
  for (int32_t first = 0; first < count && status == KERNEL_DONE; first += TensorsMost<T>::VALUE) {
    Tensors<T> all;
    int64_t chunks = 0;
    all.count = count - first < TensorsMost<T>::VALUE ? count - first : TensorsMost<T>::VALUE;
    for (int32_t i = 0; i < all.count; i++) {
      all.of[i] = make(&args[first + i]);
      chunks += (all.of[i].n + WORK_SUM_BLOCK - 1) / WORK_SUM_BLOCK;
      all.end[i] = (int32_t)chunks;
    }
    status = start(all, chunks);
  }
  return status;
}

/* ---- updates ---- */

/* True if all updates of a launch share the attrs of the first, except the last, the decay. */
static bool are_of_one_optimizer(const KernelArgs *args, int32_t count, int32_t attrs,
                                 const char **why) {
  for (int32_t i = 1; i < count; i++)
    for (int32_t k = 0; k < attrs; k++)
      if (args[i].attr[k] != args[0].attr[k]) {
        *why = "tensors of one launch are updated by the same numbers";
        return false;
      }
  return true;
}

/* How the truth of a parameter is kept: reference/update.h. */
enum Storage { STORED_PLAIN, STORED_MASTER, STORED_SPLIT, STORED_KAHAN, STORED_STOCHASTIC };

/* What draws of a tensor depend on; nothing where a storage draws none. */
template <bool DRAWS> struct DrawsOf {
  void take(const KernelArgs *, int32_t) {}
};
template <> struct DrawsOf<true> {
  InitPart part;
  const uint64_t *seed;
  const int64_t *updates;
  uint64_t record_key;

  /* `attr`: as in init_part_at. */
  void take(const KernelArgs *of, int32_t attr) {
    part = init_part_at(of, attr);
    seed = (const uint64_t *)of->control[0];
    updates = (const int64_t *)of->control[1];
    record_key = of->key;
  }
  __device__ uint32_t draw(int64_t i) const {
    const InitRun run = init_run(&part, i);
    uint32_t word[4];
    if (run.padding) return 0;
    philox4(stochastic_key(*seed, record_key), (uint64_t)*updates,
            (uint64_t)run.element / STOCHASTIC_ELEMENTS, word);
    return stochastic_draw(word, run.element);
  }
};

/* The decay of a step, as a share of the parameter that goes and as one that stays. */
struct Decay {
  float shrink, keep;
};

/* Operands: the gradient, the parameter, one moment or two, and the rest that the storage has:
 * master, low half or compensation. */
template <class G, class T, Storage S> struct UpdateTensor {
  const G *grad;
  T *param;
  float *m, *v;
  void *rest;
  int64_t n;
  double decay;
  DrawsOf<S == STORED_STOCHASTIC> draws;

  bool is_in_packs() const {
    return is_aligned(grad) && is_aligned(param) && is_aligned(m) && is_aligned(v) &&
           is_aligned(rest);
  }
  __device__ Decay decay_of(double lr) const {
    return {(float)(lr * decay), (float)(1 - lr * decay)};
  }
  /* W parameters from i on lose the decay and take the step. */
  template <int W> __device__ void move(int64_t i, Decay by, const float *step) const {
    if constexpr (S == STORED_SPLIT)
      move_split<W>(i, by, step);
    else if constexpr (S == STORED_KAHAN)
      move_kahan<W>(i, by, step);
    else if constexpr (S == STORED_STOCHASTIC)
      move_stochastic<W>(i, by, step);
    else
      move_whole<W>(i, by, step);
  }
  template <int W> __device__ void move_whole(int64_t i, Decay by, const float *step) const {
    float p[W];
    if constexpr (S == STORED_MASTER)
      load_pack<W>((float *)rest + i, p);
    else
      load_pack<W>(param + i, p);
#pragma unroll
    for (int k = 0; k < W; k++)
      p[k] = p[k] * by.keep - step[k];
    if constexpr (S == STORED_MASTER) store_pack<W>((float *)rest + i, p);
    store_pack<W>(param + i, p);
  }
  template <int W> __device__ void move_split(int64_t i, Decay by, const float *step) const {
    Pack<uint16_t, W> *high = (Pack<uint16_t, W> *)((uint16_t *)param + i);
    Pack<int16_t, W> *low = (Pack<int16_t, W> *)((int16_t *)rest + i);
    Pack<uint16_t, W> upper = *high;
    Pack<int16_t, W> lower = *low;
#pragma unroll
    for (int k = 0; k < W; k++) {
      float p = split_join(upper.at[k], lower.at[k]) * by.keep - step[k];
      upper.at[k] = split_high(p);
      lower.at[k] = split_low(p);
    }
    *high = upper;
    *low = lower;
  }
  template <int W> __device__ void move_stochastic(int64_t i, Decay by, const float *step) const {
    float p[W];
    Pack<uint16_t, W> to;
    load_pack<W>(param + i, p);
#pragma unroll
    for (int k = 0; k < W; k++)
      to.at[k] = bf16_stochastic(p[k] * by.keep - step[k], draws.draw(i + k));
    *(Pack<uint16_t, W> *)((uint16_t *)param + i) = to;
  }
  template <int W> __device__ void move_kahan(int64_t i, Decay by, const float *step) const {
    float p[W], compensation[W];
    load_pack<W>(param + i, p);
    load_pack<W>((Bf16 *)rest + i, compensation);
#pragma unroll
    for (int k = 0; k < W; k++) {
      float y = -(by.shrink * p[k] + step[k]) - compensation[k], after = rounded<Bf16>(p[k] + y);
      compensation[k] = (after - p[k]) - y;
      p[k] = after;
    }
    store_pack<W>(param + i, p);
    store_pack<W>((Bf16 *)rest + i, compensation);
  }
};

/* How many elements of an update are moved at once. */
enum { UPDATE_PACK = 4 };

/* Calls `run` with the Count of elements that are moved at once. */
template <class One, class Run> static void with_update_packs(const Tensors<One> &all, Run run) {
  bool in_packs = true;
  for (int32_t i = 0; i < all.count; i++)
    in_packs = in_packs && all.of[i].is_in_packs();
  if (in_packs)
    run(Count<UPDATE_PACK>());
  else
    run(Count<1>());
}

/* The shape of an optimizer's records: `attrs` numbers before the decay. */
struct UpdateKind {
  int32_t attrs, moments;
};

/* Calls `run` with a value of the gradient's type and one of the parameter's: bf16 where a storage
 * asks for it. */
template <Storage S, class Run>
static KernelStatus with_update_types(const KernelArgs *args, const char **why, Run run) {
  if constexpr (S == STORED_SPLIT || S == STORED_KAHAN || S == STORED_STOCHASTIC)
    return with_float(args->dtype[0], why, [=](auto gradient) { return run(gradient, Bf16()); });
  else
    return with_floats(args->dtype[0], args->dtype[1], why, run);
}

/* Calls `start` with tables of the tensors that the records update. */
template <Storage S, class Start>
static KernelStatus with_updates(const KernelArgs *args, int32_t count, const char **why,
                                 UpdateKind kind, Start start) {
  if (!are_of_one_optimizer(args, count, kind.attrs, why)) return KERNEL_REFUSED;
  return with_update_types<S>(args, why, [=](auto gradient, auto value) {
    typedef decltype(gradient) G;
    typedef decltype(value) T;
    typedef UpdateTensor<G, T, S> One;
    auto make = [=](const KernelArgs *of) {
      void *const *at = of->operand;
      One one = {};
      one.grad = (const G *)at[0], one.param = (T *)at[1], one.m = (float *)at[2];
      if (kind.moments > 1) one.v = (float *)at[3];
      if (S != STORED_PLAIN && S != STORED_STOCHASTIC) one.rest = at[2 + kind.moments];
      one.n = of->dim[0], one.decay = of->attr[kind.attrs];
      one.draws.take(of, kind.attrs + 1);
      return one;
    };
    return with_tensors<One>(args, count, make, start);
  });
}

/* Control slots, on the device. */
struct AdamWControl {
  const double *lr;
  const int64_t *updates;
  const double *clip_scale;
  const int64_t *step_counts;
};

/* Rows that draw begin with the seed and the update's number. */
static AdamWControl adamw_control(const KernelArgs *args, bool draws) {
  void *const *at = args->control;
  if (draws)
    return {(const double *)at[2], (const int64_t *)at[1], (const double *)at[3],
            (const int64_t *)at[4]};
  return {(const double *)at[0], (const int64_t *)at[1], (const double *)at[2],
          (const int64_t *)at[3]};
}

/* The numbers of one step, the same for every element. */
struct AdamWStep {
  float beta1, beta2, eps, step_size, root_correction, clip_scale;
};

static __device__ AdamWStep adamw_step(AdamWControl control, double beta1, double beta2,
                                       double eps) {
  double updates = (double)*control.updates;
  AdamWStep step;
  step.beta1 = (float)beta1;
  step.beta2 = (float)beta2;
  step.eps = (float)eps;
  step.step_size = (float)(*control.lr / (1 - pow(beta1, updates)));
  step.root_correction = (float)sqrt(1 - pow(beta2, updates));
  step.clip_scale = (float)*control.clip_scale;
  return step;
}

template <class One, int V>
__global__ void adamw(Tensors<One> all, AdamWControl control, double beta1, double beta2,
                      double eps) {
  if (*control.step_counts == 0) return;
  AdamWStep step = adamw_step(control, beta1, beta2, eps);
  float beta1_rest = (float)(1 - beta1), beta2_rest = (float)(1 - beta2);
  for (int64_t number = blockIdx.x; number < all.chunks(); number += gridDim.x) {
    const Chunk chunk = all.chunk(number);
    const One at = all.of[chunk.tensor];
    const Decay decay = at.decay_of(*control.lr);
    each_pack_of<V>(chunk, [=](int64_t i, auto count) {
      constexpr int W = decltype(count)::VALUE;
      float grad[W], m[W], v[W], moves[W];
      load_pack<W>(at.grad + i, grad);
      load_pack<W>(at.m + i, m);
      load_pack<W>(at.v + i, v);
#pragma unroll
      for (int k = 0; k < W; k++) {
        float g = grad[k] * step.clip_scale;
        m[k] = step.beta1 * m[k] + beta1_rest * g;
        v[k] = step.beta2 * v[k] + beta2_rest * g * g;
        moves[k] = step.step_size * m[k] / (sqrtf(v[k]) / step.root_correction + step.eps);
      }
      store_pack<W>(at.m + i, m);
      store_pack<W>(at.v + i, v);
      at.template move<W>(i, decay, moves);
    });
  }
}

template <Storage S>
static KernelStatus run_adamw(const KernelArgs *args, int32_t count, const char **why,
                              const char *name) {
  const double *attr = args->attr;
  return with_updates<S>(args, count, why, {3, 2}, [=](const auto &all, int64_t chunks) {
    typedef typename std::decay<decltype(all)>::type::Tensor One;
    Launch run(args, why, name);
    with_update_packs(all, [&](auto packed) {
      run.flat(chunks * FLAT_THREADS, adamw<One, decltype(packed)::VALUE>, all,
               adamw_control(args, S == STORED_STOCHASTIC), attr[0], attr[1], attr[2]);
    });
    return run.status;
  });
}

CUDA_KERNEL_TOGETHER(adamw) {
  return run_adamw<STORED_PLAIN>(args, count, why, "adamw");
}
CUDA_KERNEL_TOGETHER(adamw_master) {
  return run_adamw<STORED_MASTER>(args, count, why, "adamw_master");
}
CUDA_KERNEL_TOGETHER(adamw_split) {
  return run_adamw<STORED_SPLIT>(args, count, why, "adamw_split");
}
CUDA_KERNEL_TOGETHER(adamw_kahan) {
  return run_adamw<STORED_KAHAN>(args, count, why, "adamw_kahan");
}
CUDA_KERNEL_TOGETHER(adamw_stochastic) {
  return run_adamw<STORED_STOCHASTIC>(args, count, why, "adamw_stochastic");
}

/* The numbers of one step of SGD or Lion. */
struct MomentStep {
  float lr, clip_scale;
};

/* The part that both optimizers share: one moment, and these control slots. */
struct MomentControl {
  const double *lr, *clip_scale;
  const int64_t *step_counts;
};

template <class One, int V>
__global__ void sgd(Tensors<One> all, MomentControl control, float kept, float unused) {
  (void)unused;
  if (*control.step_counts == 0) return;
  MomentStep step = {(float)*control.lr, (float)*control.clip_scale};
  for (int64_t number = blockIdx.x; number < all.chunks(); number += gridDim.x) {
    const Chunk chunk = all.chunk(number);
    const One at = all.of[chunk.tensor];
    const Decay decay = at.decay_of(*control.lr);
    each_pack_of<V>(chunk, [=](int64_t i, auto count) {
      constexpr int W = decltype(count)::VALUE;
      float grad[W], m[W], moves[W];
      load_pack<W>(at.grad + i, grad);
      load_pack<W>(at.m + i, m);
#pragma unroll
      for (int k = 0; k < W; k++) {
        m[k] = kept * m[k] + grad[k] * step.clip_scale;
        moves[k] = step.lr * m[k];
      }
      store_pack<W>(at.m + i, m);
      at.template move<W>(i, decay, moves);
    });
  }
}

template <class One, int V>
__global__ void lion(Tensors<One> all, MomentControl control, float beta1, float beta2) {
  if (*control.step_counts == 0) return;
  MomentStep step = {(float)*control.lr, (float)*control.clip_scale};
  for (int64_t number = blockIdx.x; number < all.chunks(); number += gridDim.x) {
    const Chunk chunk = all.chunk(number);
    const One at = all.of[chunk.tensor];
    const Decay decay = at.decay_of(*control.lr);
    each_pack_of<V>(chunk, [=](int64_t i, auto count) {
      constexpr int W = decltype(count)::VALUE;
      float grad[W], m[W], moves[W];
      load_pack<W>(at.grad + i, grad);
      load_pack<W>(at.m + i, m);
#pragma unroll
      for (int k = 0; k < W; k++) {
        float g = grad[k] * step.clip_scale, mixed = beta1 * m[k] + (1 - beta1) * g;
        float sign = mixed > 0 ? 1.0f : mixed < 0 ? -1.0f : mixed; /* a NaN stays one */
        moves[k] = step.lr * sign;
        m[k] = beta2 * m[k] + (1 - beta2) * g;
      }
      store_pack<W>(at.m + i, m);
      at.template move<W>(i, decay, moves);
    });
  }
}

enum Moment { MOMENT_SGD, MOMENT_LION };

template <Storage S>
static KernelStatus run_moment(const KernelArgs *args, int32_t count, const char **why,
                               const char *name, Moment kind) {
  const bool is_sgd = kind == MOMENT_SGD;
  const double *attr = args->attr;
  const float second = is_sgd ? 0 : (float)attr[1];
  void *const *slots = args->control + (S == STORED_STOCHASTIC ? 2 : 0);
  MomentControl control = {(const double *)slots[0], (const double *)slots[1],
                           (const int64_t *)slots[2]};
  UpdateKind what = {is_sgd ? 1 : 2, 1};
  return with_updates<S>(args, count, why, what, [=](const auto &all, int64_t chunks) {
    typedef typename std::decay<decltype(all)>::type::Tensor One;
    Launch run(args, why, name);
    with_update_packs(all, [&](auto packed) {
      constexpr int V = decltype(packed)::VALUE;
      run.flat(chunks * FLAT_THREADS, is_sgd ? sgd<One, V> : lion<One, V>, all, control, attr[0],
               second);
    });
    return run.status;
  });
}

CUDA_KERNEL_TOGETHER(sgd) {
  return run_moment<STORED_PLAIN>(args, count, why, "sgd", MOMENT_SGD);
}
CUDA_KERNEL_TOGETHER(sgd_master) {
  return run_moment<STORED_MASTER>(args, count, why, "sgd_master", MOMENT_SGD);
}
CUDA_KERNEL_TOGETHER(sgd_split) {
  return run_moment<STORED_SPLIT>(args, count, why, "sgd_split", MOMENT_SGD);
}
CUDA_KERNEL_TOGETHER(sgd_kahan) {
  return run_moment<STORED_KAHAN>(args, count, why, "sgd_kahan", MOMENT_SGD);
}
CUDA_KERNEL_TOGETHER(sgd_stochastic) {
  return run_moment<STORED_STOCHASTIC>(args, count, why, "sgd_stochastic", MOMENT_SGD);
}
CUDA_KERNEL_TOGETHER(lion) {
  return run_moment<STORED_PLAIN>(args, count, why, "lion", MOMENT_LION);
}
CUDA_KERNEL_TOGETHER(lion_master) {
  return run_moment<STORED_MASTER>(args, count, why, "lion_master", MOMENT_LION);
}
CUDA_KERNEL_TOGETHER(lion_split) {
  return run_moment<STORED_SPLIT>(args, count, why, "lion_split", MOMENT_LION);
}
CUDA_KERNEL_TOGETHER(lion_kahan) {
  return run_moment<STORED_KAHAN>(args, count, why, "lion_kahan", MOMENT_LION);
}
CUDA_KERNEL_TOGETHER(lion_stochastic) {
  return run_moment<STORED_STOCHASTIC>(args, count, why, "lion_stochastic", MOMENT_LION);
}

/* ---- the norm ---- */

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

/* update.cu -- AdamW, SGD and Lion.
 *
 * An optimizer is a rule for the step of one element in fp32; how the states are stored is written
 * once for all of them (reference/update.h). Moments in codes need the maximum of their block, so
 * there a warp has a block at a time; else a thread moves vectors. */
#include "kernels/cuda/tensors.h"
extern "C" {
#include "kernels/init.h"
#include "kernels/math/codes.h"
#include "kernels/math/split.h"
#include "kernels/math/stochastic.h"
}

/* The storage of a parameter's exact value. */
enum Storage { STORED_PLAIN, STORED_MASTER, STORED_SPLIT, STORED_KAHAN, STORED_STOCHASTIC };

/* ---- elements of a state ---- */

/* W neighbours in f32 are moved in vectors of at most 16 bytes, because W may be the number of
 * elements of two bytes that fill such a vector. */
template <int W> static __device__ void load_floats(const float *from, float *to) {
  constexpr int EACH = W < 4 ? W : 4;
#pragma unroll
  for (int k = 0; k < W; k += EACH)
    load_vector<EACH>(from + k, to + k);
}

template <int W> static __device__ void store_floats(float *to, const float *from) {
  constexpr int EACH = W < 4 ? W : 4;
#pragma unroll
  for (int k = 0; k < W; k += EACH)
    store_vector<EACH>(to + k, from + k);
}

/* A state of f32, bf16 or fp16. */
struct Floats {
  void *at;
  uint32_t dtype;

  template <int W> __device__ void load(int64_t i, float *to) const {
    if (dtype == DTYPE_BF16)
      load_vector<W>((const Bf16 *)at + i, to);
    else if (dtype == DTYPE_F16)
      load_vector<W>((const F16 *)at + i, to);
    else
      load_floats<W>((const float *)at + i, to);
  }
  template <int W> __device__ void store(int64_t i, const float *from) const {
    if (dtype == DTYPE_BF16)
      store_vector<W>((Bf16 *)at + i, from);
    else if (dtype == DTYPE_F16)
      store_vector<W>((F16 *)at + i, from);
    else
      store_floats<W>((float *)at + i, from);
  }
};

static Floats floats_at(const KernelArgs *args, int32_t operand) {
  return {args->operand[operand], args->dtype[operand]};
}

/* stochastic_draw of the n-th element of a block. */
static __device__ uint32_t draw_of(const uint32_t *word, int n) {
  uint32_t two = word[0];
#pragma unroll
  for (int j = 1; j < STOCHASTIC_ELEMENTS / 2; j++)
    two = n / 2 == j ? word[j] : two;
  return two >> 16 * (n % 2) & 0xffffu;
}

/* The numbers that draws of a tensor depend on; nothing where it draws none. */
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
  __device__ void block(StochasticStream stream, int64_t element, uint32_t word[4]) const {
    philox4(stochastic_key(*seed, record_key, stream), (uint64_t)*updates,
            (uint64_t)element / STOCHASTIC_ELEMENTS, word);
  }
  /* Draws for W neighbours, most of which share a block of Philox. No index of an array is unknown
   * at compile time, because such an array would be in local memory. */
  template <int W>
  __device__ void take_all(StochasticStream stream, int64_t i, uint32_t *draw) const {
    uint32_t word[4];
    const InitRun all = init_run(&part, i);
    const int first = (int)(all.element % STOCHASTIC_ELEMENTS);
    if (!all.padding && all.length >= W && first + W <= STOCHASTIC_ELEMENTS) {
      block(stream, all.element, word);
#pragma unroll
      for (int k = 0; k < W; k++)
        draw[k] = draw_of(word, W == STOCHASTIC_ELEMENTS ? k : first + k);
      return;
    }
#pragma unroll 1
    for (int k = 0; k < W; k++) {
      const InitRun run = init_run(&part, i + k);
      if (!run.padding) block(stream, run.element, word);
      const int n = (int)(run.element % STOCHASTIC_ELEMENTS);
      const uint32_t one = run.padding ? 0 : draw_of(word, n);
#pragma unroll
      for (int j = 0; j < W; j++)
        draw[j] = j == k || k == 0 ? one : draw[j];
    }
  }
  template <int W>
  __device__ void store(StochasticStream stream, void *at, int64_t i, const float *from) const {
    uint32_t draw[W];
    Vector<uint16_t, W> to;
    take_all<W>(stream, i, draw);
#pragma unroll
    for (int k = 0; k < W; k++)
      to.at[k] = bf16_stochastic(from[k], draw[k]);
    *(Vector<uint16_t, W> *)((uint16_t *)at + i) = to;
  }
};

/* ---- the parameter ---- */

/* The decay of a step: the share of the parameter that goes and the share that stays. */
struct Decay {
  float shrink, keep;
};

/* Operands: the gradient, the parameter, one moment or two, the rest that the storage has (master,
 * low half or compensation), the maxima of codes. */
template <Storage STORAGE, bool DRAWS> struct UpdateTensor {
  static constexpr Storage S = STORAGE;
  static constexpr bool DRAWN = DRAWS;
  Floats grad, param;
  void *moment[2], *rest;
  float *most[2];
  int64_t n;
  double decay;
  bool moments_bf16;
  DrawsOf<DRAWS> draws;

  bool is_in_vectors() const {
    return is_aligned(grad.at) && is_aligned(param.at) && is_aligned(moment[0]) &&
           is_aligned(moment[1]) && is_aligned(rest);
  }
  __device__ Decay decay_of(double lr) const {
    return {(float)(lr * decay), (float)(1 - lr * decay)};
  }
  template <int W> __device__ void load_moment(int k, int64_t i, float *to) const {
    const Floats kept = {moment[k], (uint32_t)(moments_bf16 ? DTYPE_BF16 : DTYPE_F32)};
    kept.load<W>(i, to);
  }
  template <int W> __device__ void store_moment(int k, int64_t i, const float *from) const {
    if constexpr (DRAWS)
      if (moments_bf16) {
        draws.template store<W>((StochasticStream)(STREAM_M + k), moment[k], i, from);
        return;
      }
    store_floats<W>((float *)moment[k] + i, from);
  }
  /* W parameters from i on lose the decay and take the step. */
  template <int W> __device__ void move(int64_t i, Decay by, const float *step) const {
    if constexpr (S == STORED_SPLIT)
      move_split<W>(i, by, step);
    else if constexpr (S == STORED_KAHAN)
      move_kahan<W>(i, by, step);
    else
      move_whole<W>(i, by, step);
  }
  template <int W> __device__ void move_whole(int64_t i, Decay by, const float *step) const {
    float p[W];
    if constexpr (S == STORED_MASTER)
      load_floats<W>((float *)rest + i, p);
    else
      param.load<W>(i, p);
#pragma unroll
    for (int k = 0; k < W; k++)
      p[k] = p[k] * by.keep - step[k];
    if constexpr (S == STORED_MASTER) store_floats<W>((float *)rest + i, p);
    if constexpr (S == STORED_STOCHASTIC)
      draws.template store<W>(STREAM_PARAM, param.at, i, p);
    else
      param.store<W>(i, p);
  }
  template <int W> __device__ void move_split(int64_t i, Decay by, const float *step) const {
    Vector<uint16_t, W> *high = (Vector<uint16_t, W> *)((uint16_t *)param.at + i);
    Vector<int16_t, W> *low = (Vector<int16_t, W> *)((int16_t *)rest + i);
    Vector<uint16_t, W> upper = *high;
    Vector<int16_t, W> lower = *low;
#pragma unroll
    for (int k = 0; k < W; k++) {
      float p = split_join(upper.at[k], lower.at[k]) * by.keep - step[k];
      upper.at[k] = split_high(p);
      lower.at[k] = split_low(p);
    }
    *high = upper;
    *low = lower;
  }
  template <int W> __device__ void move_kahan(int64_t i, Decay by, const float *step) const {
    float p[W], compensation[W];
    load_vector<W>((Bf16 *)param.at + i, p);
    load_vector<W>((Bf16 *)rest + i, compensation);
#pragma unroll
    for (int k = 0; k < W; k++) {
      float y = -(by.shrink * p[k] + step[k]) - compensation[k], after = rounded<Bf16>(p[k] + y);
      compensation[k] = (after - p[k]) - y;
      p[k] = after;
    }
    store_vector<W>((Bf16 *)param.at + i, p);
    store_vector<W>((Bf16 *)rest + i, compensation);
  }
};

/* ---- the optimizers ---- */

/* Control slots, on the device. */
struct UpdateControl {
  const int64_t *updates;
  const double *lr, *clip_scale;
  const int64_t *step_counts;
};

/* The numbers of one step, the same for every element; `attr`: those of the optimizer's row. */
struct AdamW {
  static constexpr int MOMENTS = 2, NUMBERS = 4;
  float beta1, beta2, beta1_rest, beta2_rest, eps, step_size, root_correction;

  __device__ AdamW(const UpdateControl &control, const double *attr) {
    const double updates = (double)*control.updates;
    beta1 = (float)attr[0], beta1_rest = (float)(1 - attr[0]);
    beta2 = (float)attr[1], beta2_rest = (float)(1 - attr[1]);
    eps = (float)attr[2];
    step_size = (float)(*control.lr / (1 - pow(attr[0], updates)));
    root_correction = (float)sqrt(1 - pow(attr[1], updates));
  }
  __device__ float step(float g, float *m, float *v) const {
    *m = beta1 * *m + beta1_rest * g;
    *v = beta2 * *v + beta2_rest * g * g;
    return step_size * *m / (sqrtf(*v) / root_correction + eps);
  }
};

struct Sgd {
  static constexpr int MOMENTS = 1, NUMBERS = 2;
  float kept, lr;

  __device__ Sgd(const UpdateControl &control, const double *attr)
      : kept((float)attr[0]), lr((float)*control.lr) {}
  __device__ float step(float g, float *m, float *) const {
    *m = kept * *m + g;
    return lr * *m;
  }
};

struct Lion {
  static constexpr int MOMENTS = 1, NUMBERS = 3;
  float beta1, beta2, lr;

  __device__ Lion(const UpdateControl &control, const double *attr)
      : beta1((float)attr[0]), beta2((float)attr[1]), lr((float)*control.lr) {}
  __device__ float step(float g, float *m, float *) const {
    const float mixed = beta1 * *m + (1 - beta1) * g;
    const float sign = mixed > 0 ? 1.0f : mixed < 0 ? -1.0f : mixed; /* a NaN stays one */
    *m = beta2 * *m + (1 - beta2) * g;
    return lr * sign;
  }
};

/* The numbers of a row: at most four before those of draws. */
struct Numbers {
  double at[4];
};

/* ---- moments of f32 and bf16 ---- */

template <class Rule, class One, int V>
__global__ void update(Tensors<One> all, UpdateControl control, Numbers numbers) {
  if (*control.step_counts == 0) return;
  const Rule rule(control, numbers.at);
  const float clip_scale = (float)*control.clip_scale;
  for (int64_t number = blockIdx.x; number < all.chunks(); number += gridDim.x) {
    const Chunk chunk = all.chunk(number);
    const One at = all.of[chunk.tensor];
    const Decay decay = at.decay_of(*control.lr);
    each_vector_of<V>(chunk, [=](int64_t i, auto count) {
      constexpr int W = decltype(count)::VALUE;
      float grad[W], m[W], v[W], moves[W];
      at.grad.template load<W>(i, grad);
      at.template load_moment<W>(0, i, m);
      if constexpr (Rule::MOMENTS > 1) at.template load_moment<W>(1, i, v);
#pragma unroll
      for (int k = 0; k < W; k++)
        moves[k] = rule.step(grad[k] * clip_scale, &m[k], &v[k]);
      at.template store_moment<W>(0, i, m);
      if constexpr (Rule::MOMENTS > 1) at.template store_moment<W>(1, i, v);
      at.template move<W>(i, decay, moves);
    });
  }
}

/* ---- moments in codes ---- */

/* The maps of both moments and the values of their codes, in shared memory. */
struct CodesMaps {
  CodesMap map[2];
};
struct CodesTables {
  CodesMap map[2];
  float value[2][CODES_BLOCK];
};

enum { CODES_VECTOR = CODES_BLOCK / WARP_LANES };

/* A lane's elements, the first at `i`, in a block of codes: `left` of them come before the tensor's
 * end, and the rest are 0. Loops are unrolled, so that arrays of a lane are in registers. V > 1:
 * a lane that has all of its elements moves them at once. */
template <class One, int V> struct CodesLane {
  const One &at;
  const CodesTables *tables;
  int64_t i;
  int left;

  __device__ CodesLane(const One &one, const CodesTables *of, int64_t first)
      : at(one), tables(of), i(first + (int64_t)(threadIdx.x % WARP_LANES) * CODES_VECTOR) {
    left = at.n <= i ? 0 : at.n - i < CODES_VECTOR ? (int)(at.n - i) : CODES_VECTOR;
  }
  __device__ bool is_at_once() const { return V > 1 && left == CODES_VECTOR; }

  __device__ void load(int k, float *to) const {
    const uint8_t *code = (const uint8_t *)at.moment[k] + i;
    const float most = left > 0 ? at.most[k][i / CODES_BLOCK] : 0;
    Vector<uint8_t, CODES_VECTOR> codes = {};
    if (is_at_once()) {
      codes = *(const Vector<uint8_t, CODES_VECTOR> *)code;
    } else {
#pragma unroll
      for (int j = 0; j < CODES_VECTOR; j++)
        if (j < left) codes.at[j] = code[j];
    }
#pragma unroll
    for (int j = 0; j < CODES_VECTOR; j++)
      to[j] = j < left ? tables->value[k][codes.at[j]] * most : 0;
  }
  __device__ void load_grad(float *to) const {
    if (is_at_once()) {
#pragma unroll
      for (int j = 0; j < CODES_VECTOR; j += V)
        at.grad.template load<V>(i + j, to + j);
      return;
    }
#pragma unroll
    for (int j = 0; j < CODES_VECTOR; j++) {
      to[j] = 0;
      if (j < left) at.grad.template load<1>(i + j, to + j);
    }
  }
  /* All lanes of the warp. */
  __device__ void store(int k, const float *from) const {
    uint8_t *code = (uint8_t *)at.moment[k] + i;
    Vector<uint8_t, CODES_VECTOR> codes;
    float most = 0;
#pragma unroll
    for (int j = 0; j < CODES_VECTOR; j++)
      most = fabsf(from[j]) > most ? fabsf(from[j]) : most;
    most = warp_max(most);
    const float inverse = codes_inverse(most);
#pragma unroll
    for (int j = 0; j < CODES_VECTOR; j++)
      codes.at[j] = most == 0 ? 0
                    : k == 0  ? codes_signed(&tables->map[0], from[j], inverse)
                              : codes_positive(&tables->map[1], from[j], inverse);
    if (is_at_once()) {
      *(Vector<uint8_t, CODES_VECTOR> *)code = codes;
    } else {
#pragma unroll
      for (int j = 0; j < CODES_VECTOR; j++)
        if (j < left) code[j] = codes.at[j];
    }
    if (i % CODES_BLOCK == 0 && left > 0) at.most[k][i / CODES_BLOCK] = most;
  }
  __device__ void move(Decay decay, const float *moves) const {
    /* Elements of two bytes fill a vector. */
    constexpr int WIDE = One::S == STORED_PLAIN || One::S == STORED_MASTER ? V : CODES_VECTOR;
    if (is_at_once()) {
#pragma unroll
      for (int j = 0; j < CODES_VECTOR; j += WIDE)
        at.template move<WIDE>(i + j, decay, moves + j);
      return;
    }
#pragma unroll 1
    for (int k = 0; k < left; k++) { /* an index that is unknown would need local memory */
      float one = moves[0];
#pragma unroll
      for (int j = 1; j < CODES_VECTOR; j++)
        one = j == k ? moves[j] : one;
      at.template move<1>(i + k, decay, &one);
    }
  }
};

/* A warp for each block of codes of a chunk; a lane has neighbours. */
template <class Rule, class One, int V>
__global__ void update_codes(Tensors<One> all, UpdateControl control, Numbers numbers,
                             CodesMaps maps) {
  SHARED(CodesTables, tables, 1);
  if (*control.step_counts == 0) return;
  const Rule rule(control, numbers.at);
  const float clip_scale = (float)*control.clip_scale;
  const int warp = threadIdx.x / WARP_LANES, warps = blockDim.x / WARP_LANES;
  for (unsigned k = threadIdx.x; k < CODES_BLOCK; k += blockDim.x) {
    tables->value[0][k] = codes_signed_value((uint8_t)k);
    tables->value[1][k] = codes_positive_value((uint8_t)k);
    if (k < 2) tables->map[k] = maps.map[k];
  }
  __syncthreads();
  for (int64_t number = blockIdx.x; number < all.chunks(); number += gridDim.x) {
    const Chunk chunk = all.chunk(number);
    const One at = all.of[chunk.tensor];
    const Decay decay = at.decay_of(*control.lr);
    for (int64_t first = chunk.first + (int64_t)warp * CODES_BLOCK; first < chunk.end;
         first += (int64_t)warps * CODES_BLOCK) {
      const CodesLane<One, V> lane(at, tables, first);
      float grad[CODES_VECTOR], m[CODES_VECTOR], v[CODES_VECTOR] = {}, moves[CODES_VECTOR];
      lane.load_grad(grad);
      lane.load(0, m);
      if constexpr (Rule::MOMENTS > 1) lane.load(1, v);
#pragma unroll
      for (int k = 0; k < CODES_VECTOR; k++)
        moves[k] = rule.step(grad[k] * clip_scale, &m[k], &v[k]);
      lane.store(0, m);
      if constexpr (Rule::MOMENTS > 1) lane.store(1, v);
      lane.move(decay, moves);
    }
  }
}

/* ---- on the host ---- */

static const CodesMaps codes_maps = {{CODES_SIGNED, CODES_POSITIVE}};

/* The number of elements of an update that are moved at once: where some are drawn, as many as one
 * block of Philox has draws for. */
template <class One> constexpr int update_vector = One::DRAWN ? STOCHASTIC_ELEMENTS : 4;

/* True if all updates of a launch share the numbers of the first, except the last, the decay, and
 * the storage of moments. */
static bool are_of_one_optimizer(const KernelArgs *args, int32_t count, int32_t numbers,
                                 const char **why) {
  for (int32_t i = 1; i < count; i++) {
    bool alike = args[i].dtype[2] == args[0].dtype[2];
    for (int32_t k = 0; k < numbers - 1; k++)
      alike = alike && args[i].attr[k] == args[0].attr[k];
    if (!alike) {
      *why = "tensors of one launch are updated by the same numbers";
      return false;
    }
  }
  return true;
}

static bool is_value(uint32_t dtype) {
  return dtype == DTYPE_F32 || dtype == DTYPE_BF16 || dtype == DTYPE_F16;
}

static bool are_floats(const KernelArgs *args) {
  return is_value(args->dtype[0]) && is_value(args->dtype[1]);
}

template <class Rule, class One> static One tensor_of(const KernelArgs *of) {
  One one = {};
  int32_t next = 2 + Rule::MOMENTS;
  one.grad = floats_at(of, 0), one.param = floats_at(of, 1);
  for (int32_t k = 0; k < Rule::MOMENTS; k++)
    one.moment[k] = of->operand[2 + k];
  if (One::S != STORED_PLAIN && One::S != STORED_STOCHASTIC) one.rest = of->operand[next++];
  for (int32_t k = 0; k < Rule::MOMENTS && next < of->operand_count; k++)
    one.most[k] = (float *)of->operand[next++];
  one.moments_bf16 = of->dtype[2] == DTYPE_BF16;
  one.n = of->dim[0], one.decay = of->attr[Rule::NUMBERS - 1];
  one.draws.take(of, Rule::NUMBERS);
  return one;
}

/* Calls `run` with the Count of elements that are moved at once. */
template <class One, class Run> static void with_update_vectors(const Tensors<One> &all, Run run) {
  bool in_vectors = true;
  for (int32_t i = 0; i < all.count; i++)
    in_vectors = in_vectors && all.of[i].is_in_vectors();
  if (in_vectors)
    run(Count<update_vector<One>>());
  else
    run(Count<1>());
}

template <class Rule, class One>
static KernelStatus run_tensors(const KernelArgs *args, int32_t count, const char **why,
                                const char *name) {
  void *const *at = args->control;
  const UpdateControl control = {(const int64_t *)at[1], (const double *)at[2],
                                 (const double *)at[3], (const int64_t *)at[4]};
  const bool has_codes = args->dtype[2] == DTYPE_U8;
  Numbers numbers = {};
  for (int32_t k = 0; k < Rule::NUMBERS; k++)
    numbers.at[k] = args->attr[k];
  auto start = [=](const Tensors<One> &all, int64_t chunks) {
    Launch run(args, why, name);
    with_update_vectors(all, [&](auto width) {
      constexpr int V = decltype(width)::VALUE;
      if (has_codes)
        run.blocks(dim3((unsigned)chunks), FLAT_THREADS, update_codes<Rule, One, V>, all, control,
                   numbers, codes_maps);
      else
        run.flat(chunks * FLAT_THREADS, update<Rule, One, V>, all, control, numbers);
    });
    return run.status;
  };
  return with_tensors<One>(args, count, tensor_of<Rule, One>, start);
}

template <class Rule, Storage S>
static KernelStatus run_update(const KernelArgs *args, int32_t count, const char **why,
                               const char *name) {
  if (!are_of_one_optimizer(args, count, Rule::NUMBERS, why)) return KERNEL_REFUSED;
  if (!are_floats(args)) {
    *why = "kernels for GPUs take values in f32, bf16 and fp16 only";
    return KERNEL_REFUSED;
  }
  if (S == STORED_STOCHASTIC || args->dtype[2] == DTYPE_BF16)
    return run_tensors<Rule, UpdateTensor<S, true>>(args, count, why, name);
  return run_tensors<Rule, UpdateTensor<S, S == STORED_STOCHASTIC>>(args, count, why, name);
}

#define UPDATE(name, rule, storage)                                                                \
  CUDA_KERNEL_TOGETHER(name) {                                                                     \
    return run_update<rule, storage>(args, count, why, #name);                                     \
  }
#define UPDATES(name, rule)                                                                        \
  UPDATE(name, rule, STORED_PLAIN)                                                                 \
  UPDATE(name##_master, rule, STORED_MASTER)                                                       \
  UPDATE(name##_split, rule, STORED_SPLIT)                                                         \
  UPDATE(name##_kahan, rule, STORED_KAHAN)                                                         \
  UPDATE(name##_stochastic, rule, STORED_STOCHASTIC)

UPDATES(adamw, AdamW)
UPDATES(sgd, Sgd)
UPDATES(lion, Lion)

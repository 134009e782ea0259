/* cache.cu -- keys and values by position. Attention: a block for each head of a token; each warp
 * takes every so-many-th position, its lanes the elements of a head, and the warps' softmaxes are
 * merged in the order of warps. Where there are fewer such blocks than the GPU runs at once, the
 * positions of a head are divided into parts, each with a block, and a second launch merges the
 * softmaxes of the parts in their order. */
#include "kernels/cuda/cuda.h"
extern "C" {
#include "kernels/contract/cached.h"
}

struct Append {
  int64_t tokens, seq, row, x_stride, context;
};

template <class X, class C>
__global__ void append(const X *x, const int32_t *places, C *cache, Append a) {
  for (EACH_ELEMENT(i, a.tokens * a.row)) {
    const int64_t token = i / a.row, element = i % a.row, place = places[token];
    if (place < 0 || place >= a.context) continue;
    put(cache + (token / a.seq * a.context + place) * a.row + element,
        to_float(x[token * a.x_stride + element]));
  }
}

CUDA_KERNEL(cache_append) {
  const int64_t *dim = args->dim;
  const Append a = {dim[0] * dim[1], dim[1], dim[2] * dim[3], dim[4], dim[5]};
  return with_floats(args->dtype[0], args->dtype[2], why, [=](auto from, auto to) {
    typedef decltype(from) X;
    typedef decltype(to) C;
    Launch run(args, why, "cache_append");
    run.flat(a.tokens * a.row, append<X, C>, (const X *)args->operand[0],
             (const int32_t *)args->operand[1], (C *)args->operand[2], a);
    return run.status;
  });
}

enum { CACHED_WARPS = 8, CACHED_HEAD_MAX = 512, CACHED_HEAD_USUAL = 128 };
enum { CACHED_BLOCKS = 2 }; /* on a multiprocessor: of three ptxas spills registers for sm_100 */

struct Cached {
  int64_t seq, heads, kv_heads, head, q_stride, context, window;
  float scale, softcap;
  int64_t parts;
};

/* The scratch has for each part of a head's positions the highest score, the sum of the weights,
 * and the weighted values, of which there are `head`. */
enum { PART_HIGHEST, PART_SUM, PART_VALUES };

/* The softmax over the positions of one warp; a lane has elements lane, lane + 32, ... of the head.
 */
template <int EACH> struct WarpSums {
  float highest = -INFINITY, sum = 0, value[EACH] = {};
};

/* The score whose weight is 1. Where all are -inf, none has a weight. */
static __device__ float base_of(float highest) {
  return highest == -INFINITY ? 0 : highest;
}

/* Element k of a lane in a row; 0 where the head has none, or the row is not read. */
template <class C>
static __device__ float element_of(const C *row, int k, bool is_read, const Cached &a) {
  const int64_t c = threadIdx.x % WARP_LANES + k * WARP_LANES;
  return is_read && c < a.head ? to_float(row[c]) : 0;
}

/* A warp takes AHEAD neighbours at a time, with the loads of all their rows in flight. */
template <int EACH, int AHEAD, class T, class C>
static __device__ void add_positions(const T *q, const C *keys, const C *values, int64_t first,
                                     int64_t end, const Cached &a, WarpSums<EACH> *w) {
  const int64_t warp = threadIdx.x / WARP_LANES, row = a.kv_heads * a.head;
  float own[EACH];
#pragma unroll
  for (int k = 0; k < EACH; k++)
    own[k] = element_of(q, k, true, a);
  for (int64_t j = first + warp * AHEAD; j < end; j += CACHED_WARPS * AHEAD) {
    float score[AHEAD], value[AHEAD][EACH], highest = w->highest;
#pragma unroll
    for (int i = 0; i < AHEAD; i++) {
      score[i] = 0;
#pragma unroll
      for (int k = 0; k < EACH; k++) {
        score[i] += own[k] * element_of(keys + (j + i) * row, k, j + i < end, a);
        value[i][k] = element_of(values + (j + i) * row, k, j + i < end, a);
      }
    }
#pragma unroll
    for (int i = 0; i < AHEAD; i++) {
      score[i] = warp_sum(score[i]) * a.scale;
      if (a.softcap > 0) score[i] = a.softcap * tanhf(score[i] / a.softcap);
      if (j + i >= end) score[i] = -INFINITY;
      highest = score[i] > highest ? score[i] : highest;
    }
    const float base = base_of(highest), before = expf(w->highest - base);
    w->highest = highest;
    w->sum *= before;
#pragma unroll
    for (int k = 0; k < EACH; k++)
      w->value[k] *= before;
#pragma unroll
    for (int i = 0; i < AHEAD; i++) {
      const float weight = expf(score[i] - base);
      w->sum += weight;
#pragma unroll
      for (int k = 0; k < EACH; k++)
        w->value[k] += weight * value[i][k];
    }
  }
}

/* The factor that brings weights relative to one highest score to those of another; 0: there are
 * no weights. */
static __device__ float factor_of(float highest, float sum, float common) {
  return sum == 0 ? 0 : expf(highest - base_of(common));
}

/* The positions of a part: parts are equal, in whole rounds of all warps of a block. */
static __device__ void part_of(int64_t part, int64_t parts, int64_t round, int64_t *first,
                               int64_t *end) {
  const int64_t each = (*end - *first + parts - 1) / parts;
  const int64_t step = parts > 1 ? (each + round - 1) / round * round : each;
  *first += part * step;
  *end = *first + step < *end ? *first + step : *end;
}

template <class T, class C, int EACH, int AHEAD>
__global__ void __launch_bounds__(CACHED_WARPS *WARP_LANES, CACHED_BLOCKS)
    attend_cached(const T *q, const C *keys, const C *values, const int32_t *places, T *out,
                  float *work, Cached a) {
  SHARED(float, highest_of, CACHED_WARPS);
  SHARED(float, sum_of, CACHED_WARPS);
  SHARED(float, value_of, CACHED_WARPS *CACHED_HEAD_MAX);
  const int64_t h = blockIdx.x % a.heads, token = blockIdx.x / a.heads, place = places[token];
  int64_t end = place >= 0 && place < a.context ? place + 1 : 0;
  int64_t first = end > 0 && a.window > 0 && place >= a.window ? place - a.window + 1 : 0;
  part_of(blockIdx.y, a.parts, CACHED_WARPS * AHEAD, &first, &end);
  const int64_t lane = threadIdx.x % WARP_LANES, warp = threadIdx.x / WARP_LANES;
  const int64_t base =
      (token / a.seq * a.context * a.kv_heads + h / (a.heads / a.kv_heads)) * a.head;
  WarpSums<EACH> w;
  add_positions<EACH, AHEAD>(q + token * a.q_stride + h * a.head, keys + base, values + base, first,
                             end, a, &w);
  if (lane == 0) highest_of[warp] = w.highest;
  if (lane == 0) sum_of[warp] = w.sum;
#pragma unroll
  for (int k = 0; k < EACH; k++)
    if (lane + k * WARP_LANES < a.head)
      value_of[warp * CACHED_HEAD_MAX + lane + k * WARP_LANES] = w.value[k];
  __syncthreads();
  float highest = -INFINITY, sum = 0, factor[CACHED_WARPS];
  for (int i = 0; i < CACHED_WARPS; i++)
    highest = highest_of[i] > highest ? highest_of[i] : highest;
  for (int i = 0; i < CACHED_WARPS; i++) {
    factor[i] = factor_of(highest_of[i], sum_of[i], highest);
    sum += factor[i] * sum_of[i];
  }
  float *own = work + (blockIdx.x * a.parts + blockIdx.y) * (PART_VALUES + a.head);
  if (a.parts > 1 && threadIdx.x == 0) own[PART_HIGHEST] = highest, own[PART_SUM] = sum;
  for (int64_t c = threadIdx.x; c < a.head; c += blockDim.x) {
    float value = 0;
    for (int i = 0; i < CACHED_WARPS; i++)
      value += factor[i] * value_of[i * CACHED_HEAD_MAX + c];
    if (a.parts > 1)
      own[PART_VALUES + c] = value;
    else
      put(out + (token * a.heads + h) * a.head + c, sum == 0 ? 0 : value / sum);
  }
}

/* A block for each head of a token. */
template <class T>
__global__ void merge_parts(const float *work, T *out, int64_t parts, int64_t head) {
  const int64_t stride = PART_VALUES + head;
  const float *own = work + blockIdx.x * parts * stride;
  float highest = -INFINITY;
  for (int64_t i = 0; i < parts; i++)
    if (own[i * stride + PART_HIGHEST] > highest) highest = own[i * stride + PART_HIGHEST];
  for (int64_t c = threadIdx.x; c < head; c += blockDim.x) {
    float value = 0, sum = 0;
    for (int64_t i = 0; i < parts; i++) {
      const float *part = own + i * stride;
      const float factor = factor_of(part[PART_HIGHEST], part[PART_SUM], highest);
      sum += factor * part[PART_SUM];
      value += factor * part[PART_VALUES + c];
    }
    put(out + blockIdx.x * head + c, sum == 0 ? 0 : value / sum);
  }
}

CUDA_KERNEL(attention_cached) {
  const int64_t *dim = args->dim;
  void *const *at = args->operand;
  const Cached a = {dim[1],
                    dim[2],
                    dim[3],
                    dim[4],
                    dim[5],
                    dim[6],
                    (int64_t)args->attr[1],
                    (float)args->attr[0],
                    (float)args->attr[2],
                    args->operand_count > 5 ? cached_parts(dim) : 1};
  if (a.head > CACHED_HEAD_MAX || args->dtype[1] != args->dtype[2] ||
      args->dtype[0] != args->dtype[4]) {
    *why = "attention to a cache takes heads of at most 512, keys and values of one type";
    return KERNEL_REFUSED;
  }
  return with_floats(args->dtype[0], args->dtype[1], why, [=](auto number, auto kept) {
    typedef decltype(number) T;
    typedef decltype(kept) C;
    Launch run(args, why, "attention_cached");
    constexpr int USUAL = CACHED_HEAD_USUAL / WARP_LANES, MOST = CACHED_HEAD_MAX / WARP_LANES;
    const unsigned heads = (unsigned)(dim[0] * dim[1] * dim[2]);
    float *work = a.parts > 1 ? (float *)at[5] : nullptr;
    run.blocks(dim3(heads, (unsigned)a.parts), CACHED_WARPS * WARP_LANES,
               a.head <= CACHED_HEAD_USUAL ? attend_cached<T, C, USUAL, 8>
                                           : attend_cached<T, C, MOST, 1>,
               (const T *)at[0], (const C *)at[1], (const C *)at[2], (const int32_t *)at[3],
               (T *)at[4], work, a);
    if (a.parts > 1)
      run.blocks(dim3(heads), ROW_THREADS, merge_parts<T>, (const float *)work, (T *)at[4], a.parts,
                 a.head);
    return run.status;
  });
}

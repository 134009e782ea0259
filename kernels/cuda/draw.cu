/* draw.cu -- draws a class for each sample that has a target, with a block for each sample. Bounds
 * are found by bisection over keys, each step a sum over the row. */
#include "kernels/cuda/cuda.h"
extern "C" {
#include "kernels/math/draw.h"
}

enum { DRAW_THREADS = 512 }; /* more leave too few registers for sums in doubles */

struct Kept {
  uint32_t bound;
  int64_t ties;
};

template <class T> struct DrawRow {
  const T *logits;
  int64_t classes;
  double temperature, highest;
};

template <class T> static __device__ double weight_of(const DrawRow<T> &r, float logit) {
  return exp(((double)logit - r.highest) / r.temperature);
}

/* By all threads. */
template <class T>
static __device__ double weight_from(const DrawRow<T> &r, uint64_t key, double *count) {
  double weight = 0, classes = 0;
  for (int64_t k = threadIdx.x; k < r.classes; k += blockDim.x) {
    float logit = to_float(r.logits[k]);
    if (draw_key(logit) < key) continue;
    weight += weight_of(r, logit);
    classes += 1;
  }
  *count = block_sum(classes);
  return block_sum(weight);
}

template <class T>
static __device__ uint32_t highest_bound(const DrawRow<T> &r, double count, double weight) {
  uint32_t bound = 0;
  for (int bit = DRAW_KEY_BITS - 1; bit >= 0; bit--) {
    double classes;
    uint32_t key = bound | 1u << bit;
    double above = weight_from(r, key, &classes);
    if (classes >= count && above >= weight) bound = key;
  }
  return bound;
}

template <class T>
static __device__ Kept choose_kept(const DrawRow<T> &r, double top_k, double top_p) {
  Kept kept = {0, INT64_MAX};
  double count;
  if (top_k > 0 && top_k < (double)r.classes) kept.bound = highest_bound(r, top_k, 0);
  if (top_p >= 1) return kept;
  double total = weight_from(r, kept.bound, &count);
  uint32_t bound = highest_bound(r, 1, top_p * total);
  if (bound > kept.bound) kept.bound = bound;
  double above = weight_from(r, (uint64_t)kept.bound + 1, &count);
  kept.ties = draw_ties(top_p * total, above, weight_of(r, draw_logit(kept.bound)));
  return kept;
}

/* Each thread has neighbouring classes; every thread finds whose classes the draw falls into. Where
 * weights are not finite, any class is drawn. */
template <class T>
static __device__ int64_t draw_class(const DrawRow<T> &r, const Kept &kept, double uniform) {
  SHARED(double, part, DRAW_THREADS);
  SHARED(int64_t, part_ties, DRAW_THREADS);
  SHARED(int64_t, drawn, 1);
  int64_t each = (r.classes + blockDim.x - 1) / blockDim.x, first = threadIdx.x * each;
  int64_t end = first + each < r.classes ? first + each : r.classes, ties = 0;
  for (int64_t k = first; k < end; k++)
    ties += draw_key(to_float(r.logits[k])) == kept.bound;
  __syncthreads();
  if (threadIdx.x == 0) drawn[0] = 0;
  part_ties[threadIdx.x] = ties;
  __syncthreads();
  ties = 0;
  for (unsigned i = 0; i < threadIdx.x; i++)
    ties += part_ties[i];
  const int64_t before = ties;
  double weight = 0;
  for (int64_t k = first; k < end; k++) {
    float logit = to_float(r.logits[k]);
    uint32_t key = draw_key(logit);
    bool is_tie = key == kept.bound;
    if (key < kept.bound || (is_tie && ties >= kept.ties)) continue;
    ties += is_tie;
    weight += weight_of(r, logit);
  }
  part[threadIdx.x] = weight;
  __syncthreads();
  double sum = 0, total = 0;
  unsigned owner = 0;
  for (unsigned i = 0; i < blockDim.x; i++)
    total += part[i];
  const double goal = uniform * total;
  for (unsigned i = 0; i < blockDim.x && sum <= goal; i++) {
    if (part[i] > 0) owner = i;
    if (sum + part[i] > goal) break;
    sum += part[i];
  }
  if (threadIdx.x == owner) {
    ties = before;
    for (int64_t k = first; k < end; k++) {
      float logit = to_float(r.logits[k]);
      uint32_t key = draw_key(logit);
      bool is_tie = key == kept.bound;
      if (key < kept.bound || (is_tie && ties >= kept.ties)) continue;
      ties += is_tie;
      sum += weight_of(r, logit);
      drawn[0] = k;
      if (sum > goal) break;
    }
  }
  __syncthreads();
  return drawn[0];
}

template <class T> static __device__ int64_t likeliest(const DrawRow<T> &r, float highest) {
  double first = (double)r.classes - 1; /* of logits that are not finite */
  for (int64_t k = threadIdx.x; k < r.classes; k += blockDim.x)
    if (draw_key(to_float(r.logits[k])) == draw_key(highest) && (double)k < first)
      first = (double)k;
  return (int64_t)-block_max((float)-first); /* classes are below 2^24 */
}

/* Adds the class of a row and its log probability. */
template <class T>
static __device__ void draw_row(DrawRow<T> r, double top_k, double top_p, double uniform,
                                double *ids, double *log_probability) {
  float highest = -INFINITY;
  for (int64_t k = threadIdx.x; k < r.classes; k += blockDim.x) {
    float logit = to_float(r.logits[k]);
    highest = logit > highest ? logit : highest;
  }
  highest = block_max(highest);
  r.highest = (double)highest;
  double sum = 0;
  for (int64_t k = threadIdx.x; k < r.classes; k += blockDim.x)
    sum += exp((double)to_float(r.logits[k]) - r.highest);
  sum = block_sum(sum);
  int64_t id = r.temperature > 0 ? draw_class(r, choose_kept(r, top_k, top_p), uniform)
                                 : likeliest(r, highest);
  *ids += (double)id;
  *log_probability += (double)to_float(r.logits[id]) - r.highest - log(sum);
  __syncthreads();
}

/* The last row of [first, first + seq) with a target; -1: none has one. Every thread reads them
 * all, and finds the same. */
static __device__ int64_t last_target(const int32_t *targets, int64_t first, int64_t seq) {
  int64_t row = first + seq - 1;
  while (row >= first && targets[row] < 0)
    row--;
  return row < first ? -1 : row;
}

template <class T>
__global__ void __launch_bounds__(DRAW_THREADS, 1)
    draw_rows(const T *logits, const int32_t *targets, const int32_t *places, double *drawn,
              int64_t seq, int64_t held, int64_t classes, double temperature, double top_k,
              double top_p, const uint64_t *seed, uint64_t node, bool accumulate) {
  double ids = 0, log_probability = 0;
  const uint64_t key = philox_mix(*seed, node);
  const int64_t row = last_target(targets, (int64_t)blockIdx.x * seq, seq);
  DrawRow<T> r = {logits + blockIdx.x * held, classes, temperature, 0};
  if (row >= 0 && places[row] >= 0)
    draw_row(r, top_k, top_p, draw_uniform(key, targets[row], places[row]), &ids, &log_probability);
  if (threadIdx.x > 0) return;
  double *at = drawn + 2 * blockIdx.x;
  at[0] = accumulate ? at[0] + ids : ids;
  at[1] = accumulate ? at[1] + log_probability : log_probability;
}

CUDA_KERNEL(draw) {
  void *const *at = args->operand;
  const int64_t *dim = args->dim;
  return with_float(args->dtype[0], why, [=](auto number) {
    typedef decltype(number) T;
    Launch run(args, why, "draw");
    run.blocks(dim3((unsigned)dim[0]), DRAW_THREADS, draw_rows<T>, (const T *)at[0],
               (const int32_t *)at[1], (const int32_t *)at[2], (double *)at[3], dim[1], dim[2],
               dim[3], args->attr[0], args->attr[1], args->attr[2],
               (const uint64_t *)args->control[0], args->key, args->accumulate);
    return run.status;
  });
}

/* A block for each sample. */
template <class T>
__global__ void take_last(const T *x, const int32_t *targets, T *y, int64_t seq, int64_t width) {
  const int64_t row = last_target(targets, (int64_t)blockIdx.x * seq, seq);
  for (int64_t i = threadIdx.x; i < width; i += blockDim.x)
    put(&y[blockIdx.x * width + i], row < 0 ? 0.0f : to_float(x[row * width + i]));
}

CUDA_KERNEL(last_token) {
  void *const *at = args->operand;
  const int64_t *dim = args->dim;
  return with_float(args->dtype[0], why, [=](auto number) {
    typedef decltype(number) T;
    Launch run(args, why, "last_token");
    run.blocks(dim3((unsigned)dim[0]), DRAW_THREADS, take_last<T>, (const T *)at[0],
               (const int32_t *)at[1], (T *)at[2], dim[1], dim[2]);
    return run.status;
  });
}

template <class T>
__global__ void pick_element(const T *x, double *drawn, int64_t n, const int64_t *step,
                             bool accumulate) {
  const int64_t element = *step - 1;
  const bool is_there = element >= 0 && element < n;
  const double value = is_there ? (double)to_float(x[element]) : 0;
  if (threadIdx.x > 0) return;
  drawn[0] = accumulate ? drawn[0] + value : value;
  drawn[1] = accumulate ? drawn[1] + is_there : is_there;
}

CUDA_KERNEL(pick) {
  void *const *at = args->operand;
  return with_float(args->dtype[0], why, [=](auto number) {
    typedef decltype(number) T;
    Launch run(args, why, "pick");
    run.blocks(dim3(1), WARP_LANES, pick_element<T>, (const T *)at[0], (double *)at[1],
               args->dim[0], (const int64_t *)args->control[0], args->accumulate);
    return run.status;
  });
}

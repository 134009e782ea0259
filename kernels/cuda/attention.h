/* attention.h -- attention to a tile of keys at a time: a record's numbers, and what every kernel
 * of it says of scores, masks and positions. */
#ifndef LOCKSTEP_KERNELS_CUDA_ATTENTION_H
#define LOCKSTEP_KERNELS_CUDA_ATTENTION_H

#include "kernels/cuda/cuda.h"
extern "C" {
#include "kernels/math/philox.h"
#include "kernels/runs.h"
}

struct Attention {
  int64_t batch, seq, heads, kv_heads, head;
  int64_t q_stride, k_stride, v_stride, out_stride;
  int64_t d_q_stride, d_k_stride, d_v_stride;
  Runs q_runs, k_runs; /* positions of q's tokens, and of k's and v's */
  bool causal, tf32;
  int64_t window;                   /* 0: none */
  const int32_t *begin;             /* by token: the first key it sees; NULL: 0 */
  float scale, keep_scale, softcap; /* keep_scale: 1 / (1 - rate); softcap 0: none */
  uint32_t threshold;
  uint64_t record_key;
  int64_t sample_first, head_first, all_heads, all_seq;
  const uint64_t *seed; /* these two only where there is dropout */
  const int64_t *step;
};

static inline Attention attention_of(const KernelArgs *args) {
  const int64_t *dim = args->dim;
  const double *attr = args->attr;
  Attention a = {};
  a.batch = dim[0];
  a.seq = dim[1];
  a.heads = dim[2];
  a.kv_heads = dim[3];
  a.head = dim[4];
  a.q_stride = dim[5];
  a.k_stride = dim[6];
  a.v_stride = dim[7];
  a.out_stride = a.heads * a.head;
  a.q_runs = {a.seq, (int64_t)attr[3], (int64_t)attr[4]};
  a.k_runs = {a.seq, (int64_t)attr[5], (int64_t)attr[6]};
  a.head_first = (int64_t)attr[7];
  a.all_heads = (int64_t)attr[8];
  a.all_seq = (int64_t)attr[9];
  a.causal = attr[0] != 0;
  a.window = (int64_t)attr[10];
  a.softcap = (float)attr[11];
  a.tf32 = args->tf32;
  a.scale = (float)attr[1];
  a.keep_scale = (float)(1 / (1 - attr[2]));
  a.threshold = philox_threshold(attr[2]);
  a.record_key = args->key;
  a.seed = (const uint64_t *)args->control[0];
  a.step = (const int64_t *)args->control[1];
  a.sample_first = a.threshold > 0 ? *args->sample_first : 0;
  return a;
}

/* Dropout's factor of probability (i, j) of a head: 0 or 1 / (1 - rate). */
static __device__ inline float mask(const Attention &a, uint64_t key, int64_t step, int64_t b,
                                    int64_t h, int64_t q_position, int64_t k_position) {
  if (a.threshold == 0) return 1;
  int64_t head = (a.sample_first + b) * a.all_heads + a.head_first + h;
  int64_t element = (head * a.all_seq + q_position) * a.all_seq + k_position;
  return philox_keep(key, step, element, a.threshold) ? a.keep_scale : 0;
}

/* The score of a product of q and k. */
static __device__ inline float score_of(const Attention &a, float product) {
  float score = product * a.scale;
  return a.softcap > 0 ? a.softcap * tanhf(score / a.softcap) : score;
}

/* The slope of softcap at a score. */
static __device__ inline float cap_slope(const Attention &a, float score) {
  float share = a.softcap > 0 ? score / a.softcap : 0;
  return 1 - share * share;
}

/* The position of the first key that a query sees: by window and document. */
static __device__ inline int64_t lower_bound(const Attention &a, int64_t sample, int64_t q_token) {
  int64_t bound = a.window > 0 ? runs_position(a.q_runs, q_token) - a.window + 1 : 0;
  const int64_t begin = a.begin ? a.begin[sample * a.seq + q_token] : 0;
  return begin > bound ? begin : bound;
}

/* On tensor cores (attention_tensor.cu). False: the GPU has none that take bf16, or the head or its
 * tiles are too large for it; nothing was launched. */
bool attention_on_tensor_cores(const KernelArgs *args, const Attention &a, Launch *run);
/* Operands 0 .. 8 are d_out q k v out lse d_q d_k d_v; term has the rows' d_out . out. */
bool attention_backward_on_tensor_cores(const KernelArgs *args, const Attention &a,
                                        const float *term, Launch *run);

#endif

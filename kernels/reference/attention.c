/* attention.c -- out = dropout(softmax(scale q k^T)) v, one head and one row at a time.
 *
 * The row's log-sum-exp is kept, scores are not: backward recomputes each probability as exp(score
 * - lse), as in FlashAttention (arXiv:2205.14135). Heads of q share the k and v of their group
 * (arXiv:2305.13245). Keys may be those of another rank (arXiv:2310.01889): then a query may see
 * none of them, and the lse in backward covers more keys than these. */
#include <assert.h>

#include "kernels/math/philox.h"
#include "kernels/reference/access.h"
#include "kernels/runs.h"

typedef struct Attention {
  int64_t batch, seq, heads, kv_heads, head;
  Tensor q, k, v, out, lse, d_out;
  int64_t q_stride, k_stride, v_stride, out_stride;
  Runs q_runs, k_runs; /* positions of q's tokens, and of k's and v's */
  bool causal, tf32;
  int64_t window;       /* 0: none */
  const int32_t *begin; /* of each token: the position of the first key it sees; NULL: 0 */
  double scale, softcap;
  double keep_scale; /* 1 / (1 - rate) */
  uint64_t key;
  uint32_t threshold;
  int64_t step, sample_first;
  int64_t head_first, all_heads, all_seq; /* of the whole that the mask is numbered by */
} Attention;

/* The tokens of one head of one sample: offsets of token 0, and which mask elements are its. */
typedef struct Head {
  int64_t token, q, k, v, out, lse, mask; /* token: of the sample's first one */
} Head;

static Attention attention_of(const KernelArgs *args, int32_t q) {
  const int64_t *dim = args->dim;
  Attention a = {.batch = dim[0], .seq = dim[1], .heads = dim[2], .kv_heads = dim[3]};
  a.head = dim[4];
  a.q = tensor(args, q);
  a.k = tensor(args, q + 1);
  a.v = tensor(args, q + 2);
  a.out = tensor(args, q + 3);
  a.lse = tensor(args, q + 4);
  a.q_stride = dim[5];
  a.k_stride = dim[6];
  a.v_stride = dim[7];
  a.out_stride = a.heads * a.head;
  const double *attr = args->attr;
  a.q_runs = (Runs){a.seq, (int64_t)attr[3], (int64_t)attr[4]};
  a.k_runs = (Runs){a.seq, (int64_t)attr[5], (int64_t)attr[6]};
  a.head_first = (int64_t)attr[7];
  a.all_heads = (int64_t)attr[8];
  a.all_seq = (int64_t)attr[9];
  a.causal = attr[0] != 0;
  a.window = (int64_t)attr[10];
  a.softcap = attr[11];
  a.tf32 = args->tf32;
  a.scale = attr[1];
  a.keep_scale = 1 / (1 - attr[2]);
  a.threshold = philox_threshold(attr[2]);
  if (a.threshold > 0) { /* without dropout there may be neither */
    a.key = philox_mix(kernel_seed(args), args->key);
    a.step = kernel_step(args);
    a.sample_first = *args->sample_first;
  }
  assert(a.heads % a.kv_heads == 0);
  return a;
}

static Head head_of(const Attention *a, int64_t b, int64_t h) {
  int64_t token = b * a->seq, kv_head = h / (a->heads / a->kv_heads);
  return (Head){
      .token = token,
      .q = token * a->q_stride + h * a->head,
      .k = token * a->k_stride + kv_head * a->head,
      .v = token * a->v_stride + kv_head * a->head,
      .out = token * a->out_stride + h * a->head,
      .lse = (b * a->heads + h) * a->seq,
      .mask = ((a->sample_first + b) * a->all_heads + a->head_first + h) * a->all_seq,
  };
}

static Strided row_of(Tensor t, int64_t first) {
  return (Strided){t, first, 1};
}

/* A probability or its slope as a product reads it. */
static double weight(const Attention *a, double value) {
  return a->tf32 ? (double)tf32_round((float)value) : value;
}

static double score(const Attention *a, Head h, int64_t i, int64_t j) {
  const Strided q = row_of(a->q, h.q + i * a->q_stride), k = row_of(a->k, h.k + j * a->k_stride);
  double s = a->scale * dot(0, q, k, a->head, a->tf32);
  return a->softcap > 0 ? a->softcap * tanh(s / a->softcap) : s;
}

/* The slope of softcap at a score. */
static double cap_slope(const Attention *a, double score) {
  double share = a->softcap > 0 ? score / a->softcap : 0;
  return 1 - share * share;
}

/* The dropout factor of probability (i, j): 0 or 1 / (1 - rate). */
static double mask(const Attention *a, Head h, int64_t i, int64_t j) {
  if (a->threshold == 0) return 1;
  int64_t row = h.mask + runs_position(a->q_runs, i);
  int64_t element = row * a->all_seq + runs_position(a->k_runs, j);
  return philox_keep(a->key, a->step, element, a->threshold) ? a->keep_scale : 0;
}

/* The position of the first key that query i sees. */
static int64_t lower_bound(const Attention *a, Head h, int64_t i) {
  int64_t bound = a->window > 0 ? runs_position(a->q_runs, i) - a->window + 1 : 0;
  return a->begin && a->begin[h.token + i] > bound ? a->begin[h.token + i] : bound;
}

static bool sees(const Attention *a, Head h, int64_t i, int64_t j) {
  int64_t position = runs_position(a->k_runs, j);
  return (!a->causal || position <= runs_position(a->q_runs, i)) &&
         position >= lower_bound(a, h, i);
}

static void forward_row(const Attention *a, Head h, int64_t i) {
  double highest = -INFINITY, sum = 0;
  for (int64_t j = 0; j < a->seq; j++) {
    if (!sees(a, h, i, j)) continue;
    double s = score(a, h, i, j);
    if (s > highest) {
      sum *= exp(highest - s);
      highest = s;
    }
    sum += exp(s - highest);
  }
  double lse = highest + log(sum); /* -inf, when it sees no key */
  store(a->lse, h.lse + i, lse);
  for (int64_t first = 0; first < a->head; first += CHUNK) {
    double out[CHUNK] = {0}, v[CHUNK];
    int64_t width = a->head - first < CHUNK ? a->head - first : CHUNK;
    for (int64_t j = 0; j < a->seq; j++) {
      if (!sees(a, h, i, j)) continue;
      double p = weight(a, exp(score(a, h, i, j) - lse) * mask(a, h, i, j));
      factors(row_of(a->v, h.v + j * a->v_stride + first), 0, width, a->tf32, v);
      for (int64_t c = 0; c < width; c++)
        out[c] += p * v[c];
    }
    for (int64_t c = 0; c < width; c++)
      store(a->out, h.out + i * a->out_stride + first + c, out[c]);
  }
}

static void forward(const Attention *a) {
  for (int64_t b = 0; b < a->batch; b++)
    for (int64_t h = 0; h < a->heads; h++)
      for (int64_t i = 0; i < a->seq; i++)
        forward_row(a, head_of(a, b, h), i);
}

void reference_attention(const KernelArgs *args) {
  Attention a = attention_of(args, 0);
  forward(&a);
}

void reference_attention_apart(const KernelArgs *args) {
  Attention a = attention_of(args, 0);
  a.begin = args->operand[5];
  forward(&a);
}

/* d_score = p (mask d_p - sum over the row) softcap's slope, where the row's sum is d_out . out. */
static void pair_slopes(const Attention *a, Head h, int64_t i, int64_t j, double *p_masked,
                        double *d_score) {
  const Strided d_out = row_of(a->d_out, h.out + i * a->out_stride);
  const Strided out = row_of(a->out, d_out.first), v = row_of(a->v, h.v + j * a->v_stride);
  double s = score(a, h, i, j), p = exp(s - load(a->lse, h.lse + i)), keep = mask(a, h, i, j);
  double d_p = dot(0, d_out, v, a->head, a->tf32);
  double row = dot(0, d_out, out, a->head, false);
  *p_masked = p * keep;
  *d_score = p * (keep * d_p - row) * cap_slope(a, s);
}

static void backward_q_row(const Attention *a, Head h, int64_t i, Tensor d_q, int64_t d_q_at) {
  for (int64_t first = 0; first < a->head; first += CHUNK) {
    double sum[CHUNK] = {0}, k[CHUNK];
    int64_t width = a->head - first < CHUNK ? a->head - first : CHUNK;
    for (int64_t j = 0; j < a->seq; j++) {
      if (!sees(a, h, i, j)) continue;
      double p_masked, d_score;
      pair_slopes(a, h, i, j, &p_masked, &d_score);
      factors(row_of(a->k, h.k + j * a->k_stride + first), 0, width, a->tf32, k);
      const double slope = weight(a, d_score * a->scale);
      for (int64_t c = 0; c < width; c++)
        sum[c] += slope * k[c];
    }
    for (int64_t c = 0; c < width; c++)
      store(d_q, d_q_at + first + c, sum[c]);
  }
}

/* The contribution of query i to the gradients of columns [first, first + width) of key and value
 * j. */
static void add_kv_slopes(const Attention *a, Head h, int64_t i, int64_t j, int64_t first,
                          int64_t width, double *k_sum, double *v_sum) {
  double p_masked, d_score, q[CHUNK], d_out[CHUNK];
  pair_slopes(a, h, i, j, &p_masked, &d_score);
  factors(row_of(a->q, h.q + i * a->q_stride + first), 0, width, a->tf32, q);
  factors(row_of(a->d_out, h.out + i * a->out_stride + first), 0, width, a->tf32, d_out);
  const double k_slope = weight(a, d_score * a->scale), v_slope = weight(a, p_masked);
  for (int64_t c = 0; c < width; c++) {
    k_sum[c] += k_slope * q[c];
    v_sum[c] += v_slope * d_out[c];
  }
}

/* Token j of one kv head: the sum over its query heads and over the rows that see it, finished
 * before rounding. */
static void backward_kv_row(const Attention *a, int64_t b, int64_t kv_head, int64_t j, Tensor d_k,
                            int64_t d_k_at, Tensor d_v, int64_t d_v_at) {
  int64_t group = a->heads / a->kv_heads;
  for (int64_t first = 0; first < a->head; first += CHUNK) {
    double k_sum[CHUNK] = {0}, v_sum[CHUNK] = {0};
    int64_t width = a->head - first < CHUNK ? a->head - first : CHUNK;
    for (int64_t member = 0; member < group; member++) {
      Head h = head_of(a, b, kv_head * group + member);
      for (int64_t i = 0; i < a->seq; i++)
        if (sees(a, h, i, j)) add_kv_slopes(a, h, i, j, first, width, k_sum, v_sum);
    }
    for (int64_t c = 0; c < width; c++) {
      store(d_k, d_k_at + first + c, k_sum[c]);
      store(d_v, d_v_at + first + c, v_sum[c]);
    }
  }
}

static void backward(const KernelArgs *args, const int32_t *begin) {
  Attention a = attention_of(args, 1);
  a.d_out = tensor(args, 0);
  a.begin = begin;
  Tensor d_q = tensor(args, 6), d_k = tensor(args, 7), d_v = tensor(args, 8);
  int64_t d_q_stride = args->dim[8], d_k_stride = args->dim[9], d_v_stride = args->dim[10];
  for (int64_t b = 0; b < a.batch; b++)
    for (int64_t i = 0; i < a.seq; i++) {
      int64_t token = b * a.seq + i;
      for (int64_t h = 0; h < a.heads; h++)
        backward_q_row(&a, head_of(&a, b, h), i, d_q, token * d_q_stride + h * a.head);
      for (int64_t h = 0; h < a.kv_heads; h++)
        backward_kv_row(&a, b, h, i, d_k, token * d_k_stride + h * a.head, d_v,
                        token * d_v_stride + h * a.head);
    }
}

void reference_attention_backward(const KernelArgs *args) {
  backward(args, NULL);
}

void reference_attention_apart_backward(const KernelArgs *args) {
  backward(args, args->operand[9]);
}

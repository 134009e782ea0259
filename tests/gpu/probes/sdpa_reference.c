#include "tests/gpu/probes/sdpa_reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One query head of one batch entry: pointers to its first token, and the strides between tokens.
 * Query head h reads key head h / (H / HK) (Ainslie et al., arXiv:2305.13245). */
typedef struct {
  const double *q, *k, *v, *d_o;
  double *o, *stats, *d_q, *d_k, *d_v;
  int64_t tokens, size, qkv_stride, o_stride;
  double scale;
  bool causal;
} Head;

static double dot(const double *a, const double *b, int64_t count) {
  double sum = 0.0;
  for (int64_t i = 0; i < count; i++)
    sum += a[i] * b[i];
  return sum;
}

/* y += factor * x */
static void add_scaled(double *y, double factor, const double *x, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    y[i] += factor * x[i];
}

/* p[0..keys) = softmax of row `row`; returns its log-sum-exp. */
static double softmax_row(const Head *head, int64_t row, int64_t keys, double *p) {
  double top = -INFINITY, sum = 0.0;
  for (int64_t key = 0; key < keys; key++) {
    p[key] = head->scale *
             dot(head->q + row * head->qkv_stride, head->k + key * head->qkv_stride, head->size);
    if (p[key] > top) top = p[key];
  }
  for (int64_t key = 0; key < keys; key++)
    sum += p[key] = exp(p[key] - top);
  for (int64_t key = 0; key < keys; key++)
    p[key] /= sum;
  return top + log(sum);
}

static void run_row(const Head *head, int64_t row, double *p) {
  int64_t keys = head->causal ? row + 1 : head->tokens;
  int64_t stride = head->qkv_stride, size = head->size;
  double *o = head->o + row * head->o_stride;
  const double *d_o = head->d_o + row * head->o_stride;
  head->stats[row] = softmax_row(head, row, keys, p);
  memset(o, 0, (size_t)size * sizeof *o);
  for (int64_t key = 0; key < keys; key++)
    add_scaled(o, p[key], head->v + key * stride, size);

  double row_sum = dot(d_o, o, size);
  for (int64_t key = 0; key < keys; key++) {
    double d_p = dot(d_o, head->v + key * stride, size);
    double d_s = p[key] * (d_p - row_sum) * head->scale;
    add_scaled(head->d_v + key * stride, p[key], d_o, size);
    add_scaled(head->d_k + key * stride, d_s, head->q + row * stride, size);
    add_scaled(head->d_q + row * stride, d_s, head->k + key * stride, size);
  }
}

static Head head_at(const SdpaShape *s, const SdpaArrays *arrays, int64_t batch, int64_t h) {
  int64_t size = s->head_size, kv_head = h / (s->heads / s->kv_heads);
  int64_t qkv_stride = (s->heads + 2 * s->kv_heads) * size, o_stride = s->heads * size;
  int64_t qkv = batch * s->tokens * qkv_stride, o = batch * s->tokens * o_stride + h * size;
  int64_t q = qkv + h * size, k = qkv + (s->heads + kv_head) * size, v = k + s->kv_heads * size;
  return (Head){
      .q = arrays->qkv + q,
      .k = arrays->qkv + k,
      .v = arrays->qkv + v,
      .d_q = arrays->d_qkv + q,
      .d_k = arrays->d_qkv + k,
      .d_v = arrays->d_qkv + v,
      .o = arrays->o + o,
      .d_o = arrays->d_o + o,
      .stats = arrays->stats + (batch * s->heads + h) * s->tokens,
      .tokens = s->tokens,
      .size = size,
      .qkv_stride = qkv_stride,
      .o_stride = o_stride,
      .scale = 1.0 / sqrt((double)size),
      .causal = s->causal,
  };
}

bool sdpa_reference(const SdpaShape *shape, const SdpaArrays *arrays) {
  double *p = calloc((size_t)shape->tokens, sizeof *p);
  if (!p) return false;
  memset(arrays->d_qkv, 0, (size_t)sdpa_qkv_count(shape) * sizeof *arrays->d_qkv);
  for (int64_t batch = 0; batch < shape->batch; batch++)
    for (int64_t h = 0; h < shape->heads; h++) {
      Head head = head_at(shape, arrays, batch, h);
      for (int64_t row = 0; row < shape->tokens; row++)
        run_row(&head, row, p);
    }
  free(p);
  return true;
}

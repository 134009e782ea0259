#include "tests/gpu/probes/sdpa.h"

#include <inttypes.h>
#include <stdio.h>

static const cudnnDataType_t FP32 = CUDNN_DATA_FLOAT;
static const cudnnDataType_t BF16 = CUDNN_DATA_BFLOAT16;

/* One pass being built. */
typedef struct {
  CudnnGraph *graph;
  const SdpaShape *shape;
} Pass;

static int64_t token_stride(const SdpaShape *shape) {
  return (shape->heads + 2 * shape->kv_heads) * shape->head_size;
}

/* A part of an interleaved array: [B, heads, T, D] with the given elements per token. */
static Descriptor heads_tensor(Pass pass, int64_t id, int64_t heads, int64_t per_token) {
  const SdpaShape *s = pass.shape;
  return graph_tensor(
      pass.graph, &(TensorSpec){.kind = TENSOR_IN_MEMORY,
                                .id = id,
                                .type = BF16,
                                .dims = {s->batch, heads, s->tokens, s->head_size},
                                .strides = {s->tokens * per_token, s->head_size, per_token, 1}});
}

/* The same bytes with T and D exchanged: k^T and v^T. */
static Descriptor transposed_heads(Pass pass, int64_t id) {
  const SdpaShape *s = pass.shape;
  int64_t per_token = token_stride(s);
  return graph_tensor(
      pass.graph, &(TensorSpec){.kind = TENSOR_IN_MEMORY,
                                .id = id,
                                .type = BF16,
                                .dims = {s->batch, s->kv_heads, s->head_size, s->tokens},
                                .strides = {s->tokens * per_token, s->head_size, 1, per_token}});
}

/* An intermediate [B, H, T, T]. */
static Descriptor scores(Pass pass, cudnnDataType_t type) {
  const SdpaShape *s = pass.shape;
  int64_t square = s->tokens * s->tokens;
  return graph_tensor(pass.graph,
                      &(TensorSpec){.kind = TENSOR_VIRTUAL,
                                    .type = type,
                                    .dims = {s->batch, s->heads, s->tokens, s->tokens},
                                    .strides = {s->heads * square, square, s->tokens, 1}});
}

/* scores^T in bf16, which the tensor cores read. */
static Descriptor transposed_scores(Pass pass, Descriptor from) {
  const SdpaShape *s = pass.shape;
  int64_t square = s->tokens * s->tokens;
  Descriptor to =
      graph_tensor(pass.graph, &(TensorSpec){.kind = TENSOR_VIRTUAL,
                                             .type = BF16,
                                             .dims = {s->batch, s->heads, s->tokens, s->tokens},
                                             .strides = {s->heads * square, square, 1, s->tokens}});
  graph_reshape(pass.graph, from, to);
  return to;
}

/* One fp32 number a row: [B, H, T, 1]. */
static Descriptor rows(Pass pass, TensorKind kind, int64_t id) {
  const SdpaShape *s = pass.shape;
  return graph_tensor(pass.graph,
                      &(TensorSpec){.kind = kind,
                                    .id = id,
                                    .type = FP32,
                                    .dims = {s->batch, s->heads, s->tokens, 1},
                                    .strides = {s->heads * s->tokens, s->tokens, 1, 1}});
}

/* [B, H, T, D], packed. */
static Descriptor packed_heads(Pass pass, TensorKind kind, int64_t id, cudnnDataType_t type) {
  const SdpaShape *s = pass.shape;
  int64_t head = s->tokens * s->head_size;
  return graph_tensor(pass.graph,
                      &(TensorSpec){.kind = kind,
                                    .id = id,
                                    .type = type,
                                    .dims = {s->batch, s->heads, s->tokens, s->head_size},
                                    .strides = {s->heads * head, head, s->head_size, 1}});
}

static Descriptor scalar(Pass pass, int64_t id) {
  return graph_tensor(pass.graph, &(TensorSpec){.kind = TENSOR_BY_VALUE,
                                                .id = id,
                                                .type = FP32,
                                                .dims = {1, 1, 1, 1},
                                                .strides = {1, 1, 1, 1}});
}

static void unary(Pass pass, cudnnPointwiseMode_t mode, Descriptor x, Descriptor y) {
  graph_pointwise(pass.graph, &(PointwiseSpec){mode, FP32, x, NULL, NULL, y, NO_AXIS});
}

static void binary(Pass pass, cudnnPointwiseMode_t mode, Descriptor x, Descriptor b, Descriptor y) {
  graph_pointwise(pass.graph, &(PointwiseSpec){mode, FP32, x, b, NULL, y, NO_AXIS});
}

/* x where row >= column, minus infinity elsewhere; x itself without a mask. */
static Descriptor mask(Pass pass, Descriptor x) {
  if (!pass.shape->causal) return x;
  Descriptor row = scores(pass, CUDNN_DATA_INT32), column = scores(pass, CUDNN_DATA_INT32);
  Descriptor keep = scores(pass, CUDNN_DATA_BOOLEAN), masked = scores(pass, FP32);
  graph_pointwise(pass.graph, &(PointwiseSpec){CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_INT32, x, NULL,
                                               NULL, row, 2});
  graph_pointwise(pass.graph, &(PointwiseSpec){CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_INT32, x, NULL,
                                               NULL, column, 3});
  graph_pointwise(pass.graph, &(PointwiseSpec){CUDNN_POINTWISE_CMP_GE, CUDNN_DATA_BOOLEAN, row,
                                               column, NULL, keep, NO_AXIS});
  graph_pointwise(pass.graph,
                  &(PointwiseSpec){CUDNN_POINTWISE_BINARY_SELECT, FP32, x,
                                   scalar(pass, SDPA_MINUS_INFINITY), keep, masked, NO_AXIS});
  return masked;
}

void sdpa_forward(CudnnGraph *graph, const SdpaShape *shape) {
  Pass pass = {graph, shape};
  int64_t per_token = token_stride(shape);
  Descriptor q = heads_tensor(pass, SDPA_Q, shape->heads, per_token);
  Descriptor k_t = transposed_heads(pass, SDPA_K);
  Descriptor v = heads_tensor(pass, SDPA_V, shape->kv_heads, per_token);
  Descriptor o = heads_tensor(pass, SDPA_O, shape->heads, shape->heads * shape->head_size);

  Descriptor raw = scores(pass, FP32), scaled = scores(pass, FP32);
  graph_matmul(graph, q, k_t, raw);
  binary(pass, CUDNN_POINTWISE_MUL, raw, scalar(pass, SDPA_SCALE), scaled);
  Descriptor x = mask(pass, scaled);

  Descriptor top = rows(pass, TENSOR_VIRTUAL, 0), sum = rows(pass, TENSOR_VIRTUAL, 0);
  Descriptor log_sum = rows(pass, TENSOR_VIRTUAL, 0);
  Descriptor stats = rows(pass, TENSOR_IN_MEMORY, SDPA_STATS);
  Descriptor shifted = scores(pass, FP32), e = scores(pass, FP32), p = scores(pass, BF16);
  graph_reduce(graph, CUDNN_REDUCE_TENSOR_MAX, x, top);
  binary(pass, CUDNN_POINTWISE_SUB, x, top, shifted);
  unary(pass, CUDNN_POINTWISE_EXP, shifted, e);
  graph_reduce(graph, CUDNN_REDUCE_TENSOR_ADD, e, sum);
  unary(pass, CUDNN_POINTWISE_LOG, sum, log_sum);
  binary(pass, CUDNN_POINTWISE_ADD, top, log_sum, stats);
  binary(pass, CUDNN_POINTWISE_DIV, e, sum, p);
  graph_matmul(graph, p, v, o);
}

/* d_kv = left . right, summed over the query heads that share a key head. */
static void matmul_to_kv_heads(Pass pass, Descriptor left, Descriptor right, int64_t id) {
  const SdpaShape *shape = pass.shape;
  Descriptor d_kv = heads_tensor(pass, id, shape->kv_heads, token_stride(shape));
  if (shape->heads == shape->kv_heads) {
    graph_matmul(pass.graph, left, right, d_kv);
    return;
  }
  Descriptor each = packed_heads(pass, TENSOR_VIRTUAL, 0, BF16);
  graph_matmul(pass.graph, left, right, each);
  graph_reduce(pass.graph, CUDNN_REDUCE_TENSOR_ADD, each, d_kv);
}

/* rowsum(d_o * o), the term every element of a softmax row subtracts from its gradient. */
static Descriptor row_sum(Pass pass, Descriptor o, Descriptor d_o) {
  const SdpaShape *s = pass.shape;
  int64_t per_token = s->heads * s->head_size;
  Descriptor product = graph_tensor(
      pass.graph, &(TensorSpec){.kind = TENSOR_VIRTUAL,
                                .type = FP32,
                                .dims = {s->batch, s->heads, s->tokens, s->head_size},
                                .strides = {s->tokens * per_token, s->head_size, per_token, 1}});
  Descriptor reduced = rows(pass, TENSOR_VIRTUAL, 0);
  Descriptor sum = rows(pass, TENSOR_IN_MEMORY, SDPA_ROW_SUM);
  binary(pass, CUDNN_POINTWISE_MUL, d_o, o, product);
  graph_reduce(pass.graph, CUDNN_REDUCE_TENSOR_ADD, product, reduced);
  /* cuDNN recognises the graph only with this factor, where dropout would scale the gradient. */
  binary(pass, CUDNN_POINTWISE_MUL, reduced, scalar(pass, SDPA_ONE), sum);
  return sum;
}

void sdpa_backward(CudnnGraph *graph, const SdpaShape *shape) {
  Pass pass = {graph, shape};
  int64_t per_token = token_stride(shape), o_per_token = shape->heads * shape->head_size;
  Descriptor q = heads_tensor(pass, SDPA_Q, shape->heads, per_token);
  Descriptor k_t = transposed_heads(pass, SDPA_K), v_t = transposed_heads(pass, SDPA_V);
  Descriptor o = heads_tensor(pass, SDPA_O, shape->heads, o_per_token);
  Descriptor d_o = heads_tensor(pass, SDPA_D_O, shape->heads, o_per_token);
  Descriptor stats = rows(pass, TENSOR_IN_MEMORY, SDPA_STATS);
  Descriptor scale = scalar(pass, SDPA_SCALE);
  Descriptor sum = row_sum(pass, o, d_o);

  /* p = exp(scale q k^T - log-sum-exp), and d_v = p^T d_o */
  Descriptor raw = scores(pass, FP32), scaled = scores(pass, FP32), shifted = scores(pass, FP32);
  Descriptor p = scores(pass, FP32);
  graph_matmul(graph, q, k_t, raw);
  binary(pass, CUDNN_POINTWISE_MUL, raw, scale, scaled);
  binary(pass, CUDNN_POINTWISE_SUB, scaled, stats, shifted);
  unary(pass, CUDNN_POINTWISE_EXP, mask(pass, shifted), p);
  matmul_to_kv_heads(pass, transposed_scores(pass, p), d_o, SDPA_D_V);

  /* d_s = p * (d_o v^T - row sum) * scale, and d_k = d_s^T q */
  Descriptor d_p = scores(pass, FP32), centred = scores(pass, FP32), weighted = scores(pass, FP32);
  Descriptor d_s = scores(pass, FP32);
  graph_matmul(graph, d_o, v_t, d_p);
  binary(pass, CUDNN_POINTWISE_SUB, d_p, sum, centred);
  binary(pass, CUDNN_POINTWISE_MUL, centred, p, weighted);
  binary(pass, CUDNN_POINTWISE_MUL, weighted, scale, d_s);
  matmul_to_kv_heads(pass, transposed_scores(pass, d_s), q, SDPA_D_K);

  /* d_q = d_s k: blocks of keys add into an fp32 array, which is rounded once at the end */
  Descriptor k = graph_tensor(
      graph, &(TensorSpec){.kind = TENSOR_VIRTUAL,
                           .type = BF16,
                           .dims = {shape->batch, shape->kv_heads, shape->tokens, shape->head_size},
                           .strides = {shape->tokens * per_token, shape->head_size, per_token, 1}});
  graph_reshape(graph, k_t, k);
  Descriptor d_q_sum = packed_heads(pass, TENSOR_IN_MEMORY, SDPA_D_Q_SUM, FP32);
  graph_matmul(graph, d_s, k, d_q_sum);
  unary(pass, CUDNN_POINTWISE_IDENTITY, d_q_sum,
        heads_tensor(pass, SDPA_D_Q, shape->heads, per_token));
}

int64_t sdpa_qkv_count(const SdpaShape *shape) {
  return shape->batch * shape->tokens * token_stride(shape);
}

int64_t sdpa_o_count(const SdpaShape *shape) {
  return shape->batch * shape->tokens * shape->heads * shape->head_size;
}

int64_t sdpa_stats_count(const SdpaShape *shape) {
  return shape->batch * shape->heads * shape->tokens;
}

double sdpa_forward_flops(const SdpaShape *shape) {
  double per_matmul = 2.0 * (double)sdpa_o_count(shape) * (double)shape->tokens;
  return 2.0 * per_matmul * (shape->causal ? 0.5 : 1.0);
}

double sdpa_backward_flops(const SdpaShape *shape) {
  return 2.5 * sdpa_forward_flops(shape);
}

void sdpa_name(const SdpaShape *shape, char *name, size_t size_bytes) {
  snprintf(name, size_bytes, "%s B%" PRId64 " H%" PRId64 "/%" PRId64 " T%" PRId64 " D%" PRId64,
           shape->causal ? "causal" : "unmasked", shape->batch, shape->heads, shape->kv_heads,
           shape->tokens, shape->head_size);
}

void sdpa_plan_path(const char *folder, const char *name, char *path, size_t size_bytes) {
  int start = snprintf(path, size_bytes, "%s/", folder);
  snprintf(path + start, size_bytes - (size_t)start, "%s.json", name);
  for (char *c = path + start; *c; c++)
    if (*c == ' ' || *c == '/') *c = '_';
}

#include "kernels/cuda/attention_graph.h"

typedef struct GraphPass {
  DnnGraph *graph;
  const AttentionShape *shape;
} GraphPass;

static const DnnTensor *sized(DnnTensor *tensor, int64_t batch, int64_t heads, int64_t rows,
                              int64_t columns) {
  const int64_t size[] = {batch, heads, rows, columns};
  for (int i = 0; i < 4; i++)
    tensor->size[i] = size[i];
  return tensor;
}

/* Row-major. */
static DnnDescriptor dense(GraphPass pass, AttentionTensor id, int32_t type, int64_t rows,
                           int64_t columns) {
  int64_t heads = pass.shape->heads;
  DnnTensor tensor = {
      .id = id, .type = type, .stride = {heads * rows * columns, rows * columns, columns, 1}};
  return dnn_tensor(pass.graph, sized(&tensor, pass.shape->batch, heads, rows, columns));
}

/* One number for each pair of query and key, which is never written to memory. */
static DnnDescriptor pairs(GraphPass pass, int32_t type) {
  return dense(pass, 0, type, pass.shape->seq, pass.shape->keys);
}

/* One for each query. */
static DnnDescriptor rows(GraphPass pass, AttentionTensor id) {
  return dense(pass, id, DNN_F32, pass.shape->seq, 1);
}

/* The log of the softmax's sum, of all queries that a sample has in memory. */
static DnnDescriptor logs_of(GraphPass pass) {
  const AttentionShape *s = pass.shape;
  DnnTensor tensor = {
      .id = ATTENTION_LSE, .type = DNN_F32, .stride = {s->heads * s->sample, s->sample, 1, 1}};
  return dnn_tensor(pass.graph, sized(&tensor, s->batch, s->heads, s->seq, 1));
}

static DnnDescriptor number(GraphPass pass, AttentionTensor id) {
  DnnTensor tensor = {.id = id, .type = DNN_F32, .is_value = true, .stride = {1, 1, 1, 1}};
  return dnn_tensor(pass.graph, sized(&tensor, 1, 1, 1, 1));
}

static int value_type(GraphPass pass) {
  return pass.shape->is_f16 ? DNN_F16 : DNN_BF16;
}

/* Heads of this many tokens where the plan has them; id 0: no memory, but as if it were there. */
static DnnDescriptor tokens(GraphPass pass, AttentionTensor id, int64_t count, int64_t heads,
                            int64_t stride) {
  const AttentionShape *s = pass.shape;
  DnnTensor tensor = {
      .id = id, .type = value_type(pass), .stride = {s->sample * stride, s->head, stride, 1}};
  return dnn_tensor(pass.graph, sized(&tensor, s->batch, heads, count, s->head));
}

static DnnDescriptor queries(GraphPass pass, AttentionTensor id, int64_t stride) {
  return tokens(pass, id, pass.shape->seq, pass.shape->heads, stride);
}

static DnnDescriptor keys(GraphPass pass, AttentionTensor id, int64_t stride) {
  return tokens(pass, id, pass.shape->keys, pass.shape->kv_heads, stride);
}

/* The same with tokens and columns exchanged. */
static DnnDescriptor keys_turned(GraphPass pass, AttentionTensor id, int64_t stride) {
  const AttentionShape *s = pass.shape;
  DnnTensor tensor = {
      .id = id, .type = value_type(pass), .stride = {s->sample * stride, s->head, 1, stride}};
  return dnn_tensor(pass.graph, sized(&tensor, s->batch, s->kv_heads, s->head, s->keys));
}

static DnnDescriptor binary(GraphPass pass, int mode, DnnDescriptor x, DnnDescriptor b,
                            DnnDescriptor y) {
  dnn_pointwise(pass.graph, mode, x, b, NULL, y);
  return y;
}

static DnnDescriptor unary(GraphPass pass, int mode, DnnDescriptor x, DnnDescriptor y) {
  return binary(pass, mode, x, NULL, y);
}

static DnnDescriptor reduced(GraphPass pass, int operator, DnnDescriptor x, DnnDescriptor y) {
  dnn_reduce(pass.graph, operator, x, y);
  return y;
}

static DnnDescriptor product(GraphPass pass, DnnDescriptor a, DnnDescriptor b, DnnDescriptor c) {
  dnn_matmul(pass.graph, a, b, c);
  return c;
}

/* Hides the scores of keys after the query. */
static DnnDescriptor masked(GraphPass pass, DnnDescriptor scores) {
  if (!pass.shape->causal) return scores;
  DnnDescriptor row = pairs(pass, DNN_I32), column = pairs(pass, DNN_I32);
  DnnDescriptor seen = pairs(pass, DNN_BOOLEAN), left = pairs(pass, DNN_F32);
  dnn_index(pass.graph, 2, scores, row);
  dnn_index(pass.graph, 3, scores, column);
  (void)binary(pass, DNN_AT_LEAST, row, column, seen);
  dnn_pointwise(pass.graph, DNN_SELECT, scores, number(pass, ATTENTION_HIDDEN), seen, left);
  return left;
}

/* scale q k' */
static DnnDescriptor scores_of(GraphPass pass, DnnDescriptor q, DnnDescriptor k_turned,
                               DnnDescriptor scale) {
  DnnDescriptor dots = product(pass, q, k_turned, pairs(pass, DNN_F32));
  return binary(pass, DNN_MULTIPLY, dots, scale, pairs(pass, DNN_F32));
}

static void forward(GraphPass pass) {
  const AttentionShape *s = pass.shape;
  DnnDescriptor q = queries(pass, ATTENTION_Q, s->q_stride);
  DnnDescriptor k_turned = keys_turned(pass, ATTENTION_K, s->k_stride);
  DnnDescriptor v = keys(pass, ATTENTION_V, s->v_stride);
  DnnDescriptor out = queries(pass, ATTENTION_OUT, s->heads * s->head);
  DnnDescriptor scores = masked(pass, scores_of(pass, q, k_turned, number(pass, ATTENTION_SCALE)));
  DnnDescriptor highest = reduced(pass, DNN_LARGEST, scores, rows(pass, 0));
  DnnDescriptor centred = binary(pass, DNN_SUBTRACT, scores, highest, pairs(pass, DNN_F32));
  DnnDescriptor weights = unary(pass, DNN_EXP, centred, pairs(pass, DNN_F32));
  DnnDescriptor sum = reduced(pass, DNN_SUM, weights, rows(pass, 0));
  DnnDescriptor log_sum = unary(pass, DNN_LOG, sum, rows(pass, 0));
  (void)binary(pass, DNN_ADD, highest, log_sum, logs_of(pass));
  DnnDescriptor p = binary(pass, DNN_DIVIDE, weights, sum, pairs(pass, value_type(pass)));
  (void)product(pass, p, v, out);
}

/* d_out . out of each query. */
static DnnDescriptor terms_of(GraphPass pass, DnnDescriptor d_out, DnnDescriptor out) {
  const AttentionShape *s = pass.shape;
  DnnTensor each = {.type = DNN_F32,
                    .stride = {s->heads * s->seq * s->head, s->head, s->heads * s->head, 1}};
  DnnDescriptor products =
      dnn_tensor(pass.graph, sized(&each, s->batch, s->heads, s->seq, s->head));
  (void)binary(pass, DNN_MULTIPLY, d_out, out, products);
  DnnDescriptor sum = reduced(pass, DNN_SUM, products, rows(pass, 0));
  return binary(pass, DNN_MULTIPLY, sum, number(pass, ATTENTION_ONE), rows(pass, ATTENTION_TERMS));
}

/* The product of `pairs`, with queries and keys exchanged, and `of_queries`: a sum over the queries
 * of all heads that share a key. */
static void sum_over_queries(GraphPass pass, DnnDescriptor of_pairs, DnnDescriptor of_queries,
                             DnnDescriptor d_keys) {
  const AttentionShape *s = pass.shape;
  DnnTensor turned = {
      .type = value_type(pass),
      .stride = {s->heads * s->seq * s->keys, s->seq * s->keys, 1, s->keys},
  };
  DnnDescriptor by_key =
      dnn_tensor(pass.graph, sized(&turned, s->batch, s->heads, s->keys, s->seq));
  dnn_reshape(pass.graph, of_pairs, by_key);
  if (s->heads == s->kv_heads) {
    (void)product(pass, by_key, of_queries, d_keys);
    return;
  }
  DnnDescriptor every = dense(pass, 0, value_type(pass), s->keys, s->head);
  (void)reduced(pass, DNN_SUM, product(pass, by_key, of_queries, every), d_keys);
}

static void backward(GraphPass pass) {
  const AttentionShape *s = pass.shape;
  DnnDescriptor q = queries(pass, ATTENTION_Q, s->q_stride);
  DnnDescriptor k_turned = keys_turned(pass, ATTENTION_K, s->k_stride);
  DnnDescriptor v_turned = keys_turned(pass, ATTENTION_V, s->v_stride);
  DnnDescriptor out = queries(pass, ATTENTION_OUT, s->heads * s->head);
  DnnDescriptor d_out = queries(pass, ATTENTION_D_OUT, s->heads * s->head);
  DnnDescriptor scale = number(pass, ATTENTION_SCALE);
  DnnDescriptor terms = terms_of(pass, d_out, out);

  DnnDescriptor scores = scores_of(pass, q, k_turned, scale);
  DnnDescriptor logs = binary(pass, DNN_SUBTRACT, scores, logs_of(pass), pairs(pass, DNN_F32));
  DnnDescriptor p = unary(pass, DNN_EXP, masked(pass, logs), pairs(pass, DNN_F32));
  sum_over_queries(pass, p, d_out, keys(pass, ATTENTION_D_V, s->d_v_stride));

  DnnDescriptor d_p = product(pass, d_out, v_turned, pairs(pass, DNN_F32));
  DnnDescriptor centred = binary(pass, DNN_SUBTRACT, d_p, terms, pairs(pass, DNN_F32));
  DnnDescriptor slopes = binary(pass, DNN_MULTIPLY, centred, p, pairs(pass, DNN_F32));
  DnnDescriptor d_scores = binary(pass, DNN_MULTIPLY, slopes, scale, pairs(pass, DNN_F32));
  sum_over_queries(pass, d_scores, q, keys(pass, ATTENTION_D_K, s->d_k_stride));

  DnnDescriptor k = keys(pass, 0, s->k_stride);
  DnnDescriptor d_q = queries(pass, ATTENTION_D_Q, s->d_q_stride);
  dnn_reshape(pass.graph, k_turned, k);
  if (s->is_ordered) {
    (void)product(pass, d_scores, k, d_q);
    return;
  }
  DnnDescriptor sums = dense(pass, ATTENTION_D_Q_SUM, DNN_F32, s->seq, s->head);
  (void)unary(pass, DNN_IDENTITY, product(pass, d_scores, k, sums), d_q);
}

void attention_graph(DnnGraph *graph, const AttentionShape *shape) {
  GraphPass pass = {graph, shape};
  if (shape->is_backward)
    backward(pass);
  else
    forward(pass);
}

int64_t attention_terms_bytes(const AttentionShape *shape) {
  return shape->is_backward ? shape->batch * shape->heads * shape->seq * 4 : 0;
}

int64_t attention_d_q_sum_bytes(const AttentionShape *shape) {
  return shape->is_ordered ? 0 : attention_terms_bytes(shape) * shape->head;
}

/* attention_graph.h -- attention and its gradients as graphs of cuDNN's operations.
 *
 * The operations are listed one by one, and cuDNN recognises the whole: it runs one fused kernel,
 * and nothing between the operations is kept in memory. q, k, v and their gradients are where the
 * plan has them, interleaved or not: strides pick them out. Values are bf16 or fp16, the log of the
 * softmax's sum and all sums f32. */
#ifndef LOCKSTEP_ATTENTION_GRAPH_H
#define LOCKSTEP_ATTENTION_GRAPH_H

#include "kernels/cuda/cudnn_graph.h"

/* The last `seq` queries of a sample and its first `keys` keys: all of them, or of a ring's block
 * those that see any, and are seen. Strides are from token to token; samples follow each other. */
typedef struct AttentionShape {
  int64_t batch, seq, keys, heads, kv_heads, head;
  int64_t sample;                             /* tokens of a sample in memory */
  int64_t q_stride, k_stride, v_stride;       /* of forward, and of backward's inputs */
  int64_t d_q_stride, d_k_stride, d_v_stride; /* 0 forward */
  bool is_backward, causal;
  bool is_f16; /* values are fp16, else bf16 */
  /* Backward: d_q is summed in a fixed order, from all of d(scores), which the library keeps. If
   * not, blocks of keys add to it as they come, in f32. */
  bool is_ordered;
} AttentionShape;

/* The tensors whose addresses a call gives. */
typedef enum AttentionTensor {
  ATTENTION_Q = 1,
  ATTENTION_K,
  ATTENTION_V,
  ATTENTION_OUT,
  ATTENTION_LSE,
  ATTENTION_D_OUT,
  ATTENTION_D_Q,
  ATTENTION_D_K,
  ATTENTION_D_V,
  ATTENTION_TERMS,   /* scratch, f32 [batch, heads, seq]: d_out . out */
  ATTENTION_D_Q_SUM, /* scratch, f32 [batch, heads, seq, head], unless is_ordered */
  ATTENTION_SCALE,   /* numbers of the host, f32 */
  ATTENTION_ONE,
  ATTENTION_HIDDEN, /* the score of a key that a query does not see: -inf */
  ATTENTION_TENSORS
} AttentionTensor;

/* Adds the operations; the graph is not finished yet. */
void attention_graph(DnnGraph *graph, const AttentionShape *shape);

/* Bytes of the scratch tensors. */
int64_t attention_terms_bytes(const AttentionShape *shape);
int64_t attention_d_q_sum_bytes(const AttentionShape *shape);

#endif

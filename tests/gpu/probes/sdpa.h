/* sdpa.h -- causal or unmasked attention, forward and backward, as cuDNN operation graphs.
 *
 * q, k and v lie interleaved in one array qkv[B, T, (H + 2 HK) D] as the qkv matmul leaves them;
 * strides pick them out, so nothing is split or permuted. o is [B, T, H D], stats [B, H, T] in
 * fp32 is the log-sum-exp of each row. d_q, d_k, d_v lie interleaved in the same way.
 * The operations are those of FlashAttention-2 (Dao, arXiv:2307.08691, algorithms 1 and 2), spelled
 * out: cuDNN recognises the whole graph and runs it as one kernel.
 */
#ifndef GPU_SDPA_H
#define GPU_SDPA_H

#include <stddef.h>

#include "tests/gpu/probes/cudnn_graph.h"

typedef struct {
  int64_t batch, heads, kv_heads, tokens, head_size;
  bool causal;
} SdpaShape;

/* Tensor ids: what a caller binds to addresses. */
enum {
  SDPA_Q = 1,
  SDPA_K,
  SDPA_V,
  SDPA_O,
  SDPA_STATS,
  SDPA_D_O,
  SDPA_D_Q,
  SDPA_D_K,
  SDPA_D_V,
  SDPA_ROW_SUM,        /* fp32 [B, H, T]: scratch of the backward pass, rowsum(d_o * o) */
  SDPA_D_Q_SUM,        /* fp32 [B, H, T, D]: scratch, must be zero before every backward pass */
  SDPA_SCALE,          /* host fp32: 1 / sqrt(D) */
  SDPA_ONE,            /* host fp32: 1 */
  SDPA_MINUS_INFINITY, /* host fp32 */
  SDPA_ID_COUNT
};

void sdpa_forward(CudnnGraph *graph, const SdpaShape *shape);
void sdpa_backward(CudnnGraph *graph, const SdpaShape *shape);

/* Element counts of the arrays above. */
int64_t sdpa_qkv_count(const SdpaShape *shape);
int64_t sdpa_o_count(const SdpaShape *shape);
int64_t sdpa_stats_count(const SdpaShape *shape);

/* Two matmuls forward and five backward, half of each when causal (the convention of the
 * FlashAttention papers; the diagonal itself is not counted twice). */
double sdpa_forward_flops(const SdpaShape *shape);
double sdpa_backward_flops(const SdpaShape *shape);

/* "causal B1 H32/8 T8192 D128" */
void sdpa_name(const SdpaShape *shape, char *name, size_t size_bytes);

/* FOLDER/name.json with the name's blanks and slashes replaced: where a plan made ahead lies. */
void sdpa_plan_path(const char *folder, const char *name, char *path, size_t size_bytes);

#endif

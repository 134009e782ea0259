/* cost.h -- how long a kernel takes, by the roofline of the cluster's device (Williams et al.
 * 2009).
 *
 * Integers of nanoseconds: predictions are part of the plan's bytes. 0 where the device's peaks are
 * unknown. */
#ifndef LOCKSTEP_COST_H
#define LOCKSTEP_COST_H

#include "compiler/draft/draft.h"

/* The larger of flops / peak and bytes / bandwidth; 0 of what is no kernel. */
int64_t cost_kernel_ns(const Draft *d, const Record *record);

/* Fills compute_ns of every segment. */
void cost_segments(Draft *d);

/* Model FLOPs of one token in training, the numerator of MFU (Chowdhery et al. 2022, appendix B):
 * 6 N + 12 L h d T, and half of the second where attention is causal. N counts the weights of
 * matrix products, with the head's and its padded rows, without embeddings that are looked up; h d
 * is the width of all heads of a layer. Backward is twice forward: what flash attention or a
 * recompute policy computes again is not counted, though records' own FLOPs, which predict time,
 * have it. `g` is whole, not yet cut; it has `tokens` tokens in a micro-batch. */
int64_t cost_flops_per_token(const Graph *g, int64_t tokens);

#endif

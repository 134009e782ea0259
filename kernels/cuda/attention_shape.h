/* attention_shape.h -- the attention of a record as a shape of cuDNN's graph, if the graph can
 * express it: values in bf16 or fp16, no dropout, window or soft cap, heads and strides of whole 16
 * bytes, and a causal mask whose queries and keys have the same positions, or that hides halves of
 * a ring's block whole, or none. */
#ifndef LOCKSTEP_ATTENTION_SHAPE_H
#define LOCKSTEP_ATTENTION_SHAPE_H

#include "kernels/contract/contract.h"
#include "kernels/cuda/attention_graph.h"
#include "kernels/kernel.h"

/* `why`: what the graph cannot express; NULL where it can. */
AttentionShape attention_shape_of(KernelId id, const KernelUse *use, const char **why);

bool attention_shape_same(const AttentionShape *a, const AttentionShape *b);

#endif

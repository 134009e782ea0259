/* codes.h -- values as codes of eight bits with scales (kernels/math/fp8.h). */
#ifndef LOCKSTEP_OPS_CODES_H
#define LOCKSTEP_OPS_CODES_H

#include "compiler/graph/ops/op.h"

/* The part of a matrix that has one scale. */
typedef enum CodeBlocks {
  CODES_WHOLE,  /* one scale for the whole tensor */
  CODES_ACROSS, /* 1 x 128 */
  CODES_DOWN,   /* 128 x 1 */
  CODES_SQUARE  /* 128 x 128 */
} CodeBlocks;

int64_t code_scales(CodeBlocks blocks, int64_t rows, int64_t cols);

/* Dims (rows, in, out, transposed) and FLOPs of a product: linear.c. x is a value with the input
 * features, w the weight or its gradient. */
void linear_lower(const Graph *g, ValueId x, ValueId w, Lowered *out);

#endif

/* dropout.h -- maps an element of x to its element of the mask over the global batch. */
#ifndef LOCKSTEP_KERNELS_DROPOUT_H
#define LOCKSTEP_KERNELS_DROPOUT_H

#include "kernels/inline.h"
#include "kernels/kernel.h"
#include "kernels/runs.h"

typedef struct DropoutShape {
  int64_t batch, seq, outer, part, inner;
  int64_t all_seq, all_parts;
  int64_t token_first, part_first;
  int64_t sample_first, has_batch; /* 0: every sample has sample 0's mask */
  Runs runs;
} DropoutShape;

/* sample_first is the caller's to add, as it is known when the kernel runs. */
static inline DropoutShape dropout_shape(const KernelArgs *args) {
  const int64_t *dim = args->dim;
  const double *attr = args->attr;
  DropoutShape shape = {dim[0], dim[1], dim[2], dim[3], dim[4], dim[7],
                        dim[8], 0,      0,      0,      0,      {0, 0, 0}};
  shape.token_first = (int64_t)attr[1];
  shape.part_first = (int64_t)attr[4];
  shape.has_batch = dim[5];
  shape.runs.seq = dim[6];
  shape.runs.first = (int64_t)attr[2];
  shape.runs.second = (int64_t)attr[3];
  return shape;
}

/* x[i] is this element of the mask. */
KERNEL_INLINE int64_t dropout_element(const DropoutShape *s, int64_t i) {
  int64_t within = i % (s->part * s->inner), row = i / (s->part * s->inner);
  int64_t token = row / s->outer % s->seq, sample = row / s->outer / s->seq;
  int64_t number = s->has_batch ? s->sample_first + sample : 0;
  int64_t position = runs_position(s->runs, s->token_first + token);
  int64_t outer = (number * s->all_seq + position) * s->outer + row % s->outer;
  return (outer * s->all_parts + s->part_first) * s->inner + within;
}

/* x consists of pieces of this many elements with consecutive mask elements. */
static inline int64_t dropout_piece(const DropoutShape *s) {
  int64_t piece = s->part * s->inner;
  if (s->part != s->all_parts) return piece;
  piece *= s->outer;
  if (s->seq > 1 && !runs_joined(s->runs)) return piece;
  piece *= s->seq;
  bool samples_follow = s->has_batch && s->seq == s->all_seq;
  return s->batch == 1 || samples_follow ? piece * s->batch : piece;
}

#endif

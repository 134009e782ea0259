/* dropout.h -- which element of the mask over the global batch belongs to an element of x. */
#ifndef LOCKSTEP_KERNELS_DROPOUT_H
#define LOCKSTEP_KERNELS_DROPOUT_H

#include "kernels/kernel.h"
#include "kernels/runs.h"

typedef struct DropoutShape {
  int64_t batch, seq, outer, part, inner;
  int64_t all_seq, all_parts;
  int64_t token_first, part_first;
  int64_t sample_first, has_batch; /* 0: every sample has sample 0's mask */
  Runs runs;
} DropoutShape;

static inline DropoutShape dropout_shape(const KernelArgs *args) {
  const int64_t *dim = args->dim;
  const double *attr = args->attr;
  return (DropoutShape){
      .batch = dim[0],
      .seq = dim[1],
      .outer = dim[2],
      .part = dim[3],
      .inner = dim[4],
      .all_seq = dim[7],
      .all_parts = dim[8],
      .token_first = (int64_t)attr[1],
      .part_first = (int64_t)attr[4],
      .sample_first = *args->sample_first,
      .has_batch = dim[5],
      .runs = {dim[6], (int64_t)attr[2], (int64_t)attr[3]},
  };
}

/* x[i] is this element of the mask. */
static inline int64_t dropout_element(const DropoutShape *s, int64_t i) {
  int64_t within = i % (s->part * s->inner), row = i / (s->part * s->inner);
  int64_t token = row / s->outer % s->seq, sample = row / s->outer / s->seq;
  int64_t number = s->has_batch ? s->sample_first + sample : 0;
  int64_t position = runs_position(s->runs, s->token_first + token);
  int64_t outer = (number * s->all_seq + position) * s->outer + row % s->outer;
  return (outer * s->all_parts + s->part_first) * s->inner + within;
}

/* x falls into pieces of this many elements whose elements of the mask are consecutive. */
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

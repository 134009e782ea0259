/* cuts.h -- a model's parts cut into stages: work and bytes of each stage and chunk. */
#ifndef LOCKSTEP_CUTS_H
#define LOCKSTEP_CUTS_H

#include "compiler/draft/draft.h"

/* Sums over the layers of one chunk, for one micro-batch. */
typedef struct ChunkWork {
  int64_t forward_ns, backward_ns, weight_ns;
  int64_t kept_bytes;     /* between forward and backward */
  int64_t deferred_bytes; /* kept between backward and weight gradients, in addition */
  int64_t peak_bytes[4];  /* by ZeRO stage: the peak of its backward, activations included */
} ChunkWork;

typedef struct StageNeeds {
  int64_t param_bytes, grad_bytes, state_bytes; /* of all its layers, without sharding */
  int64_t gathered_elements, reduced_elements;  /* that zero 3 gathers; that gradients have */
  int64_t update_ns;
  int64_t forward_ns, backward_ns, weight_ns; /* of all chunks of the stage */
  int64_t head_ns, tail_ns; /* other stages work before its first chunk begins, and after */
  ChunkWork least;          /* its byte fields are minima over the stage's chunks */
  const ChunkWork **chunk;  /* its chunks */
} StageNeeds;

typedef struct Cut {
  int32_t stages, chunks;
  StageNeeds *at; /* by stage */
} Cut;

/* Parts as this many stages, in this order. NULL: layers do not suffice. */
Cut *cut_into(Job *job, const Draft *parts, int64_t pp, int64_t chunks, int32_t kind);

#endif

/* sums.h -- a hash of all bytes of a model's files, a sum of hashes of chunks: of 16 MiB of a
 * tensor, or of what is left of it. The total does not depend on which rank has read which chunk,
 * nor on the files that tensors are in.
 *
 *   tensor  | chunk 0 | chunk 1 | 2 |      a chunk's hash begins with the tensor's name, dtype and
 *                                          shape, and the chunk's place in it
 *
 * Bytes that a rank reads to place them are summed on the way; each other chunk is read once more
 * by one of the ranks, at nearly the rate of plain reads. */
#ifndef LOCKSTEP_WEIGHTS_SUMS_H
#define LOCKSTEP_WEIGHTS_SUMS_H

#include "runtime/safetensors/safetensors.h"

enum { WEIGHTS_CHUNK_BYTES = 16 << 20 };

typedef struct WeightSums {
  const SafeSet *set;
  int64_t chunks;
  int64_t *first;          /* chunk of each tensor of the set */
  uint64_t *sum;           /* by chunk */
  uint8_t *is_known;       /* by chunk: 1: it was read here */
  struct XXH3_state_s *of; /* of the chunk that is being read, */
  int64_t chunk;           /* which is this one, */
  int64_t next;            /* and its next byte in the tensor; -1: none is being read */
} WeightSums;

/* False: `status`. The set must stay. weight_sums_close in any case. */
bool weight_sums_open(WeightSums *sums, const SafeSet *set, Status *status);
void weight_sums_close(WeightSums *sums);

/* Bytes [first, first + count) of a tensor of the set were read. A chunk is hashed only if its
 * bytes are added in order. */
void weight_sums_add(WeightSums *sums, const SafePlace *place, int64_t first, const uint8_t *bytes,
                     int64_t count);

/* The part of `member` in the total. `known`: is_known of each member, one after another; a chunk
 * that several have read is the first one's, and those that none has read are dealt and read. NULL:
 * no chunk was read. False: `status`. */
bool weight_sums_total(WeightSums *sums, const uint8_t *known, int32_t member, int32_t members,
                       uint64_t *total, Status *status);

#endif

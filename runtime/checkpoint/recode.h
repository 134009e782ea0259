/* recode.h -- moments in codes whose blocks are of other elements than those that were saved.
 *
 * A block is 256 elements that follow one another in a rank's memory, so other cuts of a tensor
 * (tp) give other blocks, and a code means nothing without the maximum of its block. Such moments
 * become numbers by the blocks saved, and codes again by those of the plan. */
#ifndef LOCKSTEP_CHECKPOINT_RECODE_H
#define LOCKSTEP_CHECKPOINT_RECODE_H

#include "runtime/checkpoint/reader.h"

/* Moments of a checkpoint. */
typedef struct Recoding {
  uint32_t codes, maxima; /* items */
  float *most;            /* maxima of some blocks */
  int64_t most_room;
} Recoding;

/* The buffer kind of the maxima of codes of this kind. */
BufferKind recode_maxima(uint32_t codes);

/* The numbers of the elements that a stored piece of codes shares with `want`; `code` has their
 * codes. Reads the maxima of their blocks. False: `fault` and `status` say why. */
bool recode_numbers(Recoding *recoding, Reader *reader, const StateStored *stored,
                    const StatePiece *want, const uint8_t *code, float *number,
                    CheckpointFault *fault, Status *status);

/* Codes, and the maximum of each block, of `count` numbers that begin with a block. */
void recode_blocks(BufferKind codes, const float *number, int64_t count, uint8_t *code,
                   float *most);

#endif

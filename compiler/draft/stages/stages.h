/* stages.h -- assigns layers to pipeline stages, and lays out what stays on each for the whole run.
 *
 * In:   a draft whose segments have predicted times. */
#ifndef LOCKSTEP_STAGES_H
#define LOCKSTEP_STAGES_H

#include "compiler/draft/draft.h"

/* The best cuts of a chain that is cut many times, by the number of chunks; NULL: not yet known. */
typedef struct KnownCuts {
  Arena *arena;
  int32_t **at;
} KnownCuts;

/* Makes links, chunks and stages. False when reported: the model cannot be cut this way. */
bool stages_cut(Draft *d);

/* Adds the persistent buffers of every stage, with offsets: parameters, gradients, optimizer state,
 * control and staged samples. */
void state_layout(Draft *d);

/* Chooses the layers that keep what backward needs in host memory, where the job asks for it. */
void frames_choose(Draft *d);

#endif

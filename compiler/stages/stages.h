/* stages.h -- layers to pipeline stages, and what stays on each for the whole run.
 *
 * In:   a draft whose segments have predicted times. */
#ifndef LOCKSTEP_STAGES_H
#define LOCKSTEP_STAGES_H

#include "compiler/draft/draft.h"

/* Links, chunks, stages. False when reported: the model cannot be cut so. */
bool stages_cut(Draft *d);

/* Parameters, gradients, optimizer state, control and staged samples of every stage: persistent
 * buffers, with their offsets. */
void state_layout(Draft *d);

#endif

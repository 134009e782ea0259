/* calls.h -- which segments run in which order on which buffers: init, train_step and eval_step of
 * every pipeline stage.
 *
 * In:   a draft with stages and their persistent buffers.   Out: calls and loops of every program,
 * and the buffers that live between calls, with their lifetimes. */
#ifndef LOCKSTEP_CALLS_H
#define LOCKSTEP_CALLS_H

#include "compiler/draft/draft.h"

void calls_build(Draft *d);

/* The train step of one stage alone; pipeline NULL: there is one stage. */
void calls_build_train(Draft *d, int32_t stage, const Pipeline *pipeline);

#endif

/* words.h -- the words of segments' names, for the passes that make segments:
 * runtime/plan/segments.def. */
#ifndef LOCKSTEP_DRAFT_WORDS_H
#define LOCKSTEP_DRAFT_WORDS_H

#include "runtime/plan/plan_segment.h"

#endif

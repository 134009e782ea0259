/* replay_look.h -- which record of a run has first written what is no number. */
#ifndef LOCKSTEP_REPLAY_LOOK_H
#define LOCKSTEP_REPLAY_LOOK_H

#include <pthread.h>

#include "runtime/replay.h"

typedef enum FirstKind {
  FIRST_NONE, /* everything was a number */
  FIRST_MADE, /* the record made it of numbers */
  FIRST_HAD,  /* the record reads it, and no record of this run has written it */
  FIRST_CAME, /* the record brought it from other ranks, or as the sum over them */
} FirstKind;

/* What one rank has found. */
typedef struct ReplayFirst {
  int32_t kind;
  uint32_t record, lane;
  int32_t layer;
  int64_t microbatch;
} ReplayFirst;

/* Runs a program again and looks at all that its records read and write, on a processor: NaN and
 * +inf, for attention keeps -inf for what sees nothing. Its state is what the run leaves. As
 * replay_run; `first` is this rank's. */
bool replay_look(Replay *replay, const PlanProgram *program, const Control *set,
                 const void *samples, ReplayFirst *first, Status *status);

#endif

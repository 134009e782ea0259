/* replay_look.h -- finds the first record of a run that writes a NaN or an infinity; or lets the
 * caller see what records read. */
#ifndef LOCKSTEP_REPLAY_LOOK_H
#define LOCKSTEP_REPLAY_LOOK_H

#include <pthread.h>

#include "runtime/replay/replay.h"

typedef enum FirstKind {
  FIRST_NONE, /* everything was finite */
  FIRST_MADE, /* the record made it from finite numbers */
  FIRST_HAD,  /* the record read bytes that no record of this run had written */
  FIRST_CAME, /* the record received it from other ranks, or as a sum over ranks */
} FirstKind;

/* The finding of one rank. */
typedef struct ReplayFirst {
  int32_t kind;
  uint32_t record, lane;
  int32_t layer;
  int64_t microbatch;
} ReplayFirst;

/* Checks everything that the records of a run read and write. */
struct ReplayWatch {
  Replay *replay;
  pthread_mutex_t lock; /* lanes run at the same time */
  ReplayFirst first;
  /* Called before each record in place of the check; NULL: they are checked. */
  void (*see)(void *context, const Replay *replay, const Work *work);
  void *context;
};

/* All runs of programs between _begin and _end are checked. No run may be underway at either call.
 * On processors only.
 */
void replay_watch_begin(ReplayWatch *watch, Replay *replay);
ReplayFirst replay_watch_end(ReplayWatch *watch);

/* Runs a program again on a processor and checks everything that its records read and write for NaN
 * and +inf; -inf is allowed beside fp16, because attention uses it for tokens that see nothing. The
 * state afterwards is that of the run. Otherwise as replay_run; `first` is the finding of this
 * rank. */
bool replay_look(Replay *replay, const PlanProgram *program, const Control *set,
                 const void *samples, ReplayFirst *first, Status *status);

#endif

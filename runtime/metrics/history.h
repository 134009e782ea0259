/* history.h -- metrics.jsonl of earlier starts of a run: none of it is lost, and the part that the
 * run continues is read back for its plots. */
#ifndef LOCKSTEP_METRICS_HISTORY_H
#define LOCKSTEP_METRICS_HISTORY_H

#include "runtime/metrics/plot.h"
#include "runtime/process/status.h"

enum {
  HISTORY_KEEP = 8, /* how many of the newest metrics.N.jsonl are kept */
  HISTORY_PATH_BYTES = 4096
};

typedef struct History {
  Curve *train; /* the losses of the kept lines are added */
  Curve *valid;
  double best_valid;                 /* of the kept lines; INFINITY if there is none */
  char moved_to[HISTORY_PATH_BYTES]; /* where dropped lines were moved; "": there were none */
} History;

/* Keeps in FOLDER/metrics.jsonl only complete lines of steps before `first_step`; for first_step 1
 * the file is removed. If other lines exist, of later steps or cut off by a crash, the old file is
 * kept as metrics.N.jsonl with the next higher N. On failure the files are unchanged. */
bool history_take_up(History *history, const char *folder, int64_t first_step, Status *status);

#endif

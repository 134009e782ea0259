/* history.h -- metrics.jsonl of earlier starts of a run: nothing of it is lost, and what the run
 * goes on from is read back for its plots. */
#ifndef LOCKSTEP_METRICS_HISTORY_H
#define LOCKSTEP_METRICS_HISTORY_H

#include "runtime/metrics/plot.h"
#include "runtime/status.h"

enum {
  HISTORY_KEEP = 8, /* of metrics.N.jsonl, the newest */
  HISTORY_PATH_BYTES = 4096
};

typedef struct History {
  Curve *train; /* the losses of the kept lines are added */
  Curve *valid;
  double best_valid;                 /* of the kept lines, INFINITY when there is none */
  char moved_to[HISTORY_PATH_BYTES]; /* where lines that are not kept went; "": nowhere */
} History;

/* Leaves in FOLDER/metrics.jsonl the whole lines of steps before `first_step`; with first_step 1
 * that is none, and no file. If there are other lines, of later steps or cut off by a crash, the
 * file that has them all becomes metrics.N.jsonl, N above those that are there. Files stay as they
 * are when it fails. */
bool history_take_up(History *history, const char *folder, int64_t first_step, Status *status);

#endif

/* rank_predict.c -- what the loss of a model would compare, row by row of data.valid: a run of the
 * plan's program hands out one element, which the host asks for by the step's number. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "runtime/plan/plan_job.h"
#include "runtime/rank/rank_use.h"

enum { NAME_BYTES = 4200 };

/* False: it failed; `is_there`: the row has such an element. */
static bool pick(Rank *rank, int64_t element, double *value, bool *is_there, Status *status) {
  const double copies = rank_copies(rank->plan);
  Control in = rank_control_in(rank, 1);
  ReplayLeft left;
  in.step = element + 1;
  in.stop = atomic_load(&run_stop_requested) ? 1.0 : 0.0;
  if (!replay_run(&rank->replay, rank->eval, &in, rank->staging_setup.ring, &left, status))
    return false;
  *value = left.control.loss / copies;
  *is_there = left.control.count > 0;
  rank->stopped = left.control.stop > 0;
  return true;
}

static bool predict_row(Rank *rank, int64_t row, FILE *out, int64_t *width, Status *status) {
  const Samples *data = rank->staging_setup.valid;
  double value;
  bool is_there = true;
  if (!samples_fill(data, row, 0, rank->staging_setup.ring, status)) return false;
  for (int64_t i = 0; is_there && !rank->stopped && (*width < 0 || i < *width); i++) {
    if (!pick(rank, i, &value, &is_there, status)) return false;
    if (!is_there) *width = i;
    if (is_there && out != NULL && fwrite(&value, sizeof value, 1, out) != 1)
      return status_fail(status, STATUS_WORLD, "predicted: %s", strerror(errno));
  }
  return true;
}

bool rank_predict(Rank *rank, Status *status) {
  char path[NAME_BYTES];
  FILE *out = NULL;
  int64_t width = -1; /* of a row; found in the first */
  bool good = true;
  rank_note_phase(rank, FLIGHT_VALIDATING, 1);
  (void)snprintf(path, sizeof path, "%.4000s/predicted", job_run_dir(rank->plan));
  if (rank->number == 0 && (out = fopen(path, "wb")) == NULL)
    return status_fail(status, STATUS_WORLD, "%s: %s", path, strerror(errno));
  for (int64_t row = 0; good && row < rank->staging_setup.valid->count && !rank->stopped; row++)
    good = predict_row(rank, row, out, &width, status);
  if (out != NULL && fclose(out) != 0 && good)
    good = status_fail(status, STATUS_WORLD, "%s: %s", path, strerror(errno));
  return good && rank_meet(rank, status);
}

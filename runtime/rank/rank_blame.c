/* rank_blame.c -- a step whose loss or gradient norm is not finite: on which rank this began, and
 * where.
 *
 * All ranks see the sum over all of them. The update changes nothing in such a step, or hardly
 * anything, so the step is run once more and every record is checked, which shows where the first
 * NaN or infinity came from. That rank is the cause; the others end as its echoes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/rank/rank_state.h"
#include "runtime/replay/replay_look.h"

enum { WHERE_BYTES = 320 };

static const char *what_is_wrong(const Control *out) {
  return !isfinite(out->loss) ? "the loss" : !isfinite(out->grad_norm) ? "a gradient" : NULL;
}

/* A rank that made it or already had it comes before one that received it; among equals the first
 * rank. */
static int32_t first_rank(const ReplayFirst *of, int32_t ranks) {
  int32_t came = -1;
  for (int32_t i = 0; i < ranks; i++) {
    if (of[i].kind == FIRST_MADE || of[i].kind == FIRST_HAD) return i;
    if (of[i].kind == FIRST_CAME && came < 0) came = i;
  }
  return came;
}

/* If the device is ahead of the host, or its memory cannot be read, it stays unknown. */
static bool can_look(const Rank *rank, int64_t step) {
  return rank->run->cuda == NULL && rank->started == step;
}

/* On every rank: the number of that rank, or -1 if unknown. False: another rank has failed. */
static bool look(Rank *rank, int64_t step, int32_t *cause, ReplayFirst *found, Status *status) {
  int32_t ranks = rank->run->mesh.rank_count;
  Control in = rank_control_in(rank, step);
  ReplayFirst own, *all = calloc((size_t)ranks, sizeof *all);
  *cause = -1;
  if (all == NULL) return status_fail(status, STATUS_WORLD, "not enough memory for a report");
  if (rank->observe) rank->observe->log.is_on = false;
  const void *samples = rank->underway[step % CONTROL_DEPTH_MAX].samples;
  in.targets = rank->underway[step % CONTROL_DEPTH_MAX].targets;
  bool looked = replay_look(&rank->replay, rank->train, &in, samples, &own, status);
  if (looked) {
    looked = rank->comm->ops->gather_bytes(rank->comm, &own, all, sizeof own);
    if (!looked) status->code = STATUS_ECHO;
  }
  if (looked) *cause = first_rank(all, ranks);
  if (looked && *cause >= 0) *found = all[*cause];
  free(all);
  return looked;
}

static void where_first(const Plan *plan, int32_t cause, const ReplayFirst *found,
                        char text[WHERE_BYTES]) {
  static const char *const how[] = {
      [FIRST_NONE] = "",
      [FIRST_MADE] = "made it of numbers that were finite",
      [FIRST_HAD] = "read it, and nothing in the step had written it",
      [FIRST_CAME] = "got it of parts that were finite, as their sum",
  };
  FlightNow now = {.begun = 1, .record = found->record, .layer = found->layer};
  char record[WHERE_BYTES / 2], microbatch[40] = "";
  flight_text(plan, &now, found->lane, record, sizeof record);
  if (found->microbatch >= 0)
    (void)snprintf(microbatch, sizeof microbatch, ", micro-batch %lld",
                   (long long)found->microbatch);
  (void)snprintf(text, WHERE_BYTES, " It began on rank %d: %s%s %s.", cause, record, microbatch,
                 how[found->kind]);
}

/* These are sums over all ranks: all see the same, and one reports it. */
bool rank_check_finite(Rank *rank, int64_t step, const Control *out, Status *status) {
  const char *what = what_is_wrong(out);
  char where[WHERE_BYTES] = "";
  int32_t cause = -1;
  ReplayFirst found = {0};
  if (!what) return true;
  if (can_look(rank, step) && !look(rank, step, &cause, &found, status)) return false;
  if (rank->number != (cause < 0 ? 0 : cause)) {
    status->code = STATUS_ECHO;
    return false;
  }
  if (cause >= 0) where_first(rank->plan, cause, &found, where);
  return status_fail(
      status, STATUS_USER,
      "step %lld: %s is not finite: the run has diverged.%s Lower optimizer.lr, lengthen "
      "schedule.warmup or set optimizer.clip%s%s",
      (long long)step, what, where, rank->saved_step > 0 ? "; the last good state is " : "",
      rank->saved_step > 0 ? rank->saved_path : "");
}

/* rank_scale.c -- steps that overflow: they are skipped, until a storm of them ends the run.
 *
 * All ranks see the same norm and have the same scale, so all of them do the same. */
#include <math.h>
#include <stdio.h>

#include "runtime/plan/plan_job.h"
#include "runtime/rank/rank_state.h"

bool rank_scale_begin(Rank *rank, Status *status) {
  RankScale *scale = &rank->scale;
  const PlanSetting *every = plan_setting(rank->plan, "log.finite_every");
  rank->finite_every = every == NULL || every->kind != SETTING_COUNT ? -1 : every->count;
  scale->is_on = plan_loss_scale(rank->plan, &scale->of);
  return !scale->is_on || replay_read_lasting(&rank->replay, &scale->before, status);
}

bool rank_skips(const Rank *rank, const Control *out) {
  return rank->scale.is_on && out->skipped > rank->scale.before.skipped;
}

bool rank_storm_nears(const Rank *rank) {
  const RankScale *scale = &rank->scale;
  const double *number = scale->of.number;
  const bool moves = number[LOSS_SCALE_OF_WINDOW] > 0;
  if (!scale->is_on) return false;
  return (moves && scale->before.loss_scale <= number[LOSS_SCALE_OF_MIN] &&
          scale->before.hysteresis_left <= 1) ||
         (double)scale->before.skipped_in_row + 1 >= number[LOSS_SCALE_OF_MOST_SKIPS];
}

/* An overflow that the scale cannot answer, or too many in a row. */
static bool is_storm(const RankScale *scale, const Control *out) {
  const double *number = scale->of.number;
  bool moves = number[LOSS_SCALE_OF_WINDOW] > 0;
  bool is_least =
      moves && scale->before.loss_scale <= number[LOSS_SCALE_OF_MIN] && out->hysteresis_left == 0;
  return is_least || (double)out->skipped_in_row >= number[LOSS_SCALE_OF_MOST_SKIPS];
}

/* Nothing has changed since the last update. */
static bool save_last_update(Rank *rank, Status *status) {
  rank->ended = rank->started;
  return !rank_checkpoints(rank) ||
         (rank_async_end(rank, status) && rank_save(rank, rank->started, true, status));
}

static bool fail_in_storm(Rank *rank, int64_t step, const Control *out, Status *status) {
  const RankScale *scale = &rank->scale;
  RankCause cause = {.rank = -1};
  char what[128];
  bool is_least = (double)out->skipped_in_row < scale->of.number[LOSS_SCALE_OF_MOST_SKIPS];
  if (is_least)
    (void)snprintf(what, sizeof what, "overflow at the least loss scale, %g",
                   scale->before.loss_scale);
  else
    (void)snprintf(what, sizeof what, "%lld steps in a row overflowed, the last at loss scale %g",
                   (long long)out->skipped_in_row, scale->before.loss_scale);
  /* The step runs again as it was: with its own scale. */
  if (rank_can_look(rank, step) && !(replay_write_lasting(&rank->replay, &scale->before, status) &&
                                     rank_find_cause(rank, step, &cause, status)))
    return false;
  if (!rank_settle(rank, step, status) ||
      (rank->run->cuda != NULL && !rank_find_squares(rank, step, &cause, status)) ||
      !save_last_update(rank, status))
    return false;
  if (rank->number != (cause.rank < 0 ? 0 : cause.rank)) {
    status->code = STATUS_ECHO;
    return false;
  }
  bool is_forward = cause.is_forward || !losses_are_finite(out);
  return status_fail(
      status, STATUS_USER, "step %lld: %s, so no update was made.%s %s%s%s", (long long)step, what,
      cause.text,
      is_forward
          ? "Forward made it, so no loss scale helps: train with precision = \"bf16\", which "
            "has the range of fp32"
          : "Backward made it: a lower precision.loss_scale.min or init may help, or "
            "precision = \"bf16\", which has the range of fp32",
      rank->saved_step > 0 ? "; the last good state is " : "",
      rank->saved_step > 0 ? rank->saved_path : "");
}

bool rank_check_skip(Rank *rank, int64_t step, const Control *out, Status *status) {
  return !rank_skips(rank, out) || !is_storm(&rank->scale, out) ||
         fail_in_storm(rank, step, out, status);
}

/* rank_blame.c -- finds the rank and the record in which a loss or gradient norm first became
 * infinite or NaN.
 *
 * All ranks see the sum over all of them. The update changes nothing in such a step, or hardly
 * anything, so the step is run once more and every record is checked, which shows where the first
 * NaN or infinity came from. That rank is the cause; the others end as its echoes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/rank/rank_state.h"

static const char *what_is_wrong(const Control *out) {
  return !losses_are_finite(out) ? "the loss" : !isfinite(out->grad_norm) ? "a gradient" : NULL;
}

/* The rank that computed it, or already held it, comes before a rank that received it; among equals
 * the first rank. */
static int32_t first_rank(const ReplayFirst *of, int32_t ranks) {
  int32_t came = -1;
  for (int32_t i = 0; i < ranks; i++) {
    if (of[i].kind == FIRST_MADE || of[i].kind == FIRST_HAD) return i;
    if (of[i].kind == FIRST_CAME && came < 0) came = i;
  }
  return came;
}

/* If the device is ahead of the host, or its memory cannot be read, it stays unknown. */
bool rank_can_look(const Rank *rank, int64_t step) {
  return rank->run->cuda == NULL && rank->started == step;
}

/* The first of the ranks' findings. False: another rank has failed. */
static bool gather_first(const Rank *rank, const ReplayFirst *own, int32_t *cause,
                         ReplayFirst *found, Status *status) {
  int32_t ranks = rank->run->mesh.rank_count;
  ReplayFirst *all = calloc((size_t)ranks, sizeof *all);
  *cause = -1;
  if (all == NULL) return status_fail(status, STATUS_WORLD, "not enough memory for a report");
  bool gathered = rank->comm->ops->gather_bytes(rank->comm, own, all, sizeof *own);
  if (!gathered) status->code = STATUS_ECHO;
  if (gathered) *cause = first_rank(all, ranks);
  if (gathered && *cause >= 0) *found = all[*cause];
  free(all);
  return gathered;
}

/* On every rank: the number of that rank, or -1 if unknown. False: another rank has failed. */
static bool look(Rank *rank, int64_t step, int32_t *cause, ReplayFirst *found, Status *status) {
  Control in = rank_control_in(rank, step);
  ReplayFirst own;
  const void *samples = rank->underway[step % CONTROL_DEPTH_MAX].samples;
  loss_targets_set(&in, &rank->underway[step % CONTROL_DEPTH_MAX].targets, rank->losses.count);
  return replay_look(&rank->replay, rank->train, &in, samples, &own, status) &&
         gather_first(rank, &own, cause, found, status);
}

static void where_first(const Plan *plan, int32_t cause, const ReplayFirst *found,
                        char text[CAUSE_BYTES]) {
  static const char *const how[] = {
      [FIRST_NONE] = "",
      [FIRST_MADE] = "made it of numbers that were finite",
      [FIRST_HAD] = "read it, and nothing in the step had written it",
      [FIRST_CAME] = "got it of parts that were finite, as their sum",
  };
  FlightNow now = {.begun = 1, .record = found->record, .layer = found->layer};
  char record[CAUSE_BYTES / 2], microbatch[40] = "";
  flight_text(plan, &now, found->lane, record, sizeof record);
  if (found->microbatch >= 0)
    (void)snprintf(microbatch, sizeof microbatch, ", micro-batch %lld",
                   (long long)found->microbatch);
  (void)snprintf(text, CAUSE_BYTES, " It began on rank %d: %s%s %s.", cause, record, microbatch,
                 how[found->kind]);
}

/* True if the record carries out a forward node, but not the loss: the infinite number there may be
 * the slope. */
static bool is_of_forward(const Plan *plan, const PlanRecord *record) {
  const char *kernel =
      record->kernel == PLAN_NONE ? "" : plan_string(plan, plan->kernels[record->kernel].name);
  const KernelContract *contract = contract_find(kernel);
  if (record->node == PLAN_NONE || (contract != NULL && contract->row->role == ROLE_LOSS))
    return false;
  for (uint32_t i = 0; i < plan->regions_count; i++) {
    const PlanRegion *region = &plan->regions[i];
    if (record->node - region->forward_first < region->forward_count) return true;
  }
  return false;
}

/* On every rank. */
bool rank_find_cause(Rank *rank, int64_t step, RankCause *cause, Status *status) {
  ReplayFirst found = {0};
  *cause = (RankCause){.rank = -1};
  if (!look(rank, step, &cause->rank, &found, status)) return false;
  if (cause->rank < 0) return true;
  where_first(rank->plan, cause->rank, &found, cause->text);
  cause->is_forward = is_of_forward(rank->plan, &rank->plan->records[found.record]);
  return true;
}

/* ---- what GPUs leave: a sum of squares for each gradient, in memory that nothing else uses */

bool rank_settle(Rank *rank, int64_t step, Status *status) {
  ReplayLeft left;
  for (; step < rank->started; step++)
    if (!replay_collect(&rank->replay, &left, status)) return false;
  return true;
}

/* Gradients of one rank whose squares are not finite; the first few by name. */
typedef struct BadSquares {
  int32_t count, named;
  char names[CAUSE_BYTES / 2];
} BadSquares;

static void add_bad(BadSquares *bad, const char *name, int32_t layer) {
  enum { MOST_NAMES = 4 };
  const char *star = strchr(name, '*');
  const size_t used = strlen(bad->names), room = sizeof bad->names - used;
  char one[CAUSE_BYTES / 4];
  if (star != NULL && layer >= 0)
    (void)snprintf(one, sizeof one, "%.*s%d%s", (int)(star - name), name, layer, star + 1);
  else
    (void)snprintf(one, sizeof one, "%s", name);
  bad->count++;
  if (bad->named == MOST_NAMES || used + strlen(one) + 3 >= sizeof bad->names) return;
  (void)snprintf(bad->names + used, room, "%s%s", used > 0 ? ", " : "", one);
  bad->named++;
}

/* Reads the result of one record of the call. False: the device has failed. */
static bool look_at_square(Rank *rank, const PlanCall *call, const PlanRecord *record,
                           BadSquares *bad, Status *status) {
  enum { SUM = 1 };
  const Plan *plan = rank->plan;
  const PlanOperand *sum = &plan->operands[record->operands_first + SUM];
  const PlanBinding *binding = &plan->bindings[call->bindings_first + sum->base];
  const TierWindow of = {rank->replay.device, (Tier)binding->tier,
                         rank->arena.base[binding->tier] + binding->offset + sum->offset};
  double square;
  const void *at = tier_window_open(&of, sizeof square, ACCESS_READ, status);
  if (at == NULL) return false;
  memcpy(&square, at, sizeof square);
  if (!isfinite(square))
    add_bad(bad, plan_string(plan, plan->values[record->value].name), call->layer);
  return tier_window_close(&of, status);
}

static bool look_at_squares(Rank *rank, BadSquares *bad, Status *status) {
  const Plan *plan = rank->plan;
  const PlanProgram *program = rank->train;
  bool read = true;
  rank_allow_arenas(rank, true);
  for (uint32_t c = 0; read && c < program->calls_count; c++) {
    const PlanCall *call = &plan->calls[program->calls_first + c];
    const PlanSegment *segment = &plan->segments[call->segment];
    for (uint32_t i = 0; read && i < segment->records_count; i++) {
      const PlanRecord *record = &plan->records[segment->records_first + i];
      const char *kernel =
          record->kernel == PLAN_NONE ? "" : plan_string(plan, plan->kernels[record->kernel].name);
      const KernelContract *contract = contract_find(kernel);
      if (contract != NULL && contract->row->role == ROLE_SQUARE_SUM && record->value != PLAN_NONE)
        read = look_at_square(rank, call, record, bad, status);
    }
  }
  rank_allow_arenas(rank, false);
  return read;
}

bool rank_find_squares(Rank *rank, int64_t step, RankCause *cause, Status *status) {
  char later[64] = "";
  const int32_t ranks = rank->run->mesh.rank_count;
  BadSquares own = {0}, *all = calloc((size_t)ranks, sizeof *all);
  *cause = (RankCause){.rank = -1};
  if (all == NULL) return status_fail(status, STATUS_WORLD, "not enough memory for a report");
  if (rank->started > step)
    (void)snprintf(later, sizeof later, " of step %lld, which had begun,",
                   (long long)rank->started);
  bool gathered = look_at_squares(rank, &own, status);
  if (gathered && !rank->comm->ops->gather_bytes(rank->comm, &own, all, sizeof own)) {
    status->code = STATUS_ECHO;
    gathered = false;
  }
  for (int32_t i = 0; gathered && i < ranks && cause->rank < 0; i++)
    if (all[i].count > 0) {
      cause->rank = i;
      (void)snprintf(cause->text, sizeof cause->text,
                     " Of rank %d %d gradient%s%s %s not finite: %s%s.", i, all[i].count,
                     all[i].count == 1 ? "" : "s", later, all[i].count == 1 ? "is" : "are",
                     all[i].names, all[i].count > all[i].named ? " and others" : "");
    }
  free(all);
  return gathered;
}

/* These are sums over all ranks: all ranks see the same result, and one of them reports it. */
bool rank_check_finite(Rank *rank, int64_t step, const Control *out, Status *status) {
  const char *what = rank_skips(rank, out) ? NULL : what_is_wrong(out);
  RankCause cause = {.rank = -1};
  if (!what) return true;
  if (!rank_async_end(rank, status)) return false; /* it is of an earlier step */
  if (rank_can_look(rank, step) && !rank_find_cause(rank, step, &cause, status)) return false;
  if (rank->run->cuda != NULL &&
      !(rank_settle(rank, step, status) && rank_find_squares(rank, step, &cause, status)))
    return false;
  if (rank->number != (cause.rank < 0 ? 0 : cause.rank)) {
    status->code = STATUS_ECHO;
    return false;
  }
  return status_fail(
      status, STATUS_USER,
      "step %lld: %s is not finite: the run has diverged.%s Lower optimizer.lr, lengthen "
      "schedule.warmup or set optimizer.clip%s%s",
      (long long)step, what, cause.text, rank->saved_step > 0 ? "; the last good state is " : "",
      rank->saved_step > 0 ? rank->saved_path : "");
}

/* ---- what a later op hides: tanh, relu and masks make infinities finite */

bool rank_looks_at(const Rank *rank, int64_t step) {
  return rank->run->cuda == NULL && rank->finite_every >= 0 &&
         (step == 1 || (rank->finite_every > 0 && step % rank->finite_every == 0));
}

void rank_look_begin(Rank *rank, int64_t step) {
  if (rank_looks_at(rank, step)) replay_watch_begin(&rank->looks, &rank->replay);
}

bool rank_look_end(Rank *rank, int64_t step, const Control *out, Status *status) {
  ReplayFirst found;
  RankCause cause = {.rank = -1};
  if (!rank_looks_at(rank, step)) return true;
  const ReplayFirst own = replay_watch_end(&rank->looks);
  if (!gather_first(rank, &own, &cause.rank, &found, status)) return false;
  bool is_seen = rank_skips(rank, out) || what_is_wrong(out) != NULL;
  if (cause.rank < 0 || is_seen || rank->number != 0) return true;
  where_first(rank->plan, cause.rank, &found, cause.text);
  text_warn("warning: step %lld: a number is not finite, and a later op hides it from the loss and "
            "the gradient.%s",
            (long long)step, cause.text);
  return true;
}

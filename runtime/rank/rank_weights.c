/* rank_weights.c -- a run begins with the weights of a model's files, or of a checkpoint of ours.
 */
#include <stdlib.h>

#include "runtime/plan/plan_job.h"
#include "runtime/rank/rank_state.h"

/* Weights of a checkpoint of ours; its moments and counts are left. */
static bool take_checkpoint(const Rank *rank, const CheckpointSearch *search,
                            CheckpointTarget target, Status *status) {
  Checkpoint own = {0};
  CheckpointFault fault = CHECKPOINT_WHOLE;
  target.weights_only = true;
  bool found = checkpoint_find(search, &own, &fault, status);
  bool taken = found && checkpoint_restore(search, &own, &target, &fault, status);
  checkpoint_close(&own);
  if (!found && status->code == 0)
    return status_fail(status, STATUS_USER, "%s: there is no such checkpoint",
                       job_weights(rank->plan));
  return taken;
}

/* Bytes that were read to be placed are summed then: a run that trains hashes its files. */
static bool take_files(Rank *rank, const CheckpointSearch *search, CheckpointTarget target,
                       Status *status) {
  WeightSums sums = {0};
  const bool wants_sum = plan_trains(rank->plan) && rank->start.weights_sum == 0;
  bool good = !wants_sum || weight_sums_open(&sums, &rank->run->weights.set, status);
  if (wants_sum) target.sums = &sums;
  rank_allow_arenas(rank, true);
  good = good && weights_install(search, &rank->run->weights, &target, status);
  rank_allow_arenas(rank, false);
  good = good && (!wants_sum || resume_sum_weights(rank->run, rank->number, rank->comm,
                                                   &rank->start, &sums, status));
  weight_sums_close(&sums);
  return good;
}

/* A run that begins takes the weights of the model's files, if its plan names some. */
bool rank_take_weights(Rank *rank, Status *status) {
  const Run *run = rank->run;
  const CheckpointTarget target = {.device = rank->replay.device,
                                   .arena = rank->arena.base,
                                   .class = rank->replay.class,
                                   .threads = rank->threads};
  int64_t below = INT64_MAX;
  const CheckpointSearch search = {.plan = rank->plan,
                                   .mesh = &run->mesh,
                                   .rank = rank->number,
                                   .comm = rank->comm,
                                   .path = job_weights(rank->plan),
                                   .below = &below};
  if (run->weights.set.file_count == 0 && !run->weights.is_checkpoint) return true;
  if (!run->weights.is_checkpoint) return take_files(rank, &search, target, status);
  rank_allow_arenas(rank, true);
  const bool taken = take_checkpoint(rank, &search, target, status);
  rank_allow_arenas(rank, false);
  return taken;
}

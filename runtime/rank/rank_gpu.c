/* rank_gpu.c -- what a rank on a GPU has in addition to one on processors. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/device/gpu_find.h"
#include "runtime/plan/plan_place.h"
#include "runtime/process/plural.h"
#include "runtime/process/switched.h"
#include "runtime/rank/rank_state.h"

enum { PATH_BYTES = 4200 };

/* For trying NCCL without several GPUs, processes may share one: NCCL takes them for ranks of
 * different nodes then, as each says it is one. */
static bool shares_gpus(const Rank *rank) {
  return rank->run->boot->rank_count == 1 && switched_on("LOCKSTEP_SHARE_GPUS");
}

static bool find_shared(const Rank *rank, uint32_t *device, Status *status) {
  RankPlace place = plan_place(rank->plan, (uint32_t)rank->number);
  uint32_t seen = 0;
  char host[32];
  if (!rank->run->cuda->count(&seen, status)) return false;
  (void)snprintf(host, sizeof host, "rank%d", rank->number);
  (void)setenv("NCCL_HOSTID", host, 0);
  *device = place_device(&place) % seen;
  return true;
}

static bool find_planned(const Rank *rank, uint32_t *device, Status *status) {
  RankPlace place = plan_place(rank->plan, (uint32_t)rank->number);
  GpuWanted wanted = {
      .pci = place.seat != NULL ? plan_string(rank->plan, place.seat->pci) : "",
      .number = place_device(&place),
      .is_alone = rank->run->boot->rank_count == 1,
  };
  return gpu_find(rank->run->cuda, wanted, device, status);
}

/* NCCL would say so too, of one communicator after the other, and without a rank's number. */
static bool has_own_gpu(const Rank *rank, Status *status) {
  for (int32_t other = 0; other < rank->run->mesh.rank_count; other++) {
    int32_t first = other < rank->number ? other : rank->number;
    if (other == rank->number || *rank->gpu.id.uuid == '\0' ||
        strcmp(rank->all[other].gpu_uuid, rank->gpu.id.uuid) != 0)
      continue;
    return status_fail(
        status, STATUS_USER,
        "ranks %d and %d have one GPU, %s at %s, and each wants its own: start as many ranks on a "
        "node as the plan has there, and let every process see all GPUs of its node (srun "
        "--gpu-bind=none)",
        first, first == other ? rank->number : other, rank->gpu.id.uuid, rank->gpu.id.pci);
  }
  return true;
}

bool rank_open_gpu(Rank *rank, Status *status) {
  const Run *run = rank->run;
  uint32_t device = 0;
  bool shares = shares_gpus(rank);
  if (run->cuda == NULL) return true;
  if (rank_is_asked_times(rank)) run->cuda->listens();
  if (!(shares ? find_shared : find_planned)(rank, &device, status) ||
      !run->cuda->choose(device, status) || !run->cuda->describe(&rank->gpu, status))
    return false;
  memcpy(rank->facts.gpu_uuid, rank->gpu.id.uuid, sizeof rank->facts.gpu_uuid);
  if (run->nccl == NULL) return true;
  if (!rank_gather_facts(rank, status) || (!shares && !has_own_gpu(rank, status))) return false;
  rank->nccl = nccl_world_open(run->nccl, rank->plan, &run->mesh, rank->number, rank->comm, status);
  return rank->nccl != NULL;
}

void rank_hold_arena(Rank *rank) {
  const PlanClass *class = mesh_class(&rank->run->mesh, rank->plan, rank->number);
  if (rank->nccl == NULL || !rank->run->options->holds_arena) return;
  rank->holding = nccl_world_hold(rank->nccl, rank->arena.base[TIER_DEVICE],
                                  plan_arena_bytes(rank->plan, class, TIER_DEVICE));
}

void rank_give_streams(const Rank *rank) {
  Device *device = rank->replay.device;
  if (rank->nccl == NULL) return;
  for (uint32_t lane = 0; lane < rank->plan->lanes_count; lane++)
    nccl_world_stream(rank->nccl, lane, device->ops->stream(device->ops->queue(device, lane)));
}

void rank_watch_gpu(Rank *rank) {
  const CudaPlugin *cuda = rank->run->cuda;
  char why[NVML_WHY_BYTES];
  if (rank->nccl != NULL && rank->run->nccl->split == NULL)
    report_note(rank->report, "nccl     this library has no ncclCommSplit: each communicator is "
                              "made from ids of its own");
  if (rank->nccl != NULL && rank->run->options->holds_arena)
    report_note(rank->report, "nccl     %d communicator%s of rank 0 registered its arena",
                rank->holding, plural(rank->holding));
  if (cuda == NULL || gpu_watch_open(&rank->watch, rank->gpu.id.pci, why)) return;
  report_note(rank->report, "note     no power and clocks of the GPU in metrics.jsonl: %s", why);
}

/* Includes its own arena and what other programs use there. */
int64_t rank_gpu_used_bytes(const Rank *rank) {
  GpuFacts now;
  Status status;
  if (rank->run->cuda == NULL || !rank->run->cuda->describe(&now, &status)) return -1;
  return (int64_t)(now.memory_bytes - now.free_bytes);
}

/* The file beside the plan, under the name that the plan gets. */
static bool choices_path(const RunOptions *options, char path[PATH_BYTES]) {
  const char *plan = options->keep_plan != NULL ? options->keep_plan : options->plan_path;
  return plan != NULL && snprintf(path, PATH_BYTES, "%s.products", plan) < PATH_BYTES;
}

bool rank_read_choices(const CudaPlugin *cuda, const RunOptions *options, Status *status) {
  char path[PATH_BYTES];
  return !choices_path(options, path) || cuda->read_choices(path, options->deterministic, status);
}

/* The number of a rank's choices, and of those that it has made in this start. */
typedef struct ChoiceCount {
  int32_t count, added;
} ChoiceCount;

/* Ranks time products for themselves, and may find another algorithm for the same shape: the lowest
 * rank's holds. */
bool rank_share_choices(Rank *rank, Status *status) {
  const CudaPlugin *cuda = rank->run->cuda;
  const int32_t ranks = rank->run->mesh.rank_count;
  ChoiceCount own = {0}, *counts = calloc((size_t)ranks, sizeof *counts);
  LtChoice *mine = NULL, *all = NULL;
  int64_t most = 0, added = 0, merged = 0;
  own.count = cuda->count_choices(&own.added);
  bool done = counts != NULL && rank->comm->ops->gather_bytes(rank->comm, &own, counts, sizeof own);
  for (int32_t i = 0; done && i < ranks; i++) {
    if (counts[i].count > most) most = counts[i].count;
    added += counts[i].added;
  }
  const bool has_any = done && added > 0 && most > 0 && ranks > 1;
  if (has_any) {
    mine = calloc((size_t)most, sizeof *mine);
    all = calloc((size_t)(most * ranks), sizeof *all);
    for (int32_t i = 0; mine != NULL && i < own.count; i++)
      (void)cuda->choice_at(i, &mine[i]);
    done = mine != NULL && all != NULL &&
           rank->comm->ops->gather_bytes(rank->comm, mine, all, (size_t)most * sizeof *mine);
  }
  for (int32_t i = ranks - 1; has_any && done && i >= 0; i--) {
    memmove(mine, &all[i * most], (size_t)counts[i].count * sizeof *mine);
    done = cuda->take_choices(mine, counts[i].count, status);
    merged += counts[i].count;
  }
  free(counts), free(mine), free(all);
  if (!done && status->code == STATUS_DONE) status->code = STATUS_ECHO;
  return done && (merged == 0 || rank_meet(rank, status));
}

bool rank_keep_choices(const Rank *rank, Status *status) {
  const CudaPlugin *cuda = rank->run->cuda;
  char path[PATH_BYTES], attention[CUDA_TEXT_BYTES];
  int32_t added = 0;
  if (cuda == NULL) return true;
  cuda->tell_attention(attention);
  if (*attention != '\0')
    report_note(rank->report, "attention %s (op by op in job.json)", attention);
  int32_t count = cuda->count_choices(&added);
  if (count == 0 || !choices_path(rank->run->options, path)) return true;
  if (added > 0 && !cuda->write_choices(path, status)) return false;
  report_note(rank->report, "choices  %d of products and attention, %d of them made now: %s", count,
              added, path);
  return true;
}

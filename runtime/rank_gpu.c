/* rank_gpu.c -- what a rank on a GPU has in addition to one on processors. */
#include <stdio.h>
#include <stdlib.h>

#include "runtime/plan/plan_place.h"
#include "runtime/rank_state.h"

enum { PATH_BYTES = 4200 };

/* A launcher may show a process only its own GPU. To try NCCL without several GPUs, processes may
 * share one: each then names a host of its own, so NCCL treats them as ranks of different nodes. */
static uint32_t gpu_of(const Rank *rank) {
  RankPlace place = plan_place(rank->plan, (uint32_t)rank->number);
  uint32_t seen = rank->run->cuda->count(), device = place_device(&place);
  if (rank->run->boot->rank_count > 1) return device;
  if (getenv("LOCKSTEP_SHARE_GPUS") == NULL) return seen == 1 ? 0 : device;
  char host[32];
  (void)snprintf(host, sizeof host, "rank%d", rank->number);
  (void)setenv("NCCL_HOSTID", host, 0);
  return seen > 0 ? device % seen : device;
}

bool rank_open_gpu(Rank *rank, Status *status) {
  const Run *run = rank->run;
  if (run->cuda == NULL) return true;
  if (!run->cuda->choose(gpu_of(rank), status) || !run->cuda->describe(&rank->gpu, status))
    return false;
  if (run->nccl == NULL) return true;
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
  if (rank->nccl != NULL && rank->run->options->holds_arena)
    report_note(rank->report, "nccl     %d communicators of rank 0 have taken its arena (register)",
                rank->holding);
  if (cuda == NULL || gpu_watch_open(&rank->watch, rank->gpu.pci, why)) return;
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

bool rank_keep_choices(const Rank *rank, Status *status) {
  const CudaPlugin *cuda = rank->run->cuda;
  char path[PATH_BYTES];
  int32_t added = 0;
  if (cuda == NULL) return true;
  int32_t count = cuda->count_choices(&added);
  if (count == 0 || !choices_path(rank->run->options, path)) return true;
  if (added > 0 && !cuda->write_choices(path, status)) return false;
  report_note(rank->report, "products %d by cublasLt, %d of them chosen now: %s", count, added,
              path);
  return true;
}

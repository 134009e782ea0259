/* run.c -- what a process does before, around and after its ranks. */
#include "runtime/rank/run.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "kernels/product.h"
#include "runtime/boot/local.h"
#include "runtime/boot/pmix.h"
#include "runtime/device/arena.h"
#include "runtime/device/gpu_find.h"
#include "runtime/plan/plan_job.h"
#include "runtime/plan/plan_place.h"
#include "runtime/process/folder.h"
#include "runtime/process/plural.h"
#include "runtime/process/requests.h"
#include "runtime/process/switched.h"
#include "runtime/process/text.h"
#include "runtime/rank/rank.h"

atomic_bool run_stop_requested;
atomic_bool run_is_steady;

static _Atomic int32_t steady_ranks; /* ranks of this process that have done their first step */

static pthread_mutex_t boot_lock = PTHREAD_MUTEX_INITIALIZER;
static Boot *boot_now;         /* of the current run */
static bool trains_now = true; /* the program has steps and checkpoints, which messages name */

void run_set_trains(const Plan *plan) {
  pthread_mutex_lock(&boot_lock);
  trains_now = plan_trains(plan);
  pthread_mutex_unlock(&boot_lock);
}

static void set_boot(Boot *boot) {
  pthread_mutex_lock(&boot_lock);
  boot_now = boot;
  pthread_mutex_unlock(&boot_lock);
}

/* Only the process with rank 0 reports a signal, which all processes receive. */
static bool speaks(const Boot *boot) {
  const char *rank = getenv("PMIX_RANK");
  return boot ? boot->rank_first == 0 : rank == NULL || strcmp(rank, "0") == 0;
}

void run_ask_to_stop(void) {
  atomic_store(&run_stop_requested, true);
  pthread_mutex_lock(&boot_lock);
  if (speaks(boot_now))
    text_warn(trains_now ? "stopping after this step; once more to stop at once, unsaved"
                         : "stopping after this pass; once more to stop at once");
  pthread_mutex_unlock(&boot_lock);
}

/* Returns when the other processes know. */
static void abandon(Status *status, bool is_said) {
  pthread_mutex_lock(&boot_lock);
  bool has_screen = boot_now && boot_now->node; /* the watchdog's */
  if (speaks(boot_now) && !has_screen && !is_said) text_warn("lockstep-rank: %s", status->text);
  if (boot_now) boot_now->ops->abandon(boot_now, status);
  pthread_mutex_unlock(&boot_lock);
}

void run_stop_at_once(int number) {
  Status status;
  pthread_mutex_lock(&boot_lock);
  const bool trains = trains_now;
  pthread_mutex_unlock(&boot_lock);
  (void)status_fail(&status, STATUS_SIGNAL + number, "stopped at once by a second %s%s",
                    requests_name(number),
                    trains ? ": what was done since the last checkpoint is lost" : "");
  abandon(&status, false);
}

void run_lost_file(const char *why) {
  Status status;
  (void)status_fail(&status, STATUS_WORLD, "%s", why);
  abandon(&status, true);
}

void run_steady_enter(const Run *run) {
  if (atomic_fetch_add(&steady_ranks, 1) + 1 == run->boot->rank_count)
    atomic_store(&run_is_steady, true);
}

void run_steady_leave(void) {
  atomic_store(&run_is_steady, false);
}

static int limit_signal(const Plan *plan) {
  const char *name = job_signal(plan);
  return *name != '\0' ? requests_signal(name) : SIGUSR1;
}

RunOptions run_defaults(const Plan *plan) {
  return (RunOptions){
      .variant = KERNEL_FAST,
      .plot = true,
      .limit_signal = limit_signal(plan),
      .ranks_every = job_ranks_every(plan),
      .measure_peak = true,
      .graphs = !switched_off("LOCKSTEP_GRAPHS"),
      .holds_arena = switched_on("LOCKSTEP_NCCL_REGISTER"),
      .deterministic = job_deterministic(plan) || switched_on("LOCKSTEP_DETERMINISTIC"),
      .resume = job_resume(plan),
      .resume_path = job_resume_path(plan),
  };
}

static bool lock_folder(Lock *lock, const char *folder, Status *status) {
  char why[LOCK_WHY_BYTES];
  LockResult result = lock_take(lock, folder, why);
  if (result == LOCK_TAKEN) return true;
  /* Two runs in one folder are a mistake, and waiting for the other one would not help. */
  return status_fail(status, result == LOCK_HELD ? STATUS_USER : STATUS_WORLD, "%s", why);
}

/* Locks the folders before anything in them is read, in the process with rank 0; no other process
 * reads there before that. A job that saves nothing may still move existing checkpoints. */
static bool lock_folders(Run *run, Status *status) {
  const char *own = job_run_dir(run->plan);
  const char *checkpoints = job_checkpoint_dir(run->plan);
  bool saves = job_checkpoint_every_steps(run->plan) > 0 || job_checkpoint_every_s(run->plan) > 0;
  if (run->boot->rank_first != 0) return true;
  if (!folder_make(own, status) || !lock_folder(&run->lock[0], own, status)) return false;
  if (!saves && access(checkpoints, F_OK) != 0) return true;
  return folder_make(checkpoints, status) && lock_folder(&run->lock[1], checkpoints, status);
}

/* Takes the folders of the run and its checkpoints. Once they are taken, a failure report is
 * written into them. */
static bool take_folders(Run *run, Status *status) {
  int32_t first = run->boot->rank_first;
  if (!lock_folders(run, status)) return false;
  for (int32_t rank = first; rank < first + run->boot->rank_count; rank++)
    flight_phase(run->boot->ops->flight(run->boot, rank), FLIGHT_OPENING, 0);
  return true;
}

/* One line now is better than the kernel's out-of-memory killer when the last page is touched. The
 * first rank of a node checks for all ranks on it. */
static bool check_memory(const Run *run, Status *status) {
  const int32_t *node = run->boot->node;
  uint64_t needed = 0;
  int32_t ranks = 0, own = run->boot->rank_first, first = -1;
  for (int32_t rank = 0; rank < run->mesh.rank_count; rank++) {
    const PlanClass *class = mesh_class(&run->mesh, run->plan, rank);
    if (!class) return status_fail(status, STATUS_OURS, "plan: rank %d has no class", rank);
    if (node && node[rank] != node[own]) continue;
    if (ranks++ == 0) first = rank;
    for (Tier tier = 0; tier < Tier_COUNT; tier++)
      if (tier != TIER_FILE && (run->cuda == NULL || tier != TIER_DEVICE))
        needed += plan_arena_bytes(run->plan, class, tier);
  }
  size_t available = arena_available_bytes();
  if (first != own || available == 0 || needed <= available) return true;
  char need[QUANTITY_BYTES], have[QUANTITY_BYTES];
  const bool is_beside = run->cuda != NULL; /* devices have memory of their own */
  return status_fail(
      status, is_beside ? STATUS_WORLD : STATUS_USER,
      "%d rank%s together: %s needed%s, this machine has %s to give: compile with %s below that, "
      "or fewer ranks",
      ranks, plural(ranks), text_bytes(need, (double)needed), is_beside ? " of host memory" : "",
      text_bytes(have, (double)available), is_beside ? "an offload.budget" : "a memory.budget");
}

/* The same of the disk: memory would be touched before a rank's file finds out. */
static bool check_room(const Run *run, Status *status) {
  const int32_t *node = run->boot->node;
  const uint32_t tier = plan_tier(run->plan, TIER_FILE);
  struct statvfs room;
  uint64_t needed = 0;
  int32_t ranks = 0, own = run->boot->rank_first, first = -1;
  if (tier == PLAN_NONE) return true;
  const char *directory = plan_string(run->plan, run->plan->tiers[tier].path);
  for (int32_t rank = 0; rank < run->mesh.rank_count; rank++) {
    const PlanClass *class = mesh_class(&run->mesh, run->plan, rank);
    if (class == NULL || (node && node[rank] != node[own])) continue;
    if (ranks++ == 0) first = rank;
    needed += plan_arena_bytes(run->plan, class, TIER_FILE);
  }
  if (first != own || statvfs(directory, &room) != 0) return true; /* making a file says why */
  const uint64_t have = (uint64_t)room.f_bavail * room.f_frsize;
  char need_text[QUANTITY_BYTES], have_text[QUANTITY_BYTES];
  return needed <= have ||
         status_fail(status, STATUS_WORLD,
                     "offload.path: %s: the file%s of %d rank%s need%s %s, %s are free there",
                     directory, plural(ranks), ranks, plural(ranks), ranks == 1 ? "s" : "",
                     text_bytes(need_text, (double)needed), text_bytes(have_text, (double)have));
}

/* The one place that chooses how ranks come up. */
static bool boot(Run *run, Status *status) {
  int64_t planned = job_threads(run->plan);
  int32_t threads = planned < 1 ? 1 : (int32_t)planned;
  atomic_store(&steady_ranks, 0);
  if (!run->options->threads && boot_pmix_is_launched()) {
    run->boot = boot_pmix_new(
        &(BootPmixSetup){.plan = run->plan,
                         .mesh = &run->mesh,
                         .reference_kernels = run->options->variant == KERNEL_REFERENCE,
                         .any_place = run->options->on_cpu},
        status);
    return run->boot != NULL;
  }
  run->boot = boot_local_new(run->plan, &run->mesh, threads, run->options->link_delay);
  return run->boot || status_fail(status, STATUS_WORLD, "not enough memory for %d rank%s",
                                  run->mesh.rank_count, plural(run->mesh.rank_count));
}

/* Sums made inside NVSwitches and network switches may differ from call to call; those of NCCL's
 * rings and trees do not. NCCL reads this when a communicator is made. */
static void keep_sums_out_of_switches(void) {
  (void)setenv("NCCL_NVLS_ENABLE", "0", 1);
  (void)setenv("NCCL_COLLNET_ENABLE", "0", 1);
}

/* Makes NCCL start collectives of several communicators in the order in which the rank issues them,
 * because the plan's order is proven free of deadlock. In another order two GPUs may each be full
 * of collectives that wait for the other GPU. NCCL reads the variable when it issues its first
 * collective. */
static void keep_launch_order(void) {
  (void)setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "1", 0);
}

/* A process that a launcher has started is one rank: PMIX_RANK tells which one, before the ranks
 * connect. */
static void take_instance(const Run *run) {
  const char *rank = getenv("PMIX_RANK");
  long number = rank != NULL ? strtol(rank, NULL, 10) : -1;
  if (run->options->threads || !boot_pmix_is_launched() || number < 0 ||
      number >= run->mesh.rank_count)
    return;
  RankPlace place = plan_place(run->plan, (uint32_t)number);
  gpu_take_instance(place_device(&place));
}

/* False: `status` says why ranks of this plan cannot have GPUs here. */
static bool find_gpus(Run *run, Status *status) {
  const RunOptions *options = run->options;
  const CudaPlugin *cuda = options->cuda != NULL ? options->cuda : cuda_plugin(status);
  uint32_t count;
  if (cuda == NULL) return false;
  take_instance(run);
  /* asked first: without a driver all later calls fail */
  if (!cuda->count(&count, status)) return false;
  if (options->deterministic) keep_sums_out_of_switches();
  keep_launch_order();
  if (run->mesh.rank_count > 1) run->nccl = cuda->nccl != NULL ? cuda->nccl : nccl_library(status);
  if (run->mesh.rank_count > 1 && run->nccl == NULL) return false;
  run->cuda_kernels = cuda->kernels(options->variant, status);
  if (run->cuda_kernels == NULL || !rank_read_choices(cuda, options, status)) return false;
  run->cuda = cuda;
  return true;
}

/* A plan for other devices can also train on processors, but slowly, and its scratch was not sized
 * for their kernels: only with --on cpu. */
static bool find_device(Run *run, Status *status) {
  Status why;
  if (job_target(run->plan) == TARGET_CPU || run->options->on_cpu) return true;
  if (find_gpus(run, &why)) return true;
  return status_fail(status, why.code,
                     "the plan is for %s, and cannot run on one here: %s. --on cpu runs the very "
                     "same plan on this machine's processors, slowly; or compile the job with "
                     "cluster = \"here\"",
                     job_device(run->plan), why.text);
}

static bool open_run(Run *run, Status *status) {
  if (!mesh_read(&run->mesh, run->plan, status) || !find_device(run, status) || !boot(run, status))
    return false;
  set_boot(run->boot);
  if (!take_folders(run, status)) return false;
  run->last_step = job_steps(run->plan);
  if (run->options->steps > 0 && run->options->steps < job_steps(run->plan))
    run->last_step = run->options->steps;
  const bool trains = plan_trains(run->plan);
  if ((trains && !samples_open(&run->train, run->plan, false, status)) ||
      !samples_open(&run->valid, run->plan, true, status))
    return false;
  if (trains) run->data_sum = samples_identity(&run->train);
  if (!weight_files_open(&run->weights, run->plan, status)) return false;
  return check_memory(run, status) && check_room(run, status);
}

static void close_run(Run *run) {
  set_boot(NULL);
  if (run->boot) run->boot->ops->close(run->boot);
  samples_close(&run->train);
  samples_close(&run->valid);
  weight_files_close(&run->weights);
  lock_give_back(&run->lock[0]);
  lock_give_back(&run->lock[1]);
  free(run);
}

bool run_job(const Plan *plan, const RunOptions *options, Status *status) {
  if (!plan_has_job(plan)) return status_fail(status, STATUS_OURS, "the plan has no job");
  const char *problem = product_choice()->problem;
  if (options->variant == KERNEL_FAST && *problem)
    return status_fail(status, STATUS_USER, "%s", problem);
  Run *run = calloc(1, sizeof *run);
  if (!run) return status_fail(status, STATUS_WORLD, "not enough memory to start");
  run->plan = plan;
  run->options = options;
  run->lock[0].descriptor = run->lock[1].descriptor = -1;
  bool done = open_run(run, status);
  if (done)
    done = run->boot->ops->run(run->boot, rank_main, run, status);
  else if (run->boot)
    run->boot->ops->abandon(run->boot, status);
  close_run(run);
  return done;
}

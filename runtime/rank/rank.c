/* rank.c -- one rank, from mapping its arena to its last step. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/threads/bind.h"
#include "runtime/plan/plan_job.h"
#include "runtime/plan/plan_lanes.h"
#include "runtime/plan/plan_loops.h"
#include "runtime/plan/plan_place.h"
#include "runtime/plan/programs.h"
#include "runtime/process/plural.h"
#include "runtime/rank/rank_state.h"
#include "runtime/rank/rank_use.h"
#include "runtime/replay/replay_graph.h"
#include "runtime/replay/replay_heard.h"
#include "runtime/watch/failure.h"

int64_t rank_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

void rank_note_phase(const Rank *rank, FlightPhase phase, int64_t step) {
  flight_phase(rank->flight, phase, step);
}

bool rank_meet(Rank *rank, Status *status) {
  assert(rank->comm);
  if (rank->comm->ops->barrier(rank->comm)) return true;
  status->code = STATUS_ECHO; /* the rank that failed says why */
  return false;
}

/* Also a barrier. */
bool rank_gather_facts(Rank *rank, Status *status) {
  const Comm *comm = rank->comm;
  if (comm->ops->gather_bytes(rank->comm, &rank->facts, rank->all, sizeof rank->facts)) return true;
  status->code = STATUS_ECHO;
  return false;
}

static Cores rank_cores(const Rank *rank) {
  const Boot *boot = rank->run->boot;
  Neighbours here = {boot->here.before + rank->number - boot->rank_first, boot->here.count};
  return cores_of_rank(rank->plan, rank->number, here, &boot->allowed);
}

/* Starts staging. All ranks of a replica stage the same samples; a rank that loads nothing has no
 * data thread. */
static bool start_data(Rank *rank, Status *status) {
  const Run *run = rank->run;
  if (job_sample_bytes(rank->plan) < samples_input_offset(rank->plan, rank->plan->inputs_count))
    return status_fail(status, STATUS_OURS, "plan: staged micro-batches are too small");
  rank->staging_setup = (StagingSetup){
      .plan = rank->plan,
      .train = &run->train,
      .valid = &run->valid,
      .ring = rank->arena.base[job_staging_tier(rank->plan)] + job_staging_offset(rank->plan),
      .replicas = mesh_replicas(&run->mesh),
      .replica = mesh_replica(&run->mesh, rank->number),
      .last_step = run->last_step,
      .train_loads = job_accumulation(rank->plan),
      .valid_passes = rank->eval ? samples_passes(&run->valid, mesh_replicas(&run->mesh)) : 0,
      .is_held = true,
  };
  if (plan_loads(rank->plan, rank->train ? rank->train : rank->eval) == 0 ||
      job_draws(rank->plan) || job_predicts(rank->plan))
    return true;
  rank->staging = staging_start(&rank->staging_setup, status);
  return rank->staging != NULL;
}

/* Threads come last: pinning the calling thread must not pin threads that it creates afterwards. */
static bool start_threads(Rank *rank, const Cores *cores, Status *status) {
  int32_t count = job_threads(rank->plan) < 1 ? 1 : (int32_t)job_threads(rank->plan);
  rank->threads = threads_new(count, cores->count > 0 ? cores->core : NULL);
  if (!rank->threads)
    return status_fail(status, STATUS_WORLD, "cannot start %d thread%s", count, plural(count));
  rank->replay.setup.threads = rank->threads;
  if (threads_bound(rank->threads) == count) (void)cores_text(cores, rank->facts.cores);
  rank->comm = rank->run->boot->ops->comm(rank->run->boot, rank->number, rank->threads);
  return true;
}

static bool open_rank(Rank *rank, Status *status) {
  const Run *run = rank->run;
  const PlanClass *class = mesh_class(&run->mesh, rank->plan, rank->number);
  if (!class) return status_fail(status, STATUS_OURS, "plan: rank %d has no class", rank->number);
  rank->all = calloc((size_t)run->mesh.rank_count, sizeof *rank->all);
  if (!rank->all) return status_fail(status, STATUS_WORLD, "not enough memory for a rank");
  const CudaPlugin *cuda = run->cuda;
  const Cores cores = rank_cores(rank);
  if (cores.count > 0) (void)bind_memory(cores.core, cores.count); /* the arena's, for one */
  if (!rank_open_gpu(rank, status) ||
      !arenas_open(&rank->arena, rank->plan, class, cuda != NULL ? &cuda->memory : NULL,
                   run->options->measure_memory, status))
    return false;
  rank_hold_arena(rank);
  ReplaySetup setup = {
      .plan = rank->plan,
      .mesh = &run->mesh,
      .rank = rank->number,
      .comm = rank->nccl != NULL ? nccl_comm(rank->nccl) : rank->comm,
      .comm_beside = rank->nccl != NULL ? nccl_comm_beside(rank->nccl)
                                        : run->boot->ops->comm_beside(run->boot, rank->number),
      .open_device = cuda != NULL ? cuda->open : NULL,
      .kernels = {[PROCESSOR_DEVICE] =
                      cuda != NULL ? run->cuda_kernels : kernels_of(run->options->variant),
                  [PROCESSOR_HOST] = kernels_of(run->options->variant)},
      .host_threads =
          cuda != NULL && cores.count > 0 ? cores.count : (int32_t)job_threads(rank->plan),
      .flight = rank->flight,
      .graphs = cuda != NULL && run->options->graphs,
      .hears = rank_is_asked_times(rank),
      .ends_on_all_lanes = rank_is_asked_times(rank),
      .look = rank->nccl != NULL ? nccl_world_look : NULL,
      .look_context = rank->nccl,
  };
  memcpy(setup.arena, rank->arena.base, sizeof setup.arena);
  const bool lends = cuda != NULL && plan_trains(rank->plan);
  if (!programs_check(rank->plan, &run->mesh, status)) return false;
  if (lends) setup.lend = cuda->lend;
  if (!replay_bind(&rank->replay, &setup, status) || (lends && !rank_share_choices(rank, status)))
    return false;
  rank_give_streams(rank);
  rank->init = replay_program(&rank->replay, PROGRAM_INIT);
  rank->train = replay_program(&rank->replay, PROGRAM_TRAIN_STEP);
  rank->eval =
      replay_program(&rank->replay, plan_samples(rank->plan) ? PROGRAM_PREFILL : PROGRAM_EVAL_STEP);
  rank->decode = replay_program(&rank->replay, PROGRAM_DECODE);
  const PlanProgram *purpose = rank->train != NULL ? rank->train : rank->eval;
  if (job_target(rank->plan) == TARGET_CPU) flight_predict(rank->flight, purpose->predicted_ns);
  if (!start_data(rank, status)) return false;
  return start_threads(rank, &cores, status);
}

/* Before the first step. */
static bool open_observe(Rank *rank, Status *status) {
  const RunOptions *options = rank->run->options;
  if (!rank_is_asked_times(rank)) return true;
  rank->observe = calloc(1, sizeof *rank->observe);
  if (!rank->observe) return status_fail(status, STATUS_WORLD, "not enough memory for a rank");
  ObserveSetup setup = {.plan = rank->plan,
                        .mesh = &rank->run->mesh,
                        .train = rank->train,
                        .rank = rank->number,
                        .every = options->ranks_every,
                        .trace_first = options->trace_first,
                        .trace_last = options->trace_last};
  return observe_open(rank->observe, &setup, status) &&
         replay_hear(&rank->replay, rank->train, &rank->observe->log, status);
}

static void close_observe(Rank *rank) {
  if (!rank->observe) return;
  observe_close(rank->observe);
  free(rank->observe);
}

/* A rank's threads end before it leaves, because they may read memory of peers. */
static void close_rank(Rank *rank, bool is_done) {
  rank_async_close(rank);
  rank_kept_close(rank, is_done);
  checkpoint_store_close(&rank->store);
  staging_stop(rank->staging);
  threads_free(rank->threads);
  replay_free(&rank->replay);
  nccl_world_close(rank->nccl);
  close_observe(rank);
  rank->comm->ops->leave(rank->comm);
  arenas_close(&rank->arena);
  resume_close(&rank->start);
  gpu_watch_close(&rank->watch);
  free(rank->all);
  free(rank->report);
}

/* All ranks at once, because they will compete in the steps. */
static bool measure_peak(Rank *rank, Status *status) {
  const Run *run = rank->run;
  bool bf16 = strcmp(job_precision(rank->plan), "bf16") == 0;
  if (!rank_meet(rank, status)) return false;
  if (run->options->measure_peak && run->cuda == NULL)
    rank->facts.peak =
        peak_measure(run->options->variant, bf16 ? DTYPE_BF16 : DTYPE_F32, rank->threads);
  if (run->options->measure_peak && run->cuda != NULL)
    rank->facts.peak.flops_per_s = (double)job_peak_flops_per_s(rank->plan);
  return rank_gather_facts(rank, status);
}

/* Init still draws if states are in host memory, because a copy takes the drawn values there. */
static bool loads_parameters(const Rank *rank) {
  const WeightFiles *files = &rank->run->weights;
  for (uint32_t lane = 0; lane < rank->plan->lanes_count; lane++)
    if (plan_is_host_lane(rank->plan, lane)) return false;
  return rank->start.resumes || files->set.file_count > 0 || files->is_checkpoint;
}

static bool run_init(Rank *rank, Status *status) {
  rank->replay.loads_parameters = loads_parameters(rank);
  Control in = rank_control_in(rank, 0);
  ReplayLeft left;
  if (!replay_run(&rank->replay, rank->init, &in, NULL, &left, status)) return false;
  rank->sent_bytes = left.sent_bytes;
  return true;
}

/* Init writes all persistent memory, padding included; then the tensors of a checkpoint are loaded,
 * whose initial values are not drawn. If it turns out to be damaged, all ranks start again with the
 * checkpoint before it, or with none.
 */
static bool take_state(Rank *rank, Status *status) {
  for (;;) {
    if (!run_init(rank, status)) return false;
    if (!rank->start.resumes) return rank_take_weights(rank, status);
    if (rank_restore(rank, status)) return true;
    if (status->code != 0) return false;
    rank_note_phase(rank, FLIGHT_RESUMING, 0);
    if (!resume_find(rank->run, rank->number, rank->comm, &rank->start, status)) return false;
    rank_note_phase(rank, FLIGHT_RESTORING, rank->start.first_step - 1);
  }
}

/* A run that is refused or cannot start leaves the plan of the previous run in the folder. */
static bool keep_plan(const Run *run, Status *status) {
  const char *from = run->options->plan_path, *to = run->options->keep_plan;
  if (to == NULL || rename(from, to) == 0) return true;
  return status_fail(status, STATUS_WORLD, "%s: cannot be renamed to %s: %s", from, to,
                     strerror(errno));
}

/* A plan that does not train. */
static bool evaluate(Rank *rank, Status *status) {
  rank->start.first_step = 1;
  if (!open_rank(rank, status) || !take_state(rank, status) || !rank_meet(rank, status))
    return false;
  return job_draws(rank->plan)      ? rank_sample(rank, status)
         : job_predicts(rank->plan) ? rank_predict(rank, status)
                                    : rank_evaluate(rank, status);
}

static bool live(Rank *rank, Status *status) {
  const Run *run = rank->run;
  if (!plan_trains(rank->plan)) return evaluate(rank, status);
  resume_begin(&rank->start);
  rank_note_phase(rank, FLIGHT_RESUMING, 0);
  if (!rank_kept_drain(rank, status)) return false;
  if (!resume_find(run, rank->number, rank->comm, &rank->start, status)) return false;
  rank_note_phase(rank, FLIGHT_RESTORING, rank->start.first_step - 1);
  if (!open_rank(rank, status) || !measure_peak(rank, status) || !take_state(rank, status) ||
      !rank_scale_begin(rank, status) || !rank_meet(rank, status))
    return false;
  if (rank->staging)
    staging_begin(rank->staging, rank->start.first_step, rank->start.samples_before);
  /* All ranks are up and have their state: only from here on are files of earlier runs changed. */
  if (rank->number == 0) failure_clear(rank->plan);
  if (rank->number == 0 && (!resume_clear_way(run, rank->start.first_step, status) ||
                            !keep_plan(run, status) || !rank_open_report(rank, status) ||
                            !rank_keep_model(rank, status) || !rank_keep_choices(rank, status)))
    return false;
  if (!rank_open_store(rank, status) || !open_observe(rank, status)) return false;
  rank->saved_ns = rank_now_ns();
  rank_begin_saves(rank);
  if (!rank_run_steps(rank, status)) return false;
  return rank->number != 0 || rank_close_report(rank, status);
}

bool rank_main(void *context, int32_t number, Status *status) {
  const Run *run = context;
  Rank rank = {.run = run, .plan = run->plan, .number = number, .begun_ns = rank_now_ns()};
  rank.losses = plan_losses(run->plan);
  rank.comm = run->boot->ops->comm(run->boot, number, NULL);
  rank.flight = run->boot->ops->flight(run->boot, number);
  bool done = live(&rank, status);
  run_steady_leave();
  if (done) status->code = rank.stopped ? STATUS_STOPPED : STATUS_DONE;
  if (!done && status->code != STATUS_ECHO) rank.comm->ops->abort(rank.comm);
  if (!done) replay_graph_free(&rank.replay);
  if (!done) nccl_world_abort(rank.nccl); /* otherwise NCCL would wait for what is under way */
  close_rank(&rank, done || status->code == STATUS_NOTHING_LEFT);
  return done;
}

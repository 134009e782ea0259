/* rank.c -- one rank from its arena to its last step. */
#include "runtime/rank.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/product.h"
#include "runtime/data/stage.h"
#include "runtime/device/arena.h"
#include "runtime/metrics/record.h"
#include "runtime/metrics/report.h"
#include "runtime/programs.h"
#include "runtime/replay.h"
#include "runtime/resume.h"
#include "runtime/schedule.h"
#include "runtime/watch/failure.h"

/* A step between its start and its end. */
typedef struct Underway {
  int64_t start_ns;
  int64_t data_wait_ns;
} Underway;

/* What the ranks tell each other of themselves. */
typedef struct RankFacts {
  Peak peak;
  uint64_t planned_bytes;   /* in blocks as memory is given out */
  uint64_t addressed_bytes; /* end of what records have named */
  uint64_t touched_bytes;   /* in pages that somebody has used; 0 when it is not measured */
} RankFacts;

typedef struct Rank {
  const Run *run;
  const Plan *plan;
  const PlanJob *job;
  int32_t number;
  Arenas arena; /* a peer may read it until this rank has left */
  Replay replay;
  Comm *comm;
  Flight *flight; /* where it writes what it does */
  RunStart start;
  Stage *stage;
  StageSetup stage_setup;
  Threads *threads;
  const PlanProgram *init;
  const PlanProgram *train;
  const PlanProgram *eval;
  int64_t
      started; /* the last step that was, and the last that has ended: the device may be ahead */
  int64_t ended;
  Underway underway[CONTROL_SLOTS_MAX];
  int64_t ended_ns;   /* when `ended` did */
  int64_t sent_bytes; /* up to then */
  bool asks_stop; /* some rank was asked to: all hear it, a step late where the device is ahead */
  bool asks_checkpoint;
  int64_t saved_step; /* of the newest checkpoint that this run wrote or came from; 0: none */
  int64_t saved_ns;   /* when */
  char saved_path[CHECKPOINT_PATH_BYTES];
  CheckpointStore store; /* of a rank that writes */
  RankFacts facts;
  RankFacts *all; /* of every rank, when they were gathered last */
  Report *report; /* rank 0's, else NULL */
  bool stopped;
} Rank;

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void note_phase(const Rank *rank, FlightPhase phase, int64_t step) {
  flight_phase(rank->flight, phase, step);
}

static bool meet(Rank *rank, Status *status) {
  assert(rank->comm);
  if (rank->comm->ops->barrier(rank->comm)) return true;
  status->code = STATUS_ECHO; /* the rank that failed says why */
  return false;
}

/* Also a meeting. */
static bool gather_facts(Rank *rank, Status *status) {
  const Comm *comm = rank->comm;
  if (comm->ops->gather_bytes(rank->comm, &rank->facts, rank->all, sizeof rank->facts)) return true;
  status->code = STATUS_ECHO;
  return false;
}

/* What the whole job does; a rank that loads nothing has no data thread. All ranks of a replica
 * stage the same samples. */
static bool start_data(Rank *rank, Status *status) {
  const Run *run = rank->run;
  if (rank->job->sample_bytes < samples_input_offset(rank->plan, rank->plan->inputs_count))
    return status_fail(status, STATUS_OURS, "plan: staged micro-batches are too small");
  rank->stage_setup = (StageSetup){
      .plan = rank->plan,
      .train = &run->train,
      .valid = &run->valid,
      .ring = rank->arena.base[rank->job->staging_tier] + rank->job->staging_offset,
      .replicas = mesh_replicas(&run->mesh),
      .replica = mesh_replica(&run->mesh, rank->number),
      .first_step = rank->start.first_step,
      .last_step = run->last_step,
      .samples_before = rank->start.samples_before,
      .train_loads = rank->job->accumulation,
      .valid_passes = rank->eval ? samples_passes(&run->valid, mesh_replicas(&run->mesh)) : 0,
  };
  if (programs_count_loads(rank->plan, rank->train) == 0) return true;
  rank->stage = stage_start(&rank->stage_setup, status);
  return rank->stage != NULL;
}

/* Threads come last: binding the caller must not bind what it creates afterwards. */
static bool open_rank(Rank *rank, Status *status) {
  const Run *run = rank->run;
  const PlanClass *class = mesh_class(&run->mesh, rank->plan, rank->number);
  if (!class) return status_fail(status, STATUS_OURS, "plan: rank %d has no class", rank->number);
  rank->all = calloc((size_t)run->mesh.rank_count, sizeof *rank->all);
  if (!rank->all) return status_fail(status, STATUS_WORLD, "not enough memory for a rank");
  if (!arenas_open(&rank->arena, rank->plan, class, run->options->measure_memory, status))
    return false;
  ReplaySetup setup = {
      .plan = rank->plan,
      .mesh = &run->mesh,
      .rank = rank->number,
      .comm = rank->comm,
      .comm_beside = run->boot->ops->comm_beside(run->boot, rank->number),
      .kernels = {[PROCESSOR_DEVICE] = kernels_of(run->options->variant),
                  [PROCESSOR_HOST] = kernels_of(run->options->variant)},
      .flight = rank->flight,
  };
  memcpy(setup.arena, rank->arena.base, sizeof setup.arena);
  if (!programs_check(rank->plan, &run->mesh, status) ||
      !replay_bind(&rank->replay, &setup, status))
    return false;
  rank->init = replay_program(&rank->replay, PROGRAM_INIT);
  rank->train = replay_program(&rank->replay, PROGRAM_TRAIN_STEP);
  rank->eval = replay_program(&rank->replay, PROGRAM_EVAL_STEP);
  if (!start_data(rank, status)) return false;
  int32_t count = rank->job->threads < 1 ? 1 : (int32_t)rank->job->threads;
  int32_t first = run->boot->first_core;
  int32_t core = first < 0 ? -1 : first + (rank->number - run->boot->rank_first) * count;
  rank->threads = threads_new(count, core);
  if (!rank->threads) return status_fail(status, STATUS_WORLD, "cannot start %d threads", count);
  rank->replay.setup.threads = rank->threads;
  rank->comm = run->boot->ops->comm(run->boot, rank->number, rank->threads);
  return true;
}

/* Its own threads end before it leaves: they may read what peers have. */
static void close_rank(Rank *rank) {
  checkpoint_store_close(&rank->store);
  stage_stop(rank->stage);
  threads_free(rank->threads);
  replay_free(&rank->replay);
  rank->comm->ops->leave(rank->comm);
  arenas_close(&rank->arena);
  resume_close(&rank->start);
  free(rank->all);
  free(rank->report);
}

/* All ranks at once, as they will compete in the steps. */
static bool measure_peak(Rank *rank, Status *status) {
  const Run *run = rank->run;
  bool bf16 = strcmp(plan_string(rank->plan, rank->job->precision), "bf16") == 0;
  if (!meet(rank, status)) return false;
  if (run->options->measure_peak)
    rank->facts.peak =
        peak_measure(run->options->variant, bf16 ? DTYPE_BF16 : DTYPE_F32, rank->threads);
  return gather_facts(rank, status);
}

static int64_t data_wait_ns(const Rank *rank) {
  return rank->stage ? stage_wait_ns(rank->stage) : 0;
}

/* Consumed by the steps before this one. */
static int64_t samples_before(const Rank *rank, int64_t step) {
  int64_t steps = step - rank->start.first_step;
  return rank->start.samples_before + (steps > 0 ? steps * rank->job->batch_samples : 0);
}

static ControlIn control_in(const Rank *rank, int64_t step) {
  return (ControlIn){
      .lr = schedule_lr(rank->job, step),
      .step = step,
      .seed = rank->job->seed,
      .samples_before = samples_before(rank, step),
      .microbatch_samples = rank->job->microbatch_samples,
  };
}

/* A checkpoint reads and writes what no record has as an operand. */
static void allow_arenas(const Rank *rank, bool allowed) {
  for (Tier tier = 0; tier < Tier_COUNT; tier++) {
    const Arena *arena = &rank->arena.tier[tier];
    if (arena->base == NULL) continue;
    if (allowed)
      hostile_allow(&rank->replay.hostile, arena->base, arena->size_bytes);
    else
      hostile_forbid(&rank->replay.hostile, arena->base, arena->size_bytes);
  }
}

/* Init writes everything that persists, padding included; a checkpoint then brings its tensors. */
static bool restore(Rank *rank, Status *status) {
  const Checkpoint *checkpoint = &rank->start.checkpoint;
  ControlLasting lasting = {.updates = checkpoint->header->updates};
  allow_arenas(rank, true);
  bool restored = checkpoint_restore(checkpoint, rank->replay.device, rank->arena.base[TIER_DEVICE],
                                     rank->plan, rank->replay.class, status) &&
                  replay_write_lasting(&rank->replay, &lasting, status);
  allow_arenas(rank, false);
  return restored;
}

static bool run_init(Rank *rank, Status *status) {
  ControlIn in = control_in(rank, 0);
  ReplayLeft left;
  if (!replay_run(&rank->replay, rank->init, &in, NULL, &left, status)) return false;
  rank->sent_bytes = left.sent_bytes;
  return !rank->start.resumes || restore(rank, status);
}

/* Of another variant the sums are rounded otherwise: the run is not bitwise what it would have
 * been. A checkpoint given by its path may be of another folder, whose record is not read. */
static void note_products(Rank *rank, const ReportSetup *setup, const char *before) {
  char now[RECORD_PRODUCTS_BYTES];
  (void)snprintf(now, sizeof now, "fp32 %s, bf16 %s", setup->products[0], setup->products[1]);
  if (!rank->start.resumes || rank->run->options->resume == RESUME_PATH) return;
  if (*before && strcmp(before, now) != 0)
    report_note(rank->report,
                "note     matrix products were %s and are %s: not bitwise the same run", before,
                now);
}

static bool open_report(Rank *rank, Status *status) {
  const Run *run = rank->run;
  double peak = 0.0;
  for (int32_t i = 0; i < run->mesh.rank_count; i++)
    peak += rank->all[i].peak.flops_per_s;
  uint64_t arena_bytes = 0;
  for (int32_t i = 0; i < run->mesh.rank_count; i++)
    arena_bytes += plan_arena_bytes(run->plan, mesh_class(&run->mesh, run->plan, i), TIER_DEVICE);
  bool fast = run->options->variant == KERNEL_FAST;
  const char *isa = fast ? kernel_isa() : "none";
  Product f32 = fast ? product_choice()->f32 : PRODUCT_REFERENCE;
  Product bf16 = fast ? product_choice()->bf16 : PRODUCT_REFERENCE;
  ReportSetup setup = {
      .plan = run->plan,
      .kernels = strcmp(isa, "none") == 0 ? "reference" : "fast",
      .isa = isa,
      .products = {product_name(f32), product_name(bf16)},
      .quiet = run->options->quiet,
      .plot = run->options->plot,
      .json = run->options->json,
      .ranks = run->mesh.rank_count,
      .replicas = mesh_replicas(&run->mesh),
      .first_step = rank->start.first_step,
      .last_step = run->last_step,
      .arena_bytes = arena_bytes,
      .peak_flops_per_s = peak,
      .peak_size = rank->facts.peak.size,
      .unigram = samples_unigram_entropy(&run->train),
      .train_tokens = run->train.tokens,
      .resumed_from = rank->start.resumes ? rank->start.checkpoint.path : NULL,
  };
  rank->report = calloc(1, sizeof *rank->report);
  if (!rank->report) return status_fail(status, STATUS_WORLD, "not enough memory for the report");
  char products[RECORD_PRODUCTS_BYTES];
  record_products_before(&setup, products);
  if (!report_open(rank->report, &setup, status) || !record_write(&setup, status)) return false;
  if (*run->boot->words) report_note(rank->report, "ranks    %s", run->boot->words);
  note_products(rank, &setup, products);
  if (rank->eval && !programs_reduce(rank->plan, rank->eval))
    report_note(rank->report, "note     validation is of rank 0's share: the plan's eval_step does "
                              "not reduce its loss over all ranks");
  return true;
}

static bool checkpoints(const Rank *rank) {
  return rank->job->checkpoint_every_steps > 0 || rank->job->checkpoint_every_s > 0;
}

static bool wants_checkpoint(const Rank *rank, int64_t step) {
  const PlanJob *job = rank->job;
  if (rank->number != 0 || !checkpoints(rank)) return false;
  if (job->checkpoint_every_steps > 0) return step % job->checkpoint_every_steps == 0;
  return now_ns() - rank->saved_ns >= job->checkpoint_every_s * 1000000000LL;
}

/* Ranks that differ only along axes on which state does not are equal: the first writes for all. */
static bool writes_state(const Rank *rank) {
  const Mesh *mesh = &rank->run->mesh;
  return checkpoint_writer(mesh, rank->job->state_axes, rank->number) ==
         mesh_number(mesh, rank->number);
}

static bool write_state(Rank *rank, int64_t step, Status *status) {
  CheckpointState state = {
      .device = rank->replay.device,
      .arena = rank->arena.base[TIER_DEVICE],
      .step = step,
      .samples = samples_before(rank, step + 1),
  };
  allow_arenas(rank, true);
  bool written = replay_read_lasting(&rank->replay, &state.lasting, status) &&
                 checkpoint_write(&rank->store, &state, status);
  allow_arenas(rank, false);
  return written;
}

/* Rank 0 makes and lists the folder and tells the others, who may write there from here on. */
static bool open_store(Rank *rank, Status *status) {
  const Run *run = rank->run;
  CheckpointStore *store = &rank->store;
  Comm *comm = rank->comm;
  if (!checkpoints(rank)) return true;
  if (writes_state(rank) &&
      !checkpoint_store_open(store, run->plan, &run->mesh, rank->number, run->data_sum, status))
    return false;
  if (rank->number == 0 && !checkpoint_store_list(store, status)) return false;
  if (comm->ops->broadcast_bytes(comm, 0, &store->steps, sizeof store->steps)) return true;
  status->code = STATUS_ECHO;
  return false;
}

/* All ranks save after the same steps; rank 0's file gets its name when all have written theirs,
 * and only then may anything older go. */
static bool save(Rank *rank, int64_t step, Status *status) {
  if (rank->saved_step == step) return true;
  int64_t start_ns = now_ns();
  note_phase(rank, FLIGHT_SAVING, step);
  if (writes_state(rank) && !write_state(rank, step, status)) return false;
  bool in_parts = rank->job->state_axes != 0;
  if (in_parts && !meet(rank, status)) return false;
  if (rank->number == 0) {
    if (!checkpoint_publish(&rank->store, step, status)) return false;
    checkpoint_remove_oldest(&rank->store, step);
  }
  if (in_parts && !meet(rank, status)) return false;
  if (rank->number != 0 && writes_state(rank)) checkpoint_remove_oldest(&rank->store, step);
  rank->saved_step = step;
  rank->saved_ns = now_ns();
  checkpoint_path(rank->saved_path, plan_string(rank->plan, rank->job->checkpoint_dir), step, 0);
  if (rank->number == 0)
    report_note(rank->report, "saved    %s   %.0f ms", rank->saved_path,
                (double)(rank->saved_ns - start_ns) / 1e6);
  return true;
}

static bool check_finite(const Rank *rank, int64_t step, const ControlOut *out, Status *status) {
  double loss = out->reduce[REDUCE_LOSS] / out->reduce[REDUCE_COUNT];
  const char *what = !isfinite(loss)                     ? "the loss"
                     : out->reduce[REDUCE_FOUND_INF] > 0 ? "a gradient"
                     : !isfinite(out->grad_norm)         ? "the gradient norm"
                                                         : NULL;
  if (!what) return true;
  return status_fail(
      status, STATUS_USER,
      "rank %d step %lld: %s is not finite: the run has diverged. Lower optimizer.lr, lengthen "
      "schedule.warmup or set optimizer.clip%s%s",
      rank->number, (long long)step, what, rank->saved_step > 0 ? "; the last good state is " : "",
      rank->saved_step > 0 ? rank->saved_path : "");
}

/* NULL with status code 0: the rank loads nothing. */
static const void *take_samples(const Rank *rank, Status *status) {
  status->code = 0;
  return rank->stage ? stage_take(rank->stage, status) : NULL;
}

static void give_samples_back(const Rank *rank) {
  if (rank->stage) stage_give_back(rank->stage);
}

/* The same samples whatever the degrees: what fills up the last pass does not count. */
static bool validate(Rank *rank, int64_t step, Status *status) {
  double loss = 0.0, count = 0.0;
  const StageSetup *data = &rank->stage_setup;
  note_phase(rank, FLIGHT_VALIDATING, step);
  for (int64_t pass = 0; pass < data->valid_passes; pass++) {
    ControlIn in = control_in(rank, step);
    ReplayLeft left;
    in.padded_samples = samples_padded(data->valid, data->replicas, data->replica, pass);
    const void *samples = take_samples(rank, status);
    if (status->code != 0 || !replay_run(&rank->replay, rank->eval, &in, samples, &left, status))
      return false;
    give_samples_back(rank);
    rank->sent_bytes = left.sent_bytes;
    loss += left.control.reduce[REDUCE_LOSS];
    count += left.control.reduce[REDUCE_COUNT];
  }
  if (rank->number == 0) report_valid(rank->report, step, count > 0 ? loss / count : NAN);
  return true;
}

static bool start_step(Rank *rank, int64_t step, Status *status) {
  Underway *underway = &rank->underway[step % CONTROL_SLOTS_MAX];
  ControlIn in = control_in(rank, step);
  in.reduce[REDUCE_STOP] = atomic_load(&run_stop_requested) ? 1.0 : 0.0;
  in.reduce[REDUCE_CHECKPOINT] = wants_checkpoint(rank, step) ? 1.0 : 0.0;
  note_phase(rank, FLIGHT_STEP, step);
  underway->start_ns = now_ns();
  int64_t wait_ns = data_wait_ns(rank);
  const void *samples = take_samples(rank, status);
  underway->data_wait_ns = data_wait_ns(rank) - wait_ns;
  rank->started = step;
  return status->code == 0 && replay_start(&rank->replay, rank->train, &in, samples, status);
}

static void tell_end(Rank *rank, int64_t step, const ReplayLeft *left) {
  const Underway *underway = &rank->underway[step % CONTROL_SLOTS_MAX];
  const ControlOut *out = &left->control;
  int64_t since_ns = underway->start_ns > rank->ended_ns ? underway->start_ns : rank->ended_ns;
  rank->ended_ns = now_ns();
  flight_step_took(rank->flight, rank->ended_ns - since_ns);
  if (rank->number != 0) return;
  report_step(rank->report, &(StepFacts){
                                .step = step,
                                .loss = out->reduce[REDUCE_LOSS] / out->reduce[REDUCE_COUNT],
                                .grad_norm = out->grad_norm,
                                .lr = schedule_lr(rank->job, step),
                                .step_ns = rank->ended_ns - since_ns,
                                .data_wait_ns = underway->data_wait_ns,
                                .comm_bytes = left->sent_bytes - rank->sent_bytes,
                            });
}

static bool end_step(Rank *rank, int64_t step, Status *status) {
  ReplayLeft left;
  if (!replay_collect(&rank->replay, &left, status) ||
      !check_finite(rank, step, &left.control, status))
    return false;
  give_samples_back(rank);
  rank->ended = step;
  rank->asks_stop |= left.control.reduce[REDUCE_STOP] > 0;
  rank->asks_checkpoint |= left.control.reduce[REDUCE_CHECKPOINT] > 0;
  tell_end(rank, step, &left);
  rank->sent_bytes = left.sent_bytes;
  return true;
}

/* Whether something happens between this step and the next, as far as is known when it was started:
 * then the next waits for it. All ranks say the same. */
static bool pauses_after(const Rank *rank, int64_t step) {
  int64_t every = rank->job->checkpoint_every_steps;
  return step == rank->start.first_step || step == rank->run->last_step ||
         (rank->eval && stage_validates(&rank->stage_setup, step)) ||
         (checkpoints(rank) && every > 0 && step % every == 0) || rank->asks_stop ||
         rank->asks_checkpoint;
}

/* Requests travelled with the control all-reduce: all ranks see the same ones after the same step.
 * Nothing is under way, and the step was found finite. */
static bool after_step(Rank *rank, int64_t step, Status *status) {
  bool stop = rank->asks_stop && step < rank->run->last_step;
  bool asked = rank->asks_checkpoint;
  bool last = step == rank->run->last_step || stop;
  rank->asks_checkpoint = false;
  if (!stop && rank->eval && stage_validates(&rank->stage_setup, step) &&
      !validate(rank, step, status))
    return false;
  if ((asked || (last && checkpoints(rank))) && !save(rank, step, status)) return false;
  if (stop && rank->number == 0)
    report_note(rank->report, "stopped  after step %lld, as asked%s", (long long)step,
                checkpoints(rank) ? "" : "; nothing is saved, for the job has no checkpoints");
  rank->stopped = stop;
  return true;
}

/* Memory is given out in blocks of PLAN_ALIGN_BYTES. */
static uint64_t in_blocks(uint64_t bytes) {
  return (bytes + PLAN_ALIGN_BYTES - 1) / PLAN_ALIGN_BYTES * PLAN_ALIGN_BYTES;
}

/* Control and samples are in use whether or not a record has touched them. */
static uint64_t addressed_bytes(const Rank *rank) {
  const PlanJob *job = rank->job;
  uint64_t high = rank->replay.high_water_bytes;
  uint64_t steps = job->staging_tier == TIER_DEVICE ? (uint64_t)job->prefetch_steps : 1;
  uint64_t control_end = job->control_offset + sizeof(Control);
  uint64_t samples_end =
      job->samples_offset + steps * (uint64_t)job->accumulation * job->sample_bytes;
  if (control_end > high) high = control_end;
  if (samples_end > high) high = samples_end;
  return in_blocks(high);
}

static uint64_t planned_bytes(const Rank *rank) {
  uint64_t planned = 0;
  for (uint32_t i = 0; i < rank->replay.class->programs_count; i++) {
    const PlanProgram *program = &rank->plan->programs[rank->replay.class->programs_first + i];
    uint64_t peak_bytes = plan_peak(rank->plan, program)->peak_bytes;
    if (peak_bytes > planned) planned = peak_bytes;
  }
  return in_blocks(planned);
}

/* Gathered at the last meeting; the one that needs most is reported. */
static void note_memory(Rank *rank) {
  rank->facts.planned_bytes = planned_bytes(rank);
  rank->facts.addressed_bytes = addressed_bytes(rank);
  rank->facts.touched_bytes = 0;
  if (rank->run->options->measure_memory)
    rank->facts.touched_bytes = arena_touched_bytes(&rank->arena.tier[TIER_DEVICE]);
}

/* The step after which something happens ends before the next one starts; else the device may be
 * ahead of the host by as many steps as control has slots for. */
static bool run_next(Rank *rank, Status *status) {
  int64_t ahead = rank->job->control_slots - 1;
  if (!pauses_after(rank, rank->started) || rank->started == rank->ended)
    if (!start_step(rank, rank->started + 1, status)) return false;
  while (rank->started - rank->ended > ahead ||
         (rank->started > rank->ended && pauses_after(rank, rank->started)))
    if (!end_step(rank, rank->ended + 1, status)) return false;
  return rank->started > rank->ended || after_step(rank, rank->ended, status);
}

static bool run_steps(Rank *rank, Status *status) {
  const Run *run = rank->run;
  rank->started = rank->ended = rank->start.first_step - 1;
  while (rank->ended < run->last_step && !rank->stopped) {
    if (!run_next(rank, status)) return false;
    if (rank->started > rank->start.first_step) continue; /* the next one may be under way */
    if (!meet(rank, status)) return false;
    run_steady_enter(run);
  }
  note_memory(rank);
  note_phase(rank, FLIGHT_ENDING, run->last_step);
  if (!gather_facts(rank, status)) return false;
  run_steady_leave();
  return true;
}

static bool close_report(Rank *rank, Status *status) {
  RankFacts most = rank->all[0];
  for (int32_t i = 1; i < rank->run->mesh.rank_count; i++)
    if (rank->all[i].planned_bytes > most.planned_bytes) most = rank->all[i];
  EndFacts facts = {
      .stopped = rank->stopped,
      .planned_bytes = most.planned_bytes,
      .addressed_bytes = most.addressed_bytes,
      .touched_bytes = most.touched_bytes,
      .checkpoint = rank->saved_path[0] ? rank->saved_path : NULL,
  };
  return report_close(rank->report, &facts, status);
}

/* A run that is refused, or cannot start, leaves the plan of the one before in the folder. */
static bool keep_plan(const Run *run, Status *status) {
  const char *from = run->options->plan_path, *to = run->options->keep_plan;
  if (to == NULL || rename(from, to) == 0) return true;
  return status_fail(status, STATUS_WORLD, "%s: cannot be renamed to %s: %s", from, to,
                     strerror(errno));
}

static bool live(Rank *rank, Status *status) {
  const Run *run = rank->run;
  note_phase(rank, FLIGHT_RESUMING, 0);
  if (!resume_find(run, rank->number, rank->comm, &rank->start, status)) return false;
  note_phase(rank, FLIGHT_RESTORING, rank->start.first_step - 1);
  if (!open_rank(rank, status) || !measure_peak(rank, status) || !run_init(rank, status) ||
      !meet(rank, status))
    return false;
  /* All ranks are up and have their state: from here on files of earlier runs are touched. */
  if (rank->number == 0) failure_clear(rank->plan);
  if (rank->number == 0 && (!resume_clear_way(run, rank->start.first_step, status) ||
                            !keep_plan(run, status) || !open_report(rank, status)))
    return false;
  if (!open_store(rank, status)) return false;
  rank->saved_ns = now_ns();
  if (!run_steps(rank, status)) return false;
  return rank->number != 0 || close_report(rank, status);
}

bool rank_main(void *context, int32_t number, Status *status) {
  const Run *run = context;
  Rank rank = {.run = run, .plan = run->plan, .job = &run->plan->jobs[0], .number = number};
  rank.comm = run->boot->ops->comm(run->boot, number, NULL);
  rank.flight = run->boot->ops->flight(run->boot, number);
  bool done = live(&rank, status);
  run_steady_leave();
  if (done) status->code = rank.stopped ? STATUS_STOPPED : STATUS_DONE;
  if (!done && status->code != STATUS_ECHO) rank.comm->ops->abort(rank.comm);
  close_rank(&rank);
  return done;
}

/* rank_steps.c -- runs the steps of a rank, and the work between steps: reports, saves, validation.
 */
#include <math.h>
#include <time.h>

#include "runtime/plan/plan_job.h"
#include "runtime/plan/plan_losses.h"
#include "runtime/plan/schedule.h"
#include "runtime/rank/rank_state.h"
#include "runtime/rank/rank_use.h"

/* Consumed by the steps before this one. */
int64_t rank_samples_before(const Rank *rank, int64_t step) {
  int64_t steps = step - rank->start.first_step;
  return rank->start.samples_before + (steps > 0 ? steps * job_batch_samples(rank->plan) : 0);
}

static int64_t data_wait_ns(const Rank *rank) {
  return rank->staging ? staging_wait_ns(rank->staging) : 0;
}

Control rank_control_in(const Rank *rank, int64_t step) {
  return (Control){
      .lr = schedule_lr(rank->plan, step),
      .step = step,
      .seed = job_seed(rank->plan),
      .microbatch_samples = job_microbatch_samples(rank->plan),
  };
}

/* NULL with status code 0: the rank loads no samples. */
static const void *take_samples(const Rank *rank, Status *status) {
  status->code = 0;
  return rank->staging ? staging_take(rank->staging, status) : NULL;
}

/* The first rank of a replica tells the others how many of its targets count. */
static LossTargets own_targets(const Rank *rank, const void *samples) {
  if (samples == NULL || !mesh_is_first_of_replica(&rank->run->mesh, rank->number))
    return (LossTargets){0};
  return staging_targets(rank->staging);
}

static void give_samples_back(const Rank *rank) {
  if (rank->staging) staging_give_back(rank->staging);
}

/* Padding in the last pass does not count. */
bool rank_validate(Rank *rank, int64_t step, LossSums *all, Status *status) {
  const StagingSetup *data = &rank->staging_setup;
  *all = (LossSums){0};
  for (int64_t pass = 0; pass < data->valid_passes && !rank->stopped; pass++) {
    Control in = rank_control_in(rank, step);
    ReplayLeft left;
    in.padded_samples = samples_padded(data->valid, data->replicas, data->replica, pass);
    if (!rank->train) in.stop = atomic_load(&run_stop_requested) ? 1.0 : 0.0;
    const void *samples = take_samples(rank, status);
    if (status->code != 0 || !replay_run(&rank->replay, rank->eval, &in, samples, &left, status))
      return false;
    give_samples_back(rank);
    rank->sent_bytes = left.sent_bytes;
    loss_sums_add(all, &left.control, rank->losses.count);
    rank->stopped = !rank->train && left.control.stop > 0;
  }
  return true;
}

/* Validates. The samples are the same at all degrees of parallelism. */
static bool validate(Rank *rank, int64_t step, Status *status) {
  LossSums all;
  rank_note_phase(rank, FLIGHT_VALIDATING, step);
  if (!rank_validate(rank, step, &all, status)) return false;
  if (rank->number == 0) report_valid(rank->report, step, &all);
  return true;
}

/* Tests can slow down a rank. */
static void delay_rank(const Rank *rank) {
  const RankDelay *delay = &rank->run->options->rank_delay;
  if (delay->step_ns == 0 || delay->rank != rank->number) return;
  struct timespec left = {delay->step_ns / 1000000000, delay->step_ns % 1000000000};
  while (nanosleep(&left, &left) != 0)
    continue;
}

/* The requests that go to all ranks with this step. A checkpoint is requested once, because the
 * device may be ahead of the host by steps that were started meanwhile. */
static void ask_all(Rank *rank, int64_t step, Control *in) {
  rank_look_for_requests(rank);
  bool asks_stop = rank->asked[ASKED_STOP] == ASKED_SEEN || atomic_load(&run_stop_requested);
  bool asks_save = rank->asked[ASKED_SAVE] == ASKED_SEEN;
  if (asks_save) rank->asked[ASKED_SAVE] = ASKED_SENT;
  rank_async_tell(rank, in);
  in->stop = asks_stop ? 1.0 : 0.0;
  in->checkpoint = asks_save || rank_wants_checkpoint(rank, step) ? 1.0 : 0.0;
}

/* Steps that are observed run one at a time. When the step has ended, all its records have been
 * reported; if they have not, the step counts for nothing, and the run says so once. */
static void listen(Rank *rank, int64_t step, bool on) {
  Device *device = rank->replay.device;
  Status why = {0};
  if (rank->observe == NULL) return;
  if (on) steplog_begin(&rank->observe->log, step);
  const bool heard = device->ops->listen(device, on, &why);
  rank->is_heard = on ? heard : heard && rank->is_heard;
  if (heard || rank->number != 0 || rank->told_lost) return;
  rank->told_lost = true;
  report_note(rank->report, "note     times of records of step %lld are not known: %s",
              (long long)step, why.text);
}

/* Once: that times are of calls of segments, and why. */
static void tell_coarse(Rank *rank) {
  if (rank->number != 0 || rank->observe == NULL || rank->told_coarse) return;
  const char *why = rank->replay.device->ops->coarse(rank->replay.device);
  rank->told_coarse = why != NULL;
  if (why != NULL)
    report_note(rank->report,
                "note     times are of calls of segments, by CUDA events, and not of records:\n"
                "         %s",
                why);
}

static bool start_step(Rank *rank, int64_t step, Status *status) {
  Underway *underway = &rank->underway[step % CONTROL_DEPTH_MAX];
  Control in = rank_control_in(rank, step);
  ask_all(rank, step, &in);
  rank_note_phase(rank, FLIGHT_STEP, step);
  underway->start_ns = rank_now_ns();
  delay_rank(rank);
  int64_t wait_ns = data_wait_ns(rank);
  const void *samples = take_samples(rank, status);
  underway->data_wait_ns = data_wait_ns(rank) - wait_ns;
  underway->samples = samples;
  underway->targets = own_targets(rank, samples);
  loss_targets_set(&in, &underway->targets, rank->losses.count);
  rank->started = step;
  rank_look_begin(rank, step);
  tell_coarse(rank);
  listen(rank, step, true);
  return status->code == 0 && replay_start(&rank->replay, rank->train, &in, samples, status);
}

static void tell_end(Rank *rank, int64_t step, const ReplayLeft *left) {
  const Underway *underway = &rank->underway[step % CONTROL_DEPTH_MAX];
  const Control *out = &left->control;
  int64_t since_ns = underway->start_ns > rank->ended_ns ? underway->start_ns : rank->ended_ns;
  rank->ended_ns = rank_now_ns();
  if (step == rank->start.first_step) {
    rank->first_step_begun_ns = since_ns;
    rank->first_step_ns = rank->ended_ns - since_ns;
  }
  flight_step_took(rank->flight, rank->ended_ns - since_ns);
  StepSpan span = {
      .begin_ns = since_ns, .end_ns = rank->ended_ns, .data_ns = underway->data_wait_ns};
  const bool is_observed = rank->observe != NULL && rank->is_heard;
  if (is_observed) observe_step(rank->observe, step, &span);
  if (rank->number != 0) return;
  GpuSample gpu;
  bool is_sampled = gpu_watch_look(&rank->watch, rank->ended_ns, &gpu);
  const bool skipped = rank_skips(rank, out);
  LossSums losses = {0};
  loss_sums_add(&losses, out, rank->losses.count);
  report_step(rank->report, &(StepFacts){
                                .step = step,
                                .losses = losses,
                                .grad_norm = skipped ? NAN : out->grad_norm,
                                .skipped = skipped,
                                .loss_scale = rank->scale.is_on ? rank->scale.before.loss_scale : 0,
                                .next_scale = out->loss_scale,
                                .lr = schedule_lr(rank->plan, step),
                                .step_ns = rank->ended_ns - since_ns,
                                .data_wait_ns = underway->data_wait_ns,
                                .save_wait_ns = rank->save_wait_ns,
                                .comm_bytes = left->sent_bytes - rank->sent_bytes,
                                .went = is_observed ? &rank->observe->newest : NULL,
                                .gpu = is_sampled ? &gpu : NULL,
                            });
  rank->save_wait_ns = 0;
}

const char *rank_graph_fault(Rank *rank, ProgramKind kind) {
  const Status *why = &rank->replay.graph[kind].why;
  if (rank->number != 0 || rank->told_graphs || why->code == 0) return NULL;
  rank->told_graphs = true;
  return why->text;
}

static void tell_graphs(Rank *rank) {
  const char *why = rank_graph_fault(rank, PROGRAM_TRAIN_STEP);
  if (why != NULL)
    report_note(rank->report,
                "note     steps are issued record by record, for they cannot be captured "
                "as a graph: %s",
                why);
}

/* True if something happens between this step and the next, as known when it was started: then the
 * next step waits for it. The same on all ranks. */
static bool pauses_after(const Rank *rank, int64_t step) {
  int64_t every = job_checkpoint_every_steps(rank->plan);
  return step == rank->start.first_step || step == rank->run->last_step ||
         rank_looks_at(rank, step) || rank_looks_at(rank, step + 1) ||
         (rank->eval && staging_validates(&rank->staging_setup, step)) ||
         (rank_checkpoints(rank) && every > 0 && step % every == 0) ||
         (rank_checkpoints(rank) && checkpoint_is_milestone(&rank->store, step)) ||
         rank_keeps_after(rank, step) || rank->asks_stop || rank_storm_nears(rank) ||
         (rank->asks_checkpoint && !rank->async.is_under_way) || rank->async.has_failed ||
         (rank->observe && observe_compares(rank->observe, step));
}

/* If the rank pauses after this step, its updates on the host end first: their time is this
 * step's. */
static bool end_step(Rank *rank, int64_t step, Status *status) {
  ReplayLeft left;
  if (!replay_collect(&rank->replay, &left, status)) return false;
  listen(rank, step, false);
  if (!rank_look_end(rank, step, &left.control, status) ||
      !rank_check_finite(rank, step, &left.control, status))
    return false;
  rank->ended = step;
  rank->asks_stop |= left.control.stop > 0;
  rank->asks_checkpoint |= left.control.checkpoint > 0;
  rank_async_hear(rank, &left.control);
  if (rank->started == step && pauses_after(rank, step) && !replay_settle(&rank->replay, status))
    return false;
  tell_end(rank, step, &left);
  if (!rank_check_skip(rank, step, &left.control, status)) return false;
  rank->scale.before = left.control;
  give_samples_back(rank);
  tell_graphs(rank);
  rank->sent_bytes = left.sent_bytes;
  return true;
}

static bool compare_ranks(Rank *rank, Status *status) {
  if (!observe_compare(rank->observe, rank->comm)) {
    status->code = STATUS_ECHO;
    return false;
  }
  if (rank->number == 0) rank_tell_stragglers(rank);
  return true;
}

/* Reports what ended the run, and removes the request files that were carried out. */
static void tell_requests(Rank *rank, int64_t step, bool saved, bool last) {
  bool by_file = rank->asked[ASKED_STOP] == ASKED_SEEN;
  if (rank->asked[ASKED_SAVE] == ASKED_SENT && !rank_checkpoints(rank))
    report_note(rank->report, "note     nothing is saved: checkpoint.every is \"never\"");
  if (saved || last) rank_request_done(rank, ASKED_SAVE);
  if (!last) return;
  if (rank->stopped)
    report_note(rank->report, "stopped  after step %lld, as asked%s%s%s%s", (long long)step,
                by_file ? " by " : "", by_file ? job_run_dir(rank->plan) : "",
                by_file ? "/stop" : "",
                rank_checkpoints(rank) ? "" : "; nothing is saved: checkpoint.every is \"never\"");
  rank_request_done(rank, ASKED_STOP);
}

/* Requests have travelled with the control all-reduce: all ranks see the same ones after the same
 * step. No step is running, and this one was finite. */
static bool after_step(Rank *rank, int64_t step, Status *status) {
  bool stop = rank->asks_stop && step < rank->run->last_step;
  bool asked = rank->asks_checkpoint;
  bool last = step == rank->run->last_step || stop;
  if (!asked && !pauses_after(rank, step)) return true; /* the next step begins beside the rest */
  rank->asks_checkpoint = false;
  if (!replay_settle(&rank->replay, status)) return false;
  if (!stop && rank->eval && staging_validates(&rank->staging_setup, step) &&
      !validate(rank, step, status))
    return false;
  if (!last && rank->observe && observe_compares(rank->observe, step) &&
      !compare_ranks(rank, status))
    return false;
  if (rank->async.has_failed && !rank_async_end(rank, status)) return false;
  if ((asked || last) && rank_checkpoints(rank) && !rank_save_due(rank, step, last, status))
    return false;
  if (!last && rank->saved_step != step && rank_keeps_after(rank, step) &&
      !rank_keep(rank, step, status))
    return false;
  if (!last && step == rank->start.first_step && !rank_drill(rank, status)) return false;
  rank->stopped = stop;
  if (rank->number == 0) tell_requests(rank, step, asked && rank->saved_step == step, last);
  return true;
}

/* A step after which something happens ends before the next one starts; otherwise the device may be
 * ahead of the host by as many steps as control has slots for. A step that is timed runs alone. */
static bool run_next(Rank *rank, Status *status) {
  int64_t ahead = rank->observe ? 0 : job_control_depth(rank->plan) - 1;
  if (!pauses_after(rank, rank->started) || rank->started == rank->ended)
    if (!start_step(rank, rank->started + 1, status)) return false;
  while (rank->started - rank->ended > ahead ||
         (rank->started > rank->ended && pauses_after(rank, rank->started)))
    if (!end_step(rank, rank->ended + 1, status)) return false;
  return rank->started > rank->ended || after_step(rank, rank->ended, status);
}

bool rank_run_steps(Rank *rank, Status *status) {
  const Run *run = rank->run;
  rank->started = rank->ended = rank->start.first_step - 1;
  while (rank->ended < run->last_step && !rank->stopped) {
    if (!run_next(rank, status)) return false;
    if (rank->started > rank->start.first_step) continue; /* the next one may be running */
    if (!rank_meet(rank, status)) return false;
    run_steady_enter(run);
  }
  rank_note_memory(rank);
  rank_note_phase(rank, FLIGHT_ENDING, run->last_step);
  if (!rank_gather_facts(rank, status)) return false;
  run_steady_leave();
  return rank->observe == NULL || run->options->ranks_every == 0 || compare_ranks(rank, status);
}

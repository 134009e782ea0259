/* resume.c -- reports safe changes of the job, and refuses other experiments. */
#include "runtime/rank/resume.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/plan/plan_job.h"
#include "runtime/plan/schedule.h"
#include "runtime/process/plural.h"
#include "runtime/process/text.h"

static const uint32_t experiment = 1u << SETTING_EXPERIMENT | 1u << SETTING_MODEL;
static const uint32_t schedule = 1u << SETTING_SCHEDULE;
static const uint32_t everything = (1u << SettingEffect_COUNT) - 1;

enum { LIST_BYTES = 768 };

static void say(const char *what, const char *line) {
  Text text;
  text_start_screen(&text, STDERR_FILENO);
  text_add(&text, "%s: %s\n", what, line);
  (void)text_flush(&text);
}

static void warn_skipped(const char *why) {
  say("warning: checkpoint skipped", why);
}

static const char *run_directory(const Run *run) {
  return job_run_dir(run->plan);
}

/* True if the user named this checkpoint, or said that any will do. */
static bool is_accepted(const Run *run) {
  return run->options->resume == RESUME_PATH || run->options->resume == RESUME_ANYWAY;
}

/* A change of only the number of steps makes a run longer or shorter. */
static bool is_length(const CheckpointChange *change) {
  return strcmp(change->key, "train.steps") == 0;
}

static bool changes_rate(const CheckpointChanges *changes) {
  for (int32_t i = 0; i < changes->count; i++)
    if (changes->at[i].effect == SETTING_SCHEDULE && !changes->at[i].is_derived &&
        !is_length(&changes->at[i]))
      return true;
  return false;
}

/* A finished run is a result: a different job needs a name of its own. */
static bool refuse_finished(const Run *run, const Checkpoint *checkpoint, const char *differs,
                            Status *status) {
  const CheckpointHeader *header = checkpoint->header;
  const char *folder = run_directory(run);
  if (!*differs)
    return status_fail(
        status, STATUS_NOTHING_LEFT,
        "nothing left to do: %s is at step %lld, the run ends at step %lld. A larger "
        "%s goes on; -D name=... starts a new run",
        checkpoint->path, (long long)header->step, (long long)run->last_step,
        run->last_step < job_steps(run->plan) ? "--steps" : "train.steps");
  return status_fail(
      status, STATUS_NOTHING_LEFT,
      "%s holds a run that %s step %lld of %lld, and this job differs from it: %s. "
      "Nothing was trained: -D name=... (or -D log.dir=...) makes it a run of its own",
      folder, header->step >= header->last_step ? "is finished:" : "has done",
      (long long)header->step, (long long)header->last_step, differs);
}

static bool refuse_experiment(const Checkpoint *checkpoint, const CheckpointChanges *changes,
                              Status *status) {
  char list[LIST_BYTES];
  (void)checkpoint_changes_text(changes, experiment, false, list, sizeof list);
  return status_fail(
      status, STATUS_USER,
      "%s is of another experiment: %s. -D name=... (or -D log.dir=...) starts a new "
      "run; --resume anyway, or --resume FILE, goes on from it all the same",
      checkpoint->path, list);
}

static bool match(const Run *run, int32_t rank, const Checkpoint *own,
                  const CheckpointChanges *changes, Status *status) {
  const PlanClass *class = mesh_class(&run->mesh, run->plan, rank);
  if (!class) return status_fail(status, STATUS_OURS, "plan: rank %d has no class", rank);
  return checkpoint_match(own, run->plan, class, changes, status);
}

/* On rank 0: whether the remaining steps and the differences allow this job to go on from the
 * checkpoint. */
static bool judge(const Run *run, const Checkpoint *checkpoint, const CheckpointChanges *changes,
                  Status *status) {
  char differs[LIST_BYTES], ignored[1];
  const CheckpointHeader *header = checkpoint->header;
  (void)checkpoint_changes_text(changes, everything, false, differs, sizeof differs);
  bool other = checkpoint_changes_text(changes, experiment, false, ignored, sizeof ignored) > 0;
  bool finished = header->step >= header->last_step;
  /* If no key differs, the tensors must agree. */
  if (!*differs && !match(run, 0, checkpoint, changes, status)) return false;
  if (header->step >= run->last_step) return refuse_finished(run, checkpoint, differs, status);
  if (is_accepted(run)) return true;
  if (finished && (other || changes_rate(changes)))
    return refuse_finished(run, checkpoint, differs, status);
  return !other || refuse_experiment(checkpoint, changes, status);
}

/* Different steps or a different schedule can make the learning rate jump. */
static void tell(const Run *run, const Checkpoint *checkpoint, const CheckpointChanges *changes) {
  char list[LIST_BYTES], line[LIST_BYTES + 96], ignored[1];
  const CheckpointHeader *header = checkpoint->header;
  double lr = schedule_lr(run->plan, header->step);
  if (run->options->quiet ||
      checkpoint_changes_text(changes, everything, false, list, sizeof list) == 0)
    return;
  bool rate = checkpoint_changes_text(changes, schedule, true, ignored, sizeof ignored) > 0;
  if (rate && lr != header->lr)
    (void)snprintf(line, sizeof line, "%s; the rate of step %lld was %.3g, is %.3g", list,
                   (long long)header->step, header->lr, lr);
  say("resumed with changes", rate && lr != header->lr ? line : list);
}

/* The first rank with a reason against the checkpoint reports it, the others are its echoes: the
 * message does not depend on which rank is faster. */
static bool all_agree(const Run *run, int32_t rank, Comm *comm, bool good, Status *status) {
  int32_t first = 0, ranks = run->mesh.rank_count;
  bool *goods = malloc((size_t)ranks * sizeof *goods);
  if (!goods)
    return status_fail(status, STATUS_WORLD, "not enough memory for %d rank%s", ranks,
                       plural(ranks));
  bool told = comm->ops->gather_bytes(comm, &good, goods, sizeof *goods);
  while (told && first < ranks && goods[first])
    first++;
  free(goods);
  if (!told || (first < ranks && first != rank)) status->code = STATUS_ECHO;
  return told && first == ranks;
}

/* Rank 0 judges the job, then each rank its own part. */
static bool accept(const Run *run, int32_t rank, Comm *comm, const Checkpoint *own,
                   Status *status) {
  CheckpointChanges changes = {0};
  bool good = checkpoint_changes(own, run->plan, run->data_sum, &changes, status) &&
              (rank != 0 || judge(run, own, &changes, status));
  good = all_agree(run, rank, comm, good, status);
  if (good) {
    good = match(run, rank, own, &changes, status);
    good = all_agree(run, rank, comm, good, status);
  }
  checkpoint_changes_free(&changes);
  return good;
}

static bool tell_changes(const Run *run, const Checkpoint *checkpoint, Status *status) {
  CheckpointChanges changes;
  if (!checkpoint_changes(checkpoint, run->plan, run->data_sum, &changes, status)) return false;
  tell(run, checkpoint, &changes);
  checkpoint_changes_free(&changes);
  return true;
}

static CheckpointSearch search_of(const Run *run, int32_t rank, Comm *comm, RunStart *start) {
  return (CheckpointSearch){
      .plan = run->plan,
      .mesh = &run->mesh,
      .rank = rank,
      .comm = comm,
      .path = run->options->resume == RESUME_PATH ? run->options->resume_path : NULL,
      .directory = job_checkpoint_dir(run->plan),
      .below = &start->below,
      .skipped = warn_skipped,
  };
}

void resume_begin(RunStart *start) {
  *start = (RunStart){.below = INT64_MAX, .first_step = 1};
}

/* A damaged checkpoint cannot refuse a job: a reason against it counts only if its tensors are
 * intact. True: it was skipped. */
static bool is_no_reason(const CheckpointSearch *search, Checkpoint *own, Status *status) {
  Status why = {0};
  CheckpointFault fault;
  if (checkpoint_verify(search, own, &fault, &why)) return false;
  if (checkpoint_skip(search, own, fault, &why)) return true;
  *status = why;
  return false;
}

bool resume_find(const Run *run, int32_t rank, Comm *comm, RunStart *start, Status *status) {
  CheckpointFault fault;
  Checkpoint *own = &start->checkpoint;
  CheckpointSearch search = search_of(run, rank, comm, start);
  start->resumes = false;
  start->first_step = 1;
  start->samples_before = 0;
  if (run->options->resume == RESUME_NEVER) return true;
  do {
    if (!checkpoint_find(&search, own, &fault, status)) return status->code == 0;
    start->resumes = true;
    start->first_step = own->header->step + 1;
    start->samples_before = own->header->samples;
    if (accept(run, rank, comm, own, status)) return true;
    start->resumes = false;
  } while (is_no_reason(&search, own, status));
  return false;
}

bool resume_load(const Run *run, int32_t rank, Comm *comm, RunStart *start,
                 const CheckpointTarget *target, Status *status) {
  CheckpointFault fault;
  CheckpointSearch search = search_of(run, rank, comm, start);
  if (!checkpoint_restore(&search, &start->checkpoint, target, &fault, status)) {
    if (checkpoint_skip(&search, &start->checkpoint, fault, status)) status->code = 0;
    return false;
  }
  return rank != 0 || tell_changes(run, &start->checkpoint, status);
}

void resume_close(RunStart *start) {
  checkpoint_close(&start->checkpoint);
}

bool resume_clear_way(const Run *run, int64_t first_step, Status *status) {
  CheckpointAside aside;
  const char *directory = job_checkpoint_dir(run->plan);
  if (!checkpoint_set_aside(directory, first_step, &aside, status)) return false;
  if (aside.count == 0) return true;
  char record[4096], kept[sizeof aside.path + 16];
  (void)snprintf(record, sizeof record, "%.4000s/job.json", run_directory(run));
  (void)snprintf(kept, sizeof kept, "%s/job.json", aside.path);
  if (link(record, kept) != 0)
    (void)rename(record, kept); /* may be missing: older runs have none */
  Text text;
  text_start_screen(&text, STDERR_FILENO);
  text_add(&text, "kept     %d checkpoint%s of an earlier run in %s\n", aside.count,
           plural(aside.count), aside.path);
  if (aside.removed > 0)
    text_add(&text, "removed  %d older folder%s earlier.N: the newest %d are kept\n", aside.removed,
             plural(aside.removed), CHECKPOINT_EARLIER_KEEP);
  (void)text_flush(&text);
  return true;
}

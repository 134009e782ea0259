/* resume.c -- reports safe changes of the job, and refuses other experiments. */
#include "runtime/rank/resume.h"

#include <stdarg.h>
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
static const uint32_t layout = 1u << SETTING_LAYOUT;
static const uint32_t everything = (1u << SettingEffect_COUNT) - 1;

enum { LIST_BYTES = 768, LINE_BYTES = LIST_BYTES + 256 };

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

/* A finished run is a result: a different job needs its own name. */
static bool refuse_finished(const Run *run, const Checkpoint *checkpoint, const char *differs,
                            Status *status) {
  const Manifest *manifest = &checkpoint->manifest;
  const char *folder = run_directory(run);
  if (!*differs)
    return status_fail(
        status, STATUS_NOTHING_LEFT,
        "nothing left to do: %s is at step %lld, the run ends at step %lld. A larger "
        "%s goes on; -D name=... starts a new run",
        checkpoint->path, (long long)manifest->facts.step, (long long)run->last_step,
        run->last_step < job_steps(run->plan) ? "--steps" : "train.steps");
  return status_fail(
      status, STATUS_NOTHING_LEFT,
      "%s holds a run that %s step %lld of %lld, and this job differs from it: %s. "
      "Nothing was trained: -D name=... (or -D log.dir=...) makes it a run of its own",
      folder, manifest->facts.step >= manifest->run.last_step ? "is finished:" : "has done",
      (long long)manifest->facts.step, (long long)manifest->run.last_step, differs);
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

/* On rank 0: whether the remaining steps and the differences allow this job to continue from the
 * checkpoint. */
static bool judge(const Run *run, const Checkpoint *checkpoint, const CheckpointChanges *changes,
                  Status *status) {
  char differs[LIST_BYTES], ignored[1];
  const Manifest *manifest = &checkpoint->manifest;
  int64_t step = manifest->facts.step;
  (void)checkpoint_changes_text(changes, everything, false, differs, sizeof differs);
  bool other = checkpoint_changes_text(changes, experiment, false, ignored, sizeof ignored) > 0;
  bool finished = step >= manifest->run.last_step;
  /* If no key differs, the tensors must agree. */
  if (!*differs && !checkpoint_match(checkpoint, run->plan, changes, status)) return false;
  if (step >= run->last_step) return refuse_finished(run, checkpoint, differs, status);
  if (is_accepted(run)) return true;
  if (finished && (other || changes_rate(changes)))
    return refuse_finished(run, checkpoint, differs, status);
  return !other || refuse_experiment(checkpoint, changes, status);
}

/* A resumed run continues the stream of samples if the data and the length of a sample are the
 * same. */
static bool is_same_stream(const Run *run, const Checkpoint *checkpoint) {
  const ManifestRun *before = &checkpoint->manifest.run;
  bool is_same = before->data_sum == run->data_sum || before->data_sum == MANIFEST_DATA_ANY;
  return is_same && before->sample_tokens == job_sample_tokens(run->plan);
}

/* Adds to a line, as far as there is room. */
static void add_to(char line[LINE_BYTES], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void add_to(char line[LINE_BYTES], const char *format, ...) {
  size_t used = strlen(line);
  va_list more;
  va_start(more, format);
  (void)vsnprintf(line + used, LINE_BYTES - used, format, more);
  va_end(more);
}

/* Different steps or a different schedule can make the learning rate jump; other degrees read other
 * parts; other data begin anew. */
static void tell(const Run *run, const Checkpoint *checkpoint, const CheckpointChanges *changes) {
  char list[LIST_BYTES], line[LINE_BYTES] = "", ignored[1];
  const Manifest *manifest = &checkpoint->manifest;
  double lr = schedule_lr(run->plan, manifest->facts.step);
  int32_t before = manifest->state.numbers, after = run->mesh.rank_count;
  if (run->options->quiet ||
      checkpoint_changes_text(changes, everything, false, list, sizeof list) == 0)
    return;
  add_to(line, "%s", list);
  if (checkpoint_changes_text(changes, schedule, true, ignored, sizeof ignored) > 0 &&
      lr != manifest->facts.lr)
    add_to(line, "; the rate of step %lld was %.3g, is %.3g", (long long)manifest->facts.step,
           manifest->facts.lr, lr);
  if (checkpoint_changes_text(changes, layout, true, ignored, sizeof ignored) > 0)
    add_to(line, "; %d part%s of %d rank%s, read by %d", manifest->part_count,
           plural(manifest->part_count), before, plural(before), after);
  if (!is_same_stream(run, checkpoint))
    add_to(line, "; samples begin anew with the first of the stream");
  say("resumed with changes", line);
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

static bool compare(const Run *run, const RunStart *start, CheckpointChanges *changes,
                    Status *status) {
  if (!checkpoint_changes(&start->checkpoint, run->plan, run->data_sum, changes, status))
    return false;
  checkpoint_compare_weights(&start->checkpoint, run->plan, start->weights_sum, changes);
  return true;
}

/* Rank 0 judges the job, and then whether the state is that of the plan. */
static bool accept(const Run *run, int32_t rank, Comm *comm, const RunStart *start,
                   Status *status) {
  const Checkpoint *own = &start->checkpoint;
  CheckpointChanges changes = {0};
  bool good =
      compare(run, start, &changes, status) && (rank != 0 || judge(run, own, &changes, status));
  good = all_agree(run, rank, comm, good, status);
  if (good) {
    good = rank != 0 || checkpoint_match(own, run->plan, &changes, status);
    good = all_agree(run, rank, comm, good, status);
  }
  checkpoint_changes_free(&changes);
  return good;
}

static bool tell_changes(const Run *run, const RunStart *start, Status *status) {
  CheckpointChanges changes;
  if (!compare(run, start, &changes, status)) return false;
  tell(run, &start->checkpoint, &changes);
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

/* Each rank takes part in the total by the chunks that it has read, or reads now. */
bool resume_sum_weights(const Run *run, int32_t rank, Comm *comm, RunStart *start, WeightSums *sums,
                        Status *status) {
  typedef struct Share {
    uint64_t sum;
    int64_t is_read;
  } Share;
  const int32_t ranks = run->mesh.rank_count;
  const size_t chunks = (size_t)sums->chunks;
  Share own = {0}, *all = calloc((size_t)ranks, sizeof *all);
  uint8_t *known = calloc((size_t)ranks, chunks + 1);
  int32_t first = 0;
  uint64_t total = 0;
  bool told = all != NULL && known != NULL;
  if (!told) (void)status_fail(status, STATUS_WORLD, "not enough memory for a hash");
  told = told && (chunks == 0 || comm->ops->gather_bytes(comm, sums->is_known, known, chunks));
  own.is_read = told && weight_sums_total(sums, known, rank, ranks, &own.sum, status);
  told = told && comm->ops->gather_bytes(comm, &own, all, sizeof own);
  for (; told && first < ranks && all[first].is_read; first++)
    total += all[first].sum;
  if (status->code == 0 && !told) status->code = STATUS_ECHO;
  if (told && first < ranks && first != rank) status->code = STATUS_ECHO;
  start->weights_sum = total;
  free(all);
  free(known);
  return told && first == ranks;
}

/* A checkpoint is compared with the content of the files that the run would have begun with. */
static bool sum_files(const Run *run, int32_t rank, Comm *comm, RunStart *start, Status *status) {
  WeightSums sums = {0};
  if (run->weights.set.file_count == 0) return true;
  const bool good = weight_sums_open(&sums, &run->weights.set, status) &&
                    resume_sum_weights(run, rank, comm, start, &sums, status);
  weight_sums_close(&sums);
  return good;
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
    start->first_step = own->manifest.facts.step + 1;
    start->samples_before = is_same_stream(run, own) ? own->manifest.facts.samples : 0;
    const bool is_summed = start->weights_sum != 0 || sum_files(run, rank, comm, start, status);
    if (is_summed && accept(run, rank, comm, start, status)) return true;
    start->resumes = false;
    if (!is_summed) break;
  } while (is_no_reason(&search, own, status));
  checkpoint_close(own);
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
  return rank != 0 || tell_changes(run, start, status);
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

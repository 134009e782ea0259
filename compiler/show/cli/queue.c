/* queue.c -- lockstep cancel and logs, for a run whose job is or was in Slurm's queue. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/show/cli/command.h"
#include "compiler/show/cli/runs.h"
#include "slurm/answers.h"
#include "slurm/launch.h"

/* ---- cancel */

static ExitCode say_slurm(Arena *arena, const Command *answer) {
  if (answer->code == COMMAND_MISSING)
    return complain(EXIT_USER, "scancel is not on this machine: ask from a login node");
  return complain(EXIT_WORLD, "Slurm: %s", command_text(arena, answer));
}

/* Asks scancel for `jobs`, with one more word unless that is NULL. */
static ExitCode scancel(Arena *arena, const char *word, const TextList *jobs, const char *what) {
  const char *words[CHAIN_MOST + 3] = {"scancel"};
  int32_t count = 1;
  if (jobs->count == 0) return EXIT_DONE;
  if (word) words[count++] = word;
  for (int32_t i = 0; i < jobs->count && i < CHAIN_MOST; i++)
    words[count++] = jobs->at[i];
  Command answer;
  command_run(&answer, words);
  if (answer.code != 0) return say_slurm(arena, &answer);
  for (int32_t i = 0; i < jobs->count; i++)
    printf("job %s: %s\n", jobs->at[i], what);
  return EXIT_DONE;
}

/* First removes the jobs that wait, or the next one of a chain would begin; then asks the running
 * ranks to save. --now ends all of them at once. */
static ExitCode cancel(Arena *arena, const char *folder, const TextList *jobs, bool is_now) {
  const char *numbers = joined_texts(arena, jobs, ",");
  Command state;
  command_run(&state, (const char *const[]){"squeue", "-h", "-j", numbers, "-o", "%i %T", NULL});
  if (state.code != 0 && !command_knows_no_job(&state)) return say_slurm(arena, &state);
  TextList running = {0}, waiting = {0};
  AnswerRows rows = answer_rows(arena, state.code == 0 ? state.out : "", jobs);
  for (int32_t i = 0; i < rows.count; i++) {
    bool saves = strcmp(rows.at[i].words, "RUNNING") == 0 && !is_now;
    VEC_PUSH(arena, saves ? &running : &waiting, rows.at[i].job);
  }
  if (running.count + waiting.count == 0)
    return complain(EXIT_USER, "%s: its job %s is over already", folder, jobs->at[jobs->count - 1]);
  ExitCode code =
      scancel(arena, NULL, &waiting, is_now ? "ended at once" : "removed from the queue");
  if (code != EXIT_DONE) return code;
  for (int32_t i = 0; i < waiting.count && running.count == 0; i++)
    if (!run_keep_cancel(arena, folder, waiting.at[i]))
      return complain(EXIT_WORLD, "%s/slurm/events.jsonl: %s", folder, strerror(errno));
  return scancel(arena, "--signal=TERM", &running, "ranks finish their step, save and end");
}

ExitCode verb_cancel(const Options *options) {
  Compile *c = open_compile();
  if (!c) return EXIT_WORLD;
  const char *folder;
  ExitCode code = run_folder(c, options, options->words.at[0], &folder);
  TextList jobs = folder ? run_jobs(c->arena, folder) : (TextList){0};
  bool is_unnumbered = folder && run_is_unnumbered(c->arena, folder);
  if (is_unnumbered)
    complain(EXIT_USER,
             "%s: a job of this run was submitted and its number is unknown; squeue --me shows "
             "it, lockstep submit %s --adopt N notes it",
             folder, folder);
  if (folder && jobs.count == 0 && !is_unnumbered)
    code = complain(EXIT_USER,
                    "%s: no job of this run was submitted. One that was started by hand saves and "
                    "ends when its folder has a file named stop: touch %s/stop",
                    folder, folder);
  else if (folder && jobs.count > 0)
    code = cancel(c->arena, folder, &jobs, options->now);
  if (is_unnumbered) code = EXIT_USER;
  compile_free(c);
  return code;
}

/* ---- logs */

/* The log of a rank in the newest try, or of the batch script. NULL: nothing is written yet. */
static const char *log_path(Arena *arena, const char *folder, const char *rank) {
  const char *job = run_event(arena, folder, "try", "job"),
             *restart = run_event(arena, folder, "try", "restart");
  const char *try = run_event(arena, folder, "try", "number");
  const char *path = arena_printf(arena, "%s/slurm/%s.%s/rank.%s.%s.log", folder, job, restart,
                                  rank ? rank : "0", try);
  if (rank == NULL || access(path, R_OK) != 0) {
    if (rank != NULL) return NULL;
    const char *started = run_event(arena, folder, "start", "job");
    TextList jobs = run_jobs(arena, folder);
    if (jobs.count > 0 && strtoll(jobs.at[0], NULL, 10) > strtoll(started, NULL, 10))
      started = jobs.at[0];
    path = arena_printf(arena, "%s/slurm/%s.log", folder, started);
  }
  return access(path, R_OK) == 0 ? path : NULL;
}

ExitCode verb_logs(const Options *options) {
  Compile *c = open_compile();
  if (!c) return EXIT_WORLD;
  const char *folder;
  const ExitCode code = run_folder(c, options, options->words.at[0], &folder);
  const char *rank = options->script ? NULL : options->rank ? options->rank : "0";
  if (code != EXIT_DONE) return code;
  if (rank && strspn(rank, "0123456789") != strlen(rank))
    return complain(EXIT_USER, "--rank wants a number, not '%.40s'", rank);
  const char *path = log_path(c->arena, folder, rank);
  const char *ranks = run_event(c->arena, folder, "start", "ranks");
  if (rank && *ranks && strtoll(rank, NULL, 10) >= strtoll(ranks, NULL, 10))
    return complain(EXIT_USER, "%s has ranks 0 to %lld, and no rank %s", folder,
                    strtoll(ranks, NULL, 10) - 1, rank);
  if (run_jobs(c->arena, folder).count == 0)
    complain(EXIT_USER,
             "%s: no job of this run was submitted. The lines of one that was started by hand are "
             "where it was started; its steps are in %s/metrics.jsonl",
             folder, folder);
  else if (!path)
    complain(EXIT_USER, "%s: %s has written nothing yet; see lockstep status", folder,
             rank ? arena_printf(c->arena, "rank %s", rank) : "the script");
  if (!path) return EXIT_USER;
  fflush(stdout);
  execlp("tail", "tail", "-n", "+1", options->follow ? "-F" : "-q", path, (char *)NULL);
  return complain(EXIT_WORLD, "tail: %s", strerror(errno));
}

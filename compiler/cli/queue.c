/* queue.c -- lockstep cancel and logs: of a run whose job is in Slurm's queue, or was. */
#include <errno.h>
#include <glob.h>
#include <string.h>
#include <unistd.h>

#include "compiler/cli/command.h"
#include "compiler/cli/runs.h"

/* ---- cancel */

static ExitCode say_slurm(Command *answer) {
  if (answer->code == COMMAND_MISSING)
    return complain(EXIT_USER, "scancel is not on this machine: ask from a login node");
  return complain(EXIT_WORLD, "Slurm: %s", command_text(answer));
}

/* Ranks that run are asked to save; who waits, or is to end --now, is taken out. */
static ExitCode cancel(Arena *arena, const char *folder, int64_t job, bool is_now) {
  const char *number = arena_printf(arena, "%lld", (long long)job);
  Command state, answer;
  command_run(&state, (const char *const[]){"squeue", "-h", "-j", number, "-o", "%T", NULL});
  if (state.code == COMMAND_MISSING || state.code == COMMAND_LATE) return say_slurm(&state);
  if (state.code != 0 || !*command_text(&state))
    return complain(EXIT_USER, "%s: its job %s is over already", folder, number);
  bool saves = strcmp(state.out, "RUNNING") == 0 && !is_now;
  if (saves)
    command_run(&answer, (const char *const[]){"scancel", "--signal=TERM", number, NULL});
  else
    command_run(&answer, (const char *const[]){"scancel", number, NULL});
  if (answer.code != 0) return say_slurm(&answer);
  printf("job %s: %s\n", number,
         saves ? "ranks finish their step, save and end" : "taken out of the queue");
  return EXIT_DONE;
}

ExitCode verb_cancel(const Options *options) {
  Compile *c = open_compile();
  if (!c) return EXIT_WORLD;
  const char *folder = run_folder(c, options, options->words.at[0]);
  int64_t job = folder ? run_last_job(folder) : 0;
  ExitCode code = EXIT_USER;
  if (folder && job == 0)
    code = complain(EXIT_USER, "%s: no job of this run was submitted", folder);
  else if (folder)
    code = cancel(c->arena, folder, job, options->now);
  compile_free(c);
  return code;
}

/* ---- logs */

/* What srun and ranks of the newest try have written, or the script's own log. NULL: nothing yet.
 */
static const char *log_path(Arena *arena, const char *folder, const char *rank) {
  const char *job = run_event(arena, folder, "try", "job"),
             *restart = run_event(arena, folder, "try", "restart");
  const char *try = run_event(arena, folder, "try", "number");
  int64_t last = run_last_job(folder);
  const char *path = arena_printf(arena, "%s/slurm/%s.%s/rank.%s.%s.log", folder, job, restart,
                                  rank ? rank : "0", try);
  if (rank == NULL || access(path, R_OK) != 0) {
    if (rank != NULL) return NULL;
    path = arena_printf(arena, "%s/slurm/%lld.log", folder, (long long)last);
  }
  return access(path, R_OK) == 0 ? path : NULL;
}

ExitCode verb_logs(const Options *options) {
  Compile *c = open_compile();
  if (!c) return EXIT_WORLD;
  const char *folder = run_folder(c, options, options->words.at[0]);
  const char *rank = options->script ? NULL : options->rank ? options->rank : "0";
  if (rank && strspn(rank, "0123456789") != strlen(rank))
    return complain(EXIT_USER, "--rank wants a number, not '%.40s'", rank);
  const char *path = folder ? log_path(c->arena, folder, rank) : NULL;
  if (folder && !path)
    complain(EXIT_USER, "%s: %s has written nothing yet; lockstep status says how it is", folder,
             rank ? arena_printf(c->arena, "rank %s", rank) : "the script");
  if (!path) return EXIT_USER;
  fflush(stdout);
  execlp("tail", "tail", "-n", "+1", options->follow ? "-F" : "-q", path, (char *)NULL);
  return complain(EXIT_WORLD, "tail: %s", strerror(errno));
}

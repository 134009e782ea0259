/* adopt.c -- see adopt.h. */
#include "compiler/show/cli/adopt.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "compiler/show/cli/runs.h"
#include "slurm/answers.h"

/* The numbers of this user's jobs of a name that wait or run. False: Slurm does not answer. */
static bool list_queued(Arena *arena, const char *name, TextList *jobs) {
  Command answer;
  command_run(&answer, (const char *const[]){"squeue", "--noheader",
                                             arena_printf(arena, "--user=%u", (unsigned)getuid()),
                                             arena_printf(arena, "--name=%s", name),
                                             "--format=%i %j", NULL});
  AnswerRows rows = answer_rows(arena, answer.out, NULL);
  for (int32_t i = 0; i < rows.count; i++)
    if (strcmp(rows.at[i].words, name) == 0) VEC_PUSH(arena, jobs, rows.at[i].job);
  return answer.code == 0;
}

/* "in the queue with this name: 12, 13. " */
static const char *queued_text(Arena *arena, const char *name, const TextList *jobs) {
  if (jobs->count == 0) return arena_printf(arena, "squeue --me --name=%s shows it", name);
  return arena_printf(arena, "in the queue with its name: %s", joined_texts(arena, jobs, ", "));
}

ExitCode submit_read_number(Arena *arena, const Command *answer, const char *folder,
                            const char *name, const char **number) {
  bool is_late = answer->code == COMMAND_LATE ||
                 (answer->code != 0 && strstr(answer->err, "Socket timed out") != NULL);
  const char *text = command_text(arena, answer);
  if (answer->code != 0 && !is_late) {
    (void)run_keep_unnumbered(arena, folder, false);
    bool is_of_world = command_is_unreachable(answer);
    return complain(is_of_world ? EXIT_WORLD : EXIT_USER,
                    is_of_world ? "Slurm: %s" : "Slurm refuses the job: %s", text);
  }
  *number = answer_number(arena, answer->out, answer->err);
  if (*number) return EXIT_DONE;
  TextList queued = {0};
  if (list_queued(arena, name, &queued) && !is_late)
    *number = answer_mentioned(arena, &queued, answer->out, answer->err);
  if (*number) return EXIT_DONE;
  return complain(EXIT_WORLD,
                  "%s: %s, and the number of the job is not known (%s). lockstep submit %s --adopt "
                  "N makes job N this run's. sbatch printed: %s",
                  folder, is_late ? "sbatch may have queued the job" : "sbatch queued the job",
                  queued_text(arena, name, &queued), folder, *text ? text : "nothing");
}

ExitCode submit_find_lost(Arena *arena, const char *folder, const char *name) {
  TextList queued = {0};
  if (!list_queued(arena, name, &queued))
    return complain(EXIT_WORLD,
                    "%s: a job of this run was submitted, its number is unknown, and squeue does "
                    "not say whether it is in the queue",
                    folder);
  if (queued.count == 0 && run_keep_unnumbered(arena, folder, false)) return EXIT_DONE;
  if (queued.count == 0) return complain(EXIT_WORLD, "%s/slurm: %s", folder, strerror(errno));
  return complain(EXIT_USER,
                  "%s: a job of this run was submitted and its number is unknown; %s. lockstep "
                  "submit %s --adopt N makes job N this run's, scancel N removes it",
                  folder, queued_text(arena, name, &queued), folder);
}

/* ---- submit --adopt N */

/* The run folder of the script "FOLDER/slurm/NAME.sbatch" that Slurm has for a job; NULL: reported.
 */
static const char *folder_of_script(Arena *arena, const char *number) {
  Command answer;
  command_run(&answer, (const char *const[]){"scontrol", "-o", "show", "job", number, NULL});
  const char *at = strstr(answer.out, " Command="), *end = NULL;
  if (answer.code != 0 && !command_knows_no_job(&answer)) {
    complain(EXIT_WORLD, "Slurm: %s", command_text(arena, &answer));
    return NULL;
  }
  if (at && answer.code == 0) end = strstr(at, "/slurm/");
  if (end) return arena_copy_n(arena, at + 9, (size_t)(end - at - 9));
  complain(EXIT_USER,
           "Slurm knows no script of job %s: name the run, lockstep submit RUN --adopt %s", number,
           number);
  return NULL;
}

/* True if job `number` is called as a script of the run is. */
static ExitCode check_adopted(Arena *arena, const char *folder, const char *number) {
  TextList asked = {.at = &number, .count = 1};
  Command answer;
  command_run(&answer, (const char *const[]){"squeue", "--noheader", "--states=all", "-j", number,
                                             "-o", "%i %j", NULL});
  AnswerRows rows = answer_rows(arena, answer.out, &asked);
  if (rows.count == 0 && (answer.code == 0 || command_knows_no_job(&answer))) {
    command_run(&answer, (const char *const[]){"sacct", "--noheader", "-X", "-P", "--delimiter= ",
                                               "-j", number, "-o", "JobID,JobName", NULL});
    rows = answer_rows(arena, answer.out, &asked);
    if (rows.count == 0)
      return complain(EXIT_USER, "Slurm knows no job %s: squeue --me lists yours", number);
  }
  if (rows.count == 0) return complain(EXIT_WORLD, "Slurm: %s", command_text(arena, &answer));
  const char *name = rows.at[0].words;
  if (!strchr(name, '/') &&
      access(arena_printf(arena, "%s/slurm/%s.sbatch", folder, name), F_OK) == 0)
    return EXIT_DONE;
  return complain(EXIT_USER, "job %s is called %s, and %s has no script slurm/%s.sbatch", number,
                  name, folder, name);
}

/* The jobs of the run that wait or run stay: the earlier ones in a chain. */
static ExitCode keep_adopted(Arena *arena, const char *folder, const char *number) {
  TextList known = run_jobs(arena, folder), jobs = {0};
  Command answer;
  if (known.count > 0) {
    command_run(&answer,
                (const char *const[]){"squeue", "-h", "-j", joined_texts(arena, &known, ","), "-o",
                                      "%i %T", NULL});
    AnswerRows rows = answer_rows(arena, answer.code == 0 ? answer.out : "", &known);
    for (int32_t i = 0; i < rows.count; i++)
      if (strcmp(rows.at[i].job, number) != 0) VEC_PUSH(arena, &jobs, rows.at[i].job);
  }
  VEC_PUSH(arena, &jobs, number);
  if (!run_keep_jobs(arena, folder, &jobs) || !run_keep_unnumbered(arena, folder, false))
    return complain(EXIT_WORLD, "%s/slurm/job: %s", folder, strerror(errno));
  printf("%-8s job%s %s: %s\n", "adopted", plural(jobs.count), joined_texts(arena, &jobs, ", "),
         folder);
  return EXIT_DONE;
}

ExitCode submit_adopt(Compile *c, const Options *options) {
  const char *number = options->adopt;
  if (!number) return complain(EXIT_USER, "submit wants JOB.lua; see lockstep submit --help");
  if (!*number || number[strspn(number, "0123456789")] || *number == '0')
    return complain(EXIT_USER, "--adopt wants the number of a job, not '%.40s'", number);
  if (options->test_only || options->chain || options->sweep.count > 0 || options->json)
    return complain(EXIT_USER, "--adopt submits nothing: it goes without --test-only, --chain, "
                               "--sweep and --json");
  const char *folder = NULL;
  ExitCode code = EXIT_DONE;
  if (options->words.count > 0)
    code = run_folder(c, options, options->words.at[0], &folder);
  else
    folder = folder_of_script(c->arena, number);
  if (folder == NULL) return code == EXIT_DONE ? EXIT_USER : code;
  code = check_adopted(c->arena, folder, number);
  return code == EXIT_DONE ? keep_adopted(c->arena, folder, number) : code;
}

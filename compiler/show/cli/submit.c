/* submit.c -- lockstep submit: writes plan and script into the run folder, asks Slurm whether it
 * would take the job, and submits it. With --sweep, all settings are asked before the first is
 * submitted. Until then the files have temporary names; those of a setting that is not submitted
 * are removed. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/show/cli/adopt.h"
#include "compiler/show/cli/cli.h"
#include "compiler/show/cli/command.h"
#include "compiler/show/cli/elastic.h"
#include "compiler/show/cli/runs.h"
#include "runtime/plan/plan_io.h"
#include "runtime/process/asked.h"
#include "slurm/answers.h"
#include "slurm/inherited.h"
#include "slurm/options.h"
#include "slurm/partitions.h"
#include "slurm/script.h"

typedef struct Submission {
  Compile *c;
  Compiled compiled;
  Launch *launch;
  const char *folder, *below;            /* the run folder, and slurm in it */
  bool is_locked;                        /* no other submit writes there */
  bool is_own;                           /* no other submit writes there */
  bool is_unnumbered;                    /* sbatch may have queued a job without a known number */
  size_t there;                          /* letters of `below` that were there before */
  const char *script;                    /* its path in the run folder */
  const char *asked_script, *asked_plan; /* the same, before they are submitted */
  const char *start;                     /* when it could, as Slurm says */
  TextList jobs;                         /* in the queue, in the order of the chain */
} Submission;

/* ---- what this Slurm knows */

typedef struct SlurmHere {
  int32_t version; /* of Slurm, 2205 */
  NodeGroups partitions;
} SlurmHere;

static ExitCode refuse_slurm(Arena *arena, const Command *answer) {
  if (answer->code == COMMAND_MISSING)
    return complain(EXIT_USER, "sbatch is not on this machine: submit from a login node of the "
                               "cluster; lockstep sbatch prints the script");
  if (answer->code == COMMAND_LATE)
    return complain(EXIT_WORLD, "Slurm did not answer within %d s: %s", COMMAND_LIMIT_S,
                    command_text(arena, answer));
  return complain(EXIT_WORLD, "Slurm: %s", command_text(arena, answer));
}

/* 2205 of "slurm-wlm 22.05.8". */
static ExitCode slurm_version(Arena *arena, int32_t *version) {
  Command answer;
  command_run(&answer, (const char *const[]){"sbatch", "--version", NULL});
  if (answer.code != 0) return refuse_slurm(arena, &answer);
  *version = answer_version(arena, answer.out);
  if (*version == 0) *version = answer_version(arena, answer.err);
  if (*version > 0) return EXIT_DONE;
  return complain(EXIT_WORLD, "sbatch --version says no version: %s", command_text(arena, &answer));
}

/* Slurm's partitions; none when it does not list them: sbatch --test-only will judge. */
static NodeGroups slurm_partitions(Arena *arena) {
  Command answer;
  NodeGroups groups = {0};
  command_run(&answer,
              (const char *const[]){"sinfo", "--all", "--noheader", PARTITIONS_FORMAT, NULL});
  bool is_whole = strlen(answer.out) + 1 < sizeof answer.out;
  if (answer.code == 0 && is_whole) partitions_of_sinfo(arena, answer.out, &groups);
  return groups;
}

/* sbatch does not check what the script will ask of srun. If srun lists no plug-ins, the check is
 * skipped. */
static ExitCode check_mpi(Arena *arena, const Launch *launch) {
  const char *mpi = launch->job->slurm.mpi, *between = " \t\n,:;";
  Command answer;
  command_run(&answer, (const char *const[]){"srun", "--mpi=list", NULL});
  if (answer.code != 0) return EXIT_DONE;
  const char *listed = command_text(arena, &answer); /* on stdout or stderr, by version */
  for (const char *p = listed; *p; p += strspn(p, between)) {
    size_t width = strcspn(p, between);
    if (width == strlen(mpi) && strncmp(p, mpi, width) == 0) return EXIT_DONE;
    p += width;
  }
  return complain(EXIT_USER, "slurm.mpi is %s, and this Slurm has no such plug-in: %s", mpi,
                  listed);
}

/* True if srun --help lists the option, as it does those of plug-ins. */
static bool srun_knows(const char *name) {
  Command answer;
  command_run(&answer, (const char *const[]){"srun", "--help", NULL});
  return answer.code == 0 && strstr(answer.out, name) != NULL;
}

static int32_t say_unknown(const LaunchLine *line, int32_t version) {
  int32_t since = option_version(line->name + 2, line->value);
  const char *plugin = option_plugin(line->name + 2);
  if (since > version)
    complain(EXIT_USER, "not submitted: %s%s%s needs Slurm %d.%02d, this is %d.%02d (%s)",
             line->name, line->value ? "=" : "", line->value ? line->value : "", since / 100,
             since % 100, version / 100, version % 100, line->why);
  else if (plugin && !srun_knows(line->name))
    complain(EXIT_USER,
             "not submitted: %s needs the plug-in %s, which this Slurm does not have (%s)",
             line->name, plugin, line->why);
  else
    return 0;
  return 1;
}

/* Reports options that this Slurm does not know and drops them, so that the rest can be asked. */
static int32_t drop_unknown(Submission *s, int32_t version) {
  LaunchLines *lists[] = {&s->launch->directives, &s->launch->step};
  int32_t dropped = 0;
  for (int32_t k = 0; k < 2; k++) {
    int32_t kept = 0;
    for (int32_t i = 0; i < lists[k]->count; i++) {
      int32_t is_unknown = say_unknown(&lists[k]->at[i], version);
      dropped += is_unknown;
      if (!is_unknown) lists[k]->at[kept++] = lists[k]->at[i];
    }
    lists[k]->count = kept;
  }
  return dropped;
}

/* ---- one job */

static ExitCode write_files(Submission *s, const Options *options) {
  char why[PLAN_WHY_BYTES] = "";
  if (!plan_write(&s->compiled.plan, s->asked_plan, why))
    return complain(write_failure_code(errno), "%s", why);
  FILE *out = fopen(s->asked_script, "w");
  bool is_good = out && script_print(s->c, s->launch, command_line(s->c->arena, options), out);
  if (out) is_good = fclose(out) == 0 && is_good;
  if (is_good) return EXIT_DONE;
  return cannot_write(s->asked_script, errno);
}

/* Gives the files that Slurm was asked about their names, and removes requests that were meant for
 * an earlier run. */
static ExitCode keep_files(const Submission *s) {
  char request[ASKED_PATH_BYTES];
  if (!asked_forget(s->folder, request))
    return complain(EXIT_WORLD, "%s cannot be removed: %s", request, strerror(errno));
  char why[PLAN_WHY_BYTES] = "";
  if (!elastic_write(s->launch, s->folder, why))
    return complain(write_failure_code(errno), "%s", why);
  if (sources_keep(s->c, s->compiled.plan.id, s->folder) &&
      rename(s->asked_plan, s->launch->plan_path) == 0 && rename(s->asked_script, s->script) == 0)
    return EXIT_DONE;
  return complain(EXIT_WORLD, "%s: %s", s->folder, strerror(errno));
}

/* Removes the files of a setting that was not submitted. Without the lock they are not ours. */
static void remove_files(const Submission *s) {
  if (!s->is_own) return;
  (void)unlink(s->asked_plan);
  (void)unlink(s->asked_script);
  if (s->jobs.count > 0 || s->is_unnumbered) return;
  if (s->there < strlen(s->folder)) { /* a run folder that is new: kept, and then refused */
    (void)unlink(s->launch->plan_path);
    (void)unlink(s->script);
    for (int32_t i = 0; i < s->launch->fewer.count; i++) {
      (void)unlink(s->launch->fewer.at[i].plan_path);
      if (s->launch->fewer.at[i].plan)
        sources_remove(s->c, s->launch->fewer.at[i].plan->id, s->folder);
    }
    sources_remove(s->c, s->compiled.plan.id, s->folder);
  }
  folders_remove(s->c->arena, s->below, s->there);
}

static ExitCode make_folder(Submission *s) {
  Arena *arena = s->c->arena;
  if (s->launch->umask >= 0) (void)umask((mode_t)s->launch->umask);
  const char *below = arena_printf(arena, "%s/slurm", s->folder);
  s->there = folders_there(arena, below);
  s->script = arena_printf(arena, "%s/%s.sbatch", below, s->compiled.job->job.name);
  s->asked_script = arena_printf(arena, "%s.asked", s->script);
  s->asked_plan = arena_printf(arena, "%s.asked", s->launch->plan_path);
  s->below = below;
  if (folder_and_above(arena, below)) return EXIT_DONE;
  return complain(EXIT_WORLD, "cannot make the run folder %s: %s; log.dir says where it is", below,
                  strerror(errno));
}

/* One submit of a folder at a time, until this process ends: two would each find no job in the
 * queue. Where a file system has no locks, nothing stops them. */
static ExitCode lock_folder(Submission *s) {
  int folder = open(s->below, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  s->is_own = folder < 0 || flock(folder, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
  if (s->is_own) return EXIT_DONE;
  return complain(EXIT_USER, "%s: another lockstep submit of this run is under way", s->folder);
}

/* Slurm expands % in the path of the script's folder, too, and then cannot open its log. */
static ExitCode check_folder(const Submission *s) {
  char here[4096];
  if (*s->folder == '/' || !getcwd(here, sizeof here) || !strchr(here, '%')) return EXIT_DONE;
  return complain(EXIT_USER,
                  "%s: Slurm expands %% in the path of a job's folder: submit from another", here);
}

/* Refuses while earlier jobs of the run are in the queue: two in one folder would disturb each
 * other. */
static ExitCode check_queue(const Submission *s) {
  TextList jobs = run_jobs(s->c->arena, s->folder);
  if (run_is_unnumbered(s->c->arena, s->folder)) {
    ExitCode code = submit_find_lost(s->c->arena, s->folder, s->compiled.job->job.name);
    if (code != EXIT_DONE) return code;
  }
  if (jobs.count == 0) return EXIT_DONE;
  Command answer;
  const char *numbers = joined_texts(s->c->arena, &jobs, ",");
  command_run(&answer, (const char *const[]){"squeue", "-h", "-j", numbers, "-o", "%i %T", NULL});
  if (command_is_unreachable(&answer)) return refuse_slurm(s->c->arena, &answer);
  AnswerRows rows = answer_rows(s->c->arena, answer.out, &jobs);
  if (answer.code != 0 || rows.count == 0) return EXIT_DONE; /* Slurm has forgotten them */
  return complain(EXIT_USER,
                  "%s: job %s of this run is %s; lockstep cancel %s ends it, another name makes "
                  "another run",
                  s->folder, rows.at[0].job, rows.at[0].words, s->folder);
}

static ExitCode ask_slurm(Submission *s, bool is_quiet) {
  Command answer;
  command_run(&answer, (const char *const[]){"sbatch", "--test-only", s->asked_script, NULL});
  if (command_is_unreachable(&answer)) return refuse_slurm(s->c->arena, &answer);
  const char *text = command_text(s->c->arena, &answer);
  if (answer.code != 0) return complain(EXIT_USER, "Slurm refuses the job: %s", text);
  const char *start = strstr(text, "to start at");
  if (start) s->start = arena_copy_n(s->c->arena, start + 12, strcspn(start + 12, " "));
  int32_t column = is_quiet ? 0 : printf("%-9s", "asked");
  if (!is_quiet)
    print_wrapped(
        stdout,
        arena_printf(s->c->arena, "%s could %s", s->launch->job->job.name,
                     start ? arena_copy_n(s->c->arena, start + 3, strcspn(start + 3, ";")) : text),
        column, column, COLUMNS_MOST);
  return EXIT_DONE;
}

/* Two settings in one folder would write over each other. */
static ExitCode check_folders(const Submission *all, const Submission *last) {
  for (const Submission *s = all; s < last; s++)
    if (strcmp(s->folder, last->folder) == 0)
      return complain(EXIT_USER,
                      "--sweep: two settings have the run folder %s: a value is given twice, or "
                      "log.dir has no {name}",
                      last->folder);
  return EXIT_DONE;
}

/* The settings before `s` begin at `all`. */
static ExitCode prepare(const Options *options, const Submission *all, Submission *s,
                        const SlurmHere *cluster) {
  char programs[4096];
  if (!own_folder(programs, sizeof programs)) return complain(EXIT_WORLD, "/proc is not mounted");
  if (compile_job(s->c, options, &s->compiled))
    s->launch = launch_make(s->c, &s->compiled, programs);
  if (s->launch) elastic_plans(s->c, options, &s->compiled, s->launch);
  if (s->launch) partitions_check(s->c, s->launch, &cluster->partitions);
  ExitCode code = options->json ? report_code(s->c) : report(s->c, options);
  if (code != EXIT_DONE || !s->launch) return code;
  s->folder = s->compiled.job->log.dir;
  code = check_folders(all, s);
  if (code == EXIT_DONE) code = check_folder(s);
  if (code == EXIT_DONE) code = check_mpi(s->c->arena, s->launch);
  if (code == EXIT_DONE) code = make_folder(s);
  if (code == EXIT_DONE) code = lock_folder(s);
  if (code == EXIT_DONE) code = check_queue(s);
  int32_t dropped = code == EXIT_DONE ? drop_unknown(s, cluster->version) : 0;
  if (code == EXIT_DONE) code = write_files(s, options);
  if (code == EXIT_DONE) code = ask_slurm(s, options->quiet || options->json);
  if (dropped > 0 && code == EXIT_DONE)
    code = complain(EXIT_USER,
                    "%d option%s left out when asking Slurm; nothing is submitted "
                    "without them",
                    dropped, plural(dropped));
  return code;
}

/* Submits the job, to run after job `after` unless that is NULL, and sets *number. */
static ExitCode queue_one(Submission *s, const char *after, const char **number) {
  Arena *arena = s->c->arena;
  Command answer;
  const char *words[5] = {"sbatch", "--parsable"};
  int32_t count = 2;
  if (after) words[count++] = arena_printf(arena, "--dependency=afterany:%s", after);
  words[count] = s->script;
  if (!run_keep_unnumbered(arena, s->folder, true))
    return complain(EXIT_WORLD, "%s/slurm: %s", s->folder, strerror(errno));
  command_run(&answer, words);
  ExitCode code = submit_read_number(arena, &answer, s->folder, s->compiled.job->job.name, number);
  s->is_unnumbered = code != EXIT_DONE && run_is_unnumbered(arena, s->folder);
  return code;
}

static void say_queued(const Submission *s) {
  const TextList *jobs = &s->jobs;
  printf("%-8s job%s %s: %s%s\n", "queued", plural(jobs->count),
         joined_texts(s->c->arena, jobs, ", "), s->folder,
         jobs->count > 1 ? ", each after the one before" : "");
}

static ExitCode submit(Submission *s, const Options *options) {
  TextList *jobs = &s->jobs;
  ExitCode code = keep_files(s);
  if (code == EXIT_DONE && !run_keep_jobs(s->c->arena, s->folder, jobs)) /* earlier ones are over */
    code = complain(EXIT_WORLD, "%s/slurm/job: %s", s->folder, strerror(errno));
  while (jobs->count < s->launch->chain && code == EXIT_DONE) {
    const char *number = NULL;
    code = queue_one(s, jobs->count > 0 ? jobs->at[jobs->count - 1] : NULL, &number);
    if (code != EXIT_DONE) break;
    VEC_PUSH(s->c->arena, jobs, number);
    if (!run_keep_jobs(s->c->arena, s->folder, jobs) ||
        !run_keep_unnumbered(s->c->arena, s->folder, false))
      code = complain(EXIT_WORLD, "%s/slurm/job: %s", s->folder, strerror(errno));
  }
  if (jobs->count > 0 && !options->json) say_queued(s);
  if (code != EXIT_DONE && jobs->count > 0 && s->launch->chain > 1)
    complain(code,
             "only %d of %lld job%s of the chain were submitted; lockstep cancel %s removes them",
             jobs->count, (long long)s->launch->chain, plural(s->launch->chain), s->folder);
  return code;
}

/* One JSON document: diagnostics, and for each setting its folder, its expected start, and its
 * jobs.
 */
static void print_json(Compile *c, const Submission *all, int32_t count, ExitCode code) {
  bool is_first = true;
  for (int32_t i = 0; i < count; i++)
    for (int32_t k = 0; k < all[i].c->diags.list.count; k++)
      VEC_PUSH(c->arena, &c->diags.list, all[i].c->diags.list.at[k]);
  printf("{\"version\": 1, \"ok\": %s, \"exit\": %d, \"diagnostics\": ",
         code == EXIT_DONE ? "true" : "false", (int)code);
  diags_print_json(&c->diags, stdout);
  fputs(", \"runs\": [", stdout);
  for (int32_t i = 0; i < count; i++) {
    const Submission *s = &all[i];
    if (!s->folder) continue;
    fputs(is_first ? "{\"run\": " : ", {\"run\": ", stdout);
    print_json_text(s->folder, stdout);
    fputs(", \"start\": ", stdout);
    print_json_text(s->start, stdout);
    printf(", \"jobs\": [%s]}", joined_texts(c->arena, &s->jobs, ", "));
    is_first = false;
  }
  puts("]}");
}

/* ---- sweeps: every combination of the values */

/* Sets *text to the at-th value of "optimizer.lr=1e-3,3e-3"; returns how many there are. */
static int32_t sweep_value(Arena *arena, const char *sweep, int32_t at, const char **text) {
  const char *p = strchr(sweep, '=');
  int32_t count = 0;
  while (p && *p) {
    size_t width = strcspn(p + 1, ",");
    if (count++ == at) *text = arena_copy_n(arena, p + 1, width);
    p += 1 + width;
  }
  return count;
}

/* "-lr1e-3", in characters that a name may have. */
static const char *sweep_name(Arena *arena, const char *sweep, const char *value) {
  size_t width = strcspn(sweep, "="), dot = width;
  while (dot > 0 && sweep[dot - 1] != '.')
    dot--;
  char *name = arena_printf(arena, "-%.*s%s", (int)(width - dot), sweep + dot, value);
  for (char *p = name; *p; p++) {
    if (*p >= 'A' && *p <= 'Z') *p = (char)(*p - 'A' + 'a');
    if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789._-", *p)) *p = '-';
  }
  return name;
}

/* The options of setting number `at`; false: there are fewer. */
static bool sweep_options(Arena *arena, const Options *options, int32_t at, const char *base,
                          Options *out) {
  const char *name = base;
  *out = *options;
  for (int32_t i = 0; i < options->sweep.count; i++) {
    const char *sweep = options->sweep.at[i], *value = "";
    int32_t count = sweep_value(arena, sweep, 0, &value);
    if (count == 0 || out->overrides.count + 2 > WORDS_MAX) return false;
    sweep_value(arena, sweep, at % count, &value);
    at /= count;
    name = arena_printf(arena, "%s%s", name, sweep_name(arena, sweep, value));
    out->overrides.at[out->overrides.count++] =
        arena_printf(arena, "%.*s=%s", (int)strcspn(sweep, "="), sweep, value);
  }
  if (options->sweep.count > 0)
    out->overrides.at[out->overrides.count++] = arena_printf(arena, "job.name=%s", name);
  return at == 0;
}

static ExitCode check_sweeps(Arena *arena, const Options *options, int32_t *settings) {
  enum { SETTINGS_MOST = 256 };
  *settings = 1;
  for (int32_t i = 0; i < options->sweep.count; i++) {
    const char *value = "";
    int32_t count = sweep_value(arena, options->sweep.at[i], 0, &value);
    if (count == 0 || !*value)
      return complain(EXIT_USER, "--sweep wants KEY=VALUE,VALUE, not '%.60s'",
                      options->sweep.at[i]);
    *settings *= count;
    if (*settings > SETTINGS_MOST)
      return complain(EXIT_USER, "--sweep: more than %d settings", SETTINGS_MOST);
  }
  return EXIT_DONE;
}

/* The name of the job, which settings add to. */
static const char *base_name(Compile *c, const Options *options) {
  const Job *job =
      spec_load(c, options->words.at[0], options->overrides.at, options->overrides.count);
  return job ? job->job.name : NULL;
}

/* --chain N is -D slurm.chain=N. */
static bool chain_option(Arena *arena, const Options *options, Options *out) {
  *out = *options;
  if (!options->chain) return true;
  if (out->overrides.count == WORDS_MAX) return false;
  out->overrides.at[out->overrides.count++] = arena_printf(arena, "slurm.chain=%s", options->chain);
  return true;
}

/* Asks Slurm about every setting, then submits all. */
static ExitCode submit_all(Compile *c, const Options *options, const SlurmHere *cluster,
                           Submission *all, int32_t settings, int32_t *made) {
  const char *base = base_name(c, options);
  if (!base) return options->json ? report_code(c) : report(c, options);
  ExitCode code = EXIT_DONE;
  while (code == EXIT_DONE && *made < settings) {
    Submission *s = &all[*made];
    Options one;
    s->c = open_compile();
    if (!s->c) return EXIT_WORLD;
    (*made)++;
    code = sweep_options(c->arena, options, *made - 1, base, &one)
               ? prepare(&one, all, s, cluster)
               : complain(EXIT_USER, "more than %d words", WORDS_MAX);
  }
  for (int32_t i = 0; code == EXIT_DONE && !options->test_only && i < *made; i++)
    code = submit(&all[i], options);
  for (int32_t i = *made - 1; i >= 0; i--)
    remove_files(&all[i]);
  return code;
}

ExitCode verb_submit(const Options *options) {
  int32_t settings = 0, made = 0;
  Compile *c = open_compile();
  if (!c) return EXIT_WORLD;
  SlurmHere cluster = {0};
  Options with_chain;
  Submission *all = NULL;
  if (options->adopt || options->words.count == 0) {
    ExitCode adopted = submit_adopt(c, options);
    compile_free(c);
    return adopted;
  }
  const char *cleared = inherited_clear(c->arena);
  if (*cleared && !options->quiet)
    complain(EXIT_DONE,
             "variables of this shell that the job does not get: %s; slurm.env and slurm.sbatch "
             "say what it gets",
             cleared);
  ExitCode code = slurm_version(c->arena, &cluster.version);
  if (code == EXIT_DONE && !chain_option(c->arena, options, &with_chain))
    code = complain(EXIT_USER, "more than %d words", WORDS_MAX);
  if (code == EXIT_DONE) code = check_sweeps(c->arena, &with_chain, &settings);
  if (code == EXIT_DONE) {
    cluster.partitions = slurm_partitions(c->arena);
    all = ARENA_ARRAY(c->arena, Submission, settings);
    code = submit_all(c, &with_chain, &cluster, all, settings, &made);
  }
  if (options->json) print_json(c, all, made, code);
  for (int32_t i = 0; i < made; i++) {
    if (all[i].launch) elastic_close(all[i].launch);
    compile_free(all[i].c);
  }
  compile_free(c);
  return code;
}

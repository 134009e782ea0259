/* submit.c -- lockstep submit: plan and script into the run folder, asked of Slurm, and into its
 * queue. With
 * --sweep once for each setting: nothing is submitted before all of them have been asked. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/cli/cli.h"
#include "compiler/cli/command.h"
#include "compiler/cli/runs.h"
#include "runtime/plan/plan_io.h"
#include "slurm/options.h"
#include "slurm/script.h"

typedef struct Submission {
  Compile *c;
  Compiled compiled;
  Launch *launch;
  const char *folder, *script; /* the script's path in the run folder */
} Submission;

/* ---- what this Slurm knows */

/* Slurm's words in one line. */
static const char *slurm_text(Command *answer) {
  for (char *p = answer->out; *p; p++)
    if (*p == '\n' && p[1]) *p = ';';
  return command_text(answer);
}

static ExitCode refuse_slurm(Command *answer) {
  if (answer->code == COMMAND_MISSING)
    return complain(EXIT_USER, "sbatch is not on this machine: submit from a login node of the "
                               "cluster; lockstep sbatch prints the script");
  if (answer->code == COMMAND_LATE)
    return complain(EXIT_WORLD, "Slurm did not answer within %d s: %s", COMMAND_LIMIT_S,
                    command_text(answer));
  return complain(EXIT_WORLD, "Slurm: %s", slurm_text(answer));
}

/* 2205 of "slurm-wlm 22.05.8"; 0 when it was said that there is none. */
static int32_t slurm_version(void) {
  Command answer;
  command_run(&answer, (const char *const[]){"sbatch", "--version", NULL});
  if (answer.code != 0) {
    refuse_slurm(&answer);
    return 0;
  }
  return version_read(answer.out);
}

/* srun lists what plug-ins add to it. */
static bool srun_knows(const char *name) {
  Command answer;
  command_run(&answer, (const char *const[]){"srun", "--help", NULL});
  return answer.code == 0 && strstr(answer.out, name) != NULL;
}

static int32_t say_unknown(const LaunchLine *line, int32_t version) {
  int32_t since = option_version(line->name + 2, line->value);
  const char *plugin = option_plugin(line->name + 2);
  if (since > version)
    complain(EXIT_USER, "not submitted: %s%s%s is of Slurm %d.%02d, here is %d.%02d (%s)",
             line->name, line->value ? "=" : "", line->value ? line->value : "", since / 100,
             since % 100, version / 100, version % 100, line->why);
  else if (plugin && !srun_knows(line->name))
    complain(EXIT_USER, "not submitted: %s is of the plug-in %s, which this Slurm has not (%s)",
             line->name, plugin, line->why);
  else
    return 0;
  return 1;
}

/* Says what this Slurm does not know, and leaves it out of the launch: what stays can be asked. */
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

static ExitCode write_files(Submission *s) {
  const char *fresh = arena_printf(s->c->arena, "%s.new", s->script);
  char why[PLAN_WHY_BYTES] = "";
  if (!plan_write(&s->compiled.plan, s->launch->plan_path, why))
    return complain(EXIT_WORLD, "%s", why);
  FILE *out = fopen(fresh, "w");
  bool is_good = out && script_print(s->c, s->launch, out);
  if (out) is_good = fclose(out) == 0 && is_good;
  if (is_good && rename(fresh, s->script) == 0) return EXIT_DONE;
  return complain(EXIT_WORLD, "cannot write %s: %s", s->script, strerror(errno));
}

/* The run's last job is over, or there was none: two jobs of one folder would disturb each other.
 */
static ExitCode check_queue(const Submission *s) {
  int64_t job = run_last_job(s->folder);
  if (job <= 0) return EXIT_DONE;
  Command answer;
  const char *number = arena_printf(s->c->arena, "%lld", (long long)job);
  command_run(&answer, (const char *const[]){"squeue", "-h", "-j", number, "-o", "%T", NULL});
  if (answer.code != 0 || !*command_text(&answer)) return EXIT_DONE; /* Slurm has forgotten it */
  return complain(EXIT_USER,
                  "%s: job %lld of this run is %s; lockstep cancel %s ends it, another name makes "
                  "another run",
                  s->folder, (long long)job, command_text(&answer), s->folder);
}

static ExitCode ask_slurm(Submission *s, bool is_quiet) {
  Command answer;
  command_run(&answer, (const char *const[]){"sbatch", "--test-only", s->script, NULL});
  if (answer.code == COMMAND_MISSING || answer.code == COMMAND_LATE) return refuse_slurm(&answer);
  const char *text = slurm_text(&answer);
  if (answer.code != 0) return complain(EXIT_USER, "Slurm refuses the job: %s", text);
  const char *start = strstr(text, "to start at");
  if (!is_quiet)
    printf("%-8s %s could %s\n", "asked", s->launch->job->job.name, start ? start + 3 : text);
  return EXIT_DONE;
}

static ExitCode prepare(const Options *options, Submission *s, int32_t version) {
  char programs[4096];
  if (!own_folder(programs, sizeof programs)) return complain(EXIT_WORLD, "/proc is not mounted");
  if (compile_job(s->c, options, &s->compiled))
    s->launch = launch_make(s->c, &s->compiled, programs);
  ExitCode code = report(s->c, options);
  if (code != EXIT_DONE) return code;
  s->folder = s->compiled.job->log.dir;
  s->script = arena_printf(s->c->arena, "%s/slurm/%s.sbatch", s->folder, s->compiled.job->job.name);
  const char *below = arena_printf(s->c->arena, "%s/slurm", s->folder);
  if (!folder_and_above(s->c->arena, below))
    return complain(EXIT_WORLD, "%s: %s", below, strerror(errno));
  code = check_queue(s);
  int32_t dropped = code == EXIT_DONE ? drop_unknown(s, version) : 0;
  if (code == EXIT_DONE) code = write_files(s);
  if (code == EXIT_DONE) code = ask_slurm(s, options->quiet);
  if (dropped > 0 && code == EXIT_DONE)
    code = complain(EXIT_USER,
                    "%d options were left out of what Slurm was asked; nothing is "
                    "submitted without them",
                    dropped);
  if (dropped > 0) (void)unlink(s->script);
  return code;
}

static ExitCode submit(const Submission *s, const Options *options) {
  Command answer;
  command_run(&answer, (const char *const[]){"sbatch", "--parsable", s->script, NULL});
  if (answer.code == COMMAND_MISSING || answer.code == COMMAND_LATE) return refuse_slurm(&answer);
  const char *number = slurm_text(&answer);
  if (answer.code != 0) return complain(EXIT_USER, "Slurm refuses the job: %s", number);
  if (!run_keep_job(s->folder, number))
    return complain(EXIT_WORLD, "%s/slurm/job: %s", s->folder, strerror(errno));
  if (options->json)
    printf("{\"version\": 1, \"job\": %.*s, \"run\": \"%s\"}\n", (int)strcspn(number, ";"), number,
           s->folder);
  else
    printf("%-8s job %s: %s\n", "queued", number, s->folder);
  return EXIT_DONE;
}

/* ---- sweeps: every combination of the values */

/* "optimizer.lr=1e-3,3e-3": its at-th value in *text; how many there are. */
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

/* "-lr1e-3", of letters that a name may have. */
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

/* Two settings in one folder would write over each other. */
static ExitCode check_folders(const Submission *all, int32_t count) {
  for (int32_t i = 0; i < count; i++)
    for (int32_t k = 0; k < i; k++)
      if (strcmp(all[i].folder, all[k].folder) == 0)
        return complain(EXIT_USER,
                        "--sweep: two settings have the run folder %s; log.dir says {name}, or "
                        "nothing",
                        all[i].folder);
  return EXIT_DONE;
}

/* The name of the job, which settings add to. */
static const char *base_name(Compile *c, const Options *options) {
  const Job *job =
      spec_load(c, options->words.at[0], options->overrides.at, options->overrides.count);
  return job ? job->job.name : NULL;
}

ExitCode verb_submit(const Options *options) {
  int32_t version = slurm_version(), settings = 0;
  if (version == 0) return EXIT_WORLD;
  Compile *c = open_compile();
  if (!c) return EXIT_WORLD;
  ExitCode code = check_sweeps(c->arena, options, &settings);
  const char *base = code == EXIT_DONE ? base_name(c, options) : NULL;
  if (code == EXIT_DONE && !base) code = report(c, options);
  Submission *all = ARENA_ARRAY(c->arena, Submission, settings > 0 ? settings : 1);
  int32_t made = 0;
  for (; code == EXIT_DONE && made < settings; made++) {
    Options one;
    all[made].c = open_compile();
    if (!sweep_options(c->arena, options, made, base, &one))
      code = complain(EXIT_USER, "more than %d words", WORDS_MAX);
    else
      code = all[made].c ? prepare(&one, &all[made], version) : EXIT_WORLD;
  }
  if (code == EXIT_DONE) code = check_folders(all, made);
  for (int32_t i = 0; code == EXIT_DONE && !options->test_only && i < made; i++)
    code = submit(&all[i], options);
  for (int32_t i = 0; i < made; i++)
    compile_free(all[i].c);
  compile_free(c);
  return code;
}

/* run.c -- lockstep run: compiles into the run directory and becomes lockstep-rank. */
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "compiler/show/cli/cli.h"
#include "compiler/show/cli/runs.h"
#include "compiler/show/explain/explain.h"
#include "runtime/manifest/manifest.h"
#include "runtime/plan/plan_io.h"
#include "runtime/plan/plan_job.h"
#include "runtime/process/asked.h"
#include "runtime/process/lock.h"
#include "runtime/process/process.h"
#include "runtime/trace/trace.h"

/* One line on stderr; with --json the document on stdout, too. Returns `code`. */
static ExitCode refuse(const Options *options, ExitCode code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static ExitCode refuse(const Options *options, ExitCode code, const char *format, ...) {
  char why[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(why, sizeof why, format, arguments);
  va_end(arguments);
  if (options->json) {
    printf("{\"outcome\": \"failed\", \"exit\": %d, \"error\": ", (int)code);
    print_json_text(why, stdout);
    puts("}");
  }
  return complain(code, "%s", why);
}

/* Options of both programs. */
static int32_t add_rank_options(const Options *options, const char **words, int32_t count) {
  for (int32_t i = 0; i < flag_count; i++) {
    const void *member = (const char *)options + flags[i].offset;
    if (!flags[i].is_of_rank) continue;
    bool is_switch = flags[i].kind == FLAG_SWITCH;
    const char *value = is_switch ? NULL : *(const char *const *)member;
    if (is_switch ? !*(const bool *)member : !value) continue;
    words[count++] = flag_first_name(&flags[i]);
    if (value) words[count++] = value;
  }
  return count;
}

/* The kernels for GPUs on this machine's processors: another program, which tests have too. */
static bool is_on_cuda_host(const Options *options) {
  return options->on != NULL && strcmp(options->on, "cuda-host") == 0;
}

bool rank_words(const Options *options, const char *plan_path, const char *keep_plan,
                const char **words) {
  static char folder[4096], program[4200];
  bool on_cuda_host = is_on_cuda_host(options);
  Options passed = *options;
  if (on_cuda_host) passed.on = NULL; /* it has no other processor to be on */
  if (!own_folder(folder, sizeof folder)) return false;
  snprintf(program, sizeof program, "%s/lockstep-rank%s", folder, on_cuda_host ? "-cuda-host" : "");
  int32_t count = 0;
  words[count++] = program;
  words[count++] = plan_path;
  if (keep_plan != NULL) words[count++] = "--keep-plan", words[count++] = keep_plan;
  count = add_rank_options(&passed, words, count);
  if (options->quiet) words[count++] = "--quiet";
  if (options->json) words[count++] = "--json";
  words[count] = NULL;
  return true;
}

/* The exit code from here on is lockstep-rank's. Returns only when it failed. `keep_plan` is the
 * name that lockstep-rank gives the plan when the run starts; NULL: none. */
static ExitCode become_rank(const Options *options, const char *plan_path, const char *keep_plan) {
  const char *words[WORDS_RANK];
  if (!rank_words(options, plan_path, keep_plan, words))
    return refuse(options, EXIT_WORLD, "/proc is not mounted");
  const char *program = words[0];
  fflush(stdout); /* a failure to print does not end training; lockstep-rank reports it once */
  fflush(stderr);
  execv(program, (char *const *)words);
  int failure = errno;
  if (keep_plan != NULL) (void)unlink(plan_path);
  if (is_on_cuda_host(options) && failure == ENOENT)
    return refuse(
        options, EXIT_USER,
        "--on cuda-host is for trying the kernels for GPUs where Lockstep was built: %s is "
        "not there",
        program);
  return refuse(options, EXIT_WORLD, "%s: %s", program, strerror(failure));
}

typedef struct RunPlan {
  char path[4096];  /* in the run directory */
  char fresh[4104]; /* a temporary name, until the run starts */
} RunPlan;

/* Writes the plan into the run directory, beside the plan of a run that uses the directory now or
 * used it before. lockstep-rank inherits the lock. */
static ExitCode write_plan(const Options *options, Compile *c, Compiled *compiled, RunPlan *file) {
  Arena *arena = c->arena;
  const char *folder = compiled->job->log.dir;
  char held[LOCK_WHY_BYTES] = "", why[PLAN_WHY_BYTES] = "";
  Lock lock;
  snprintf(file->path, sizeof file->path, "%s/%s.plan", folder, compiled->job->job.name);
  if (!folder_and_above(arena, folder))
    return refuse(options, write_failure_code(errno), "log.dir: %s cannot be made: %s", folder,
                  strerror(errno));
  LockResult result = lock_take(&lock, folder, held);
  if (result != LOCK_TAKEN)
    return refuse(options, result == LOCK_HELD ? EXIT_USER : EXIT_WORLD, "%s", held);
  if (!asked_forget(folder, file->fresh))
    return refuse(options, EXIT_WORLD, "%s cannot be removed: %s", file->fresh, strerror(errno));
  snprintf(file->fresh, sizeof file->fresh, "%s.new", file->path);
  if (!plan_write(&compiled->plan, file->fresh, why)) return refuse(options, EXIT_WORLD, "%s", why);
  if (!sources_keep(c, compiled->plan.id, folder))
    return refuse(options, EXIT_WORLD, "%s/" MANIFEST_SOURCES ": %s", folder, strerror(errno));
  if (!options->quiet && !options->json) explain_summary(compiled, stdout);
  return EXIT_DONE;
}

/* A plan is compiled already: -D comes too late. */
static ExitCode run_plan(const Options *options) {
  if (options->overrides.count > 0)
    return refuse(options, EXIT_USER,
                  "-D changes a job, and %.200s is a plan; compile the job again",
                  options->words.at[0]);
  return become_rank(options, options->words.at[0], NULL);
}

/* True if `value` is one of the words that the option lists, as in "fast|reference", or a number
 * where it wants one; a placeholder in capitals takes any text. */
static bool has_word(const Flag *flag, const char *value) {
  const char *at = flag->value;
  if (strcmp(at, "N") == 0)
    return *value && value[strspn(value, "0123456789")] == 0 && value[strspn(value, "0")] != 0 &&
           strlen(value) < 19;
  int64_t first, last;
  if (strcmp(at, "A..B") == 0) return trace_steps(value, &first, &last);
  if (at[strspn(at, "abcdefghijklmnopqrstuvwxyz|-")] != 0) return true;
  for (size_t width; *at; at += width + (at[width] == '|')) {
    width = strcspn(at, "|");
    if (strlen(value) == width && strncmp(at, value, width) == 0) return true;
  }
  return false;
}

/* Checked here: lockstep-rank would refuse it only after the compile. */
ExitCode check_rank_words(const Options *options) {
  for (int32_t i = 0; i < flag_count; i++) {
    const Flag *flag = &flags[i];
    if (!flag->is_of_rank || flag->kind != FLAG_VALUE) continue;
    const char *value = *(const char *const *)((const char *)options + flag->offset);
    if (value == NULL || has_word(flag, value)) continue;
    const char *wanted = strcmp(flag->value, "N") == 0      ? "a whole number above 0"
                         : strcmp(flag->value, "A..B") == 0 ? "steps, as 5 or 5..8"
                                                            : flag->value;
    return refuse(options, EXIT_USER, "%s wants %s, not '%.40s'", flag_first_name(flag), wanted,
                  value);
  }
  return EXIT_DONE;
}

ExitCode verb_run(const Options *options) {
  process_prepare("lockstep");
  if (check_rank_words(options) != EXIT_DONE) return EXIT_USER;
  if (is_plan_file(options->words.at[0])) return run_plan(options);
  Compile *c = open_compile();
  if (!c) return EXIT_WORLD;
  Compiled compiled;
  Options said = *options;
  bool is_good = compile_job(c, options, &compiled);
  said.json = options->json && !is_good; /* the document of a run that starts is the run's */
  ExitCode code = report(c, &said);
  RunPlan file;
  if (is_good && is_on_cuda_host(options) && job_target(&compiled.plan) == TARGET_CPU)
    is_good = false, code = refuse(options, EXIT_USER,
                                   "--on cuda-host runs kernels for GPUs, and the job is for "
                                   "processors: -D cluster=dgx-h100 compiles it for GPUs");
  if (is_good) code = write_plan(options, c, &compiled, &file);
  compile_free(c);
  return code == EXIT_DONE ? become_rank(options, file.fresh, file.path) : code;
}

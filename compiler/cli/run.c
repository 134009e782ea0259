/* run.c -- lockstep run: compiles into the run directory and becomes lockstep-rank. */
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/cli/cli.h"
#include "compiler/explain/explain.h"
#include "runtime/plan/plan_io.h"
#include "runtime/process/lock.h"
#include "runtime/process/process.h"

/* Makes a folder and those above it. */
static bool make_folder(Arena *arena, const char *path) {
  char *part = arena_copy(arena, path);
  for (char *p = part + 1; *p; p++) {
    if (*p != '/') continue;
    *p = 0;
    if (mkdir(part, 0777) != 0 && errno != EEXIST) return false;
    *p = '/';
  }
  return mkdir(part, 0777) == 0 || errno == EEXIST;
}

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

/* The exit code from here on is lockstep-rank's. Returns only when it failed. */
static ExitCode become_rank(const Options *options, const char *plan_path) {
  char folder[4096], program[4200];
  if (!own_folder(folder, sizeof folder))
    return refuse(options, EXIT_WORLD, "/proc is not mounted");
  snprintf(program, sizeof program, "%s/lockstep-rank", folder);
  const char *words[WORDS_MAX + 8];
  int32_t count = 0;
  words[count++] = program;
  words[count++] = plan_path;
  for (int32_t i = 0; i < options->passed_count; i++)
    words[count++] = options->passed[i];
  if (options->quiet) words[count++] = "--quiet";
  if (options->json) words[count++] = "--json";
  words[count] = NULL;
  fflush(stdout);
  fflush(stderr);
  execv(program, (char *const *)words);
  return refuse(options, EXIT_WORLD, "%s: %s", program, strerror(errno));
}

/* Into the run directory, which another run may have: its plan is not written over. The lock goes
 * with the process into lockstep-rank. */
static ExitCode write_plan(const Options *options, Arena *arena, Compiled *compiled,
                           char *plan_path, size_t path_bytes) {
  const char *folder = compiled->job->log.dir;
  char held[LOCK_WHY_BYTES] = "", why[PLAN_WHY_BYTES] = "";
  Lock lock;
  snprintf(plan_path, path_bytes, "%s/%s.plan", folder, compiled->job->job.name);
  if (!make_folder(arena, folder))
    return refuse(options, EXIT_WORLD, "%s: %s", folder, strerror(errno));
  LockResult result = lock_take(&lock, folder, held);
  if (result != LOCK_TAKEN)
    return refuse(options, result == LOCK_HELD ? EXIT_USER : EXIT_WORLD, "%s", held);
  if (!plan_write(&compiled->plan, plan_path, why)) return refuse(options, EXIT_WORLD, "%s", why);
  if (!options->quiet && !options->json) explain_summary(compiled, stdout);
  return EXIT_DONE;
}

ExitCode verb_run(const Options *options) {
  if (options->word_count != 1) return complain(EXIT_USER, "run wants one job file");
  if (options->no_data) return complain(EXIT_USER, "run needs the data; --no-data is for check");
  process_prepare("lockstep");
  Compile *c = open_compile();
  Compiled compiled;
  Options said = *options;
  bool is_good = compile_job(c, options, &compiled);
  said.json = options->json && !is_good; /* the document of a run that starts is the run's */
  ExitCode code = report(c, &said);
  char plan_path[4096] = "";
  if (is_good) code = write_plan(options, c->arena, &compiled, plan_path, sizeof plan_path);
  compile_free(c);
  return code == EXIT_DONE ? become_rank(options, plan_path) : code;
}

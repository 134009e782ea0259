/* run.c -- lockstep run: compiles into the run directory and becomes lockstep-rank. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/cli/cli.h"
#include "compiler/explain/explain.h"
#include "runtime/plan/plan_io.h"

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

/* Returns only when it failed. */
static ExitCode become_rank(const Options *options, const char *plan_path) {
  char folder[4096], program[4200];
  if (!own_folder(folder, sizeof folder)) return complain(EXIT_WORLD, "/proc is not mounted");
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
  return complain(EXIT_WORLD, "%s: %s", program, strerror(errno));
}

ExitCode verb_run(const Options *options) {
  if (options->word_count != 1) return complain(EXIT_USER, "run wants one job file");
  if (options->no_data) return complain(EXIT_USER, "run needs the data; --no-data is for check");
  Compile *c = open_compile();
  Compiled compiled;
  bool is_good = compile_job(c, options, &compiled);
  ExitCode code = report(c, options);
  char plan_path[4096] = "";
  if (is_good) {
    const char *folder = compiled.job->log.dir;
    char why[PLAN_WHY_BYTES] = "";
    snprintf(plan_path, sizeof plan_path, "%s/%s.plan", folder, compiled.job->job.name);
    if (!make_folder(c->arena, folder))
      code = complain(EXIT_WORLD, "%s: %s", folder, strerror(errno));
    else if (!plan_write(&compiled.plan, plan_path, why))
      code = complain(EXIT_WORLD, "%s", why);
    else if (!options->quiet && !options->json)
      explain_summary(&compiled, stdout);
  }
  compile_free(c);
  return code == EXIT_DONE ? become_rank(options, plan_path) : code;
}

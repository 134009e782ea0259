/* compile.c -- lockstep compile: writes the plan, and prints a summary of a dozen lines. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "compiler/show/cli/outputs.h"
#include "compiler/show/explain/explain.h"
#include "runtime/plan/plan_io.h"

static double now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static int64_t file_bytes(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) return 0;
  fseek(file, 0, SEEK_END);
  int64_t size_bytes = ftell(file);
  fclose(file);
  return size_bytes;
}

ExitCode verb_compile(const Options *options) {
  Compile *c = open_compile();
  if (!c) return EXIT_WORLD;
  Compiled compiled;
  double start_ms = now_ms();
  bool is_good = compile_job(c, options, &compiled);
  double took_ms = now_ms() - start_ms;
  ExitCode code = EXIT_DONE;
  if (is_good) {
    const char *path =
        options->out ? options->out : arena_printf(c->arena, "%s.plan", compiled.job->job.name);
    char why[PLAN_WHY_BYTES] = "";
    if (!check_output_of(c, compiled.job, path)) {
      is_good = false;
    } else if (!plan_write(&compiled.plan, path, why)) {
      code = complain(write_failure_code(errno), "%s", why);
    } else if (options->json) {
      explain_json(&compiled, stdout);
    } else if (!options->quiet) {
      explain_summary(&compiled, stdout);
      printf("wrote    %s   %s   id %016llx   compiled in %.1f ms\n", text_plain(c->arena, path),
             format_bytes(c->arena, file_bytes(path)), (unsigned long long)compiled.plan.id,
             took_ms);
    }
  }
  bool says_json = options->json && is_good; /* the summary is the answer */
  Options spoken = *options;
  if (says_json) spoken.json = false;
  ExitCode said = report(c, &spoken);
  compile_free(c);
  return code != EXIT_DONE ? code : said;
}

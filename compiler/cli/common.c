/* common.c -- what several verbs do. */
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "compiler/cli/cli.h"
#include "compiler/topology/here.h"

ExitCode complain(ExitCode code, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fputs("lockstep: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  return code;
}

bool own_folder(char *folder, size_t size_bytes) {
  ssize_t length = readlink("/proc/self/exe", folder, size_bytes - 1);
  if (length <= 0) return false;
  folder[length] = 0;
  char *slash = strrchr(folder, '/');
  if (slash) *slash = 0;
  return slash != NULL;
}

/* Installed: PREFIX/bin/lockstep beside PREFIX/share. Else the source tree this was built from. */
Compile *open_compile(void) {
  char folder[4096], specs[4200];
  if (own_folder(folder, sizeof folder)) {
    char *slash = strrchr(folder, '/');
    if (slash) *slash = 0;
    snprintf(specs, sizeof specs, "%s/share/lockstep/specs", folder);
    if (access(specs, R_OK) == 0) return compile_new(specs);
  }
  return compile_new(LOCKSTEP_SPECS_DIR);
}

bool compile_job(Compile *c, const Options *options, Compiled *compiled) {
  *compiled = (Compiled){0};
  Job *job = spec_load(c, options->words[0], options->overrides, options->override_count);
  if (!job) return false;
  if (options->no_data)
    spec_data_assume(job);
  else
    spec_data(c, job); /* goes on: what else is wrong is said in the same run */
  if (job->data.format == 0) spec_data_assume(job);
  Machine machine = {.memory_bytes = (int64_t)1 << 33, .cores = 1};
  if (strcmp(job->cluster.head_text, "here") == 0) machine = topology_here();
  bool is_good = compile(c, job, &machine, compiled);
  if (is_good && !compile_failed(c) && !options->no_data)
    spec_data_ids(c, job, compiled->plan.jobs[0].vocab);
  return is_good && !compile_failed(c);
}

ExitCode report(const Compile *c, const Options *options) {
  bool failed = compile_failed(c);
  if (options->json) {
    printf("{\"version\": 1, \"ok\": %s, \"diagnostics\": ", failed ? "false" : "true");
    diags_print_json(&c->diags, stdout);
    puts("}");
  } else {
    diags_print(&c->diags, stderr, options->color);
    int32_t errors = c->diags.error_count;
    if (failed && errors > 1 && !options->quiet) fprintf(stderr, "%d errors\n", errors);
  }
  return c->is_defect ? EXIT_OURS : failed ? EXIT_USER : EXIT_DONE;
}

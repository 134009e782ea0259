/* check.c -- lockstep check: does all that compile does, but writes no file. */
#include <string.h>

#include "compiler/search/lints.h"
#include "compiler/show/cli/cli.h"
#include "slurm/environment.h"

/* An accepted lint that the job does not have would hide one that comes later. */
static void tell_silent(Compile *c) {
  for (int32_t i = 0; i < c->diags.accepted_count; i++) {
    bool fires = false;
    for (int32_t k = 0; k < c->diags.list.count && !fires; k++)
      fires = strcmp(c->diags.list.at[k].name, c->diags.accepted[i]) == 0;
    if (!fires) complain(EXIT_DONE, "job.accept: %s is not said of this job", c->diags.accepted[i]);
  }
}

ExitCode verb_check(const Options *options) {
  Compile *c = open_compile();
  if (!c) return EXIT_WORLD;
  Compiled compiled;
  bool is_good = compile_job(c, options, &compiled);
  if (is_good) change_lints(c, &compiled);
  if (is_good) environment_check(c, compiled.job); /* slurm.env, which only a batch job has */
  if (is_good) tell_silent(c);
  is_good = is_good && !compile_failed(c);
  ExitCode code = report(c, options);
  int32_t lints = 0;
  for (int32_t i = 0; i < c->diags.list.count; i++)
    lints += c->diags.list.at[i].severity == SEVERITY_LINT &&
             !diag_is_accepted(&c->diags, &c->diags.list.at[i]);
  if (options->strict && code == EXIT_DONE && lints > 0) {
    is_good = false;
    code = complain(EXIT_USER, "--strict: %d lint%s", lints, plural(lints));
  }
  if (is_good && !options->quiet && !options->json) {
    print_plain(options->words.at[0], stdout);
    puts(": right");
  }
  compile_free(c);
  return code;
}

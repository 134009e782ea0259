/* diff.c -- lockstep diff: two jobs side by side. */
#include "compiler/show/cli/cli.h"
#include "compiler/show/explain/explain.h"
#include "runtime/plan/plan_job.h"

/* One of the two jobs; that it does not fit is part of the answer. False: reported. */
static bool compile_side(Compile *c, const Options *options, int32_t side, Compiled *out) {
  Options own = *options;
  own.words.at[0] = options->words.at[side];
  own.words.count = 1;
  own.json = false;
  if (compile_job(c, &own, out) || plan_has_job(&out->plan)) return true;
  report(c, &own);
  return false;
}

ExitCode verb_diff(const Options *options) {
  Compile *c[2] = {open_compile(), open_compile()};
  Compiled side[2];
  ExitCode code = EXIT_WORLD;
  if (c[0] != NULL && c[1] != NULL) {
    code = EXIT_USER;
    if (compile_side(c[0], options, 0, &side[0]) && compile_side(c[1], options, 1, &side[1])) {
      const bool is_same = explain_is_same(&side[0], &side[1]);
      if (options->json)
        explain_compare_json(&side[0], &side[1], stdout);
      else if (is_same && !options->quiet)
        puts("the same bytes of each kind, bytes sent, and time");
      else if (!options->quiet)
        explain_compare(&side[0], &side[1], options->words.at[1], stdout);
      code = is_same ? EXIT_DONE : EXIT_USER;
    }
  }
  for (int32_t i = 0; i < 2; i++)
    if (c[i] != NULL) compile_free(c[i]);
  return code;
}

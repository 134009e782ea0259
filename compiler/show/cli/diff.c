/* diff.c -- lockstep diff: two jobs, or plans, side by side. */
#include "compiler/show/cli/cli.h"
#include "compiler/show/explain/explain.h"
#include "runtime/plan/plan_io.h"
#include "runtime/plan/plan_job.h"

/* A job that is compiled, or a plan file. */
typedef struct DiffSide {
  Compile *compile;
  Compiled compiled;
  Plan plan;
  bool is_file; /* plan is open */
} DiffSide;

static ExitCode open_file(const Options *options, DiffSide *side) {
  const ExitCode code = open_plan(options, &side->plan);
  side->is_file = code == EXIT_DONE;
  if (!side->is_file || explain_take_plan(side->compile, &side->plan, &side->compiled)) return code;
  return complain(EXIT_USER, "%s has no step to compare", options->words.at[0]);
}

/* That a job does not fit is part of the answer. */
static ExitCode open_side(const Options *options, int32_t number, DiffSide *side) {
  Options own = *options;
  own.words.at[0] = options->words.at[number];
  own.words.count = 1;
  own.json = false;
  side->compile = open_compile();
  if (side->compile == NULL) return EXIT_WORLD;
  if (is_plan_file(own.words.at[0])) return open_file(&own, side);
  if (compile_job(side->compile, &own, &side->compiled) || plan_has_job(&side->compiled.plan))
    return EXIT_DONE;
  return report(side->compile, &own);
}

static void close_side(DiffSide *side) {
  if (side->is_file) plan_close(&side->plan);
  if (side->compile != NULL) compile_free(side->compile);
}

static ExitCode compare(const Options *options, const Compiled *a, const Compiled *b) {
  const bool is_same = explain_is_same(a, b);
  if (options->json)
    explain_compare_json(a, b, stdout);
  else if (is_same && !options->quiet)
    puts("the same bytes of each kind, bytes sent, and time");
  else if (!options->quiet)
    explain_compare(a, b, options->words.at[1], stdout);
  return is_same ? EXIT_DONE : EXIT_USER;
}

ExitCode verb_diff(const Options *options) {
  DiffSide side[2] = {0};
  const char *const *words = options->words.at;
  if (options->overrides.count > 0 && is_plan_file(words[0]) && is_plan_file(words[1]))
    return complain(EXIT_USER,
                    "-D changes a job, and both sides are plans; compile the jobs again");
  ExitCode code = open_side(options, 0, &side[0]);
  if (code == EXIT_DONE) code = open_side(options, 1, &side[1]);
  if (code == EXIT_DONE) code = compare(options, &side[0].compiled, &side[1].compiled);
  close_side(&side[0]);
  close_side(&side[1]);
  return code;
}

/* show.c -- lockstep show: a plan as the text that parses back. */
#include "compiler/cli/cli.h"
#include "runtime/plan/plan_io.h"

ExitCode verb_show(const Options *options) {
  if (options->word_count != 1) return complain(EXIT_USER, "show wants one plan file");
  Plan plan;
  char why[PLAN_WHY_BYTES] = "";
  if (!plan_open(&plan, options->words[0], why)) return complain(EXIT_USER, "%s", why);
  plan_print(&plan, stdout, options->segment);
  plan_close(&plan);
  return EXIT_DONE;
}

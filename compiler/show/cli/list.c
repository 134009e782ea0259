/* list.c -- lockstep list: the names that a job or a model file may use. */
#include <string.h>

#include "compiler/job/hints/help.h"
#include "compiler/show/cli/cli.h"

ExitCode verb_list(const Options *options) {
  Compile *c = open_compile();
  if (!c) return EXIT_WORLD;
  const char *kind = options->words.count > 0 ? options->words.at[0] : NULL;
  ExitCode code = EXIT_DONE;
  if (!help_list(c, kind, options->json, stdout))
    code = complain(EXIT_USER, "there is no list of '%.40s'; there are: %s", kind, help_kinds(c));
  else if (kind && strcmp(kind, "devices") == 0 && !options->json)
    print_gpus(c->arena);
  compile_free(c);
  return code;
}

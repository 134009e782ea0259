/* version.c -- lockstep version. */
#include "compiler/cli/cli.h"

ExitCode verb_version(const Options *options) {
  if (options->json)
    printf("{\"version\": \"%s\", \"plan_format\": %d}\n", LOCKSTEP_VERSION, PLAN_VERSION);
  else
    printf("lockstep %s, plan format %d\n", LOCKSTEP_VERSION, PLAN_VERSION);
  return EXIT_DONE;
}

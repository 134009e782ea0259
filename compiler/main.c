/* main.c -- lockstep VERB ...: finds the verb, checks its outputs and runs it. */
#include "compiler/show/cli/cli.h"
#include "runtime/process/process.h"
#include "runtime/process/stack.h"

int main(int count, char **words) {
  static Options options;
  char why[STACK_WHY_BYTES];
  process_keep_streams();
  if (!stack_prepare(why)) return (int)complain(EXIT_WORLD, "%s", why);
  const Verb *verb = options_parse(&options, count, words);
  if (!verb) return (int)EXIT_USER;
  const ExitCode code = check_outputs(&options);
  return (int)finish_output(code == EXIT_DONE ? verb->run(&options) : code);
}

/* main.c -- lockstep VERB ...: finds the verb and runs it. */
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
  return (int)finish_output(verb->run(&options));
}

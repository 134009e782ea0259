/* main.c -- lockstep VERB ...: finds the verb and runs it. */
#include "compiler/show/cli/cli.h"
#include "runtime/process/process.h"

int main(int count, char **words) {
  static Options options;
  process_keep_streams();
  const Verb *verb = options_parse(&options, count, words);
  if (!verb) return (int)EXIT_USER;
  return (int)finish_output(verb->run(&options));
}

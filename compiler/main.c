/* main.c -- lockstep VERB ...: finds the verb and runs it. */
#include "compiler/cli/cli.h"

int main(int count, char **words) {
  static Options options;
  const Verb *verb = options_parse(&options, count, words);
  return verb ? finish_output(verb->run(&options)) : EXIT_USER;
}

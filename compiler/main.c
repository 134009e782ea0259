/* main.c -- lockstep VERB ...: finds the verb and runs it. */
#include <fcntl.h>
#include <unistd.h>

#include "compiler/cli/cli.h"

/* A closed stream's number would go to the next file that is opened, and our words into it. */
static void keep_streams(void) {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++)
    if (fcntl(stream, F_GETFD) < 0) (void)open("/dev/null", O_RDWR); /* the lowest free number */
}

int main(int count, char **words) {
  static Options options;
  keep_streams();
  const Verb *verb = options_parse(&options, count, words);
  if (!verb) return (int)EXIT_USER;
  return (int)finish_output(verb->run(&options));
}

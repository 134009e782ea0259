/* lines.h -- what a rank's process prints, passed on line by line with the rank's number. */
#ifndef LOCKSTEP_LAUNCH_LINES_H
#define LOCKSTEP_LAUNCH_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LINES_BYTES = 8192, LINES_LAST_BYTES = 1024 };

typedef struct Lines {
  int from; /* -1: it has ended */
  int to;
  int32_t rank;
  size_t have;
  char bytes[LINES_BYTES];     /* of a line that has not ended */
  char last[LINES_LAST_BYTES]; /* the last whole line, without its end */
} Lines;

void lines_open(Lines *lines, int from, int to, int32_t rank);

/* Reads what is available. False: the pipe has ended and is closed. */
bool lines_pass(Lines *lines);

#endif

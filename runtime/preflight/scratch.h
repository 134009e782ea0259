/* scratch.h -- a file that is written, made lasting, read back and gone: whether a file system does
 * what a checkpoint asks of it, and how fast. */
#ifndef LOCKSTEP_PREFLIGHT_SCRATCH_H
#define LOCKSTEP_PREFLIGHT_SCRATCH_H

#include <stdbool.h>
#include <stdint.h>

typedef struct Scratch {
  int64_t bytes; /* in: at most; out: written, which may be less: a few seconds are enough */
  int64_t wrong; /* words that came back otherwise */
  double mbs;    /* of writing, until all is on disk */
} Scratch;

/* False: `why` says what failed. */
bool scratch_use(const char *folder, Scratch *scratch, char why[200]);

double scratch_now_s(void);

#endif

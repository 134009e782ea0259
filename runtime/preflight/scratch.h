/* scratch.h -- tests a folder by writing a file, syncing it, reading it back and removing it:
 * whether a file system can do what a checkpoint needs, and how fast. */
#ifndef LOCKSTEP_PREFLIGHT_SCRATCH_H
#define LOCKSTEP_PREFLIGHT_SCRATCH_H

#include <stdbool.h>
#include <stdint.h>

typedef struct ScratchFolder {
  int64_t bytes; /* in: at most so many; out: written, perhaps fewer, because it stops after a few
                    seconds */
  int64_t wrong; /* words that differ */
  double mbs;    /* of writing, until all is on disk */
} ScratchFolder;

/* False: `why` says what failed. */
bool scratch_use(const char *folder, ScratchFolder *scratch, char why[200]);

double scratch_now_s(void);

#endif

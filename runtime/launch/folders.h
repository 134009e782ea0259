/* folders.h -- temporary folders that carry the number of the process that made them, so that the
 * next launcher can remove what a killed one has left. */
#ifndef LOCKSTEP_LAUNCH_FOLDERS_H
#define LOCKSTEP_LAUNCH_FOLDERS_H

#include "runtime/status.h"

enum { FOLDERS_PATH_BYTES = 64 };

/* One for files, one in shared memory. Left ones of processes that are gone are removed first. */
bool folders_open(char files[FOLDERS_PATH_BYTES], char segments[FOLDERS_PATH_BYTES],
                  Status *status);

/* With all that is in it; "" is none. */
void folders_remove(char path[FOLDERS_PATH_BYTES]);

#endif

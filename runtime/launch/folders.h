/* folders.h -- temporary folders named with the pid of their process, so that the next launcher can
 * remove those of a killed one. */
#ifndef LOCKSTEP_LAUNCH_FOLDERS_H
#define LOCKSTEP_LAUNCH_FOLDERS_H

#include "runtime/process/status.h"

enum { FOLDERS_PATH_BYTES = 64 };

/* Makes one for files and one in shared memory. Folders of processes that are gone are removed
 * first. */
bool folders_open(char files[FOLDERS_PATH_BYTES], char segments[FOLDERS_PATH_BYTES],
                  Status *status);

/* Removes a folder with everything in it; "" means none. */
void folders_remove(char path[FOLDERS_PATH_BYTES]);

#endif

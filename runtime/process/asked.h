/* asked.h -- requests by files in the run folder, for users who may write there without owning the
 * job: `stop` has the effect of a signal, `save` asks for a checkpoint. The run removes a file when
 * its request is carried out. */
#ifndef LOCKSTEP_PROCESS_ASKED_H
#define LOCKSTEP_PROCESS_ASKED_H

#include <stdbool.h>

typedef enum Asked { ASKED_STOP, ASKED_SAVE, ASKED_COUNT } Asked;

enum { ASKED_PATH_BYTES = 4096 };

/* False: the folder's name is too long. */
bool asked_path(const char *folder, Asked what, char path[ASKED_PATH_BYTES]);

/* Removes requests from before this start, because a start cancels them. False: the file `path`
 * cannot be removed; errno says why. */
bool asked_forget(const char *folder, char path[ASKED_PATH_BYTES]);

#endif

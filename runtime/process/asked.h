/* asked.h -- files in a run folder that ask something of its run. Who may write there need not own
 * the job: `stop` asks as a signal does, `save` asks for a checkpoint. The run removes a file when
 * what it asks for is done. */
#ifndef LOCKSTEP_PROCESS_ASKED_H
#define LOCKSTEP_PROCESS_ASKED_H

#include <stdbool.h>

typedef enum Asked { ASKED_STOP, ASKED_SAVE, ASKED_COUNT } Asked;

enum { ASKED_PATH_BYTES = 4096 };

/* False: the folder's name is too long. */
bool asked_path(const char *folder, Asked what, char path[ASKED_PATH_BYTES]);

/* Requests of before a start that was just asked for: it counts, and they do not. False: the file
 * `path` cannot be removed, as errno says. */
bool asked_forget(const char *folder, char path[ASKED_PATH_BYTES]);

#endif

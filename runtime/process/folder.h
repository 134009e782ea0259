/* folder.h -- makes folders, and removes those that stayed empty. */
#ifndef LOCKSTEP_FOLDER_H
#define LOCKSTEP_FOLDER_H

#include "runtime/process/status.h"

/* Makes the folder and those above it, if they do not exist yet. */
bool folder_make(const char *path, Status *status);

/* Removes a folder that holds nothing except the lock of this process. */
void folder_remove_unused(const char *path);

#endif

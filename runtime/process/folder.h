/* folder.h -- makes folders, and removes them. */
#ifndef LOCKSTEP_FOLDER_H
#define LOCKSTEP_FOLDER_H

#include "runtime/process/status.h"

/* Makes the folder and its parents, if they do not exist yet. */
bool folder_make(const char *path, Status *status);

/* Removes a folder that holds nothing except the lock of this process. */
void folder_remove_unused(const char *path);

/* Removes the folder and the files in it; folders in it stay, and so does the folder then. */
void folder_clear(const char *path);

#endif

/* folder.h -- making folders, and removing those that came to nothing. */
#ifndef LOCKSTEP_FOLDER_H
#define LOCKSTEP_FOLDER_H

#include "runtime/status.h"

/* Makes the folder and those above it; one that is there already is fine. */
bool folder_make(const char *path, Status *status);

/* Removes a folder in which there is nothing but the lock that this process holds. */
void folder_remove_unused(const char *path);

#endif

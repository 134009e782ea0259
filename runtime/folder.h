/* folder.h -- making folders. */
#ifndef LOCKSTEP_FOLDER_H
#define LOCKSTEP_FOLDER_H

#include "runtime/status.h"

/* Makes the folder and those above it; one that is there already is fine. */
bool folder_make(const char *path, Status *status);

#endif

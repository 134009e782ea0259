/* switched.h -- environment variables that switch something on: LOCKSTEP_GRAPHS=1. */
#ifndef LOCKSTEP_PROCESS_SWITCHED_H
#define LOCKSTEP_PROCESS_SWITCHED_H

#include <stdbool.h>

/* False: the variable is absent, empty or "0". */
bool switched_on(const char *name);

#endif

/* switched.h -- environment variables that switch something on, or off: LOCKSTEP_GRAPHS=0. */
#ifndef LOCKSTEP_PROCESS_SWITCHED_H
#define LOCKSTEP_PROCESS_SWITCHED_H

#include <stdbool.h>

/* False: the variable is absent, empty or "0". */
bool switched_on(const char *name);

/* True: the variable is "0". */
bool switched_off(const char *name);

#endif

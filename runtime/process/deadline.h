/* deadline.h -- a time limit for a call that waits for other processes in a library without one. */
#ifndef LOCKSTEP_BOOT_DEADLINE_H
#define LOCKSTEP_BOOT_DEADLINE_H

#include <stdint.h>

enum { DEADLINE_START_S = 120 }; /* of every step of starting and ending */

typedef struct Deadline Deadline;

/* Why a call of starting and ending does not return. */
extern const char deadline_of_others[];

/* From here the process has so long until deadline_end; otherwise it prints a line that begins with
 * `who`, names `what` and ends with `why`, and exits with code 2. The texts must stay valid until
 * then. */
Deadline *deadline_begin(const char *who, const char *what, int32_t seconds, const char *why);
void deadline_end(Deadline *deadline);

#endif

/* deadline.h -- a call that waits for other processes, and whose library has no time limit. */
#ifndef LOCKSTEP_BOOT_DEADLINE_H
#define LOCKSTEP_BOOT_DEADLINE_H

#include <stdint.h>

enum { DEADLINE_START_S = 120 }; /* of every step of starting and ending */

typedef struct Deadline Deadline;

/* From here on the process has so long until deadline_end, else it says so in a line that begins
 * with `who` and ends with exit code 2. `who` and `what` live until then. */
Deadline *deadline_begin(const char *who, const char *what, int32_t seconds);
void deadline_end(Deadline *deadline);

#endif

/* cores.h -- which processors the threads of a rank are bound to. */
#ifndef LOCKSTEP_BOOT_CORES_H
#define LOCKSTEP_BOOT_CORES_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/plan/plan.h"

enum { CORES_MAX = 1024, CORES_TEXT_BYTES = 128 };

/* In order, as the system counts. */
typedef struct Cores {
  int32_t count;
  int32_t core[CORES_MAX];
} Cores;

/* The ranks of the job that may use the same processors of this machine. */
typedef struct Neighbours {
  int32_t before; /* the rank itself */
  int32_t count;  /* with it */
} Neighbours;

/* The processors that this process may use. Call before any thread is bound. */
Cores cores_allowed(void);

/* Parses "0-15,112-127"; false: the text is no list of cores. Processors from CORES_MAX on are
 * ignored. */
bool cores_parse(const char *text, Cores *cores);

bool cores_hold(const Cores *cores, int32_t core);

/* Prints such a list, shortened with "..." if it does not fit. */
const char *cores_text(const Cores *cores, char text[CORES_TEXT_BYTES]);

/* One processor for each thread of the rank: those that its seat names; otherwise, by the numbers
 * in the plan's place, some of those that the process may use, if the ranks that share them take
 * all of them. Count 0: the system places the threads. (Two jobs that each take part of a machine
 * must not both use its first cores.) */
Cores cores_of_rank(const Plan *plan, int32_t rank, Neighbours here, const Cores *allowed);

#endif

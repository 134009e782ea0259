/* stack.h -- stacks that are large enough, whatever limit (ulimit -s) the shell or Slurm has passed
 * on.
 */
#ifndef LOCKSTEP_PROCESS_STACK_H
#define LOCKSTEP_PROCESS_STACK_H

#include <stdbool.h>

enum { STACK_WHY_BYTES = 200 };

/* Raises the limit of the main thread's stack, at most to the hard limit, and bounds the
 * stacks of threads that are made later, those of libraries too. Call it first in main. False:
 * `why`. */
bool stack_prepare(char why[STACK_WHY_BYTES]);

#endif

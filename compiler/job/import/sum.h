/* sum.h -- arithmetic of numbers: + - * / // % ** and brackets, for configuration files and shells.
 */
#ifndef LOCKSTEP_SUM_H
#define LOCKSTEP_SUM_H

#include <stdbool.h>
#include <stddef.h>

/* The number that a name has; false: none. */
typedef bool SumName(void *data, const char *name, size_t length, double *number);

/* False: the text is more than arithmetic. */
bool sum_read(const char *text, SumName *name, void *data, double *number);
/* As a shell computes: whole numbers of 64 bits, so that 7 / 2 * 2 is 6; octal after a 0. */
bool sum_read_whole(const char *text, SumName *name, void *data, double *number);

#endif

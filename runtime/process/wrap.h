/* wrap.h -- texts in a terminal: lines break between words. */
#ifndef LOCKSTEP_WRAP_H
#define LOCKSTEP_WRAP_H

#include <stdint.h>
#include <stdio.h>

/* Prints `text` after the `column` bytes already on its line; lines break between words before
 * column `most` and continue at `indent`. Parts separated by two blanks stay whole if they can.
 * Ends the line. */
void print_wrapped(FILE *out, const char *text, int32_t column, int32_t indent, int32_t most);

#endif

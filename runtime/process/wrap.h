/* wrap.h -- texts in a terminal: lines break between words. */
#ifndef LOCKSTEP_WRAP_H
#define LOCKSTEP_WRAP_H

#include <stdint.h>
#include <stdio.h>

/* Prints `text` behind the `column` bytes that its line has already; lines break between words
 * before column `most` and go on at `indent`. Parts with two blanks between them stay whole where
 * they can. Ends the line. */
void print_wrapped(FILE *out, const char *text, int32_t column, int32_t indent, int32_t most);

#endif

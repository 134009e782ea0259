/* plain.h -- text from outside, as files' names are, so that no byte of it steers a terminal. */
#ifndef LOCKSTEP_PROCESS_PLAIN_H
#define LOCKSTEP_PROCESS_PLAIN_H

#include <stdbool.h>

enum { PLAIN_LETTER_BYTES = 17 }; /* four bytes as "\x1b" each, and the end */

/* Bytes of the UTF-8 letter at `text`; 0: there is none before `end`. */
int letter_bytes(const char *text, const char *end);

/* Writes one letter, or "\x1b", "\n", "\t" for what steers a terminal or is not UTF-8; returns how
 * many bytes of the text it stands for, at least one. Signal handlers may call it. */
int plain_letter(const char *text, const char *end, char out[PLAIN_LETTER_BYTES]);

#endif

/* plain.h -- text from outside, such as file names, printed so that none of its bytes controls a
 * terminal. */
#ifndef LOCKSTEP_PROCESS_PLAIN_H
#define LOCKSTEP_PROCESS_PLAIN_H

#include <stdbool.h>

enum { PLAIN_LETTER_BYTES = 17 }; /* four bytes as "\x1b" each, and the end */

/* Bytes of the UTF-8 character at `text`; 0: none before `end`. */
int letter_bytes(const char *text, const char *end);

/* Writes one character, or an escape such as "\x1b" or "\n" for one that controls a terminal or is
 * not UTF-8; returns how many bytes of the text it took, at least one. Signal handlers may call it.
 */
int plain_letter(const char *text, const char *end, char out[PLAIN_LETTER_BYTES]);

#endif

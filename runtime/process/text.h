/* text.h -- text for terminals and files, built in a fixed buffer and written with write(2),
 * without allocation. */
#ifndef LOCKSTEP_METRICS_TEXT_H
#define LOCKSTEP_METRICS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TEXT_BYTES = 8192, QUANTITY_BYTES = 32 };

typedef struct Text {
  int descriptor; /* -1: text that does not fit is lost */
  int failure;    /* errno of the write that failed: the rest is dropped; 0: none did */
  bool is_screen; /* for a terminal: control characters are escaped */
  size_t length;
  char bytes[TEXT_BYTES];
} Text;

/* Can also be called after a failure, to try again. */
void text_start(Text *text, int descriptor);
/* The same for lines on a terminal: names in them may hold any byte, and control characters are
 * escaped. */
void text_start_screen(Text *text, int descriptor);
void text_add(Text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool text_flush(Text *text);

/* Writes to stderr at once. Lines break at 80 columns, except those of a process whose output a
 * launcher reads. */
void text_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A double as JSON: null when it is not finite. */
void text_add_json_number(Text *text, double value);
/* A string as JSON, quotes included. Bytes that are no UTF-8, as in the name of a file, become
 * U+FFFD. */
void text_add_json_string(Text *text, const char *string);

/* "41.2 k", "52.4 M"; three digits and a factor of 1000. */
const char *text_count(char out[QUANTITY_BYTES], double value);
/* "52 MB", "1.24 GB": factors of 1000. */
const char *text_bytes(char out[QUANTITY_BYTES], double value);
/* "15 s", "3 m 20 s", "2 h 05 m", "12 d 03 h". */
const char *text_duration(char out[QUANTITY_BYTES], double time_s);
/* Without its blanks: "41.2k", "3m20s". Returns `out`. */
const char *text_squeeze(char out[QUANTITY_BYTES]);
/* "8,192" */
const char *text_grouped(char out[QUANTITY_BYTES], int64_t value);

#endif

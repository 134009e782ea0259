/* json.h -- reads JSON from outside with jansson, within limits: text that nests deeper or has more
 * values than any file of ours is refused before memory is allocated for it. */
#ifndef LOCKSTEP_JSON_H
#define LOCKSTEP_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { JSON_WHY_BYTES = 256, JSON_DEPTH_MAX = 32, JSON_VALUES_MAX = 1 << 21 };

/* Why text is refused, and where. */
typedef struct JsonFault {
  size_t first_byte; /* from the beginning of the text */
  char why[JSON_WHY_BYTES];
} JsonFault;

/* One value, which is all of the text apart from blanks. Keys that occur twice in an object and
 * NULs in strings are refused. NULL: `fault` says why. The caller gives it back by json_decref. */
json_t *json_read(const char *text, size_t bytes, JsonFault *fault);

/* The same of a whole file of at most `bytes_max`. NULL with `errno_out` 0: `fault`; otherwise the
 * file cannot be read. */
json_t *json_read_file(const char *path, size_t bytes_max, int *errno_out, JsonFault *fault);

/* The whole number at `key` of an object, or `absent` if there is none or it is of another type. */
int64_t json_whole(const json_t *object, const char *key, int64_t absent);
/* The text at `key`, or NULL. */
const char *json_text(const json_t *object, const char *key);

#endif

/* json.c -- the limits are checked on the text, because jansson has none for the number of values.
 */
#include "runtime/json/json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static json_t *refuse(JsonFault *fault, size_t first_byte, const char *why) {
  fault->first_byte = first_byte;
  (void)snprintf(fault->why, sizeof fault->why, "%s", why);
  return NULL;
}

static size_t after_string(const char *text, size_t bytes, size_t at) {
  for (at++; at < bytes && text[at] != '"'; at++)
    at += text[at] == '\\';
  return at;
}

/* Brackets and commas bound the number of values. */
static bool is_within_limits(const char *text, size_t bytes, JsonFault *fault) {
  int64_t values = 1, depth = 0;
  for (size_t at = 0; at < bytes; at++) {
    char c = text[at];
    if (c == '"') at = after_string(text, bytes, at);
    values += c == ',' || c == ':' || c == '[' || c == '{';
    if (c == '[' || c == '{') depth++;
    if (c == ']' || c == '}') depth--;
    if (depth > JSON_DEPTH_MAX) return refuse(fault, at, "brackets nest too deep") != NULL;
    if (values > JSON_VALUES_MAX) return refuse(fault, at, "too many values") != NULL;
  }
  return true;
}

json_t *json_read(const char *text, size_t bytes, JsonFault *fault) {
  json_error_t error;
  if (!is_within_limits(text, bytes, fault)) return NULL;
  json_t *value = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
  if (value) return value;
  const bool has_nul = json_error_code(&error) == json_error_null_character;
  return refuse(fault, error.position > 0 ? (size_t)error.position - 1 : 0,
                has_nul ? "a text has the character \\u0000" : error.text);
}

json_t *json_read_file(const char *path, size_t bytes_max, int *errno_out, JsonFault *fault) {
  json_t *value = NULL;
  struct stat status = {0};
  int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* a pipe has no length */
  bool is_known = file >= 0 && fstat(file, &status) == 0;
  size_t bytes = is_known ? (size_t)status.st_size : 0;
  bool fits = bytes <= bytes_max;
  char *text = is_known && fits ? malloc(bytes + 1) : NULL;
  ssize_t count = text ? read(file, text, bytes) : -1;
  *errno_out = !is_known || (fits && count < 0) ? errno : 0;
  if (!fits) (void)refuse(fault, bytes_max, "the file is longer than any of its kind");
  if (fits && count >= 0) value = json_read(text, (size_t)count, fault);
  free(text);
  if (file >= 0) (void)close(file);
  return value;
}

int64_t json_whole(const json_t *object, const char *key, int64_t absent) {
  const json_t *value = json_object_get(object, key);
  return json_is_integer(value) ? (int64_t)json_integer_value(value) : absent;
}

const char *json_text(const json_t *object, const char *key) {
  return json_string_value(json_object_get(object, key));
}

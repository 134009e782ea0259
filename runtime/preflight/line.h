/* line.h -- reads " NAME=VALUE" from a node's line. Private to runtime/preflight. */
#ifndef LOCKSTEP_PREFLIGHT_LINE_H
#define LOCKSTEP_PREFLIGHT_LINE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number after " NAME="; -1: not there. */
static inline int64_t number_of(const char *line, const char *name) {
  const char *at = strstr(line, name);
  return at != NULL ? strtoll(at + strlen(name), NULL, 10) : -1;
}

/* The same up to a blank. */
static inline void word_of(const char *line, const char *name, char *word, size_t size_bytes) {
  const char *at = strstr(line, name);
  at = at != NULL ? at + strlen(name) : "";
  (void)snprintf(word, size_bytes, "%.*s", (int)strcspn(at, " \n"), at);
}

/* The same to the end of the line. */
static inline void rest_of(const char *line, const char *name, char *rest, size_t size_bytes) {
  const char *at = strstr(line, name);
  at = at != NULL ? at + strlen(name) : "";
  (void)snprintf(rest, size_bytes, "%.*s", (int)strcspn(at, "\n"), at);
}

#endif

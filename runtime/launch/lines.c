/* lines.c -- a line is written whole, so that lines of two ranks do not mix. */
#include "runtime/launch/lines.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void lines_open(Lines *lines, int from, int to, int32_t rank) {
  lines->from = from;
  lines->to = to;
  lines->rank = rank;
  lines->have = 0;
  lines->last[0] = 0;
}

/* If the reader has gone away, errors are ignored. */
static void write_all(int to, const char *bytes, size_t count) {
  while (count > 0) {
    ssize_t written = write(to, bytes, count);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    bytes += written;
    count -= (size_t)written;
  }
}

static void pass_line(Lines *lines, const char *line, size_t length) {
  char out[LINES_BYTES + 32];
  int tag = snprintf(out, sizeof out, "[%d] ", lines->rank);
  memcpy(out + tag, line, length);
  out[(size_t)tag + length] = '\n';
  write_all(lines->to, out, (size_t)tag + length + 1);
  if (length == 0) return;
  (void)snprintf(lines->last, sizeof lines->last, "%.*s", (int)length, line);
}

/* A line that does not fit is passed on in parts. */
static void pass_lines(Lines *lines, bool all) {
  size_t first = 0;
  for (size_t i = 0; i < lines->have; i++) {
    if (lines->bytes[i] != '\n') continue;
    pass_line(lines, lines->bytes + first, i - first);
    first = i + 1;
  }
  lines->have -= first;
  memmove(lines->bytes, lines->bytes + first, lines->have);
  if ((!all && lines->have < sizeof lines->bytes) || lines->have == 0) return;
  pass_line(lines, lines->bytes, lines->have);
  lines->have = 0;
}

bool lines_pass(Lines *lines) {
  ssize_t got = read(lines->from, lines->bytes + lines->have, sizeof lines->bytes - lines->have);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return true;
  if (got > 0) lines->have += (size_t)got;
  pass_lines(lines, got <= 0);
  if (got > 0) return true;
  (void)close(lines->from);
  lines->from = -1;
  return false;
}

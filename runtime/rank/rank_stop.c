/* rank_stop.c -- reads RUN/stop, and matches the ids of a text against it as Knuth, Morris and
 * Pratt do. */
#include "runtime/rank/rank_stop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sets back[k]: the bytes of the stop text that still match if its first k + 1 bytes have matched
 * and the next one does not. */
static void make_back(StopText *stop) {
  for (uint32_t k = 1, matched = 0; k < stop->length; k++) {
    while (matched > 0 && stop->text[k] != stop->text[matched])
      matched = stop->back[matched - 1];
    matched += stop->text[k] == stop->text[matched];
    stop->back[k] = matched;
  }
}

static bool read_bytes(FILE *file, void *to, size_t bytes) {
  return fread(to, 1, bytes, file) == bytes;
}

static bool read_file(StopText *stop, FILE *file) {
  StopHead head;
  if (!read_bytes(file, &head, sizeof head)) return false;
  stop->length = head.length;
  stop->ids = head.ids;
  stop->end = calloc((size_t)2 * head.ids + 1, sizeof *stop->end);
  stop->text = malloc((size_t)head.length + 1);
  stop->back = calloc((size_t)head.length + 1, sizeof *stop->back);
  if (stop->end == NULL || stop->text == NULL || stop->back == NULL || head.length == 0 ||
      !read_bytes(file, stop->end, ((size_t)2 * head.ids + 1) * sizeof *stop->end) ||
      !read_bytes(file, stop->text, head.length))
    return false;
  for (size_t i = 0; i < (size_t)2 * head.ids; i++)
    if (stop->end[i] > stop->end[i + 1]) return false;
  const size_t bytes = stop->end[2 * head.ids];
  stop->piece = malloc(bytes + 1);
  return stop->piece != NULL && read_bytes(file, stop->piece, bytes);
}

bool stop_open(StopText *stop, const char *path, Status *status) {
  *stop = (StopText){0};
  FILE *file = fopen(path, "rb");
  if (file == NULL) return true;
  const bool good = read_file(stop, file);
  (void)fclose(file);
  if (good) make_back(stop);
  return good || status_fail(status, STATUS_WORLD, "%s: cannot be read", path);
}

void stop_close(StopText *stop) {
  free(stop->end);
  free(stop->text);
  free(stop->back);
  free(stop->piece);
}

bool stop_takes(const StopText *stop, uint32_t *matched, int64_t id, bool is_first) {
  if (id < 0 || id >= (int64_t)stop->ids) return false;
  const size_t i = (size_t)id + (is_first ? stop->ids : 0);
  for (uint64_t at = stop->end[i]; at < stop->end[i + 1]; at++) {
    while (*matched > 0 && stop->text[*matched] != stop->piece[at])
      *matched = stop->back[*matched - 1];
    *matched += stop->text[*matched] == stop->piece[at];
    if (*matched == stop->length) return true;
  }
  return false;
}

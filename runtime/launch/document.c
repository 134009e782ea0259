/* document.c -- rank 0's document is kept until it is known how the run has ended. */
#include "runtime/launch/document.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/process/text.h"

enum { READ_BYTES = 4096 };

static bool make_room(Document *document) {
  if (document->room - document->have >= READ_BYTES) return true;
  size_t room = 2 * document->room + READ_BYTES;
  char *bytes = realloc(document->bytes, room);
  if (!bytes) return false;
  document->bytes = bytes;
  document->room = room;
  return true;
}

bool document_take(Document *document, Lines *lines) {
  ssize_t got = -1;
  if (make_room(document)) got = read(lines->from, document->bytes + document->have, READ_BYTES);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return true;
  if (got > 0) {
    document->have += (size_t)got;
    return true;
  }
  (void)close(lines->from);
  lines->from = -1;
  return false;
}

void document_print(const Document *document) {
  for (size_t done = 0; done < document->have;) {
    ssize_t wrote = write(STDOUT_FILENO, document->bytes + done, document->have - done);
    if (wrote <= 0 && errno != EINTR) return;
    if (wrote > 0) done += (size_t)wrote;
  }
}

void document_free(Document *document) {
  free(document->bytes);
}

void document_failure(int32_t code, int32_t rank, const char *why) {
  static const char program[] = "lockstep-rank: ";
  Text text;
  if (strncmp(why, program, sizeof program - 1) == 0) why += sizeof program - 1;
  text_start(&text, STDOUT_FILENO);
  text_add(&text, "{\"outcome\":\"failed\",\"exit\":%d,\"rank\":%d,\"error\":", code, rank);
  text_add_json_string(&text, why);
  text_add(&text, "}\n");
  (void)text_flush(&text);
}

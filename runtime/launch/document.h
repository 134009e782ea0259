/* document.h -- with --json, stdout is one document: rank 0's, or the launcher's if the run fails.
 */
#ifndef LOCKSTEP_LAUNCH_DOCUMENT_H
#define LOCKSTEP_LAUNCH_DOCUMENT_H

#include "runtime/launch/lines.h"

typedef struct Document {
  char *bytes; /* the output of rank 0 */
  size_t have, room;
} Document;

/* Reads what is available. False: the pipe has ended and is closed. */
bool document_take(Document *document, Lines *lines);
void document_print(const Document *document);
void document_free(Document *document);

/* {"outcome": "failed", "exit": CODE, "rank": RANK, "error": WHY} */
void document_failure(int32_t code, int32_t rank, const char *why);

#endif

/* line.h -- one document, for this folder only; the public interface is documents.h. */
#ifndef LOCKSTEP_DOCUMENTS_LINE_H
#define LOCKSTEP_DOCUMENTS_LINE_H

#include <pthread.h>

#include "runtime/documents/documents.h"

/* One thread's part. The document at hand is in `ids` and `is_target`. */
typedef struct DocumentWorker {
  const DocumentOptions *options;
  pthread_mutex_t *chat_lock;
  Encoder *encoder;
  TokenIds ids, joined;
  uint8_t *is_target;
  int64_t target_room;
  bool has_mask;
  char *text; /* of pieces that are encoded together */
  size_t text_bytes, text_room;
  int64_t pairs, pairs_otherwise;
  char why[TOKENS_WHY_BYTES];
} DocumentWorker;

/* Fills the document. False: `why`. */
bool document_of_line(DocumentWorker *w, const char *line, size_t bytes);
bool document_of_text(DocumentWorker *w, const char *text, size_t bytes);

#endif

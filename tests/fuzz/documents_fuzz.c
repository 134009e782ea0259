/* documents_fuzz.c -- LINK: documents
 * Bytes as one line of JSON: a document that is taken has tokens, and ids below the vocabulary. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/documents/line.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes);

static const char json[] =
    "{\"added_tokens\":[{\"id\":3,\"content\":\"<s>\",\"special\":true}],\"model\":{\"type\":"
    "\"BPE\","
    "\"unk_token\":\"?\",\"vocab\":{\"a\":0,\"b\":1,\"?\":2,\"ab\":4},\"merges\":[\"a b\"]}}";

/* Every message is a text, and the end token. */
static bool pieces_of(void *user, const DocumentMessage *messages, int32_t count,
                      const DocumentPiece **pieces, int32_t *piece_count,
                      char why[TOKENS_WHY_BYTES]) {
  static DocumentPiece piece[64];
  (void)user;
  if (count > 32) {
    (void)snprintf(why, TOKENS_WHY_BYTES, "too many");
    return false;
  }
  for (int32_t i = 0; i < count; i++) {
    piece[2 * i] = (DocumentPiece){messages[i].content, false, i % 2 == 1};
    piece[2 * i + 1] = (DocumentPiece){"<s>", true, i % 2 == 1};
  }
  *pieces = piece;
  *piece_count = 2 * count;
  return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes) {
  static Tokenizer *tokenizer;
  static Encoder *encoder; /* with a large cache: one for all inputs */
  static const DocumentChat chat = {NULL, pieces_of};
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static char why[TOKENIZER_WHY_BYTES];
  if (!tokenizer) tokenizer = tokenizer_read("/none/tokenizer.json", json, sizeof json - 1, why);
  if (!tokenizer) abort();
  if (!encoder) encoder = encoder_new(tokenizer);
  const DocumentOptions options = {.tokenizer = tokenizer, .chat = &chat};
  DocumentWorker w = {.options = &options, .chat_lock = &lock, .encoder = encoder};
  bool is_taken = document_of_line(&w, (const char *)bytes, size_bytes);
  if (is_taken ? w.ids.count == 0 : !*w.why) abort();
  for (int64_t i = 0; is_taken && i < w.ids.count; i++)
    if (w.ids.at[i] >= tokenizer_vocab(tokenizer) || w.is_target[i] > 1) abort();
  tokenizer_free_ids(&w.ids);
  tokenizer_free_ids(&w.joined);
  free(w.is_target), free(w.text);
  return 0;
}

/* absent.c -- of a build without libpcre2 or libutf8proc: no tokenizer opens, and the reason names
 * the packages. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/tokenizer/tokenizer.h"

Tokenizer *tokenizer_read(const char *path, const char *text, size_t bytes,
                          char why[TOKENIZER_WHY_BYTES]) {
  (void)text, (void)bytes;
  (void)snprintf(why, TOKENIZER_WHY_BYTES,
                 "%.200s: this build has no tokenizers: install libpcre2-dev and libutf8proc-dev, "
                 "and build again",
                 path);
  return NULL;
}

Tokenizer *tokenizer_open(const char *path, char why[TOKENIZER_WHY_BYTES]) {
  return tokenizer_read(path, NULL, 0, why);
}

void tokenizer_free(Tokenizer *t) {
  assert(t == NULL);
}

void tokenizer_free_ids(TokenIds *ids) {
  free(ids->at);
  *ids = (TokenIds){0};
}

void encoder_free(Encoder *e) {
  assert(e == NULL);
}

/* ---- without a tokenizer these are never reached */

uint32_t tokenizer_vocab(const Tokenizer *t) {
  return t ? 1 : 0;
}
uint64_t tokenizer_hash(const Tokenizer *t) {
  return t ? 1 : 0;
}
const char *tokenizer_path(const Tokenizer *t) {
  return t ? "" : NULL;
}
int64_t tokenizer_id(const Tokenizer *t, const char *content) {
  return t && content ? 0 : -1;
}
TokenizerEnds tokenizer_ends(const Tokenizer *t) {
  (void)t;
  return (TokenizerEnds){-1, -1, false, false};
}
Encoder *encoder_new(const Tokenizer *t) {
  (void)t;
  return NULL;
}
EncoderCounts encoder_counts(const Encoder *e) {
  (void)e;
  return (EncoderCounts){0};
}
bool tokenizer_encode(Encoder *e, const char *text, size_t bytes, TokenizerSpecial special,
                      TokenIds *ids, char why[TOKENIZER_WHY_BYTES]) {
  (void)e, (void)text, (void)bytes, (void)special, (void)ids;
  (void)snprintf(why, TOKENIZER_WHY_BYTES, "this build has no tokenizers");
  return false;
}
bool tokenizer_encode_inside(Encoder *e, const char *text, size_t bytes, TokenizerSpecial special,
                             TokenIds *ids, char why[TOKENIZER_WHY_BYTES]) {
  return tokenizer_encode(e, text, bytes, special, ids, why);
}
char *tokenizer_decode(const Tokenizer *t, const uint32_t *ids, int64_t count,
                       bool leave_out_special, size_t *bytes) {
  (void)t, (void)ids, (void)count, (void)leave_out_special;
  *bytes = 0;
  return NULL;
}

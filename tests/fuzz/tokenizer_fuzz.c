/* tokenizer_fuzz.c -- LINK: tokenizer
 * Bytes up to a NUL as a tokenizer.json, those after it as a text. Of a file that opens every text
 * in UTF-8 has ids, all below the vocabulary, and they decode. */
#include <stdlib.h>
#include <string.h>

#include "runtime/tokenizer/tokenizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes);

static void encode(const Tokenizer *t, const char *text, size_t bytes, TokenizerSpecial special) {
  char why[TOKENIZER_WHY_BYTES] = "";
  TokenIds ids = {0};
  size_t back = 0;
  Encoder *e = encoder_new(t);
  if (!e) abort();
  bool is_encoded = tokenizer_encode(e, text, bytes, special, &ids, why);
  if (!is_encoded && !*why) abort();
  for (int64_t i = 0; i < ids.count; i++)
    if (ids.at[i] >= tokenizer_vocab(t)) abort();
  char *decoded = is_encoded ? tokenizer_decode(t, ids.at, ids.count, false, &back) : NULL;
  if (is_encoded && (!decoded || strlen(decoded) > back)) abort();
  free(decoded);
  tokenizer_free_ids(&ids);
  encoder_free(e);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes) {
  const uint8_t *end = memchr(bytes, 0, size_bytes);
  char why[TOKENIZER_WHY_BYTES] = "";
  size_t json = end ? (size_t)(end - bytes) : size_bytes;
  Tokenizer *t = tokenizer_read("/none/tokenizer.json", (const char *)bytes, json, why);
  if (!t && !*why) abort();
  if (!t) return 0;
  const char *text = end ? (const char *)end + 1 : "a b";
  size_t count = end ? size_bytes - json - 1 : 3;
  encode(t, text, count, SPECIAL_TEXT);
  encode(t, text, count, SPECIAL_PARSE);
  tokenizer_free(t);
  return 0;
}

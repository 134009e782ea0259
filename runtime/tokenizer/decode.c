/* decode.c -- the text of ids. */
#include <stdlib.h>
#include <string.h>

#include "runtime/tokenizer/inside.h"

static const char mark[] = "\xe2\x96\x81";

/* -1: no digit as such tokens have it. */
static int32_t hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* <0xNN>, or -1 */
static int32_t byte_of(TextPiece token) {
  if (token.bytes != 6 || memcmp(token.at, "<0x", 3) != 0 || token.at[5] != '>') return -1;
  const int32_t high = hex_digit(token.at[3]), low = hex_digit(token.at[4]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

static bool add_bytes(ByteBuffer *out, TextPiece token) {
  char *bytes = malloc(token.bytes + 1);
  int64_t count = bytes ? bytes_of_characters(token.at, token.bytes, bytes) : -1;
  bool is_good = bytes && (count >= 0 ? bytes_add(out, bytes, (size_t)count)
                                      : bytes_add(out, token.at, token.bytes));
  free(bytes);
  return is_good;
}

static bool add_replaced(ByteBuffer *out, TextPiece token, const char *from, const char *to) {
  const size_t length = strlen(from);
  for (size_t i = 0; i < token.bytes;) {
    bool is_match = i + length <= token.bytes && memcmp(token.at + i, from, length) == 0;
    if (!bytes_add(out, is_match ? to : token.at + i, is_match ? strlen(to) : 1)) return false;
    i += is_match ? length : 1;
  }
  return true;
}

static bool add_token(const Tokenizer *t, ByteBuffer *out, TextPiece token) {
  const Decoding *d = &t->decoding;
  if (d->kind == DECODE_BYTES) return add_bytes(out, token);
  if (d->kind == DECODE_METASPACE) return add_replaced(out, token, mark, " ");
  int32_t byte = d->has_fallback ? byte_of(token) : -1;
  char one = (char)byte;
  if (byte >= 0) return bytes_add(out, &one, 1);
  if (d->from) return add_replaced(out, token, d->from, d->to);
  return bytes_add(out, token.at, token.bytes);
}

char *tokenizer_decode(const Tokenizer *t, const uint32_t *ids, int64_t count,
                       bool leave_out_special, size_t *bytes) {
  ByteBuffer out = {0};
  bool is_good = bytes_add(&out, "", 0);
  for (int64_t i = 0; is_good && i < count; i++) {
    is_good = ids[i] < t->vocab && t->text[ids[i]].at != NULL;
    if (!is_good || (leave_out_special && t->is_special[ids[i]])) continue;
    is_good = add_token(t, &out, t->text[ids[i]]);
  }
  if (!is_good) {
    free(out.at);
    return NULL;
  }
  size_t blanks = 0;
  while (blanks < (size_t)t->decoding.strip_spaces && blanks < out.count && out.at[blanks] == ' ')
    blanks++;
  out.count -= blanks;
  memmove(out.at, out.at + blanks, out.count + 1);
  *bytes = out.count;
  return out.at;
}

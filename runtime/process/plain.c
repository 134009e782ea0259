/* plain.c -- decides which characters are printed unchanged, and escapes the others. */
#include "runtime/process/plain.h"

#include <string.h>

int letter_bytes(const char *text, const char *end) {
  const unsigned char *p = (const unsigned char *)text;
  int more = p[0] < 0x80 ? 0 : p[0] >= 0xf0 ? 3 : p[0] >= 0xe0 ? 2 : 1;
  if (p[0] == 0 || (p[0] >= 0x80 && p[0] < 0xc2) || p[0] > 0xf4 || end - text <= more) return 0;
  for (int i = 1; i <= more; i++)
    if ((p[i] & 0xc0) != 0x80) return 0;
  /* Overlong encodings, surrogates, or values beyond the last code point. */
  bool is_odd = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] >= 0xa0) ||
                (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] >= 0x90);
  return is_odd ? 0 : more + 1;
}

/* Control characters of ASCII and Latin-1, and those that change the direction of writing. */
static bool steers(const char *letter, int bytes) {
  const unsigned char *p = (const unsigned char *)letter;
  if (bytes == 1) return p[0] < 0x20 || p[0] == 0x7f;
  if (bytes == 2) return p[0] == 0xc2 && p[1] < 0xa0;
  if (bytes != 3 || p[0] != 0xe2) return false;
  bool is_mark = p[1] == 0x80 && (p[2] == 0x8e || p[2] == 0x8f || (p[2] >= 0xa8 && p[2] <= 0xae));
  return is_mark || (p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9);
}

int plain_letter(const char *text, const char *end, char out[PLAIN_LETTER_BYTES]) {
  static const char digits[] = "0123456789abcdef";
  int bytes = letter_bytes(text, end);
  if (bytes > 0 && !steers(text, bytes)) {
    memcpy(out, text, (size_t)bytes);
    out[bytes] = 0;
    return bytes;
  }
  if (bytes == 0) bytes = 1;
  char *at = out;
  for (int i = 0; i < bytes; i++) {
    unsigned char byte = (unsigned char)text[i];
    *at++ = '\\', *at++ = 'x', *at++ = digits[byte >> 4], *at++ = digits[byte & 15];
  }
  *at = 0;
  if (*text == '\n') memcpy(out, "\\n", 3);
  if (*text == '\t') memcpy(out, "\\t", 3);
  return bytes;
}

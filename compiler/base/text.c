/* text.c -- texts that come from outside: whether they are UTF-8, how they are printed so that no
 * byte of them steers a terminal or breaks JSON, and which known word is nearest. */
#include <ctype.h>
#include <string.h>

#include "compiler/base/base.h"

/* ---- UTF-8 */

/* Bytes of the letter at `text`, 0: there is none. */
static int letter_bytes(const char *text, const char *end) {
  const unsigned char *p = (const unsigned char *)text;
  int more = p[0] < 0x80 ? 0 : p[0] >= 0xf0 ? 3 : p[0] >= 0xe0 ? 2 : 1;
  if (p[0] == 0 || (p[0] >= 0x80 && p[0] < 0xc2) || p[0] > 0xf4 || end - text <= more) return 0;
  for (int i = 1; i <= more; i++)
    if ((p[i] & 0xc0) != 0x80) return 0;
  /* Written longer than need be, half of a pair, or beyond the last letter. */
  bool is_odd = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] >= 0xa0) ||
                (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] >= 0x90);
  return is_odd ? 0 : more + 1;
}

const char *text_find_bad(const char *text, const char *end) {
  while (text < end) {
    int bytes = letter_bytes(text, end);
    if (bytes == 0) return text;
    text += bytes;
  }
  return NULL;
}

/* ---- printing */

/* Control characters of ASCII and Latin-1, and those that change the direction of writing. */
static bool steers(const char *letter, int bytes) {
  const unsigned char *p = (const unsigned char *)letter;
  if (bytes == 1) return p[0] < 0x20 || p[0] == 0x7f;
  if (bytes == 2) return p[0] == 0xc2 && p[1] < 0xa0;
  if (bytes != 3 || p[0] != 0xe2) return false;
  bool is_mark = p[1] == 0x80 && (p[2] == 0x8e || p[2] == 0x8f || (p[2] >= 0xa8 && p[2] <= 0xae));
  return is_mark || (p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9);
}

/* Writes one letter, or what stands for it, into `out`; returns the letter's bytes. */
static int plain_letter(const char *text, const char *end, char out[16]) {
  int bytes = letter_bytes(text, end);
  bool is_good = bytes > 0 && !steers(text, bytes);
  if (is_good) {
    memcpy(out, text, (size_t)bytes);
    out[bytes] = 0;
    return bytes;
  }
  if (bytes == 0) bytes = 1;
  *out = 0;
  for (int i = 0; i < bytes; i++)
    snprintf(out + (size_t)i * 4, 5, "\\x%02x", (unsigned char)text[i]);
  if (*text == '\n') memcpy(out, "\\n", 3);
  if (*text == '\t') memcpy(out, "\\t", 3);
  return bytes;
}

void print_plain(const char *text, FILE *out) {
  char letter[16];
  for (const char *end = text + strlen(text); text < end;) {
    text += plain_letter(text, end, letter);
    fputs(letter, out);
  }
}

const char *text_plain(Arena *arena, const char *text) {
  size_t length = strlen(text), at = 0;
  char *plain = arena_alloc(arena, length * 4 + 16);
  for (const char *end = text + length; text < end;) {
    bool is_our_break = strncmp(text, "\n    ", 5) == 0;
    text += is_our_break ? 1 : plain_letter(text, end, plain + at);
    if (is_our_break) plain[at] = '\n';
    at += is_our_break ? 1 : strlen(plain + at);
  }
  return plain;
}

void print_json_text(const char *text, FILE *out) {
  const char *end = text != NULL ? text + strlen(text) : text;
  fputc('"', out);
  while (text < end) {
    int bytes = letter_bytes(text, end);
    unsigned char first = (unsigned char)*text;
    if (bytes == 0)
      fprintf(out, "\\\\x%02x", first);
    else if (first == '"' || first == '\\')
      fprintf(out, "\\%c", first);
    else if (first < 0x20 || first == 0x7f)
      fprintf(out, "\\u%04x", first);
    else if (first == 0xc2 && (unsigned char)text[1] < 0xa0)
      fprintf(out, "\\u%04x", (unsigned char)text[1]);
    else
      fwrite(text, 1, (size_t)bytes, out);
    text += bytes > 0 ? bytes : 1;
  }
  fputc('"', out);
}

/* ---- did you mean */

static bool is_same_letter(char a, char b) {
  return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Letters to add, drop, replace, or swap with their neighbour; capitals count as small ones. */
static int32_t edit_distance(const char *a, const char *b) {
  enum { LONGEST = 63 };
  int32_t rows[3][LONGEST + 1];
  size_t a_length = strlen(a), b_length = strlen(b);
  if (a_length > LONGEST || b_length > LONGEST) return LONGEST;
  for (size_t j = 0; j <= b_length; j++)
    rows[0][j] = (int32_t)j;
  for (size_t i = 1; i <= a_length; i++) {
    int32_t *row = rows[i % 3];
    const int32_t *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];
    row[0] = (int32_t)i;
    for (size_t j = 1; j <= b_length; j++) {
      int32_t best = above[j - 1] + !is_same_letter(a[i - 1], b[j - 1]);
      if (above[j] + 1 < best) best = above[j] + 1;
      if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
      bool is_swapped = i > 1 && j > 1 && is_same_letter(a[i - 1], b[j - 2]) &&
                        is_same_letter(a[i - 2], b[j - 1]);
      if (is_swapped && two_above[j - 2] + 1 < best) best = two_above[j - 2] + 1;
      row[j] = best;
    }
  }
  return rows[a_length % 3][b_length];
}

/* Swapped, doubled or left out where it stands twice: "pt" and "tpp" for "tp". */
static bool has_same_letters(const char *a, const char *b) {
  return strspn(a, b) == strlen(a) && strspn(b, a) == strlen(b);
}

/* A short word has many neighbours that mean something else: tp is no slip for ep, split none for
 * select. Longer ones may differ more. */
static bool is_near(const char *a, const char *b, int32_t distance) {
  size_t longer = strlen(a) > strlen(b) ? strlen(a) : strlen(b);
  if (longer <= 3) return distance == 1 && has_same_letters(a, b);
  return distance <= (longer <= 5 ? 1 : longer <= 8 ? 2 : 3);
}

const char *nearest_word(const char *word, const char *const *words, int32_t count) {
  const char *best = NULL;
  int32_t best_distance = 4;
  for (int32_t i = 0; i < count; i++) {
    int32_t distance = edit_distance(word, words[i]);
    if (distance >= best_distance || (distance > 0 && !is_near(word, words[i], distance))) continue;
    best = words[i];
    best_distance = distance;
  }
  return best;
}

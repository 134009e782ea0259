/* text.c -- text from outside: whether it is UTF-8, how it is printed so that none of its bytes
 * controls a terminal or breaks JSON, and which known word is nearest. */
#include <ctype.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/base/base.h"
#include "runtime/process/plain.h"

const char *text_find_bad(const char *text, const char *end) {
  while (text < end) {
    int bytes = letter_bytes(text, end);
    if (bytes == 0) return text;
    text += bytes;
  }
  return NULL;
}

/* ---- printing */

void print_plain(const char *text, FILE *out) {
  char letter[PLAIN_LETTER_BYTES];
  for (const char *end = text + strlen(text); text < end;) {
    text += plain_letter(text, end, letter);
    fputs(letter, out);
  }
}

const char *text_plain(Arena *arena, const char *text) {
  size_t length = strlen(text), at = 0;
  char *plain = arena_alloc(arena, length * 4 + PLAIN_LETTER_BYTES);
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

void print_xml_text(const char *text, FILE *out) {
  const char *end = text + strlen(text);
  while (text < end) {
    const int bytes = letter_bytes(text, end);
    if (*text == '<')
      fputs("&lt;", out);
    else if (*text == '&')
      fputs("&amp;", out);
    else if (*text == '"')
      fputs("&quot;", out);
    else if (bytes == 0 || (unsigned char)*text < ' ')
      fputc('?', out);
    else
      fwrite(text, 1, (size_t)bytes, out);
    text += bytes > 0 ? bytes : 1;
  }
}

/* ---- did you mean */

static bool is_same_letter(char a, char b) {
  return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* The number of letters to add, drop, replace or swap with a neighbour. Case is ignored. */
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

/* True if letters are only swapped, doubled, or missing where one is doubled: "pt" and "tpp" for
 * "tp". */
static bool has_same_letters(const char *a, const char *b) {
  return strspn(a, b) == strlen(a) && strspn(b, a) == strlen(b);
}

/* Short words have many neighbours with another meaning: tp is not a typing error for ep, nor split
 * for select. Longer words may differ more. */
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

const char *file_beside(Arena *arena, const char *path) {
  struct stat status;
  const bool is_special = lstat(path, &status) == 0 && !S_ISREG(status.st_mode);
  return is_special ? path : arena_printf(arena, "%s.new", path);
}

void file_forget(const char *beside, const char *path) {
  if (strcmp(beside, path) != 0) (void)unlink(beside);
}

/* normal.c -- the normalizer's steps over a text, and UTF-8. */
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "runtime/tokenizer/inside.h"

size_t utf8_valid(const char *text, size_t bytes) {
  size_t i = 0;
  utf8proc_int32_t character;
  while (i < bytes) {
    if ((uint8_t)text[i] < 0x80) {
      i++;
      continue;
    }
    utf8proc_ssize_t count = utf8proc_iterate((const utf8proc_uint8_t *)text + i,
                                              (utf8proc_ssize_t)(bytes - i), &character);
    if (count < 1) return i;
    i += (size_t)count;
  }
  return bytes;
}

/* Below U+0300 every text is composed. */
static bool is_composed(const char *text, size_t bytes) {
  for (size_t i = 0; i < bytes; i++)
    if ((uint8_t)text[i] >= 0xcc) return false;
  return true;
}

static bool compose(const char *text, size_t bytes, ByteBuffer *out) {
  utf8proc_uint8_t *composed = NULL;
  if (is_composed(text, bytes)) return bytes_add(out, text, bytes);
  utf8proc_ssize_t count = utf8proc_map((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)bytes,
                                        &composed, UTF8PROC_STABLE | UTF8PROC_COMPOSE);
  bool is_good = count >= 0 && bytes_add(out, (const char *)composed, (size_t)count);
  free(composed);
  return is_good;
}

static bool replace(const char *text, size_t bytes, const Normal *step, ByteBuffer *out) {
  const size_t from = strlen(step->from), to = strlen(step->to);
  size_t begin = 0;
  for (size_t i = 0; i + from <= bytes;) {
    if (text[i] != step->from[0] || memcmp(text + i, step->from, from) != 0) {
      i++;
      continue;
    }
    if (!bytes_add(out, text + begin, i - begin) || !bytes_add(out, step->to, to)) return false;
    i += from;
    begin = i;
  }
  return bytes_add(out, text + begin, bytes - begin);
}

bool tokenizer_normalize(const Tokenizer *t, const char *text, size_t bytes, ByteBuffer *out,
                         ByteBuffer *other) {
  out->count = 0;
  if (!bytes_add(out, text, bytes)) return false;
  for (int32_t i = 0; i < t->normals; i++) {
    const Normal *step = &t->normal[i];
    ByteBuffer before = *out;
    *out = *other, *other = before;
    out->count = 0;
    bool is_good = true;
    if (step->kind == NORMAL_NFC) is_good = compose(before.at, before.count, out);
    if (step->kind == NORMAL_REPLACE) is_good = replace(before.at, before.count, step, out);
    if (step->kind == NORMAL_PREPEND)
      is_good = (before.count == 0 || bytes_add(out, step->to, strlen(step->to))) &&
                bytes_add(out, before.at, before.count);
    if (!is_good) return false;
  }
  return true;
}

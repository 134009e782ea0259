/* leaves.c -- what readers make: keys with values and places. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "compiler/job/import/import.h"

/* Places of keys by hash: a file with 10,000 keys is not compared pair by pair. */
bool key_once(Import *im, const char *key, Span at) {
  if (im->seen_count * 2 >= im->seen_room) {
    int32_t room = im->seen_room ? im->seen_room * 2 : 256;
    uint64_t *hashes = ARENA_ARRAY(im->c->arena, uint64_t, room);
    Span *places = ARENA_ARRAY(im->c->arena, Span, room);
    for (int32_t i = 0; i < im->seen_room; i++) {
      if (im->seen[i] == 0) continue;
      uint64_t to = im->seen[i] % (uint64_t)room;
      while (hashes[to] != 0)
        to = (to + 1) % (uint64_t)room;
      hashes[to] = im->seen[i];
      places[to] = im->seen_at[i];
    }
    im->seen = hashes;
    im->seen_at = places;
    im->seen_room = room;
  }
  uint64_t hash = hash_text(key) ^ hash_text(im->file) * 31;
  if (hash == 0) hash = 1;
  uint64_t to = hash % (uint64_t)im->seen_room;
  for (; im->seen[to] != 0; to = (to + 1) % (uint64_t)im->seen_room)
    if (im->seen[to] == hash)
      return error_at(im->c, at, "repeated-key", "%s is here twice; the first is %s:%d:%d",
                      text_plain(im->c->arena, key), im->seen_at[to].file, im->seen_at[to].line,
                      im->seen_at[to].column);
  im->seen[to] = hash;
  im->seen_at[to] = at;
  im->seen_count++;
  return true;
}

Leaf *leaf_add(Import *im, const char *key, LeafKind kind, const char *text, Span at) {
  if (im->leaves.count >= KEYS_MOST) {
    error_at(im->c, at, "limit", "more than %d keys", KEYS_MOST);
    return NULL;
  }
  if (strlen(key) > PATH_MOST) {
    error_at(im->c, at, "limit", "a key of more than %d bytes", PATH_MOST);
    return NULL;
  }
  Leaf leaf = {.tool = im->tool, .key = key, .shown = key, .at = at, .kind = kind, .text = text};
  VEC_PUSH(im->c->arena, &im->leaves, leaf);
  return &im->leaves.at[im->leaves.count - 1];
}

bool text_number(const char *text, double *number) {
  char *end;
  size_t digits = strspn(text, "+-.0123456789eE_");
  if (!*text || digits != strlen(text) || !strpbrk(text, "0123456789")) return false;
  char plain[64];
  size_t count = 0;
  for (const char *p = text; *p; p++) {
    if (*p == '_') continue;
    if (count + 1 >= sizeof plain) return false;
    plain[count++] = *p;
  }
  plain[count] = 0;
  *number = strtod(plain, &end);
  return end > plain && *end == 0 && isfinite(*number);
}

void leaf_guess(Leaf *leaf) {
  if (leaf->kind != LEAF_TEXT) return;
  if (text_number(leaf->text, &leaf->number)) {
    leaf->kind = LEAF_NUMBER;
  } else if (strcasecmp(leaf->text, "true") == 0 || strcasecmp(leaf->text, "false") == 0) {
    leaf->kind = LEAF_FLAG;
    leaf->number = strcasecmp(leaf->text, "true") == 0;
  } else if (strcmp(leaf->text, "null") == 0 || strcmp(leaf->text, "None") == 0 ||
             strcmp(leaf->text, "~") == 0) {
    leaf->kind = LEAF_NULL;
  }
}

Leaf *leaf_find(Import *im, int32_t tool, const char *key) {
  Leaf *found = NULL;
  for (int32_t i = 0; i < im->leaves.count; i++) {
    Leaf *leaf = &im->leaves.at[i];
    if (leaf->tool == tool && word_is_same(leaf->key, key) && leaf->how <= HOW_USED) found = leaf;
  }
  return found;
}

const char *leaf_file(const Leaf *leaf) {
  const char *slash = strrchr(leaf->at.file, '/');
  return slash ? slash + 1 : leaf->at.file;
}

bool leaf_is_auto(const Leaf *leaf) {
  return leaf->kind == LEAF_NULL || (leaf->kind == LEAF_TEXT && strcmp(leaf->text, "auto") == 0);
}

bool leaf_true(const Leaf *leaf) {
  if (leaf->kind == LEAF_TEXT)
    return strcasecmp(leaf->text, "true") == 0 || strcasecmp(leaf->text, "yes") == 0;
  return (leaf->kind == LEAF_FLAG || leaf->kind == LEAF_NUMBER) && leaf->number != 0;
}

char *import_text(Import *im, const char *path, size_t *size) {
  Span at = {.file = path};
  FILE *file = fopen(path, "rb");
  if (!file) {
    error_at(im->c, at, "no-file", "%s", strerror(errno));
    return NULL;
  }
  VEC_PUSH(im->c->arena, &im->c->read, ((ReadFile){.path = path}));
  struct stat about;
  bool is_short = fstat(fileno(file), &about) == 0 && S_ISREG(about.st_mode) &&
                  about.st_size <= FILE_MOST; /* a pipe does not report its length */
  size_t room = is_short ? (size_t)about.st_size + 1 : FILE_MOST + 1;
  char *text = arena_alloc(im->c->arena, room + 1);
  *size = fread(text, 1, room, file);
  bool is_unread = ferror(file) != 0;
  fclose(file);
  if (is_unread) {
    error_at(im->c, at, "no-file", "it cannot be read: %s", strerror(errno));
    return NULL;
  }
  text[*size] = 0;
  if (*size > FILE_MOST) {
    error_at(im->c, at, "limit", "the file is larger than 1 MiB");
    return NULL;
  }
  if (*size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
    *size -= 3;
    memmove(text, text + 3, *size + 1);
  }
  if (memchr(text, 0, *size) || text_find_bad(text, text + *size)) {
    error_at(im->c, at, "not-text", "the file is not UTF-8 text");
    return NULL;
  }
  return text;
}

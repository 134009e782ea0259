/* documents.c -- reads documents from JSON lines: { "ids": [5, 9], "mask": [0, 1] } with one
 * document a line. The mask is optional: 1 where an id is a target of the loss. */
#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/json/json.h"
#include "runtime/tokens/tokens.h"

enum { ID_MAX = INT32_MAX - 1 }; /* runs hold ids as int32, and count them */

/* The documents read so far. `is_target` has a byte for every id. */
typedef struct Reader {
  const char *path;
  int64_t line;
  uint32_t *ids;
  uint8_t *is_target;
  int64_t *start;
  int64_t count, room; /* ids */
  int64_t documents, documents_room;
  uint32_t most;
  bool has_mask;
  char *why;
} Reader;

static bool refuse(const Reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool refuse(const Reader *r, const char *format, ...) {
  va_list list;
  int at = r->line > 0
               ? snprintf(r->why, TOKENS_WHY_BYTES, "%.160s:%lld: ", r->path, (long long)r->line)
               : snprintf(r->why, TOKENS_WHY_BYTES, "%.160s: ", r->path);
  va_start(list, format);
  (void)vsnprintf(r->why + at, TOKENS_WHY_BYTES - (size_t)at, format, list);
  va_end(list);
  return false;
}

static bool make_room(Reader *r, int64_t ids) {
  if (r->documents + 2 > r->documents_room) {
    int64_t room = 2 * r->documents_room + 1024;
    int64_t *start = realloc(r->start, (size_t)room * sizeof *start);
    if (!start) return refuse(r, "not enough memory");
    r->start = start, r->documents_room = room;
  }
  if (r->count + ids <= r->room) return true;
  int64_t room = 2 * r->room + ids + 65536;
  uint32_t *more = realloc(r->ids, (size_t)room * sizeof *more);
  if (more) r->ids = more;
  uint8_t *targets = more ? realloc(r->is_target, (size_t)room) : NULL;
  if (!targets) return refuse(r, "not enough memory");
  r->is_target = targets, r->room = room;
  return true;
}

static bool check_keys(const Reader *r, json_t *object) {
  const char *key;
  json_t *value;
  json_object_foreach(object, key, value) {
    bool is_text = strcmp(key, "text") == 0 || strcmp(key, "prompt") == 0 ||
                   strcmp(key, "completion") == 0 || strcmp(key, "messages") == 0;
    if (is_text)
      return refuse(r,
                    "\"%s\" wants a tokenizer, which is not built yet: write the ids of another "
                    "tokenizer, { \"ids\": [...], \"mask\": [...] }",
                    key);
    if (strcmp(key, "ids") != 0 && strcmp(key, "mask") != 0)
      return refuse(r,
                    "\"%.40s\" is no key of a document: it has \"ids\", and \"mask\" if some ids "
                    "are no targets",
                    key);
  }
  return true;
}

static bool read_ids(Reader *r, json_t *ids) {
  const size_t count = json_array_size(ids);
  if (count == 0) return refuse(r, "\"ids\" is no list of whole numbers");
  if (!make_room(r, (int64_t)count)) return false;
  assert(r->ids != NULL && r->is_target != NULL);
  for (size_t i = 0; i < count; i++) {
    json_t *id = json_array_get(ids, i);
    if (!json_is_integer(id) || json_integer_value(id) < 0 || json_integer_value(id) > ID_MAX)
      return refuse(r, "id %zu is no whole number from 0 to %d", i, ID_MAX);
    uint32_t value = (uint32_t)json_integer_value(id);
    r->ids[r->count + (int64_t)i] = value;
    if (value > r->most) r->most = value;
  }
  return true;
}

/* After the ids: of as many entries, each 0 or 1, true or false. Without one every id is a target.
 */
static bool read_mask(Reader *r, json_t *mask, int64_t count) {
  assert(r->is_target != NULL);
  uint8_t *out = r->is_target + r->count;
  memset(out, 1, (size_t)count);
  if (mask == NULL) return true;
  if ((int64_t)json_array_size(mask) != count)
    return refuse(r, "\"mask\" is %zu long, and \"ids\" %lld", json_array_size(mask),
                  (long long)count);
  for (int64_t i = 0; i < count; i++) {
    json_t *entry = json_array_get(mask, (size_t)i);
    bool is_bit = json_is_integer(entry) && (json_integer_value(entry) | 1) == 1;
    if (!is_bit && !json_is_boolean(entry))
      return refuse(r, "entry %lld of \"mask\" is not 0 or 1", (long long)i);
    out[i] = is_bit ? json_integer_value(entry) != 0 : json_is_true(entry);
  }
  r->has_mask = true;
  return true;
}

static bool read_line(Reader *r, const char *text, size_t bytes) {
  JsonFault fault;
  if (text[strspn(text, " \t\r\n")] == '\0' && strlen(text) == bytes) return true; /* blank */
  json_t *object = json_read(text, bytes, &fault);
  if (!object) return refuse(r, "%s, at byte %zu of the line", fault.why, fault.first_byte);
  json_t *ids = json_object_get(object, "ids");
  bool is_good = json_is_object(object) ? check_keys(r, object) : refuse(r, "is no JSON object");
  is_good = is_good && read_ids(r, ids) &&
            read_mask(r, json_object_get(object, "mask"), (int64_t)json_array_size(ids));
  if (is_good) {
    r->start[r->documents++] = r->count;
    r->count += (int64_t)json_array_size(ids);
  }
  json_decref(object);
  return is_good;
}

bool tokens_read_documents(const char *path, TokDocuments *all, char why[TOKENS_WHY_BYTES]) {
  Reader r = {.path = path, .why = why};
  char *text = NULL;
  size_t room = 0;
  ssize_t bytes = 0;
  *all = (TokDocuments){0};
  FILE *file = fopen(path, "re");
  bool is_good = file != NULL || refuse(&r, "%s", strerror(errno));
  while (is_good && (bytes = getline(&text, &room, file)) >= 0) {
    r.line++;
    is_good = read_line(&r, text, (size_t)bytes);
  }
  if (is_good && ferror(file)) is_good = refuse(&r, "cannot be read: %s", strerror(errno));
  if (is_good && r.documents == 0) is_good = refuse(&r, "holds no documents");
  free(text);
  if (file) fclose(file);
  assert(!is_good || r.start != NULL);
  if (is_good) r.start[r.documents] = r.count;
  *all = (TokDocuments){r.ids, r.is_target, r.start, r.documents, r.most + 1, 0};
  if (!is_good) tokens_free_documents(all);
  if (!r.has_mask && is_good) free(r.is_target), all->is_target = NULL;
  return is_good;
}

void tokens_free_documents(TokDocuments *all) {
  free((void *)all->ids);
  free((void *)all->is_target);
  free((void *)all->start);
  *all = (TokDocuments){0};
}

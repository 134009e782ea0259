/* open.c -- reads a tokenizer.json: each part of the file has a function, and a part or key that no
 * function knows is refused. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "runtime/json/json.h"
#include "runtime/tokenizer/inside.h"

enum { PATH_BYTES = 4096 };
static const size_t file_bytes_max = (size_t)256 << 20;

bool tokenizer_refuse(TokenizerReading *r, const char *format, ...) {
  va_list list;
  int at = snprintf(r->why, TOKENIZER_WHY_BYTES, "%.200s: ", r->t->path);
  va_start(list, format);
  (void)vsnprintf(r->why + at, TOKENIZER_WHY_BYTES - (size_t)at, format, list);
  va_end(list);
  return false;
}

bool tokenizer_check_keys(TokenizerReading *r, json_t *object, const char *place,
                          const char *known) {
  const char *key;
  json_t *value;
  char word[64];
  if (!json_is_object(object)) return tokenizer_refuse(r, "%s is no object", place);
  json_object_foreach(object, key, value) {
    (void)snprintf(word, sizeof word, " %.60s ", key);
    if (!strstr(known, word))
      return tokenizer_refuse(r, "%s.%.60s is not known here, and could change ids", place, key);
  }
  return true;
}

bool tokenizer_text(TokenizerReading *r, json_t *object, const char *place, const char *key,
                    char **out) {
  const char *text = json_text(object, key);
  if (!text) return tokenizer_refuse(r, "%s.%s is missing, or no text", place, key);
  *out = strdup(text);
  return *out != NULL || tokenizer_refuse(r, "not enough memory");
}

/* Steps that would change ids and that fine-tuning tools leave in the file. */
static bool check_absent(TokenizerReading *r, json_t *root, const char *key) {
  json_t *value = json_object_get(root, key);
  return value == NULL || json_is_null(value) ||
         tokenizer_refuse(r, "%s is set, and would cut or pad every text: set it to null", key);
}

/* Hugging Face refuses others, too. */
static bool check_version(TokenizerReading *r, json_t *root) {
  const char *version = json_text(root, "version");
  return json_object_get(root, "version") == NULL ||
         (version != NULL && strcmp(version, "1.0") == 0) ||
         tokenizer_refuse(r, "version is not \"1.0\", so its parts could mean something else");
}

static bool read_parts(TokenizerReading *r, json_t *root) {
  return tokenizer_check_keys(r, root, "$",
                              " version truncation padding added_tokens normalizer pre_tokenizer "
                              "post_processor decoder model ") &&
         check_version(r, root) && check_absent(r, root, "truncation") &&
         check_absent(r, root, "padding") &&
         tokenizer_read_normalizer(r, json_object_get(root, "normalizer")) &&
         tokenizer_read_split(r, json_object_get(root, "pre_tokenizer")) &&
         tokenizer_read_decoder(r, json_object_get(root, "decoder")) &&
         tokenizer_read_model(r, json_object_get(root, "model")) &&
         tokenizer_read_added(r, json_object_get(root, "added_tokens")) &&
         tokenizer_read_ends(r, json_object_get(root, "post_processor"));
}

Tokenizer *tokenizer_read(const char *path, const char *text, size_t bytes,
                          char why[TOKENIZER_WHY_BYTES]) {
  JsonFault fault;
  Tokenizer *t = calloc(1, sizeof *t);
  TokenizerReading r = {t, why};
  (void)snprintf(why, TOKENIZER_WHY_BYTES, "not enough memory");
  if (!t) return NULL;
  t->path = strdup(path);
  t->hash = XXH3_64bits(text, bytes);
  json_t *root = t->path ? json_read(text, bytes, &fault) : NULL;
  bool is_good = root != NULL;
  if (t->path && !root)
    (void)tokenizer_refuse(&r, "is no JSON: %s, at byte %zu", fault.why, fault.first_byte);
  is_good = is_good && read_parts(&r, root);
  json_decref(root);
  if (is_good) return t;
  tokenizer_free(t);
  return NULL;
}

static char *read_file(const char *path, size_t *bytes, char why[TOKENIZER_WHY_BYTES]) {
  FILE *file = fopen(path, "rbe");
  struct stat status = {0};
  bool is_known = file && fstat(fileno(file), &status) == 0;
  if (!is_known) (void)snprintf(why, TOKENIZER_WHY_BYTES, "%.200s: %s", path, strerror(errno));
  *bytes = (size_t)status.st_size;
  bool fits = is_known && S_ISREG(status.st_mode) && *bytes <= file_bytes_max;
  if (is_known && !fits)
    (void)snprintf(why, TOKENIZER_WHY_BYTES, "%.200s: is no tokenizer.json: %s", path,
                   S_ISREG(status.st_mode) ? "it is longer than any" : "it is no file");
  char *text = fits ? malloc(*bytes + 1) : NULL;
  if (fits && !text) (void)snprintf(why, TOKENIZER_WHY_BYTES, "%.200s: not enough memory", path);
  if (text && fread(text, 1, *bytes, file) != *bytes) {
    (void)snprintf(why, TOKENIZER_WHY_BYTES, "%.200s: cannot be read whole", path);
    free(text);
    text = NULL;
  }
  if (file) (void)fclose(file);
  return text;
}

/* Other files of tokenizers, in a folder without a tokenizer.json. */
static void explain_absent(const char *folder, char why[TOKENIZER_WHY_BYTES]) {
  struct stat status;
  char path[PATH_BYTES];
  (void)snprintf(path, sizeof path, "%.4000s/tokenizer.model", folder);
  bool has_model = stat(path, &status) == 0;
  (void)snprintf(why, TOKENIZER_WHY_BYTES,
                 "%.160s: has no tokenizer.json%s: save it with transformers, "
                 "AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER)",
                 folder, has_model ? "; its tokenizer.model is not read" : "");
}

Tokenizer *tokenizer_open(const char *path, char why[TOKENIZER_WHY_BYTES]) {
  struct stat status;
  char file[PATH_BYTES];
  size_t bytes = 0;
  (void)snprintf(file, sizeof file, "%.4000s", path);
  if (stat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
    (void)snprintf(file, sizeof file, "%.4000s/tokenizer.json", path);
    if (stat(file, &status) != 0) {
      explain_absent(path, why);
      return NULL;
    }
  }
  char *text = read_file(file, &bytes, why);
  Tokenizer *t = text ? tokenizer_read(file, text, bytes, why) : NULL;
  free(text);
  return t;
}

static void free_trie(Trie *trie) {
  free(trie->node);
}

void tokenizer_free(Tokenizer *t) {
  if (!t) return;
  for (int32_t i = 0; i < t->normals; i++)
    free(t->normal[i].from), free(t->normal[i].to);
  for (int32_t i = 0; i < t->splits; i++)
    pcre2_code_free(t->split[i].code), free(t->split[i].mark);
  for (int32_t i = 0; i < t->added_count; i++)
    free(t->added[i].content);
  free_trie(&t->raw);
  free_trie(&t->normalized);
  free(t->added);
  free(t->decoding.from), free(t->decoding.to);
  free(t->words.text), free(t->words.id);
  free(t->text), free(t->pool), free(t->merges), free(t->is_special);
  free(t->path);
  free(t);
}

uint32_t tokenizer_vocab(const Tokenizer *t) {
  return t->vocab;
}
uint64_t tokenizer_hash(const Tokenizer *t) {
  return t->hash;
}
const char *tokenizer_path(const Tokenizer *t) {
  return t->path;
}
TokenizerEnds tokenizer_ends(const Tokenizer *t) {
  return t->ends;
}

int64_t tokenizer_id(const Tokenizer *t, const char *content) {
  size_t bytes = strlen(content);
  for (int32_t i = 0; i < t->added_count; i++)
    if (strcmp(t->added[i].content, content) == 0) return t->added[i].id;
  for (uint32_t id = 0; id < t->vocab; id++)
    if (t->text[id].at && t->text[id].bytes == bytes && memcmp(t->text[id].at, content, bytes) == 0)
      return id;
  return NO_TOKEN;
}

void tokenizer_free_ids(TokenIds *ids) {
  free(ids->at);
  *ids = (TokenIds){0};
}

bool ids_add(TokenIds *ids, uint32_t id) {
  if (ids->count == ids->room) {
    int64_t room = 2 * ids->room + 256;
    uint32_t *at = realloc(ids->at, (size_t)room * sizeof *at);
    if (!at) return false;
    ids->at = at, ids->room = room;
  }
  ids->at[ids->count++] = id;
  return true;
}

bool bytes_add(ByteBuffer *buffer, const char *bytes, size_t count) {
  if (buffer->count + count + 1 > buffer->room) {
    size_t room = 2 * buffer->room + count + 256;
    char *at = realloc(buffer->at, room);
    if (!at) return false;
    buffer->at = at, buffer->room = room;
  }
  if (count > 0) memcpy(buffer->at + buffer->count, bytes, count);
  buffer->count += count;
  buffer->at[buffer->count] = '\0';
  return true;
}

/* model.c -- the vocabulary and the merges of a tokenizer.json, as tables.
 *
 * A byte-level vocabulary writes bytes as characters: words are kept by the bytes that they match.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "runtime/json/json.h"
#include "runtime/tokenizer/inside.h"

enum { ID_MAX = 1 << 24 };

/* ---- GPT-2's alphabet: printable bytes are themselves, the others follow from U+0100 on */

static bool is_printable(uint32_t byte) {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

uint32_t byte_character(uint8_t byte) {
  uint32_t others = 0;
  if (is_printable(byte)) return byte;
  for (uint32_t b = 0; b < byte; b++)
    others += !is_printable(b);
  return 256 + others;
}

/* The byte that a character means, or -1. */
static int32_t character_byte(uint32_t character) {
  uint32_t others = 256;
  if (character < 256) return is_printable(character) ? (int32_t)character : -1;
  for (uint32_t b = 0; b < 256; b++)
    if (!is_printable(b) && others++ == character) return (int32_t)b;
  return -1;
}

int64_t bytes_of_characters(const char *text, size_t count, char *out) {
  int64_t bytes = 0;
  for (size_t i = 0; i < count;) {
    uint8_t first = (uint8_t)text[i];
    uint32_t character = first;
    if (first >= 0x80) {
      if (first >= 0xe0 || i + 1 >= count) return -1;
      character = (uint32_t)(first & 0x1f) << 6 | ((uint8_t)text[i + 1] & 0x3f);
    }
    int32_t byte = character_byte(character);
    if (byte < 0) return -1;
    out[bytes++] = (char)byte;
    i += first < 0x80 ? 1 : 2;
  }
  return bytes;
}

/* ---- tables */

static size_t room_for(size_t count) {
  size_t room = 64;
  while (room < 2 * count)
    room *= 2;
  return room;
}

static size_t word_slot(const TokenTable *words, const char *text, size_t bytes) {
  size_t i = (size_t)XXH3_64bits(text, bytes) & (words->room - 1);
  while (words->text[i].at &&
         (words->text[i].bytes != bytes || memcmp(words->text[i].at, text, bytes) != 0))
    i = (i + 1) & (words->room - 1);
  return i;
}

int32_t vocabulary_find(const TokenTable *words, const char *text, size_t bytes) {
  size_t i = word_slot(words, text, bytes);
  return words->text[i].at ? words->id[i] : NO_TOKEN;
}

static size_t merge_slot(const Tokenizer *t, uint32_t left, uint32_t right) {
  uint64_t key = ((uint64_t)left << 32 | right) * 0x9e3779b97f4a7c15u;
  size_t i = (size_t)(key >> 32) & (t->merge_room - 1);
  while (t->merges[i].id != NO_MERGE && (t->merges[i].left != left || t->merges[i].right != right))
    i = (i + 1) & (t->merge_room - 1);
  return i;
}

const TokenMerge *merge_find(const Tokenizer *t, uint32_t left, uint32_t right) {
  const TokenMerge *merge = &t->merges[merge_slot(t, left, right)];
  return merge->id == NO_MERGE ? NULL : merge;
}

/* ---- the vocabulary */

static bool count_tokens(TokenizerReading *r, json_t *vocab, size_t *bytes) {
  const char *token;
  json_t *id;
  json_int_t most = -1;
  if (!json_is_object(vocab) || json_object_size(vocab) == 0)
    return tokenizer_refuse(r, "model.vocab is missing, or no object with tokens");
  *bytes = 0;
  json_object_foreach(vocab, token, id) {
    if (!json_is_integer(id) || json_integer_value(id) < 0 || json_integer_value(id) >= ID_MAX)
      return tokenizer_refuse(r, "model.vocab: the id of \"%.60s\" is no whole number below %d",
                              token, ID_MAX);
    if (json_integer_value(id) > most) most = json_integer_value(id);
    *bytes += strlen(token) + 1;
  }
  r->t->vocab = (uint32_t)most + 1;
  return true;
}

/* The first half of the pool has texts as in the file, the second the bytes that they match. */
static bool fill_words(TokenizerReading *r, json_t *vocab, size_t bytes) {
  Tokenizer *t = r->t;
  const char *token;
  json_t *value;
  char *at = t->pool, *matched = t->pool + bytes;
  json_object_foreach(vocab, token, value) {
    uint32_t id = (uint32_t)json_integer_value(value);
    size_t count = strlen(token);
    if (t->text[id].at)
      return tokenizer_refuse(r, "model.vocab: \"%.60s\" and \"%.60s\" have the same id %u",
                              t->text[id].at, token, id);
    memcpy(at, token, count + 1);
    t->text[id] = (TextPiece){at, count};
    at += count + 1;
    memcpy(matched, token, count + 1);
    int64_t length = t->is_byte_level ? bytes_of_characters(token, count, matched) : (int64_t)count;
    if (length < 0) continue; /* no piece of a text can be this token */
    size_t slot = word_slot(&t->words, matched, (size_t)length);
    t->words.text[slot] = (TextPiece){matched, (size_t)length};
    t->words.id[slot] = (int32_t)id;
    matched += length;
  }
  return true;
}

static bool read_vocab(TokenizerReading *r, json_t *vocab) {
  Tokenizer *t = r->t;
  size_t bytes = 0;
  if (!count_tokens(r, vocab, &bytes)) return false;
  assert(t->vocab > 0);
  t->words.room = room_for(json_object_size(vocab));
  t->words.text = calloc(t->words.room, sizeof *t->words.text);
  t->words.id = calloc(t->words.room, sizeof *t->words.id);
  t->text = calloc(t->vocab, sizeof *t->text);
  t->pool = malloc(2 * bytes + 1);
  if (!t->words.text || !t->words.id || !t->text || !t->pool)
    return tokenizer_refuse(r, "not enough memory");
  return fill_words(r, vocab, bytes);
}

/* ---- merges: texts "a b", or pairs */

static int32_t id_of(json_t *vocab, const char *text, size_t bytes) {
  json_t *id = json_object_getn(vocab, text, bytes);
  return id ? (int32_t)json_integer_value(id) : NO_TOKEN;
}

static bool split_merge(TokenizerReading *r, json_t *merge, size_t rank, TextPiece part[2]) {
  if (json_is_string(merge)) {
    const char *text = json_string_value(merge), *blank = strchr(text, ' ');
    if (!blank || strchr(blank + 1, ' '))
      return tokenizer_refuse(r, "model.merges[%zu] is not two tokens with a blank between", rank);
    part[0] = (TextPiece){text, (size_t)(blank - text)};
    part[1] = (TextPiece){blank + 1, strlen(blank + 1)};
    return true;
  }
  for (size_t i = 0; i < 2; i++) {
    const char *text = json_string_value(json_array_get(merge, i));
    if (!text || json_array_size(merge) != 2)
      return tokenizer_refuse(r, "model.merges[%zu] is no pair of tokens", rank);
    part[i] = (TextPiece){text, strlen(text)};
  }
  return true;
}

static bool add_merge(TokenizerReading *r, json_t *vocab, size_t rank, const TextPiece part[2],
                      ByteBuffer *joined) {
  Tokenizer *t = r->t;
  int32_t id[3] = {id_of(vocab, part[0].at, part[0].bytes), id_of(vocab, part[1].at, part[1].bytes),
                   NO_TOKEN};
  joined->count = 0;
  if (!bytes_add(joined, part[0].at, part[0].bytes) ||
      !bytes_add(joined, part[1].at, part[1].bytes))
    return tokenizer_refuse(r, "not enough memory");
  id[2] = id_of(vocab, joined->at, joined->count);
  for (int i = 0; i < 3; i++)
    if (id[i] < 0)
      return tokenizer_refuse(r, "model.merges[%zu]: \"%.*s\" is not in model.vocab", rank,
                              i < 2 && part[i].bytes < 60 ? (int)part[i].bytes : 60,
                              i < 2 ? part[i].at : joined->at);
  size_t slot = merge_slot(t, (uint32_t)id[0], (uint32_t)id[1]);
  t->merges[slot] = (TokenMerge){(uint32_t)id[0], (uint32_t)id[1], (uint32_t)id[2], (uint32_t)rank};
  return true;
}

static bool read_merges(TokenizerReading *r, json_t *vocab, json_t *merges) {
  Tokenizer *t = r->t;
  ByteBuffer joined = {0};
  bool is_good = true;
  if (!json_is_array(merges)) return tokenizer_refuse(r, "model.merges is missing, or no list");
  t->merge_room = room_for(json_array_size(merges));
  t->merges = malloc(t->merge_room * sizeof *t->merges);
  if (!t->merges) return tokenizer_refuse(r, "not enough memory");
  memset(t->merges, 0xff, t->merge_room * sizeof *t->merges);
  for (size_t rank = 0; is_good && rank < json_array_size(merges); rank++) {
    TextPiece part[2] = {{"", 0}, {"", 0}};
    is_good = split_merge(r, json_array_get(merges, rank), rank, part) &&
              add_merge(r, vocab, rank, part, &joined);
  }
  free(joined.at);
  return is_good;
}

/* ---- tokens of one byte */

static bool find_bytes(TokenizerReading *r) {
  Tokenizer *t = r->t;
  char name[8];
  for (uint32_t b = 0; b < 256; b++) {
    char byte = (char)b;
    (void)snprintf(name, sizeof name, "<0x%02X>", b);
    t->byte_id[b] = t->is_byte_level ? vocabulary_find(&t->words, &byte, 1)
                                     : vocabulary_find(&t->words, name, strlen(name));
    if (t->is_byte_level && t->byte_fallback && t->byte_id[b] < 0)
      return tokenizer_refuse(r, "model.byte_fallback is set, and model.vocab lacks byte 0x%02x",
                              b);
  }
  return true;
}

/* True if no merge makes a token with the mark after another character: then words that begin with
 * the mark are encoded one by one, and a cache has them. */
static bool cuts_words(const Tokenizer *t) {
  static const char mark[] = "\xe2\x96\x81";
  if (t->is_byte_level || t->ignore_merges || vocabulary_find(&t->words, mark, 3) < 0) return false;
  for (size_t i = 0; i < t->merge_room; i++) {
    if (t->merges[i].id == NO_MERGE) continue;
    const char *text = t->text[t->merges[i].id].at, *at = text;
    while ((at = strstr(at, mark)) != NULL) {
      if (at != text && (at < text + 3 || memcmp(at - 3, mark, 3) != 0)) return false;
      at += 3;
    }
  }
  return true;
}

static bool check_empty(TokenizerReading *r, json_t *model, const char *key) {
  json_t *value = json_object_get(model, key);
  const char *text = json_string_value(value);
  bool is_zero = json_is_real(value) && json_real_value(value) == 0;
  return !value || json_is_null(value) || is_zero || (text && *text == '\0') ||
         tokenizer_refuse(r, "model.%s is set: only null is built", key);
}

static bool read_flag(TokenizerReading *r, json_t *model, const char *key, bool *out) {
  json_t *value = json_object_get(model, key);
  *out = json_is_true(value);
  return !value || json_is_null(value) || json_is_boolean(value) ||
         tokenizer_refuse(r, "model.%s is neither true nor false", key);
}

static bool read_unk(TokenizerReading *r, json_t *model, json_t *vocab) {
  json_t *unk = json_object_get(model, "unk_token");
  r->t->unk = NO_TOKEN;
  if (!unk || json_is_null(unk)) return true;
  const char *text = json_string_value(unk);
  r->t->unk = text ? id_of(vocab, text, strlen(text)) : NO_TOKEN;
  return r->t->unk >= 0 || tokenizer_refuse(r, "model.unk_token is no token of model.vocab");
}

bool tokenizer_read_model(TokenizerReading *r, json_t *model) {
  const char *type = json_text(model, "type");
  if (!json_is_object(model)) return tokenizer_refuse(r, "model is missing, or no object");
  if (type && strcmp(type, "BPE") != 0)
    return tokenizer_refuse(r, "model.type is \"%.40s\": only BPE is built", type);
  json_t *vocab = json_object_get(model, "vocab"), *merges = json_object_get(model, "merges");
  bool is_read =
      tokenizer_check_keys(r, model, "model",
                           " type dropout unk_token continuing_subword_prefix end_of_word_suffix "
                           "fuse_unk byte_fallback ignore_merges vocab merges ") &&
      check_empty(r, model, "dropout") && check_empty(r, model, "continuing_subword_prefix") &&
      check_empty(r, model, "end_of_word_suffix") &&
      read_flag(r, model, "fuse_unk", &r->t->fuse_unk) &&
      read_flag(r, model, "byte_fallback", &r->t->byte_fallback) &&
      read_flag(r, model, "ignore_merges", &r->t->ignore_merges) && read_vocab(r, vocab) &&
      read_unk(r, model, vocab) && read_merges(r, vocab, merges) && find_bytes(r);
  if (is_read) r->t->cuts_words = cuts_words(r->t);
  return is_read;
}

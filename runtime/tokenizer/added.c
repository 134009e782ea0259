/* added.c -- added tokens: read, and found in a text by a trie. Among tokens that begin at the same
 * place the longest is taken, as Hugging Face's automaton does. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/json/json.h"
#include "runtime/tokenizer/inside.h"

enum { ID_MAX = 1 << 24 };

/* ---- the trie */

static int32_t new_node(Trie *trie, uint8_t byte) {
  if (trie->count == trie->room) {
    int32_t room = 2 * trie->room + 256;
    TrieNode *node = realloc(trie->node, (size_t)room * sizeof *node);
    if (!node) return -1;
    trie->node = node, trie->room = room;
  }
  trie->node[trie->count] = (TrieNode){.added = -1, .byte = byte};
  return trie->count++;
}

static int32_t child_of(const Trie *trie, int32_t node, uint8_t byte) {
  int32_t child = trie->node[node].child;
  while (child != 0 && trie->node[child].byte != byte)
    child = trie->node[child].next;
  return child;
}

/* If two tokens have the same text, the first one stays. */
static bool trie_add(Trie *trie, const char *text, size_t bytes, int32_t added) {
  int32_t node = trie->count > 0 ? 0 : new_node(trie, 0);
  if (bytes == 0) return true;
  trie->begins[(uint8_t)text[0]] = true;
  for (size_t i = 0; node >= 0 && i < bytes; i++) {
    int32_t child = child_of(trie, node, (uint8_t)text[i]);
    if (child == 0) {
      child = new_node(trie, (uint8_t)text[i]);
      if (child < 0) return false;
      trie->node[child].next = trie->node[node].child;
      trie->node[node].child = child;
    }
    node = child;
  }
  if (node >= 0 && trie->node[node].added < 0) trie->node[node].added = added;
  return node >= 0;
}

const Added *trie_find(const Tokenizer *t, const Trie *trie, const char *at, size_t bytes,
                       size_t *length) {
  int32_t found = -1, node = 0;
  for (size_t i = 0; i < bytes; i++) {
    node = child_of(trie, node, (uint8_t)at[i]);
    if (node == 0) break;
    if (trie->node[node].added < 0) continue;
    found = trie->node[node].added;
    *length = i + 1;
  }
  return found < 0 ? NULL : &t->added[found];
}

/* ---- the list */

static bool read_one(TokenizerReading *r, json_t *value, size_t index) {
  Tokenizer *t = r->t;
  char place[48];
  (void)snprintf(place, sizeof place, "added_tokens[%zu]", index);
  Added *added = &t->added[t->added_count];
  int64_t id = json_whole(value, "id", -1);
  if (!tokenizer_check_keys(r, value, place,
                            " id content single_word lstrip rstrip normalized special ") ||
      !tokenizer_text(r, value, place, "content", &added->content))
    return false;
  t->added_count++;
  if (id < 0 || id >= ID_MAX)
    return tokenizer_refuse(r, "%s.id is no whole number below %d", place, ID_MAX);
  if (*added->content == '\0') return tokenizer_refuse(r, "%s.content is empty", place);
  added->id = (uint32_t)id;
  added->single_word = json_is_true(json_object_get(value, "single_word"));
  added->lstrip = json_is_true(json_object_get(value, "lstrip"));
  added->rstrip = json_is_true(json_object_get(value, "rstrip"));
  added->normalized = json_is_true(json_object_get(value, "normalized"));
  added->special = json_is_true(json_object_get(value, "special"));
  return true;
}

static bool grow_vocab(TokenizerReading *r) {
  Tokenizer *t = r->t;
  uint32_t vocab = t->vocab;
  for (int32_t i = 0; i < t->added_count; i++)
    if (t->added[i].id >= vocab) vocab = t->added[i].id + 1;
  TextPiece *text = realloc(t->text, vocab * sizeof *text);
  if (text) t->text = text;
  t->is_special = calloc(vocab, sizeof *t->is_special);
  if (!text || !t->is_special) return tokenizer_refuse(r, "not enough memory");
  memset(text + t->vocab, 0, (vocab - t->vocab) * sizeof *text);
  t->vocab = vocab;
  return true;
}

/* Texts of added tokens are the lists' own: the pool ends with the model's. */
static bool place_texts(TokenizerReading *r) {
  Tokenizer *t = r->t;
  for (int32_t i = 0; i < t->added_count; i++) {
    const Added *added = &t->added[i];
    TextPiece *text = &t->text[added->id];
    assert(added->content != NULL);
    if (text->at && strcmp(text->at, added->content) != 0)
      return tokenizer_refuse(r, "added_tokens[%d]: id %u of \"%.60s\" is \"%.60s\" elsewhere", i,
                              added->id, added->content, text->at);
    if (!text->at) *text = (TextPiece){added->content, strlen(added->content)};
    t->is_special[added->id] |= added->special;
  }
  return true;
}

static bool fill_trie(TokenizerReading *r, bool normalized, bool special) {
  Tokenizer *t = r->t;
  ByteBuffer text = {0}, other = {0};
  bool is_good = true;
  for (int32_t i = 0; is_good && i < t->added_count; i++) {
    const Added *added = &t->added[i];
    if (added->normalized != normalized || added->special != special) continue;
    text.count = 0;
    is_good = normalized
                  ? tokenizer_normalize(t, added->content, strlen(added->content), &text, &other)
                  : bytes_add(&text, added->content, strlen(added->content));
    is_good = is_good && trie_add(normalized ? &t->normalized : &t->raw, text.at, text.count, i);
  }
  free(text.at), free(other.at);
  return is_good || tokenizer_refuse(r, "not enough memory");
}

bool tokenizer_read_added(TokenizerReading *r, json_t *list) {
  Tokenizer *t = r->t;
  size_t count = json_array_size(list);
  if (list && !json_is_null(list) && !json_is_array(list))
    return tokenizer_refuse(r, "added_tokens is no list");
  t->added = calloc(count + 1, sizeof *t->added);
  if (!t->added) return tokenizer_refuse(r, "not enough memory");
  for (size_t i = 0; i < count; i++)
    if (!read_one(r, json_array_get(list, i), i)) return false;
  return grow_vocab(r) && place_texts(r) && fill_trie(r, false, true) &&
         fill_trie(r, false, false) && fill_trie(r, true, true) && fill_trie(r, true, false);
}

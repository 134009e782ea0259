/* line.c -- the ids and the mask of one document. */
#include "runtime/documents/line.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/json/json.h"

enum { ID_MAX = INT32_MAX - 1, MESSAGES_MAX = 4096 }; /* runs hold ids as int32, and count them */

static bool refuse(DocumentWorker *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool refuse(DocumentWorker *w, const char *format, ...) {
  va_list list;
  va_start(list, format);
  (void)vsnprintf(w->why, sizeof w->why, format, list);
  va_end(list);
  return false;
}

/* ---- the document at hand */

/* Room for one more id. */
static bool add_id(DocumentWorker *w, int64_t id) {
  TokenIds *ids = &w->ids;
  if (ids->count == ids->room) {
    int64_t room = 2 * ids->room + 256;
    uint32_t *at = realloc(ids->at, (size_t)room * sizeof *at);
    if (!at) return refuse(w, "not enough memory");
    ids->at = at, ids->room = room;
  }
  ids->at[ids->count++] = (uint32_t)id;
  return true;
}

/* The ids from `first` on are targets, or not. */
static bool set_targets(DocumentWorker *w, int64_t first, bool is_target) {
  if (w->ids.count > w->target_room) {
    uint8_t *targets = realloc(w->is_target, (size_t)w->ids.room);
    if (!targets) return refuse(w, "not enough memory");
    w->is_target = targets, w->target_room = w->ids.room;
  }
  if (w->ids.count > first) memset(w->is_target + first, is_target, (size_t)(w->ids.count - first));
  w->has_mask |= !is_target && w->ids.count > first;
  return true;
}

static bool add_token(DocumentWorker *w, int64_t id, bool is_target) {
  return add_id(w, id) && set_targets(w, w->ids.count - 1, is_target);
}

static bool add_text(DocumentWorker *w, const char *text, size_t bytes, TokenizerSpecial special,
                     bool is_target) {
  int64_t first = w->ids.count;
  bool is_encoded = first > 0
                        ? tokenizer_encode_inside(w->encoder, text, bytes, special, &w->ids, w->why)
                        : tokenizer_encode(w->encoder, text, bytes, special, &w->ids, w->why);
  return is_encoded && set_targets(w, first, is_target);
}

static bool begin(DocumentWorker *w, bool is_target) {
  return !w->options->with_bos ||
         add_token(w, tokenizer_ends(w->options->tokenizer).bos, is_target);
}

static bool end(DocumentWorker *w) {
  return !w->options->with_eos || add_token(w, tokenizer_ends(w->options->tokenizer).eos, true);
}

/* Two tokens that begin a document are a template's and the tokenizer's. */
static bool check_begin(DocumentWorker *w) {
  int64_t bos = w->options->tokenizer ? tokenizer_ends(w->options->tokenizer).bos : -1;
  if (bos < 0 || w->ids.count < 2 || w->ids.at[0] != bos || w->ids.at[1] != bos) return true;
  return refuse(w,
                "begins with the token bos (%" PRId64 ") twice: the text has it already, "
                "use --bos none",
                bos);
}

/* ---- the kinds of documents */

/* The text of the first piece begins a document, even after bos. */
static bool add_first_text(DocumentWorker *w, const char *text, size_t bytes, bool is_target) {
  int64_t first = w->ids.count;
  return tokenizer_encode(w->encoder, text, bytes, w->options->special, &w->ids, w->why) &&
         set_targets(w, first, is_target);
}

bool document_of_text(DocumentWorker *w, const char *text, size_t bytes) {
  w->ids.count = 0;
  w->has_mask = false;
  return begin(w, true) && add_first_text(w, text, bytes, true) && end(w) && check_begin(w);
}

static bool keep_text(DocumentWorker *w, const char *text, size_t bytes) {
  if (w->text_bytes + bytes > w->text_room) {
    size_t room = 2 * w->text_room + bytes + 4096;
    char *grown = realloc(w->text, room);
    if (!grown) return refuse(w, "not enough memory");
    w->text = grown, w->text_room = room;
  }
  if (bytes > 0) memcpy(w->text + w->text_bytes, text, bytes);
  w->text_bytes += bytes;
  return true;
}

/* Counts the pair if its text has other ids as a whole. */
static bool compare_joined(DocumentWorker *w, const char *prompt, const char *completion,
                           int64_t first, int64_t last) {
  w->joined.count = 0;
  w->text_bytes = 0;
  if (!keep_text(w, prompt, strlen(prompt)) || !keep_text(w, completion, strlen(completion)) ||
      !tokenizer_encode(w->encoder, w->text, w->text_bytes, w->options->special, &w->joined,
                        w->why))
    return false;
  w->pairs++;
  w->pairs_otherwise += w->joined.count != last - first ||
                        (last > first && memcmp(w->joined.at, w->ids.at + first,
                                                (size_t)(last - first) * sizeof *w->ids.at) != 0);
  return true;
}

static bool read_pair(DocumentWorker *w, json_t *line) {
  const char *prompt = json_text(line, "prompt"), *completion = json_text(line, "completion");
  if (!prompt || !completion)
    return refuse(w, "\"%s\" is missing, or no text", prompt ? "completion" : "prompt");
  if (!begin(w, false)) return false;
  int64_t first = w->ids.count;
  if (!add_first_text(w, prompt, strlen(prompt), false) ||
      !add_text(w, completion, strlen(completion), w->options->special, true))
    return false;
  int64_t last = w->ids.count;
  return end(w) && check_begin(w) && compare_joined(w, prompt, completion, first, last);
}

/* ---- conversations */

static int64_t special_id(const DocumentWorker *w, const char *name) {
  TokenizerEnds ends = tokenizer_ends(w->options->tokenizer);
  if (strcmp(name, "bos") == 0) return ends.bos;
  if (strcmp(name, "eos") == 0) return ends.eos;
  return tokenizer_id(w->options->tokenizer, name);
}

/* Adjacent texts that are all targets, or none, are joined before they are encoded. Letters of
 * content never are special tokens. */
static bool add_kept_text(DocumentWorker *w, bool is_target) {
  TokenizerSpecial special =
      w->options->special == SPECIAL_PARSE ? SPECIAL_TEXT : w->options->special;
  size_t bytes = w->text_bytes;
  w->text_bytes = 0;
  return bytes == 0 || add_text(w, w->text, bytes, special, is_target);
}

static bool add_pieces(DocumentWorker *w, const DocumentPiece *pieces, int32_t count) {
  w->text_bytes = 0;
  for (int32_t i = 0; i < count; i++) {
    const DocumentPiece *piece = &pieces[i];
    bool goes_on = i > 0 && !piece->is_special && piece->is_target == pieces[i - 1].is_target;
    if (i > 0 && !goes_on && !add_kept_text(w, pieces[i - 1].is_target)) return false;
    if (!piece->is_special) {
      if (!keep_text(w, piece->text, strlen(piece->text))) return false;
      continue;
    }
    int64_t id = special_id(w, piece->text);
    if (id < 0)
      return refuse(w, "the chat page wants the token \"%.60s\", which the tokenizer lacks",
                    piece->text);
    if (!add_token(w, id, piece->is_target)) return false;
  }
  return count == 0 || add_kept_text(w, pieces[count - 1].is_target);
}

/* The page's pieces are replaced by its next call. NULL: no memory. */
static DocumentPiece *copy_pieces(const DocumentPiece *pieces, int32_t count) {
  size_t bytes = 1;
  assert(pieces != NULL || count == 0);
  for (int32_t i = 0; i < count; i++)
    bytes += strlen(pieces[i].text) + 1;
  DocumentPiece *copy = calloc(1, (size_t)count * sizeof *copy + bytes);
  char *text = copy ? (char *)(copy + count) : NULL;
  for (int32_t i = 0; copy && i < count; i++) {
    const size_t length = strlen(pieces[i].text) + 1;
    copy[i] = pieces[i];
    copy[i].text = memcpy(text, pieces[i].text, length);
    text += length;
  }
  return copy;
}

/* One thread at a time runs the page; all encode what it gave. */
static bool add_conversation(DocumentWorker *w, const DocumentMessage *messages, int32_t count) {
  const DocumentPiece *pieces = NULL;
  DocumentPiece *kept = NULL;
  int32_t piece_count = 0;
  pthread_mutex_lock(w->chat_lock);
  bool is_good = w->options->chat->pieces(w->options->chat->user, messages, count, &pieces,
                                          &piece_count, w->why);
  if (is_good) kept = copy_pieces(pieces, piece_count);
  pthread_mutex_unlock(w->chat_lock);
  if (!is_good) return false;
  if (!kept) return refuse(w, "not enough memory");
  is_good = add_pieces(w, kept, piece_count);
  free(kept);
  return is_good;
}

static bool read_messages(DocumentWorker *w, json_t *list) {
  const size_t count = json_array_size(list);
  if (!w->options->chat)
    return refuse(w, "\"messages\" wants a chat page: --chat llama3, chatml, mistral or FILE.lua");
  if (count == 0 || count > MESSAGES_MAX)
    return refuse(w, "\"messages\" is no list of 1 to %d messages", MESSAGES_MAX);
  DocumentMessage *messages = calloc(count, sizeof *messages);
  if (!messages) return refuse(w, "not enough memory");
  bool is_good = true;
  for (size_t i = 0; is_good && i < count; i++) {
    json_t *one = json_array_get(list, i);
    messages[i] = (DocumentMessage){json_text(one, "role"), json_text(one, "content")};
    if (!messages[i].role || !messages[i].content || json_object_size(one) != 2)
      is_good = refuse(w, "message %zu is not { \"role\": \"...\", \"content\": \"...\" }", i + 1);
  }
  is_good = is_good && add_conversation(w, messages, (int32_t)count);
  free(messages);
  return is_good && check_begin(w);
}

/* ---- given ids */

static bool read_ids(DocumentWorker *w, json_t *ids) {
  const size_t count = json_array_size(ids);
  const uint32_t vocab = w->options->tokenizer ? tokenizer_vocab(w->options->tokenizer) : 0;
  if (count == 0) return refuse(w, "\"ids\" is no list of whole numbers");
  for (size_t i = 0; i < count; i++) {
    json_t *id = json_array_get(ids, i);
    if (!json_is_integer(id) || json_integer_value(id) < 0 || json_integer_value(id) > ID_MAX)
      return refuse(w, "id %zu is no whole number from 0 to %d", i, ID_MAX);
    if (vocab > 0 && json_integer_value(id) >= vocab)
      return refuse(w, "id %zu is %" JSON_INTEGER_FORMAT ", and the tokenizer's are below %u", i,
                    json_integer_value(id), vocab);
    if (!add_id(w, json_integer_value(id))) return false;
  }
  return set_targets(w, 0, true);
}

/* After the ids: of as many entries, each 0 or 1, true or false. */
static bool read_mask(DocumentWorker *w, json_t *mask) {
  const int64_t count = w->ids.count;
  if (mask == NULL) return true;
  if ((int64_t)json_array_size(mask) != count)
    return refuse(w, "\"mask\" is %zu long, and \"ids\" %lld", json_array_size(mask),
                  (long long)count);
  for (int64_t i = 0; i < count; i++) {
    json_t *entry = json_array_get(mask, (size_t)i);
    bool is_bit = json_is_integer(entry) && (json_integer_value(entry) | 1) == 1;
    if (!is_bit && !json_is_boolean(entry))
      return refuse(w, "entry %lld of \"mask\" is not 0 or 1", (long long)i);
    w->is_target[i] = is_bit ? json_integer_value(entry) != 0 : json_is_true(entry);
  }
  w->has_mask = true;
  return true;
}

/* ---- lines */

typedef enum LineKind { KIND_TEXT, KIND_PAIR, KIND_MESSAGES, KIND_IDS, KIND_NONE } LineKind;

static LineKind kind_of_key(const char *key) {
  static const struct {
    const char *key;
    LineKind kind;
  } keys[] = {{"text", KIND_TEXT},         {"prompt", KIND_PAIR}, {"completion", KIND_PAIR},
              {"messages", KIND_MESSAGES}, {"ids", KIND_IDS},     {"mask", KIND_IDS}};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if (strcmp(key, keys[i].key) == 0) return keys[i].kind;
  return KIND_NONE;
}

static bool find_kind(DocumentWorker *w, json_t *object, LineKind *kind) {
  const char *key;
  json_t *value;
  *kind = KIND_NONE;
  json_object_foreach(object, key, value) {
    LineKind of_key = kind_of_key(key);
    if (of_key == KIND_NONE)
      return refuse(w,
                    "\"%.40s\" is no key of a document: it has \"text\", \"prompt\" and "
                    "\"completion\", \"messages\", or \"ids\" and perhaps \"mask\"",
                    key);
    if (*kind != KIND_NONE && *kind != of_key)
      return refuse(w, "\"%.40s\" belongs to another kind of document than the key before it", key);
    if (of_key != KIND_IDS && !w->options->tokenizer)
      return refuse(w,
                    "\"%.40s\" wants a tokenizer: --tokenizer FILE, a tokenizer.json or a folder "
                    "with one",
                    key);
    *kind = of_key;
  }
  return *kind != KIND_NONE || refuse(w, "is an empty object");
}

static bool read_object(DocumentWorker *w, json_t *object) {
  LineKind kind;
  if (!json_is_object(object)) return refuse(w, "is no JSON object");
  if (!find_kind(w, object, &kind)) return false;
  if (kind == KIND_PAIR) return read_pair(w, object);
  if (kind == KIND_MESSAGES) return read_messages(w, json_object_get(object, "messages"));
  if (kind == KIND_IDS)
    return read_ids(w, json_object_get(object, "ids")) &&
           read_mask(w, json_object_get(object, "mask"));
  const char *text = json_text(object, "text");
  return text ? document_of_text(w, text, strlen(text)) : refuse(w, "\"text\" is no text");
}

bool document_of_line(DocumentWorker *w, const char *line, size_t bytes) {
  JsonFault fault;
  w->ids.count = 0;
  w->has_mask = false;
  json_t *object = json_read(line, bytes, &fault);
  if (!object) return refuse(w, "%s, at byte %zu of the line", fault.why, fault.first_byte);
  bool is_good = read_object(w, object);
  if (is_good && w->ids.count == 0) is_good = refuse(w, "has no tokens");
  json_decref(object);
  return is_good;
}

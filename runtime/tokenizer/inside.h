/* inside.h -- the parts of a tokenizer, for this folder only; the public interface is tokenizer.h.
 */
#ifndef LOCKSTEP_TOKENIZER_INSIDE_H
#define LOCKSTEP_TOKENIZER_INSIDE_H

#define PCRE2_CODE_UNIT_WIDTH 8
#include <jansson.h>
#include <pcre2.h>

#include "runtime/tokenizer/tokenizer.h"

enum { STEPS_MAX = 16, NO_TOKEN = -1 };

/* Bytes of a text; not ended by a NUL. */
typedef struct TextPiece {
  const char *at;
  size_t bytes;
} TextPiece;

/* A normalizer's step, in the file's order. */
typedef struct Normal {
  enum { NORMAL_NFC, NORMAL_PREPEND, NORMAL_REPLACE } kind;
  char *from, *to;
} Normal;

/* A pre-tokenizer's step. */
typedef struct Split {
  enum { SPLIT_PATTERN, SPLIT_BYTES, SPLIT_METASPACE } kind;
  pcre2_code *code; /* NULL: no pattern */
  bool keeps_gaps, keeps_matches;
  bool prefix_space; /* SPLIT_BYTES */
  char *mark;        /* SPLIT_METASPACE: its replacement of a space */
  bool prepends, first_only, cuts;
} Split;

typedef struct Decoding {
  enum { DECODE_NONE, DECODE_BYTES, DECODE_FALLBACK, DECODE_METASPACE } kind;
  char *from, *to;      /* replaced in each token */
  int32_t strip_spaces; /* at the beginning of the text */
  bool has_fallback;
} Decoding;

typedef struct Added {
  char *content;
  uint32_t id;
  bool single_word, lstrip, rstrip, normalized, special;
} Added;

/* A trie of added tokens; children of a node are a list. */
typedef struct TrieNode {
  int32_t child, next; /* 0: none */
  int32_t added;       /* index of an added token that ends here, or -1 */
  uint8_t byte;
} TrieNode;
typedef struct Trie {
  TrieNode *node;
  int32_t count, room;
  bool begins[256]; /* bytes that a token begins with */
} Trie;

typedef struct TokenMerge {
  uint32_t left, right, id, rank;
} TokenMerge;

/* Texts to ids, by open addressing. */
typedef struct TokenTable {
  TextPiece *text;
  int32_t *id;
  size_t room; /* a power of 2 */
} TokenTable;

struct Tokenizer {
  char *path, *pool; /* pool: the bytes of all tokens' texts */
  uint64_t hash;
  uint32_t vocab;
  TextPiece *text;  /* by id, as in the file; at NULL: no such token */
  TokenTable words; /* the model's tokens by the text that they match, in bytes */
  bool is_byte_level, byte_fallback, fuse_unk, ignore_merges;
  bool cuts_words; /* no merge joins a mark to the character before it */
  int32_t unk;
  int32_t byte_id[256]; /* of one byte: by the alphabet of bytes, or <0xNN> */
  TokenMerge *merges;   /* by open addressing; id NO_MERGE: empty */
  size_t merge_room;
  Normal normal[STEPS_MAX];
  int32_t normals;
  Split split[STEPS_MAX];
  int32_t splits;
  Decoding decoding;
  Added *added;
  int32_t added_count;
  Trie raw, normalized;
  bool *is_special; /* by id */
  TokenizerEnds ends;
};

/* ---- reading the file: each function refuses with the place in the JSON */

typedef struct TokenizerReading {
  Tokenizer *t;
  char *why;
} TokenizerReading;

bool tokenizer_refuse(TokenizerReading *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* True if every key of an object at `place` is in `known`, names with blanks around each. */
bool tokenizer_check_keys(TokenizerReading *r, json_t *object, const char *place,
                          const char *known);
/* Text of a key that must be there. */
bool tokenizer_text(TokenizerReading *r, json_t *object, const char *place, const char *key,
                    char **out);

bool tokenizer_read_model(TokenizerReading *r, json_t *model);
bool tokenizer_read_normalizer(TokenizerReading *r, json_t *normalizer);
bool tokenizer_read_split(TokenizerReading *r, json_t *pre_tokenizer);
bool tokenizer_read_decoder(TokenizerReading *r, json_t *decoder);
bool tokenizer_read_added(TokenizerReading *r, json_t *added);
bool tokenizer_read_ends(TokenizerReading *r, json_t *post_processor);

/* ---- bytes as GPT-2's characters */

/* The character that a byte is written as in a byte-level vocabulary. */
uint32_t byte_character(uint8_t byte);
/* The bytes of a text in that alphabet, or -1 if it has another character. */
int64_t bytes_of_characters(const char *text, size_t count, char *out);

/* ---- tables */

int32_t vocabulary_find(const TokenTable *words, const char *text, size_t bytes);
const TokenMerge *merge_find(const Tokenizer *t, uint32_t left, uint32_t right);
/* The longest token that begins at `at`, its bytes in `length`; NULL: none. */
const Added *trie_find(const Tokenizer *t, const Trie *trie, const char *at, size_t bytes,
                       size_t *length);

/* ---- texts */

enum { NO_MERGE = 0xffffffff };

/* A buffer that grows. */
typedef struct ByteBuffer {
  char *at;
  size_t count, room;
} ByteBuffer;
bool bytes_add(ByteBuffer *buffer, const char *bytes, size_t count);

/* Runs the normalizer's steps. False: no memory. */
bool tokenizer_normalize(const Tokenizer *t, const char *text, size_t bytes, ByteBuffer *out,
                         ByteBuffer *other);
/* The number of bytes of valid UTF-8 at the beginning of a text. */
size_t utf8_valid(const char *text, size_t bytes);
static inline size_t utf8_bytes(char first) {
  uint8_t byte = (uint8_t)first;
  return byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

/* Compiles a pattern written for Hugging Face's engine. NULL: refused. */
pcre2_code *pattern_compile(TokenizerReading *r, const char *place, const char *pattern,
                            bool is_literal);

/* Appends the ids of a piece. */
typedef struct Merger Merger;
Merger *merger_new(const Tokenizer *t);
void merger_free(Merger *merger);
bool merger_add(Merger *merger, const char *piece, size_t bytes, TokenIds *ids);
int64_t merger_dropped(const Merger *merger);
bool ids_add(TokenIds *ids, uint32_t id);

#endif

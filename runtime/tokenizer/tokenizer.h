/* tokenizer.h -- text to token ids and back, as a tokenizer.json of Hugging Face says: byte-pair
 * encoding over bytes (GPT-2, Llama 3, Qwen2) or over characters with tokens for single bytes
 * (Llama 2, Mistral). A file with any other step is refused with its place in the JSON.
 *
 *   text -> added tokens cut out -> normalizer -> pre-tokenizer: pieces -> merges by rank -> ids */
#ifndef LOCKSTEP_TOKENIZER_H
#define LOCKSTEP_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TOKENIZER_WHY_BYTES = 512 };

/* Read once; threads share it. */
typedef struct Tokenizer Tokenizer;

/* Opens a tokenizer.json, or the one of a folder. NULL: `why` has the path and the reason. */
Tokenizer *tokenizer_open(const char *path, char why[TOKENIZER_WHY_BYTES]);
/* The same of a file's text; `path` is for messages and for the files beside it. */
Tokenizer *tokenizer_read(const char *path, const char *text, size_t bytes,
                          char why[TOKENIZER_WHY_BYTES]);
void tokenizer_free(Tokenizer *tokenizer);

/* Every id is below it. */
uint32_t tokenizer_vocab(const Tokenizer *tokenizer);
/* XXH3-64 of the file, as .tok files have it. */
uint64_t tokenizer_hash(const Tokenizer *tokenizer);
/* The path of the tokenizer.json. */
const char *tokenizer_path(const Tokenizer *tokenizer);
/* The id of the token whose whole text in the file this is, such as "<|eot_id|>"; -1: none. */
int64_t tokenizer_id(const Tokenizer *tokenizer, const char *content);

/* The tokens that begin and end a document. Ids by tokenizer_config.json or config.json beside the
 * file, else by the template of tokenizer.json; -1: unknown. */
typedef struct TokenizerEnds {
  int64_t bos, eos;
  bool adds_bos, adds_eos; /* the template puts them around every text */
} TokenizerEnds;
TokenizerEnds tokenizer_ends(const Tokenizer *tokenizer);

/* A growing list of ids. */
typedef struct TokenIds {
  uint32_t *at;
  int64_t count, room;
} TokenIds;
void tokenizer_free_ids(TokenIds *ids);

/* Special tokens that occur in a text. */
typedef enum TokenizerSpecial {
  SPECIAL_TEXT,  /* letters as any others, and counted */
  SPECIAL_PARSE, /* the special token */
  SPECIAL_REFUSE
} TokenizerSpecial;

/* One thread's part: a cache of pieces and room for a text. */
typedef struct Encoder Encoder;
typedef struct EncoderCounts {
  int64_t specials;   /* texts of special tokens, with SPECIAL_TEXT */
  int64_t unassigned; /* characters newer than the tables of Unicode here */
  int64_t dropped;    /* characters without a token, of a tokenizer without unk */
} EncoderCounts;

/* NULL: no memory. */
Encoder *encoder_new(const Tokenizer *tokenizer);
void encoder_free(Encoder *encoder);
EncoderCounts encoder_counts(const Encoder *encoder);

/* Appends the ids of a text in UTF-8, without bos and eos. False: `why`, which names no file; ids
 * of this text may have been appended. */
bool tokenizer_encode(Encoder *encoder, const char *text, size_t bytes, TokenizerSpecial special,
                      TokenIds *ids, char why[TOKENIZER_WHY_BYTES]);
/* The same of a text that follows other parts of its document: a tokenizer that puts a space before
 * the first word puts none. */
bool tokenizer_encode_inside(Encoder *encoder, const char *text, size_t bytes,
                             TokenizerSpecial special, TokenIds *ids,
                             char why[TOKENIZER_WHY_BYTES]);

/* The text of ids, to be freed, ended by a NUL that `bytes` does not count. Ids that cut a
 * character leave bytes that are no UTF-8. NULL: no memory, or an id that the tokenizer lacks. */
char *tokenizer_decode(const Tokenizer *tokenizer, const uint32_t *ids, int64_t count,
                       bool leave_out_special, size_t *bytes);

#endif

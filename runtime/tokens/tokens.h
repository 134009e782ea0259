/* tokens.h -- token files, read and written. The compiler checks them with it, the runtime maps
 * them.
 *
 * Formats: raw u8, u16, u32 (little-endian ids, no header: the job must say so); llm.c's .bin (256
 * int32 header, magic 20240520 with u16 ids, or 20240801 with u32); Megatron's .bin with its .idx
 * beside it (MMIDIDX); Lockstep's .tok, with documents and a mask of targets (tok.c). */
#ifndef LOCKSTEP_TOKENS_H
#define LOCKSTEP_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/plan/plan.h"

enum { TOKENS_WHY_BYTES = 512 };

typedef struct TokenFile {
  const uint8_t *ids; /* first id, inside the mapping */
  int64_t count;      /* tokens */
  int32_t id_bytes;   /* 1, 2 or 4 */
  DataFormat format;
  /* of .tok files */
  const uint8_t *mask; /* bit i % 8 of byte i / 8 is 1 where token i is a target; NULL: all are */
  const uint8_t *documents;
  int64_t document_count;
  uint32_t vocab;     /* every id is below it; 0: the file does not say */
  uint64_t tokenizer; /* hash of the tokenizer's file; 0: unknown */
  void *mapped;
  size_t mapped_bytes;
} TokenFile;

/* Recognises .tok, llm.c and Megatron files by their headers. False when the file is raw: the job
 * must say the width. */
bool tokens_detect(const char *path, DataFormat *format, char why[TOKENS_WHY_BYTES]);

/* A known kind of file that is not tokens. The texts are constants. */
typedef struct TokensForeign {
  const char *what;                   /* "a Parquet file" */
  const char *for_tokens, *for_table; /* advice about such a file */
  bool is_text;                       /* its bytes could be tokens, if the job says so */
} TokensForeign;

/* Looks at the file's first bytes and its name. False: not a known kind, or not readable. */
bool tokens_foreign(const char *path, TokensForeign *foreign);

/* True if the file is text, by its name or because all of its first bytes are. */
bool tokens_is_text(const char *path);

/* Maps `path` read-only and checks its header against its size. A raw format refuses files that are
 * known to be something else: text as u16 or u32, llm.c's header, Parquet. tokens_close unmaps. */
bool tokens_open(TokenFile *file, const char *path, DataFormat format, char why[TOKENS_WHY_BYTES]);
void tokens_close(TokenFile *file);

/* Maps any file as bytes: it looks for no header and refuses nothing by its appearance. */
bool tokens_open_bytes(TokenFile *file, const char *path, char why[TOKENS_WHY_BYTES]);

static inline uint32_t tokens_id(const TokenFile *file, int64_t i) {
  const uint8_t *at = file->ids + i * file->id_bytes;
  if (file->id_bytes == 1) return at[0];
  if (file->id_bytes == 2) return (uint32_t)(at[0] | at[1] << 8);
  return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static inline bool tokens_is_target(const TokenFile *file, int64_t i) {
  return file->mask == NULL || (file->mask[i / 8] >> (i % 8) & 1) != 0;
}

/* The first token of a document. */
static inline int64_t tokens_document(const TokenFile *file, int64_t number) {
  const uint8_t *at = file->documents + number * 8;
  uint64_t first = 0;
  for (int i = 8; i-- > 0;)
    first = first << 8 | at[i];
  return (int64_t)first;
}

/* Reads the whole file. True if its content is as its header says, and for formats without a sum.
 */
bool tokens_sum_matches(const TokenFile *file);

/* XXH3-64 of a whole file, as .tok files have it of their tokenizer's. False: it cannot be read. */
bool tokens_hash_file(const char *path, uint64_t *hash);

/* The position of the first id >= vocab in [first, first + count), or -1. */
int64_t tokens_find_bad(const TokenFile *file, int64_t first, int64_t count, uint32_t vocab);

/* Facts about a sample of a file's ids: the first 65,536, and 15 windows of 4,096 spread over the
 * rest. */
typedef struct TokensLook {
  int64_t bad;          /* the position of an id that is not below the vocabulary; -1: none */
  int64_t looked;       /* ids */
  uint32_t most;        /* the largest id; this and what follows only without a bad one */
  int32_t empty_places; /* of every four positions this many hold only 0: parts of wider ids */
  bool is_one_id;       /* all ids are the same */
  bool is_swapped;      /* the low byte of all ids is 0: another byte order */
} TokensLook;
TokensLook tokens_look(const TokenFile *file, uint32_t vocab);

/* True if ids of `vocab` can be stored in this file: two bytes are too few above 65,536. One byte
 * may be meant, for tokens that are bytes. */
static inline bool tokens_has_room(int32_t id_bytes, int64_t vocab) {
  return id_bytes != 2 || vocab <= 65536;
}

/* Another width or byte order with which all ids that are looked at are below the vocabulary, and
 * have no marks of yet another one. For raw files. False: there is none. */
typedef struct TokensReading {
  int32_t id_bytes; /* 2, 4 or 8 */
  bool is_big_endian;
} TokensReading;
bool tokens_other_reading(const TokenFile *file, uint32_t vocab, TokensReading *other);

typedef struct TokensWritten {
  int64_t train_tokens;
  int64_t valid_tokens;
} TokensWritten;

/* Documents one after another. The arrays are the caller's. */
typedef struct TokDocuments {
  const uint32_t *ids;
  const uint8_t *is_target; /* one byte an id; NULL: all are */
  const int64_t *start;     /* of each document, and at last the number of ids */
  int64_t count;            /* documents */
  uint32_t vocab;
  uint64_t tokenizer; /* 0: the ids were given */
} TokDocuments;

/* A document, or a part of one that is longer than a window. */
typedef struct TokPiece {
  int64_t first; /* token, counted over all files */
  int32_t length;
  bool goes_on; /* the document's next token follows it in another piece */
} TokPiece;

/* Windows of `context` positions: window i has the pieces first_piece[i] .. first_piece[i + 1] - 1.
 */
typedef struct TokPacking {
  TokPiece *piece;
  int64_t *first_piece;
  int64_t windows;
} TokPacking;

/* Puts all documents of the files into windows, whole ones where they fit: the longest first, each
 * into the fullest window that holds it. False: no memory, or over 2^31 documents. */
bool tokens_pack(const TokenFile *const *files, int32_t count, int64_t context,
                 TokPacking *packing);
void tokens_free_packing(TokPacking *packing);

/* FOLDER/train.tok and, of the last documents, `hold_out` of the tokens in FOLDER/valid.tok: at
 * least one document stays in each. tokenizer_json: a file to copy beside them, or NULL. Otherwise
 * as tokens_write_bytes. */
bool tokens_write_documents(const TokDocuments *all, const char *folder, double hold_out,
                            const char *tokenizer_json, TokensWritten *written,
                            char why[TOKENS_WHY_BYTES]);

/* Every byte of `text_path` becomes one token: FOLDER/train.u8 and, from the end of the text,
 * `hold_out` of it (a fraction in [0, 1)) in FOLDER/valid.u8. Makes the folder and its parents.
 * A reader sees the old files or the whole new ones. */
bool tokens_write_bytes(const char *text_path, const char *folder, double hold_out,
                        TokensWritten *written, char why[TOKENS_WHY_BYTES]);

#endif

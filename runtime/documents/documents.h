/* documents.h -- texts and JSON lines as documents of token ids, each with a mask of targets.
 *
 * A line is one of
 *   { "text": "..." }                          every token is a target
 *   { "prompt": "...", "completion": "..." }   the completion and its end token are
 *   { "messages": [{ "role", "content" }] }    by a chat page, which says which are
 *   { "ids": [5, 9], "mask": [0, 1] }          given; without a mask all are
 * and any other file is one document. */
#ifndef LOCKSTEP_DOCUMENTS_H
#define LOCKSTEP_DOCUMENTS_H

#include "runtime/tokenizer/tokenizer.h"
#include "runtime/tokens/tokens.h"

typedef struct DocumentMessage {
  const char *role, *content;
} DocumentMessage;

/* A part of a conversation: text, or the special token of this name; "bos" and "eos" are the
 * tokenizer's. */
typedef struct DocumentPiece {
  const char *text;
  bool is_special, is_target;
} DocumentPiece;

/* A chat page. `pieces`: valid until the next call, of one thread at a time. False: `why`. */
typedef struct DocumentChat {
  void *user;
  bool (*pieces)(void *user, const DocumentMessage *messages, int32_t count,
                 const DocumentPiece **pieces, int32_t *piece_count, char why[TOKENS_WHY_BYTES]);
} DocumentChat;

typedef struct DocumentOptions {
  const Tokenizer *tokenizer; /* NULL: only lines with ids */
  const DocumentChat *chat;   /* NULL: no line with messages */
  TokenizerSpecial special;   /* of texts; content of messages is never parsed */
  bool with_bos, with_eos;    /* around texts and pairs */
} DocumentOptions;

typedef struct DocumentCounts {
  EncoderCounts texts;
  int64_t pairs, pairs_otherwise; /* prompts with completions; those with other ids if joined */
} DocumentCounts;

/* True of .jsonl and .ndjson. */
bool documents_are_lines(const char *path);

/* Reads files with a thread for each processor; 5 bytes an id are held in memory. False: `why` has
 * the file, the line and the reason, and there is nothing to free. Without a tokenizer the
 * vocabulary is the largest id and one. */
bool documents_read(const char *const *paths, int32_t count, const DocumentOptions *options,
                    TokDocuments *all, DocumentCounts *counts, char why[TOKENS_WHY_BYTES]);
void documents_free(TokDocuments *all);

#endif

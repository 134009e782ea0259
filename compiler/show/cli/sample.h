/* sample.h -- lockstep sample: prompts as ids and back. */
#ifndef LOCKSTEP_SAMPLE_H
#define LOCKSTEP_SAMPLE_H

#include "compiler/job/chat.h"
#include "compiler/show/cli/use.h"
#include "runtime/tokenizer/tokenizer.h"

/* The meaning of a model's ids: bytes, a tokenizer's tokens, or unknown. */
typedef struct Language {
  const char *model; /* the folder */
  bool are_bytes;
  Tokenizer *tokenizer; /* NULL: bytes, or none */
  Encoder *encoder;
  CountList ends;    /* ids that end a text */
  DocumentChat chat; /* user NULL: prompts are no messages */
} Language;

/* language_close in any case. */
ExitCode language_open(Language *l, const Used *used);
void language_close(Language *l);
/* Appends the ids of a text; with the token that begins texts, if the tokenizer adds one. */
ExitCode language_encode(Compile *c, Language *l, const char *text, CountList *ids);
/* Prompts become the messages of a user, by a chat page; NULL: they do not. */
ExitCode language_open_chat(Compile *c, Language *l, const char *page);
/* Appends the ids of a conversation. The last message has no content: its turn begins. */
ExitCode language_encode_chat(Compile *c, const Language *l, const DocumentMessage *messages,
                              int32_t count, CountList *ids);
/* False: ids are no text here. */
bool language_is_known(const Language *l);
/* NULL: ids are no text here. */
const char *language_decode(Compile *c, const Language *l, const int64_t *ids, int64_t count);

#endif

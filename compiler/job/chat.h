/* chat.h -- chat pages, specs/chat/NAME.lua: a function from messages to pieces of a document.
 *
 * A message has `role`, `content`, and `trimmed`, its content without blanks at both ends; the last
 * one may have no content: then its turn begins. A piece is { text = "...", train = true } or
 * { special = "NAME" }; has("NAME") asks whether the tokenizer has that token. */
#ifndef LOCKSTEP_CHAT_H
#define LOCKSTEP_CHAT_H

#include "compiler/base/base.h"
#include "runtime/documents/documents.h"

/* A page of the library, or a path that begins with ./, ../ or /. False: reported. */
bool chat_open(Compile *c, const char *name, const Tokenizer *tokenizer, DocumentChat *chat);
void chat_close(DocumentChat *chat);

#endif

/* tok.h -- .tok files, for this folder only; the public interface is tokens.h. tok.c states the
 * layout. */
#ifndef LOCKSTEP_TOK_H
#define LOCKSTEP_TOK_H

#include <stdio.h>

#include "runtime/tokens/tokens.h"

/* True if the first bytes of a file are those of a .tok file. */
bool tok_is(const uint8_t *head, size_t count);

/* Fills the fields of a mapped file. False: `why` has the reason. */
bool tok_read(TokenFile *file, const char *path, char why[TOKENS_WHY_BYTES]);

/* Documents `first` to `last` - 1 as its own file. False: errno has the reason. */
bool tok_write(FILE *file, const TokDocuments *all, int64_t first, int64_t last);

#endif

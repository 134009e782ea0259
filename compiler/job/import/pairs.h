/* pairs.h -- the table of pairs.def, which import reads from left to right and export-config from
 * right to left. */
#ifndef LOCKSTEP_IMPORT_PAIRS_H
#define LOCKSTEP_IMPORT_PAIRS_H

#include "compiler/job/import/import.h"

/* Import: takes the keys of `tool` that are `ours`, or, where it ends with a dot, all of that
 * section whose value is a number here as there. */
void take_pairs(Import *im, const char *tool, const char *ours);
/* A leaf by its key, or for files whose tables only group keys by the last part of it. */
Leaf *pair_leaf(Import *im, const char *tool, const char *key);
/* The value, as Lua, of a word of their key; NULL: it has no row. Case, - and _ do not matter. */
const char *pair_ours(const char *tool, const char *key, const char *word);

#define NO_SCHEDULE "the schedules are constant, linear, cosine, wsd, polynomial and inverse_sqrt"

/* `why`, with the word that was probably meant. */
const char *pair_meant(Arena *arena, const char *tool, const char *key, const char *word,
                       const char *why);

/* Export: the key for ours, the word for a value of ours; NULL: there is none. */
const char *pair_key(const char *tool, const char *ours);
const char *pair_word(const char *tool, const char *key, const char *ours);

#endif

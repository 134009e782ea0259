/* help.h -- what the words of a job file mean: for people in a terminal, for the reference page,
 * for editors. All of it is made from fields.def, words/ and diagnostics.def. */
#ifndef LOCKSTEP_HELP_H
#define LOCKSTEP_HELP_H

#include "compiler/job/job.h"

void help_sections(FILE *out); /* one line a section */

/* Explains a key ("train.batch", "batch"), a section, a name that help_list lists or a diagnostic.
 * False: nothing has this name. */
bool help_word(Compile *c, const char *word, FILE *out);

/* Explains a word that sections or keys take ("bf16"), the most general of them first. False: none
 * does. */
bool help_choice(Compile *c, const char *word, FILE *out);

/* ---- names of other tools (help_words.c) */

/* Explains a name in each tool that has it, and here; names that are ours too are left out where
 * both are the same. `is_beside`: something was printed about the word. False: no tool has it. */
bool help_foreign(Compile *c, const char *word, bool is_beside, FILE *out);

/* Key of ours, names of other tools, or the nearest ones, as JSON. False: nothing has this name. */
bool help_json(Compile *c, const char *word, FILE *out);

/* "did you mean ...": the nearest names of ours, in `known`, and of other tools; "": none is near.
 */
const char *help_nearest(Compile *c, const char *word, const TextList *known);

/* docs/words.md: every name of a tool, or with NULL of all. False: no such tool. */
bool help_word_list(Compile *c, const char *tool, FILE *out);
bool help_word_list_json(Compile *c, const char *tool, FILE *out);

/* Value, rule and place of `key`, a section or, with NULL, of every key. False: no such key. */
bool help_values(Compile *c, const Job *job, const char *key, FILE *out);

/* The names of a kind ("models"), a line each; with kind NULL the kinds. False: no such kind. */
bool help_list(Compile *c, const char *kind, bool json, FILE *out);
bool help_name(Compile *c, const char *word, FILE *out); /* one of them; false: none */
const char *help_kinds(Compile *c);                      /* "models clusters ..." */

TextList help_keys(Compile *c);  /* every "section.key" */
TextList help_words(Compile *c); /* keys, sections and names: what help_word knows */

void help_reference(Compile *c, FILE *out); /* docs/spec_reference.md */
void help_luacats(Compile *c, FILE *out);   /* lua/lockstep.d.lua */

/* The explanation of a diagnostic, or NULL. */
const char *diagnostic_help(const char *name);

#endif

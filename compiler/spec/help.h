/* help.h -- what the words of a job file mean: for people in a terminal, for the reference page,
 * for editors. All of it is made from fields.def, names.def and diagnostics.def. */
#ifndef LOCKSTEP_HELP_H
#define LOCKSTEP_HELP_H

#include "compiler/spec/job.h"

void help_sections(FILE *out); /* one line a section */

/* A key ("train.batch", "batch"), a section, a diagnostic, or a foreign name. False: nothing is
 * named so. */
bool help_word(Compile *c, const char *word, FILE *out);

/* Value, rule and place of `key`, a section or, with NULL, of every key. False: no such key. */
bool help_values(Compile *c, const Job *job, const char *key, FILE *out);

void help_reference(Compile *c, FILE *out); /* docs/spec_reference.md */
void help_luacats(Compile *c, FILE *out);   /* lua/lockstep.d.lua */

/* The explanation of a diagnostic, or NULL. */
const char *diagnostic_help(const char *name);

#endif

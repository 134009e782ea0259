/* quote.h -- quotes texts of a job in a script, so that they are only text. Values hold no control
 * characters, because compiler/job/ refuses these. */
#ifndef LOCKSTEP_SLURM_QUOTE_H
#define LOCKSTEP_SLURM_QUOTE_H

#include "compiler/base/base.h"

/* One word of a shell: as it is, or in single quotes. */
const char *quote_shell(Arena *arena, const char *text);

/* The same for any text, also with control characters: one word without line breaks. */
const char *quote_line(Arena *arena, const char *text);

/* One argument in a line of #SBATCH, as sbatch takes such lines apart: it knows blanks, both
 * quotes, the backslash and #; it expands nothing. */
const char *quote_directive(Arena *arena, const char *text);

#endif

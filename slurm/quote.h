/* quote.h -- texts of a job in a script, so that nothing in them is anything but text. They hold no
 * control characters; spec/ has seen to that. */
#ifndef LOCKSTEP_SLURM_QUOTE_H
#define LOCKSTEP_SLURM_QUOTE_H

#include "compiler/base/base.h"

/* One word of a shell: as it is, or in single quotes. */
const char *quote_shell(Arena *arena, const char *text);

/* The same of any text, also one with control characters: one word, and no line break in it. */
const char *quote_line(Arena *arena, const char *text);

/* One argument in a line of #SBATCH, as sbatch takes such lines apart: it knows blanks, both
 * quotes, the backslash and #; it expands nothing. */
const char *quote_directive(Arena *arena, const char *text);

#endif

/* command.h -- other programs that verbs of a cluster ask: sbatch, squeue, scancel. */
#ifndef LOCKSTEP_COMMAND_H
#define LOCKSTEP_COMMAND_H

#include "compiler/base/base.h"

enum { COMMAND_LIMIT_S = 60, COMMAND_MISSING = 127, COMMAND_LATE = 124 };

typedef struct Command {
  int code; /* exit status; COMMAND_MISSING: there is no such program; COMMAND_LATE: killed */
  char out[65536]; /* stdout, cut to this length */
  char err[65536]; /* stderr, likewise */
} Command;

/* Runs words[0] with its words, which a NULL ends, for COMMAND_LIMIT_S at most: without an answer
 * Slurm's programs wait for ever. */
void command_run(Command *command, const char *const *words);

/* Slurm's programs end with code 1 both when Slurm does not answer and when it does not know the
 * job, or has forgotten it: the text tells which. */
bool command_is_unreachable(const Command *command);
bool command_knows_no_job(const Command *command);

/* For messages: the lines of both streams, separated by "; ". */
const char *command_text(Arena *arena, const Command *command);

#endif

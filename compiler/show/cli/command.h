/* command.h -- other programs that verbs of a cluster ask: sbatch, squeue, scancel. */
#ifndef LOCKSTEP_COMMAND_H
#define LOCKSTEP_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

enum { COMMAND_LIMIT_S = 60, COMMAND_MISSING = 127, COMMAND_LATE = 124 };

typedef struct Command {
  int code; /* exit status; COMMAND_MISSING: there is no such program; COMMAND_LATE: killed */
  char out[65536]; /* stdout and stderr, as they came, cut to this length */
} Command;

/* Runs words[0] with its words, which a NULL ends, for COMMAND_LIMIT_S at most: without an answer
 * Slurm's programs wait for ever. */
void command_run(Command *command, const char *const *words);

/* Slurm's programs end with code 1 both when Slurm does not answer and when it does not know the
 * job, or has forgotten it: the text tells which. */
bool command_is_unreachable(const Command *command);
bool command_is_forgotten(const Command *command);

/* For messages: the output without its last line end. */
const char *command_text(Command *command);

#endif

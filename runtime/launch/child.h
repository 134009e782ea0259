/* child.h -- the process of one rank. */
#ifndef LOCKSTEP_LAUNCH_CHILD_H
#define LOCKSTEP_LAUNCH_CHILD_H

#include <sys/types.h>

#include "runtime/launch/lines.h"
#include "runtime/process/status.h"

typedef struct Child {
  pid_t pid;  /* 0: it has ended, or was not started */
  int result; /* of waitpid, when it has ended */
  bool has_failed;
  bool was_killed;    /* by a signal that is not this launcher's */
  int64_t stopped_ms; /* since when it is stopped (SIGSTOP); 0: it is not */
  Lines out; /* rank 0's stdout is the launcher's, except with --json, when it is collected */
  Lines errors;
} Child;

/* Starts `program` with these arguments and environment; signals blocked here are blocked there. It
 * dies with its launcher. `takes_stdout`: it inherits the caller's stdout. */
bool child_start(Child *child, int32_t rank, const char *program, char *const *word,
                 char *const *environment, bool takes_stdout, Status *status);

/* How it ended, as text: "was killed by signal 9 (Killed)". */
void child_end_text(const Child *child, char *text, size_t text_bytes);

/* The exit code that the run takes from it. */
int32_t child_code(const Child *child);

#endif

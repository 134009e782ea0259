/* child.h -- the process of one rank. */
#ifndef LOCKSTEP_LAUNCH_CHILD_H
#define LOCKSTEP_LAUNCH_CHILD_H

#include <sys/types.h>

#include "runtime/launch/lines.h"
#include "runtime/status.h"

typedef struct Child {
  pid_t pid;  /* 0: it has ended, or was not started */
  int result; /* of waitpid, when it has ended */
  bool has_failed;
  bool was_killed;    /* by a signal that is not this launcher's */
  int64_t stopped_ms; /* since when it is stopped (SIGSTOP); 0: it is not */
  Lines out;          /* of rank 0 only with --json: a document; else its stdout is ours */
  Lines errors;
} Child;

/* Starts `program` with these words and environment; signals that are blocked here are blocked
 * there. It dies with its launcher. `takes_stdout`: its stdout is the caller's. */
bool child_start(Child *child, int32_t rank, const char *program, char *const *word,
                 char *const *environment, bool takes_stdout, Status *status);

/* What ended it, for people: "was killed by signal 9 (Killed)". */
void child_end_text(const Child *child, char *text, size_t text_bytes);

/* The exit code that the run gets of it. */
int32_t child_code(const Child *child);

#endif

/* child.c -- fork and exec with pipes for what it prints. */
#include "runtime/launch/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct Pipes {
  int out[2];
  int errors[2];
} Pipes;

static void close_ends(Pipes *pipes, int end) {
  if (pipes->out[end] >= 0) (void)close(pipes->out[end]);
  if (pipes->errors[end] >= 0) (void)close(pipes->errors[end]);
}

/* Runs in the new process: only async-signal-safe functions, because the launcher has threads. */
static void become(const Pipes *pipes, pid_t launcher, const char *program, char *const *word,
                   char *const *environment) {
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != launcher) _exit(STATUS_ECHO); /* the launcher died before that took effect */
  if (pipes->out[1] >= 0) (void)dup2(pipes->out[1], STDOUT_FILENO);
  (void)dup2(pipes->errors[1], STDERR_FILENO);
  (void)execve(program, word, environment);
  static const char text[] = "lockstep-rank: cannot be started again\n";
  ssize_t ignored = write(STDERR_FILENO, text, sizeof text - 1);
  (void)ignored;
  _exit(STATUS_WORLD);
}

bool child_start(Child *child, int32_t rank, const char *program, char *const *word,
                 char *const *environment, bool takes_stdout, Status *status) {
  Pipes pipes = {{-1, -1}, {-1, -1}};
  pid_t launcher = getpid(), pid = -1;
  if ((takes_stdout || pipe2(pipes.out, O_CLOEXEC) == 0) && pipe2(pipes.errors, O_CLOEXEC) == 0)
    pid = fork();
  if (pid == 0) become(&pipes, launcher, program, word, environment);
  int failure = errno;
  close_ends(&pipes, 1);
  if (pid < 0) {
    close_ends(&pipes, 0);
    return status_fail(status, STATUS_WORLD, "rank %d cannot be started: %s", rank,
                       strerror(failure));
  }
  child->pid = pid;
  lines_open(&child->out, pipes.out[0], STDERR_FILENO, rank);
  lines_open(&child->errors, pipes.errors[0], STDERR_FILENO, rank);
  return true;
}

void child_end_text(const Child *child, char *text, size_t text_bytes) {
  int number = WTERMSIG(child->result);
  if (child->stopped_ms > 0)
    (void)snprintf(text, text_bytes, "was stopped (SIGSTOP) and did not go on");
  else if (WIFSIGNALED(child->result))
    (void)snprintf(text, text_bytes, "was killed by signal %d (%s)", number, strsignal(number));
  else
    (void)snprintf(text, text_bytes, "ended with exit code %d", WEXITSTATUS(child->result));
}

int32_t child_code(const Child *child) {
  return WIFSIGNALED(child->result) ? STATUS_WORLD : WEXITSTATUS(child->result);
}

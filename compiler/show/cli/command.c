/* command.c -- see command.h. */
#include "compiler/show/cli/command.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Reads until the other end is closed. False: the time limit came first. */
static bool read_all(Command *command, int from) {
  double end_s = now_s() + COMMAND_LIMIT_S;
  size_t length = 0;
  char rest[1024];
  for (;;) {
    struct pollfd wait = {.fd = from, .events = POLLIN};
    double left_s = end_s - now_s();
    if (left_s <= 0 || poll(&wait, 1, (int)(left_s * 1000)) == 0) return false;
    size_t room = sizeof command->out - 1 - length;
    ssize_t count =
        room > 0 ? read(from, command->out + length, room) : read(from, rest, sizeof rest);
    if (count <= 0) return true;
    if (room > 0) length += (size_t)count;
  }
}

void command_run(Command *command, const char *const *words) {
  int pipes[2];
  *command = (Command){.code = COMMAND_MISSING};
  if (pipe(pipes) != 0) return;
  pid_t child = fork();
  if (child == 0) {
    (void)dup2(pipes[1], STDOUT_FILENO);
    (void)dup2(pipes[1], STDERR_FILENO);
    (void)close(pipes[0]);
    (void)close(pipes[1]);
    execvp(words[0], (char *const *)words);
    _exit(COMMAND_MISSING);
  }
  (void)close(pipes[1]);
  int status = 0;
  bool is_done = child > 0 && read_all(command, pipes[0]);
  (void)close(pipes[0]);
  if (child <= 0) return;
  if (!is_done) (void)kill(child, SIGKILL);
  (void)waitpid(child, &status, 0);
  command->code = !is_done ? COMMAND_LATE : WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

bool command_is_unreachable(const Command *command) {
  return command->code == COMMAND_MISSING || command->code == COMMAND_LATE ||
         (command->code != 0 && (strstr(command->out, "Unable to contact slurm controller") ||
                                 strstr(command->out, "Socket timed out")));
}

bool command_is_forgotten(const Command *command) {
  return command->code == 0 ? command->out[strspn(command->out, " \n")] == 0
                            : strstr(command->out, "Invalid job id") != NULL;
}

const char *command_text(Command *command) {
  size_t length = strlen(command->out);
  while (length > 0 && (command->out[length - 1] == '\n' || command->out[length - 1] == ' '))
    command->out[--length] = 0;
  return command->out;
}

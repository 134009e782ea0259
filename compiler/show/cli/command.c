/* command.c -- see command.h. */
#include "compiler/show/cli/command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* One output stream of the program, and the buffer that collects it. */
typedef struct Stream {
  int from; /* -1: closed */
  char *to;
  size_t room, length;
} Stream;

static void read_some(Stream *stream) {
  char rest[1024];
  size_t room = stream->room - 1 - stream->length;
  ssize_t count = room > 0 ? read(stream->from, stream->to + stream->length, room)
                           : read(stream->from, rest, sizeof rest);
  if (count > 0 && room > 0) stream->length += (size_t)count;
  if (count > 0 || (count < 0 && errno == EINTR)) return;
  (void)close(stream->from);
  stream->from = -1;
}

/* Reads both streams until they are closed, or until the program has ended and what it has left in
 * the background, which may hold them, writes nothing. False: the time limit came first. */
static bool read_all(Stream streams[2], pid_t child) {
  enum { TICK_MS = 200 };
  double end_s = now_s() + COMMAND_LIMIT_S;
  bool has_ended = false;
  while (streams[0].from >= 0 || streams[1].from >= 0) {
    struct pollfd wait[2] = {{.fd = streams[0].from, .events = POLLIN},
                             {.fd = streams[1].from, .events = POLLIN}};
    int ready = poll(wait, 2, has_ended ? 0 : TICK_MS);
    if (ready <= 0 && has_ended) return true;
    if (now_s() >= end_s) return false;
    siginfo_t info = {0};
    has_ended = ready <= 0 && waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
                info.si_pid == child;
    for (int i = 0; i < 2; i++)
      if (wait[i].revents) read_some(&streams[i]);
  }
  return true;
}

/* A user's defaults of these programs would leave out rows that we ask for, and a locale may change
 * how they print them. */
static void clear_defaults(void) {
  static const char *const prefixes[] = {"SQUEUE_", "SINFO_", "SACCT_", "SCANCEL_", "SCONTROL_"};
  (void)setenv("LC_ALL", "C", 1);
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
    for (char **variable = environ; *variable;) {
      char name[128];
      size_t width = strcspn(*variable, "=");
      bool is_default = strncmp(*variable, prefixes[i], strlen(prefixes[i])) == 0;
      snprintf(name, sizeof name, "%.*s", (int)width, *variable);
      if (is_default && width < sizeof name && unsetenv(name) == 0)
        variable = environ; /* which has changed */
      else
        variable++;
    }
}

static _Noreturn void become(const char *const *words, int out, int err) {
  (void)dup2(out, STDOUT_FILENO);
  (void)dup2(err, STDERR_FILENO);
  clear_defaults();
  execvp(words[0], (char *const *)words);
  _exit(COMMAND_MISSING);
}

void command_run(Command *command, const char *const *words) {
  int out[2], err[2], status = 0;
  *command = (Command){.code = COMMAND_MISSING};
  if (pipe2(out, O_CLOEXEC) != 0) return;
  if (pipe2(err, O_CLOEXEC) != 0) {
    (void)close(out[0]);
    (void)close(out[1]);
    return;
  }
  pid_t child = fork();
  if (child == 0) become(words, out[1], err[1]);
  (void)close(out[1]);
  (void)close(err[1]);
  Stream streams[2] = {{out[0], command->out, sizeof command->out, 0},
                       {err[0], command->err, sizeof command->err, 0}};
  bool is_done = child > 0 && read_all(streams, child);
  for (int i = 0; i < 2; i++)
    if (streams[i].from >= 0) (void)close(streams[i].from);
  if (child <= 0) return;
  if (!is_done) (void)kill(child, SIGKILL);
  (void)waitpid(child, &status, 0);
  command->code = !is_done ? COMMAND_LATE : WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static bool has_said(const Command *command, const char *words) {
  return strstr(command->out, words) || strstr(command->err, words);
}

bool command_is_unreachable(const Command *command) {
  return command->code == COMMAND_MISSING || command->code == COMMAND_LATE ||
         (command->code != 0 && (has_said(command, "Unable to contact slurm controller") ||
                                 has_said(command, "Socket timed out")));
}

bool command_knows_no_job(const Command *command) {
  return command->code != 0 && has_said(command, "Invalid job id");
}

const char *command_text(Arena *arena, const Command *command) {
  char *text = arena_alloc(arena, 2 * (strlen(command->out) + strlen(command->err)) + 1);
  size_t length = 0;
  const char *const streams[] = {command->out, command->err};
  for (int i = 0; i < 2; i++)
    for (const char *p = streams[i]; *(p += strspn(p, " \t\r\n"));) {
      size_t width = strcspn(p, "\r\n");
      if (length > 0) length += (size_t)sprintf(text + length, "; ");
      memcpy(text + length, p, width);
      for (char *end = text + length + width, *at = text + length; at < end; at++)
        if (*at == '\t') *at = ' ';
      length += width, p += width;
    }
  text[length] = 0;
  return text;
}

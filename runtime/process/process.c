/* process.c -- standard streams, and signals that are not requests. */
#include "runtime/process/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/process/plain.h"

enum { LINE_BYTES = 8192, EXIT_OF_THE_WORLD = 2, LAST_WORDS_MS = 5000 };

static const char *program_name = "lockstep";

/* A signal handler may call neither malloc nor stdio, so numbers and lines are parsed and printed
 * by hand; buffers are static, because the interrupted thread may have a small stack. */
typedef struct MapReader {
  int descriptor;
  size_t have, at;
  char bytes[LINE_BYTES];
  char line[LINE_BYTES];
} MapReader;

static MapReader reader;
static char message[LINE_BYTES + 512];
static atomic_flag is_reporting = ATOMIC_FLAG_INIT;
static void (*lost_file_hook)(void);

static bool next_byte(char *byte) {
  if (reader.at == reader.have) {
    ssize_t got = read(reader.descriptor, reader.bytes, sizeof reader.bytes);
    if (got <= 0) return false;
    reader.have = (size_t)got;
    reader.at = 0;
  }
  *byte = reader.bytes[reader.at++];
  return true;
}

static bool next_line(void) {
  size_t length = 0;
  char byte;
  while (next_byte(&byte) && byte != '\n')
    if (length + 1 < sizeof reader.line) reader.line[length++] = byte;
  reader.line[length] = 0;
  return length > 0;
}

static uint64_t take_hex(const char **at) {
  uint64_t value = 0;
  for (;; (*at)++) {
    char c = **at;
    if (c >= '0' && c <= '9')
      value = value << 4 | (uint64_t)(c - '0');
    else if (c >= 'a' && c <= 'f')
      value = value << 4 | (uint64_t)(c - 'a' + 10);
    else
      return value;
  }
}

/* A line is "first-end rwxp offset device inode   /path". Fills `byte` with the offset in the file
 * that is mapped at `address`; NULL when the line is of other memory. */
static const char *file_at(const char *line, uint64_t address, uint64_t *byte) {
  uint64_t first = take_hex(&line);
  line += *line == '-';
  uint64_t end = take_hex(&line);
  if (address < first || address >= end) return NULL;
  line = strchr(line + (*line != 0), ' '); /* over the permissions */
  if (!line) return NULL;
  line++;
  *byte = take_hex(&line) + (address - first);
  return strchr(line, '/');
}

static void add_text(const char *text) {
  size_t length = strlen(message);
  while (*text && length + 1 < sizeof message)
    message[length++] = *text++;
}

static void add_name(const char *name) {
  char letter[PLAIN_LETTER_BYTES];
  for (const char *end = name + strlen(name); name < end;) {
    name += plain_letter(name, end, letter);
    add_text(letter);
  }
}

static void add_number(uint64_t number) {
  char digits[24];
  size_t at = sizeof digits - 1;
  digits[at] = 0;
  do
    digits[--at] = (char)('0' + number % 10);
  while (number /= 10);
  add_text(digits + at);
}

static void describe_lost(const char *path, uint64_t byte) {
  struct stat state;
  add_name(path);
  if (stat(path, &state) == 0 && (uint64_t)state.st_size <= byte) {
    add_text(": was cut short to ");
    add_number((uint64_t)state.st_size);
    add_text(" bytes while it was in use; byte ");
    add_number(byte);
    add_text(" is needed. Put the whole file back and start again");
  } else
    add_text(": cannot be read any more: its disk or network failed while it was in use");
}

static void say(const char *text) {
  ssize_t ignored = write(STDERR_FILENO, text, strlen(text));
  (void)ignored;
}

const char *process_lost_file(void) {
  return message;
}

void process_on_lost_file(void (*hook)(void)) {
  lost_file_hook = hook;
}

/* The hook ends the process when it is done. */
static void end_without_file(void) {
  say(program_name);
  say(": ");
  say(message);
  say("\n");
  if (lost_file_hook) {
    lost_file_hook();
    (void)poll(NULL, 0, LAST_WORDS_MS);
  }
  _exit(EXIT_OF_THE_WORLD);
}

/* /proc/self/maps names every mapped file, also those that a library mapped. */
static void on_bus_error(int number, siginfo_t *info, void *context) {
  (void)context;
  while (atomic_flag_test_and_set(&is_reporting))
    (void)pause(); /* another thread was first, and ends the process */
  reader.descriptor = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  const char *path = NULL;
  uint64_t byte = 0;
  while (reader.descriptor >= 0 && !path && next_line())
    path = file_at(reader.line, (uint64_t)(uintptr_t)info->si_addr, &byte);
  if (path) {
    describe_lost(path, byte);
    end_without_file();
  }
  /* Not memory of a file: a defect. Returning repeats the instruction without this handler. */
  (void)signal(number, SIG_DFL);
}

void process_keep_streams(void) {
  for (int stream = 0; stream <= 2; stream++)
    if (fcntl(stream, F_GETFD) < 0) /* open() gives the lowest free number, which is this one */
      (void)open("/dev/null", stream == 0 ? O_RDONLY : O_WRONLY);
}

void process_prepare(const char *program) {
  program_name = program;
  process_keep_streams();
  (void)signal(SIGPIPE, SIG_IGN);
  (void)signal(SIGXFSZ, SIG_IGN);
  struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};
  sigemptyset(&action.sa_mask);
  (void)sigaction(SIGBUS, &action, NULL);
}

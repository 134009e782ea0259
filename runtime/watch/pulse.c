/* pulse.c -- see pulse.h. /proc/PID/task/TID/schedstat has the nanoseconds that a thread ran and
 * that it waited in a run queue; the second is only added up when the thread runs again, so a
 * thread that is runnable (state R) and does not run waits as well. */
#include "runtime/watch/pulse.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 512 };

typedef struct PulseSample {
  int64_t ran_ns, waited_ns;
  bool is_runnable; /* a thread of it */
} PulseSample;

/* The first line of a file; false: there is none. */
static bool read_line(const char *path, char *line, int size_bytes) {
  FILE *file = fopen(path, "re");
  bool is_read = file && fgets(line, size_bytes, file);
  if (file) (void)fclose(file);
  return is_read;
}

static void add_thread(PulseSample *sample, const char *folder, const char *thread) {
  char path[PATH_BYTES], line[1024], *end;
  (void)snprintf(path, sizeof path, "%.200s/task/%.40s/schedstat", folder, thread);
  if (read_line(path, line, sizeof line)) {
    sample->ran_ns += strtoll(line, &end, 10);
    sample->waited_ns += strtoll(end, NULL, 10);
  }
  (void)snprintf(path, sizeof path, "%.200s/task/%.40s/stat", folder, thread);
  const char *state = read_line(path, line, sizeof line) ? strrchr(line, ')') : NULL;
  sample->is_runnable |= state && strncmp(state, ") R", 3) == 0;
}

static bool take_sample(PulseSample *sample, const char *folder, int32_t skip) {
  char path[PATH_BYTES];
  *sample = (PulseSample){0};
  (void)snprintf(path, sizeof path, "%.200s/task", folder);
  DIR *threads = opendir(path);
  for (struct dirent *entry; threads && (entry = readdir(threads)) != NULL;)
    if (entry->d_name[0] != '.' && (skip == 0 || strtol(entry->d_name, NULL, 10) != skip))
      add_thread(sample, folder, entry->d_name);
  if (threads) (void)closedir(threads);
  return threads != NULL;
}

void pulse_ask(Pulse *pulse, const char *folder, int32_t skip, int64_t now_ms) {
  PulseSample sample;
  if (!take_sample(&sample, folder, skip)) return;
  int64_t passed_ms = pulse->asked_ms > 0 ? now_ms - pulse->asked_ms : 0;
  int64_t ran_ms = (sample.ran_ns - pulse->ran_ns) / 1000000;
  int64_t starved_ms = (sample.waited_ns - pulse->waited_ns) / 1000000;
  if (sample.is_runnable && ran_ms >= 0 && ran_ms < passed_ms / 2 &&
      starved_ms < passed_ms - ran_ms)
    starved_ms = passed_ms - ran_ms;
  if (starved_ms > passed_ms) starved_ms = passed_ms;
  if (starved_ms > 0) pulse->starved_ms += starved_ms;
  pulse->asked_ms = now_ms;
  pulse->ran_ns = sample.ran_ns;
  pulse->waited_ns = sample.waited_ns;
}

Load load_now(void) {
  double average = 0;
  if (getloadavg(&average, 1) != 1) average = 0;
  return (Load){(float)average, (int32_t)sysconf(_SC_NPROCESSORS_ONLN)};
}

uint64_t pulse_machine(void) {
  char text[256] = "", *space = text;
  if (!read_line("/proc/sys/kernel/random/boot_id", text, 64)) return 0;
  space += strlen(text);
  ssize_t count = readlink("/proc/self/ns/pid", space, 64);
  if (count <= 0) return 0;
  uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
  for (const char *p = text; p < space + count; p++)
    hash = (hash ^ (uint8_t)*p) * 0x100000001b3u;
  return hash ? hash : 1;
}

/* disk.c -- reading and writing a rank's file of optimizer states. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "runtime/bench/bench.h"
#include "runtime/device/files.h"

enum { PASS_BYTES = 64 << 20 };
static const uint64_t least_bytes = (uint64_t)PASS_BYTES * 2, most_bytes = (uint64_t)1 << 30;
static const double limit_s = 3;

typedef struct Pass {
  uint8_t *file, *memory;
  uint64_t size_bytes; /* of the file */
  bool reads;
  double bytes_per_s;
  Status status;
} Pass;

/* Over the file from its start, until time is up. */
static void run_pass(Pass *pass) {
  const double from_s = bench_now_s();
  double took_s = 0;
  uint64_t at = 0;
  for (; at < pass->size_bytes && took_s < limit_s; at += PASS_BYTES) {
    const bool good =
        pass->reads ? tier_file_read(pass->file + at, pass->memory, PASS_BYTES, &pass->status)
                    : tier_file_write(pass->file + at, pass->memory, PASS_BYTES, &pass->status);
    if (!good) return;
    took_s = bench_now_s() - from_s;
  }
  pass->bytes_per_s = (double)at / took_s;
}

static void *pass_main(void *argument) {
  run_pass(argument);
  return NULL;
}

static bool run_one(Pass *pass, Status *status) {
  run_pass(pass);
  if (pass->status.code != 0) *status = pass->status;
  return pass->status.code == 0;
}

/* Each way while both go on, on two files. */
static bool run_both(Pass pass[2], Status *status) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, pass_main, &pass[0]) != 0)
    return status_fail(status, STATUS_WORLD, "cannot start a thread to measure");
  run_pass(&pass[1]);
  pthread_join(thread, NULL);
  for (int32_t i = 0; i < 2; i++)
    if (pass[i].status.code != 0 && status->code == 0) *status = pass[i].status;
  return status->code == 0;
}

static uint64_t room_in(const char *directory) {
  struct statvfs room;
  if (statvfs(directory, &room) != 0) return most_bytes; /* making the file says why */
  const uint64_t fourth = (uint64_t)room.f_bavail * room.f_frsize / 4;
  return fourth < most_bytes ? fourth / PASS_BYTES * PASS_BYTES : most_bytes;
}

static bool measure(Pass pass[2], FILE *out, Status *status) {
  Pass read = pass[0], write = pass[1];
  read.file = write.file;
  if (!run_one(&write, status) || !run_one(&read, status)) return false;
  if (!run_one(&(Pass){pass[0].file, pass[0].memory, pass[0].size_bytes, false, 0, {0}}, status) ||
      !run_both(pass, status))
    return false;
  fprintf(out, "disk_read %.0f\ndisk_write %.0f\nboth_read %.0f\nboth_write %.0f\n",
          read.bytes_per_s, write.bytes_per_s, pass[0].bytes_per_s, pass[1].bytes_per_s);
  return true;
}

bool bench_files(const char *directory, FILE *out, Status *status) {
  const uint64_t size_bytes = room_in(directory);
  Pass pass[2] = {{.reads = true, .size_bytes = size_bytes}, {.size_bytes = size_bytes}};
  if (size_bytes < least_bytes)
    return status_fail(status, STATUS_WORLD,
                       "%s: too little room to measure there: it takes %llu bytes, a fourth of "
                       "what is free",
                       directory, (unsigned long long)least_bytes);
  bool good = true;
  for (int32_t i = 0; i < 2 && good; i++) {
    pass[i].memory = malloc(PASS_BYTES);
    good = pass[i].memory != NULL || status_fail(status, STATUS_WORLD, "not enough memory");
    for (uint64_t word = 0; good && word < PASS_BYTES / 8; word++) /* a disk may compress zeros */
      ((uint64_t *)(void *)pass[i].memory)[word] = (word + 1) * 0x9e3779b97f4a7c15u;
    good = good &&
           tier_file_open(&(TierFileSetup){directory, size_bytes, true}, &pass[i].file, status);
  }
  good = good && measure(pass, out, status);
  for (int32_t i = 0; i < 2; i++) {
    if (pass[i].file != NULL) tier_file_close(pass[i].file);
    free(pass[i].memory);
  }
  return good;
}

/* disk.c -- reading and writing a rank's file of optimizer states. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "runtime/bench/bench.h"
#include "runtime/device/files.h"
#include "runtime/process/text.h"

enum { PASS_BYTES = 64 << 20, REQUEST_BYTES = 4 << 20, REQUESTS = 64 };
static const uint64_t least_bytes = (uint64_t)PASS_BYTES * 2, most_bytes = (uint64_t)1 << 30;
static const double longest_s = 3;

typedef struct DiskPass {
  uint8_t *file, *memory;
  uint64_t size_bytes; /* of the file */
  double limit_s;
  bool reads;
  double bytes_per_s;
  Status status;
} DiskPass;

/* Reads or writes the file from its start, again and again, until time is up. */
static void run_pass(DiskPass *pass) {
  const double from_s = bench_now_s();
  double took_s = 0;
  uint64_t at = 0;
  for (; at < pass->size_bytes && took_s < pass->limit_s; at += PASS_BYTES) {
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

static bool run_one(DiskPass *pass, Status *status) {
  run_pass(pass);
  if (pass->status.code != 0) *status = pass->status;
  return pass->status.code == 0;
}

/* Each way while both continue, on two files. */
static bool run_both(DiskPass pass[2], Status *status) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, pass_main, &pass[0]) != 0)
    return status_fail(status, STATUS_WORLD, "cannot start a thread to measure");
  run_pass(&pass[1]);
  pthread_join(thread, NULL);
  for (int32_t i = 0; i < 2; i++)
    if (pass[i].status.code != 0 && status->code == 0) *status = pass[i].status;
  return status->code == 0;
}

/* Requests a second if their bytes took no time: a request costs extra time because the disk waits
 * while its first and its last bytes are copied. Reads and writes in turn, as states have them. 0:
 * no time that can be measured. */
static bool measure_requests(const DiskPass *pass, const FileRates *rates, double *per_s,
                             Status *status) {
  const double from_s = bench_now_s();
  const double bytes_s = REQUEST_BYTES * (1 / rates->read_per_s + 1 / rates->write_per_s) / 2;
  for (uint64_t i = 0; i < REQUESTS; i++) {
    uint8_t *at = pass->file + i / 2 * REQUEST_BYTES % pass->size_bytes;
    if (!(i % 2 == 0 ? tier_file_read(at, pass->memory, REQUEST_BYTES, status)
                     : tier_file_write(at, pass->memory, REQUEST_BYTES, status)))
      return false;
  }
  const double beyond_s = (bench_now_s() - from_s) / REQUESTS - bytes_s;
  *per_s = 1 / fmax(beyond_s, 1e-6);
  return true;
}

static uint64_t room_in(const char *directory) {
  struct statvfs room;
  if (statvfs(directory, &room) != 0) return most_bytes; /* making the file says why */
  const uint64_t fourth = (uint64_t)room.f_bavail * room.f_frsize / 4;
  return fourth < most_bytes ? fourth / PASS_BYTES * PASS_BYTES : most_bytes;
}

static bool open_pass(const char *directory, DiskPass *pass, Status *status) {
  pass->memory = malloc(PASS_BYTES);
  if (pass->memory == NULL) return status_fail(status, STATUS_WORLD, "not enough memory");
  for (uint64_t word = 0; word < PASS_BYTES / 8; word++) /* a disk may compress zeros */
    ((uint64_t *)(void *)pass->memory)[word] = (word + 1) * 0x9e3779b97f4a7c15u;
  return tier_file_open(&(TierFileSetup){directory, pass->size_bytes, true}, &pass->file, status);
}

static void close_pass(DiskPass *pass) {
  if (pass->file != NULL) tier_file_close(pass->file);
  free(pass->memory);
}

/* Writes the pass's file, then reads what was written. */
static bool measure_alone(const DiskPass *of, FileRates *rates, Status *status) {
  DiskPass write = *of, read = *of;
  write.reads = false;
  read.reads = true;
  if (!run_one(&write, status) || !run_one(&read, status)) return false;
  *rates = (FileRates){read.bytes_per_s, write.bytes_per_s, tier_file_is_direct(of->file)};
  return true;
}

bool bench_file(const char *directory, uint64_t size_bytes, double limit_s, FileRates *rates,
                Status *status) {
  DiskPass pass = {.size_bytes = size_bytes, .limit_s = limit_s};
  const bool good = open_pass(directory, &pass, status) && measure_alone(&pass, rates, status);
  close_pass(&pass);
  return good;
}

bool bench_files(const char *directory, FILE *out, Status *status) {
  const uint64_t size_bytes = room_in(directory);
  DiskPass pass[2] = {{.size_bytes = size_bytes, .limit_s = longest_s},
                      {.size_bytes = size_bytes, .limit_s = longest_s}};
  FileRates alone, first;
  double requests = 0;
  char least[QUANTITY_BYTES], whole[QUANTITY_BYTES];
  if (size_bytes < least_bytes)
    return status_fail(status, STATUS_WORLD,
                       "%s: too little room to measure there: a file takes %s, a fourth of what "
                       "is free, so %s must be free",
                       directory, text_bytes(least, (double)least_bytes),
                       text_bytes(whole, 4 * (double)least_bytes));
  bool good = open_pass(directory, &pass[0], status) && open_pass(directory, &pass[1], status) &&
              measure_alone(&pass[1], &alone, status) &&
              measure_requests(&pass[1], &alone, &requests, status) &&
              measure_alone(&pass[0], &first, status);
  pass[0].reads = true;
  good = good && run_both(pass, status);
  if (good)
    fprintf(out,
            "disk_read %.0f\ndisk_write %.0f\ndisk_requests %.0f\nboth_read %.0f\nboth_write "
            "%.0f\n",
            alone.read_per_s, alone.write_per_s, requests, pass[0].bytes_per_s,
            pass[1].bytes_per_s);
  close_pass(&pass[0]);
  close_pass(&pass[1]);
  return good;
}

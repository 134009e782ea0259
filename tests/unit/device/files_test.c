/* files_test.c -- a tier that is a file: without a name, with sums, and with the faults that disks
 * have. LINK: runtime */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/device/files.h"
#include "tests/unit/check.h"

enum { RUN = PLAN_FILE_ALIGN_BYTES, RUNS = 150, BYTES = RUNS * RUN };

static char folder[] = "/tmp/lockstep_files_XXXXXX";
static const TierFileSetup setup = {folder, BYTES, true};
static const TierFileSetup absent = {"/tmp/lockstep_files_absent/x", BYTES, true};
static uint8_t *from, *to;

static int32_t names_in_folder(void) {
  int32_t count = 0;
  DIR *dir = opendir(folder);
  for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;)
    count += entry->d_name[0] != '.' || strlen(entry->d_name) > 2;
  if (dir != NULL) closedir(dir);
  return count;
}

static void check_says(const Status *status, const char *text) {
  CHECK_INT(status->code, STATUS_WORLD);
  CHECK(strstr(status->text, text) != NULL);
  CHECK(strstr(status->text, folder) != NULL);
}

/* ---- faults */

static FileCalls real;

static int64_t move_short(bool reads, void *memory, int64_t moved, off_t at) {
  (void)memory, (void)at;
  const int64_t most = reads ? 4096 : 8192;
  return moved < most ? moved : most;
}

static int64_t read_fails(bool reads, void *memory, int64_t moved, off_t at) {
  (void)memory;
  if (!reads || at < 2 * RUN) return moved;
  errno = EIO;
  return -1;
}

static int64_t write_full(bool reads, void *memory, int64_t moved, off_t at) {
  (void)memory, (void)at;
  if (reads) return moved;
  errno = ENOSPC;
  return -1;
}

static int64_t read_ends(bool reads, void *memory, int64_t moved, off_t at) {
  (void)memory, (void)at;
  return reads ? 0 : moved;
}

/* The third wait of a ring fails; its transfers do not. */
static _Atomic int32_t waits;
static int wait_fails(void) {
  return atomic_fetch_add(&waits, 1) == 2 ? EBADR : 0;
}

static int64_t read_wrong(bool reads, void *memory, int64_t moved, off_t at) {
  if (reads && moved > 0 && at <= 3 * RUN && at + moved > 3 * RUN)
    ((uint8_t *)memory)[3 * RUN - at + 17] ^= 4;
  return moved;
}

static int allocate_full(int file, int mode, off_t first, off_t bytes) {
  (void)file, (void)mode, (void)first, (void)bytes;
  errno = ENOSPC;
  return -1;
}

static int allocate_not(int file, int mode, off_t first, off_t bytes) {
  (void)file, (void)mode, (void)first, (void)bytes;
  errno = EOPNOTSUPP;
  return -1;
}

static int open_named(const char *path, int flags, mode_t mode) {
  if (strcmp(path, folder) != 0) return real.open(path, flags, mode);
  errno = EOPNOTSUPP;
  return -1;
}

static int open_buffered(const char *path, int flags, mode_t mode) {
  if ((flags & O_DIRECT) == 0) return real.open(path, flags, mode);
  errno = EINVAL;
  return -1;
}

static int flush_full(int file, off_t first, off_t bytes) {
  (void)file, (void)first, (void)bytes;
  errno = ENOSPC;
  return -1;
}

static int flush_not(int file, off_t first, off_t bytes) {
  (void)file, (void)first, (void)bytes;
  errno = ENOSYS;
  return -1;
}

static void check_round(uint8_t *base) {
  Status status = {0};
  memset(to, 0, BYTES);
  CHECK(tier_file_write(base, from, BYTES, &status));
  CHECK(tier_file_read(base, to, BYTES, &status));
  CHECK(memcmp(from, to, BYTES) == 0);
}

static void test_way(bool rings) {
  Status status = {0};
  uint8_t *base = NULL;
  char way[TIER_WAY_BYTES];
  TEST("the way in which bytes pass has a name, and a refusal of io_uring its reason") {
    CHECK(tier_file_open(&setup, &base, &status));
    tier_file_way(base, way);
    printf("%s\n", way);
    CHECK(strstr(way, rings ? "io_uring" : "threads") == way ||
          strstr(way, "no io_uring: ") != NULL);
    tier_file_close(base);
  }
  TEST("without sums other bytes are not noticed") {
    const TierFileSetup plain = {folder, BYTES, false};
    CHECK(tier_file_open(&plain, &base, &status));
    check_round(base);
    file_calls.moved = read_wrong;
    CHECK(tier_file_read(base, to, BYTES, &status));
    CHECK(to[3 * RUN + 17] == (from[3 * RUN + 17] ^ 4));
    file_calls = real;
    tier_file_close(base);
  }
}

static void test_rounds(void) {
  Status status = {0};
  uint8_t *base = NULL;
  TEST("bytes come back, whole or through windows, and the file has no name") {
    CHECK(tier_file_open(&setup, &base, &status));
    CHECK_INT(names_in_folder(), 0);
    check_round(base);
    uint8_t *window = tier_file_window(base + RUN + 100, 3 * RUN, ACCESS_UPDATE, &status);
    CHECK(window != NULL && memcmp(window, from + RUN + 100, (size_t)3 * RUN) == 0);
    if (window != NULL) memset(window, 7, (size_t)3 * RUN);
    CHECK(tier_file_window_close(base, &status));
    CHECK(tier_file_read(base, to, BYTES, &status));
    CHECK(to[RUN + 99] == from[RUN + 99] && to[RUN + 100] == 7 && to[4 * RUN + 99] == 7 &&
          to[4 * RUN + 100] == from[4 * RUN + 100]);
    tier_file_close(base);
  }
  TEST("short transfers go on") {
    file_calls.moved = move_short;
    CHECK(tier_file_open(&setup, &base, &status));
    check_round(base);
    tier_file_close(base);
    file_calls = real;
  }
  TEST("a file system without nameless files or blocks in advance will do, and no name remains") {
    file_calls.open = open_named, file_calls.allocate = allocate_not;
    CHECK(tier_file_open(&setup, &base, &status));
    CHECK_INT(names_in_folder(), 0);
    check_round(base);
    tier_file_close(base);
    file_calls = real;
  }
}

static void test_faults(void) {
  Status status = {0};
  uint8_t *base = NULL;
  TEST("a directory that is full, absent or a file is named before the first step") {
    file_calls.allocate = allocate_full;
    CHECK(!tier_file_open(&setup, &base, &status));
    check_says(&status, "no room for a rank's file of 9.83 MB");
    file_calls = real;
    CHECK(!tier_file_open(&absent, &base, &status));
    CHECK(strstr(status.text, "/tmp/lockstep_files_absent/x: cannot make a file there: No such") !=
          NULL);
  }
  CHECK(tier_file_open(&setup, &base, &status));
  check_round(base);
  TEST("reads that fail, end early or give other bytes are refused with their place") {
    file_calls.moved = read_fails;
    CHECK(!tier_file_read(base + 2 * RUN, to, RUN, &status));
    check_says(&status, "reading 65536 bytes at 131072");
    file_calls.moved = read_ends;
    CHECK(!tier_file_read(base, to, BYTES, &status));
    check_says(&status, "the file ends there");
    file_calls.moved = read_wrong;
    CHECK(!tier_file_read(base, to, BYTES, &status));
    check_says(&status, "65536 bytes at 196608");
    CHECK(strstr(status.text, "offload-corrupt") != NULL);
    file_calls = real;
    CHECK(tier_file_read(base, to, BYTES, &status));
  }
  TEST("a ring that cannot be waited for is a failure, and none of its transfers is left") {
    char way[TIER_WAY_BYTES];
    tier_file_way(base, way);
    const bool has_ring = strstr(way, "io_uring") == way;
    file_calls.await = wait_fails;
    atomic_store(&waits, 0);
    memset(to, 0, BYTES);
    CHECK(tier_file_read(base, to, BYTES, &status) == !has_ring);
    if (has_ring) check_says(&status, "io_uring: ");
    file_calls = real;
    check_round(base);
  }
  TEST("a write for which no blocks are left is refused, and later ones go on") {
    file_calls.moved = write_full;
    CHECK(!tier_file_write(base, from, BYTES, &status));
    check_says(&status, "No space left on device");
    file_calls = real;
    check_round(base);
  }
  tier_file_close(base);
}

static void test_pages(void) {
  Status status = {0};
  uint8_t *base = NULL;
  TEST("a disk that is full only when pages are written refuses the write") {
    file_calls.open = open_buffered;
    CHECK(tier_file_open(&setup, &base, &status) && !tier_file_is_direct(base));
    check_round(base);
    file_calls.flush = flush_full;
    CHECK(!tier_file_write(base, from, BYTES, &status));
    check_says(&status, "No space left on device");
    CHECK(strstr(status.text, "writing ") != NULL);
    file_calls.flush = flush_not;
    check_round(base);
    file_calls = real;
    tier_file_close(base);
  }
}

int main(void) {
  real = file_calls;
  CHECK(mkdtemp(folder) != NULL);
  from = malloc(BYTES), to = malloc(BYTES);
  CHECK(from != NULL && to != NULL);
  for (uint32_t i = 0; i < BYTES; i++)
    from[i] = (uint8_t)(i * 2654435761u >> 13);
  for (int32_t rings = 1; rings >= 0; rings--) { /* where io_uring is refused, threads twice */
    real.rings = rings;
    file_calls = real;
    test_way(rings);
    test_rounds();
    test_faults();
    test_pages();
  }
  CHECK_INT(names_in_folder(), 0);
  (void)rmdir(folder);
  free(from), free(to);
  CHECK_DONE();
}

/* scratch.c -- see scratch.h. The file has no name once it is open, so nothing is left of it,
 * however the process ends. */
#include "runtime/preflight/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { CHUNK_BYTES = 4 << 20, CHUNK_WORDS = CHUNK_BYTES / 8, CHUNKS_A_SYNC = 16 };
static const double WRITE_S = 5, READ_S = 5;

double scratch_now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int open_nameless(const char *folder, char why[200]) {
  char path[4200];
  (void)snprintf(path, sizeof path, "%.4000s/.preflight.XXXXXX", folder);
  int file = mkostemp(path, O_CLOEXEC);
  if (file >= 0) (void)unlink(path);
  if (file < 0) (void)snprintf(why, 200, "%.120s: %s", folder, strerror(errno));
  return file;
}

/* Fills a chunk with words that occur nowhere else in the file. */
static void fill(uint64_t *word, int64_t chunk) {
  for (int64_t i = 0; i < CHUNK_WORDS; i++)
    word[i] = (uint64_t)(chunk * CHUNK_WORDS + i) * 0x9e3779b97f4a7c15u;
}

static bool move_chunk(int file, uint64_t *word, bool writes) {
  size_t done = 0;
  while (done < CHUNK_BYTES) {
    char *at = (char *)word + done;
    ssize_t count =
        writes ? write(file, at, CHUNK_BYTES - done) : read(file, at, CHUNK_BYTES - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    done += (size_t)count;
  }
  return true;
}

/* The number of chunks that reached the disk; -1: errno says why not. */
static int64_t write_chunks(int file, uint64_t *word, int64_t most) {
  double until_s = scratch_now_s() + WRITE_S;
  int64_t done = 0;
  while (done < most && scratch_now_s() < until_s) {
    fill(word, done);
    if (!move_chunk(file, word, true)) return -1;
    if (++done % CHUNKS_A_SYNC == 0 && fdatasync(file) != 0) return -1;
  }
  return fdatasync(file) == 0 ? done : -1;
}

/* The number of wrong words; -1: it cannot be read. Cached pages of the file are dropped first, if
 * the system does so. */
static int64_t read_chunks(int file, uint64_t *word, uint64_t *wanted, int64_t count) {
  double until_s = scratch_now_s() + READ_S;
  int64_t wrong = 0;
  (void)posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
  if (lseek(file, 0, SEEK_SET) != 0) return -1;
  for (int64_t i = 0; i < count && scratch_now_s() < until_s; i++) {
    fill(wanted, i);
    if (!move_chunk(file, word, false)) return -1;
    if (memcmp(word, wanted, CHUNK_BYTES) == 0) continue;
    for (int64_t k = 0; k < CHUNK_WORDS; k++)
      wrong += word[k] != wanted[k];
  }
  return wrong;
}

static bool use(int file, const char *folder, uint64_t *word, ScratchFolder *scratch,
                char why[200]) {
  int64_t most = scratch->bytes / CHUNK_BYTES;
  double from_s = scratch_now_s();
  int64_t chunks = write_chunks(file, word, most > 0 ? most : 1);
  double took_s = scratch_now_s() - from_s;
  if (chunks >= 0) scratch->wrong = read_chunks(file, word, word + CHUNK_WORDS, chunks);
  if (chunks < 0 || scratch->wrong < 0) {
    (void)snprintf(why, 200, "%.120s: %s", folder, strerror(errno));
    return false;
  }
  scratch->bytes = chunks * CHUNK_BYTES;
  scratch->mbs = took_s > 0 ? (double)scratch->bytes / took_s / 1e6 : 0;
  return true;
}

bool scratch_use(const char *folder, ScratchFolder *scratch, char why[200]) {
  uint64_t *word = malloc(2 * (size_t)CHUNK_BYTES);
  *why = 0;
  int file = open_nameless(folder, why);
  bool good = file >= 0 && word != NULL && use(file, folder, word, scratch, why);
  if (word == NULL) (void)snprintf(why, 200, "not enough memory");
  if (file >= 0) (void)close(file);
  free(word);
  if (!good) *scratch = (ScratchFolder){0};
  return good;
}

#include "runtime/device/files.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <unistd.h>
#include <xxhash.h>

enum { RUN_BYTES = PLAN_FILE_ALIGN_BYTES, PART_BYTES = 64 * RUN_BYTES, THREADS = 4 };

static int open_file(const char *path, int flags, mode_t mode) {
  return open(path, flags, mode);
}

FileCalls file_calls = {open_file, fallocate, pread, pwrite};

/* Bytes [first, first + size_bytes) of a file to or from memory, cut into parts that threads take
 * in turn. */
typedef struct Request {
  bool reads;
  uint64_t first, size_bytes;
  uint8_t *memory;
  _Atomic uint64_t next; /* bytes that a thread has taken */
} Request;

typedef struct TierFile TierFile;
struct TierFile {
  char *directory;
  int file;
  uint8_t *base;
  size_t size_bytes;
  uint64_t *sums; /* by run; 0: nothing was written there */
  pthread_t threads[THREADS];
  uint8_t *part[THREADS]; /* each thread's own memory, aligned for the disk */
  int32_t thread_count;
  pthread_mutex_t lock; /* of what follows */
  pthread_cond_t changed;
  Request *request; /* NULL: none */
  int32_t at_work;
  bool stop;
  Status failure;
  uint8_t *window; /* NULL: closed */
  uint64_t window_first, window_bytes;
  Access window_access;
  TierFile *next;
};

/* Ranks may be threads of one process: a list of the files of all. */
static TierFile *all;
static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;

static TierFile *file_of(const uint8_t *at) {
  pthread_mutex_lock(&all_lock);
  TierFile *file = all;
  while (file != NULL && (at < file->base || at >= file->base + file->size_bytes))
    file = file->next;
  pthread_mutex_unlock(&all_lock);
  return file;
}

/* ---- one part */

static bool fail_part(const TierFile *file, bool reads, uint64_t at, uint64_t bytes,
                      const char *why, Status *status) {
  return status_fail(status, STATUS_WORLD,
                     "%s: %s %llu bytes at %llu of a rank's file of optimizer states: %s",
                     file->directory, reads ? "reading" : "writing", (unsigned long long)bytes,
                     (unsigned long long)at, why);
}

/* Short transfers go on. */
static bool transfer(const TierFile *file, bool reads, uint8_t *part, uint64_t first,
                     uint64_t bytes, Status *status) {
  for (uint64_t done = 0; done < bytes;) {
    ssize_t moved =
        reads ? file_calls.read(file->file, part + done, bytes - done, (off_t)(first + done))
              : file_calls.write(file->file, part + done, bytes - done, (off_t)(first + done));
    if (moved > 0) done += (uint64_t)moved;
    if (moved > 0 || (moved < 0 && errno == EINTR)) continue;
    return fail_part(file, reads, first + done, bytes - done,
                     moved < 0 ? strerror(errno) : "the file ends there", status);
  }
  return true;
}

/* 0 says that nothing was written. */
static uint64_t sum_of(const uint8_t *run) {
  const uint64_t sum = XXH3_64bits(run, RUN_BYTES);
  return sum == 0 ? 1 : sum;
}

static bool move_part(TierFile *file, const Request *request, uint8_t *part, uint64_t at,
                      Status *status) {
  const uint64_t left = request->size_bytes - at, bytes = left < PART_BYTES ? left : PART_BYTES;
  const uint64_t first = request->first + at;
  if (!request->reads) memcpy(part, request->memory + at, bytes);
  for (uint64_t run = 0; run < bytes && !request->reads; run += RUN_BYTES)
    file->sums[(first + run) / RUN_BYTES] = sum_of(part + run);
  if (!transfer(file, request->reads, part, first, bytes, status)) return false;
  for (uint64_t run = 0; run < bytes && request->reads; run += RUN_BYTES) {
    const uint64_t sum = file->sums[(first + run) / RUN_BYTES];
    if (sum != 0 && sum != sum_of(part + run))
      return fail_part(file, true, first + run, RUN_BYTES,
                       "these are not the bytes that were written there (offload-corrupt)", status);
  }
  if (request->reads) memcpy(request->memory + at, part, bytes);
  return true;
}

/* ---- threads */

static void work_on(TierFile *file, Request *request, uint8_t *part) {
  Status status = {0};
  for (uint64_t at; (at = atomic_fetch_add(&request->next, PART_BYTES)) < request->size_bytes;)
    if (!move_part(file, request, part, at, &status)) {
      pthread_mutex_lock(&file->lock);
      if (file->failure.code == 0) file->failure = status;
      pthread_mutex_unlock(&file->lock);
      atomic_store(&request->next, request->size_bytes);
    }
}

typedef struct Worker {
  TierFile *file;
  uint8_t *part;
} Worker;

static void *worker_main(void *context) {
  Worker worker = *(Worker *)context;
  TierFile *file = worker.file;
  free(context);
  pthread_mutex_lock(&file->lock);
  while (!file->stop) {
    Request *request = file->request;
    if (request == NULL || atomic_load(&request->next) >= request->size_bytes) {
      pthread_cond_wait(&file->changed, &file->lock);
      continue;
    }
    file->at_work++;
    pthread_mutex_unlock(&file->lock);
    work_on(file, request, worker.part);
    pthread_mutex_lock(&file->lock);
    file->at_work--;
    pthread_cond_broadcast(&file->changed);
  }
  pthread_mutex_unlock(&file->lock);
  return NULL;
}

static bool start_threads(TierFile *file, Status *status) {
  for (int32_t i = 0; i < THREADS; i++) {
    Worker *worker = malloc(sizeof *worker);
    if (worker == NULL || posix_memalign((void **)&file->part[i], 4096, PART_BYTES) != 0) {
      free(worker);
      return status_fail(status, STATUS_WORLD, "not enough memory to read and write files");
    }
    *worker = (Worker){file, file->part[i]};
    if (pthread_create(&file->threads[i], NULL, worker_main, worker) != 0) {
      free(worker);
      return status_fail(status, STATUS_WORLD, "cannot start a thread to read and write files");
    }
    file->thread_count++;
  }
  return true;
}

/* One request at a time: the rank's lane of files makes one after another. */
static bool run_request(TierFile *file, Request *request, Status *status) {
  pthread_mutex_lock(&file->lock);
  while (file->request != NULL)
    pthread_cond_wait(&file->changed, &file->lock);
  file->failure = (Status){0};
  file->request = request;
  pthread_cond_broadcast(&file->changed);
  while (atomic_load(&request->next) < request->size_bytes || file->at_work > 0)
    pthread_cond_wait(&file->changed, &file->lock);
  file->request = NULL;
  pthread_cond_broadcast(&file->changed);
  const bool failed = file->failure.code != 0;
  if (failed) *status = file->failure;
  pthread_mutex_unlock(&file->lock);
  return !failed;
}

static bool request(const uint8_t *at, void *memory, uint64_t size_bytes, bool reads,
                    Status *status) {
  TierFile *file = file_of(at);
  if (file == NULL) return status_fail(status, STATUS_OURS, "an address of no file");
  Request of = {.reads = reads,
                .first = (uint64_t)(at - file->base),
                .size_bytes = size_bytes,
                .memory = memory};
  if (of.first % RUN_BYTES != 0 || size_bytes % RUN_BYTES != 0 ||
      size_bytes > file->size_bytes - of.first)
    return status_fail(status, STATUS_OURS, "files pass in whole runs of %d bytes", RUN_BYTES);
  return size_bytes == 0 || run_request(file, &of, status);
}

bool tier_file_read(const uint8_t *at, void *to, uint64_t size_bytes, Status *status) {
  return request(at, to, size_bytes, true, status);
}

bool tier_file_write(uint8_t *at, const void *from, uint64_t size_bytes, Status *status) {
  return request(at, (void *)(uintptr_t)from, size_bytes, false, status);
}

/* ---- windows */

void *tier_file_window(uint8_t *at, uint64_t size_bytes, Access access, Status *status) {
  TierFile *file = file_of(at);
  if (file == NULL || file->window != NULL) {
    (void)status_fail(status, STATUS_OURS, "a window of no file, or a second one");
    return NULL;
  }
  const uint64_t from = (uint64_t)(at - file->base), first = from / RUN_BYTES * RUN_BYTES;
  const uint64_t end = (from + size_bytes + RUN_BYTES - 1) / RUN_BYTES * RUN_BYTES;
  file->window = malloc(end - first);
  file->window_first = first, file->window_bytes = end - first, file->window_access = access;
  if (file->window == NULL) {
    (void)status_fail(status, STATUS_WORLD, "not enough memory to read %llu bytes of a file",
                      (unsigned long long)(end - first));
    return NULL;
  }
  if (tier_file_read(file->base + first, file->window, end - first, status))
    return file->window + (from - first);
  free(file->window);
  file->window = NULL;
  return NULL;
}

bool tier_file_window_close(const uint8_t *at, Status *status) {
  TierFile *file = file_of(at);
  if (file == NULL || file->window == NULL)
    return status_fail(status, STATUS_OURS, "no window of a file is open");
  const bool ok =
      file->window_access == ACCESS_READ ||
      tier_file_write(file->base + file->window_first, file->window, file->window_bytes, status);
  free(file->window);
  file->window = NULL;
  return ok;
}

/* ---- making the file */

/* Without O_DIRECT where the file system has none; with a name for a moment where files cannot be
 * made without one. */
static int make_file(const char *directory) {
  const int flags = O_RDWR | O_CLOEXEC | O_EXCL;
  int file = file_calls.open(directory, O_TMPFILE | O_DIRECT | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0 && errno == EINVAL)
    file = file_calls.open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return file;
  char *path = NULL;
  static _Atomic int32_t number;
  if (asprintf(&path, "%s/.lockstep-%d-%d", directory, (int)getpid(),
               atomic_fetch_add(&number, 1)) < 0)
    return -1;
  file = file_calls.open(path, flags | O_CREAT | O_DIRECT, 0600);
  if (file < 0 && errno == EINVAL) file = file_calls.open(path, flags | O_CREAT, 0600);
  const int error = errno;
  if (file >= 0) (void)unlink(path);
  free(path);
  errno = error;
  return file;
}

/* Blocks of the file: a file system that cannot give them at once is written to. */
static bool allocate(TierFile *file, Status *status) {
  int error = EINTR;
  while (error == EINTR)
    error = file_calls.allocate(file->file, 0, 0, (off_t)file->size_bytes) == 0 ? 0 : errno;
  if (error == EOPNOTSUPP || error == ENOSYS || error == EINVAL) {
    error = 0;
    memset(file->part[0], 0, PART_BYTES);
    for (uint64_t at = 0; at < file->size_bytes && error == 0; at += PART_BYTES) {
      const uint64_t left = file->size_bytes - at;
      if (!transfer(file, false, file->part[0], at, left < PART_BYTES ? left : PART_BYTES, status))
        return false;
    }
  }
  if (error == 0) return true;
  struct statfs is = {0};
  const bool known = statfs(file->directory, &is) == 0;
  return status_fail(status, STATUS_WORLD,
                     "offload.path: %s: no room for a rank's file of %zu bytes: %s; %llu bytes are "
                     "free there",
                     file->directory, file->size_bytes, strerror(error),
                     known ? (unsigned long long)is.f_bavail * (unsigned long long)is.f_bsize : 0);
}

static void warn_of_network(const char *directory) {
  enum { NFS = 0x6969, SMB = 0x517b, LUSTRE = 0x0bd00bd0 };
  struct statfs is;
  if (statfs(directory, &is) != 0) return;
  const uint32_t kind = (uint32_t)is.f_type;
  const char *name = kind == NFS                          ? "NFS"
                     : kind == LUSTRE                     ? "Lustre"
                     : kind == SMB || kind == 0xff534d42u ? "SMB"
                     : kind == 0x47504653u                ? "GPFS"
                     : kind == 0x01021994u                ? "memory (tmpfs)"
                                                          : NULL;
  if (name != NULL)
    fprintf(stderr, "warning: offload.path: %s is %s; states belong on a disk of the node\n",
            directory, name);
}

static void file_free(TierFile *file) {
  pthread_mutex_lock(&file->lock);
  file->stop = true;
  pthread_cond_broadcast(&file->changed);
  pthread_mutex_unlock(&file->lock);
  for (int32_t i = 0; i < file->thread_count; i++)
    pthread_join(file->threads[i], NULL);
  for (int32_t i = 0; i < THREADS; i++)
    free(file->part[i]);
  if (file->base != NULL) munmap(file->base, file->size_bytes);
  if (file->file >= 0) close(file->file);
  free(file->window);
  free(file->sums);
  free(file->directory);
  free(file);
}

static bool fill_in(TierFile *file, Status *status) {
  file->file = make_file(file->directory);
  if (file->file < 0)
    return status_fail(status, STATUS_WORLD, "offload.path: %s: cannot make a file there: %s",
                       file->directory, strerror(errno));
  if (!start_threads(file, status) || !allocate(file, status)) return false;
  file->sums = calloc(file->size_bytes / RUN_BYTES + 1, sizeof *file->sums);
  void *at =
      mmap(NULL, file->size_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at != MAP_FAILED) file->base = at;
  return (file->sums != NULL && file->base != NULL) ||
         status_fail(status, STATUS_WORLD, "not enough memory for the sums of a file");
}

bool tier_file_open(const char *directory, size_t size_bytes, uint8_t **base, Status *status) {
  TierFile *file = calloc(1, sizeof *file);
  if (file == NULL) return status_fail(status, STATUS_WORLD, "not enough memory for a file");
  file->file = -1;
  file->size_bytes = (size_bytes + RUN_BYTES - 1) / RUN_BYTES * RUN_BYTES;
  file->directory = strdup(directory);
  pthread_mutex_init(&file->lock, NULL);
  pthread_cond_init(&file->changed, NULL);
  if (file->directory == NULL || !fill_in(file, status)) {
    file_free(file);
    return false;
  }
  warn_of_network(directory);
  pthread_mutex_lock(&all_lock);
  file->next = all;
  all = file;
  pthread_mutex_unlock(&all_lock);
  *base = file->base;
  return true;
}

void tier_file_close(uint8_t *base) {
  pthread_mutex_lock(&all_lock);
  TierFile **link = &all;
  while (*link != NULL && (*link)->base != base)
    link = &(*link)->next;
  TierFile *file = *link;
  if (file != NULL) *link = file->next;
  pthread_mutex_unlock(&all_lock);
  if (file != NULL) file_free(file);
}

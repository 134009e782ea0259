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

#include "runtime/device/ring.h"
#include "runtime/process/text.h"

/* A thread moves one part at a time, or by io_uring the slots of one. */
enum { RUN_BYTES = PLAN_FILE_ALIGN_BYTES, PART_BYTES = 64 * RUN_BYTES, THREADS = 4, SLOTS = 4 };
enum { SLOT_BYTES = PART_BYTES / SLOTS };

static int open_file(const char *path, int flags, mode_t mode) {
  return open(path, flags, mode);
}

static int64_t as_moved(bool reads, void *memory, int64_t moved, off_t at) {
  (void)reads, (void)memory, (void)at;
  return moved;
}

static int no_fault(void) {
  return 0;
}

static int flush_pages(int file, off_t first, off_t size_bytes) {
  return sync_file_range(file, first, size_bytes,
                         SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
                             SYNC_FILE_RANGE_WAIT_AFTER);
}

FileCalls file_calls = {open_file, fallocate, true, no_fault, as_moved, flush_pages};

/* Bytes [first, first + size_bytes) of a file to or from memory, cut into parts that threads take
 * in turn. */
typedef struct FileRequest {
  bool reads;
  uint64_t first, size_bytes;
  uint8_t *memory;
  _Atomic uint64_t next; /* bytes that a thread has taken */
} FileRequest;

typedef struct TierFile TierFile;
struct TierFile {
  char *directory;
  int file;
  uint8_t *base;
  size_t size_bytes;
  uint64_t *sums; /* by run; 0: nothing was written there. NULL: nothing is compared */
  bool is_direct; /* past the page cache */
  pthread_t threads[THREADS];
  uint8_t *part[THREADS];       /* each thread's own memory, aligned for the disk */
  FileRing *ring[THREADS];      /* all, or none: NULL */
  char no_ring[RING_WHY_BYTES]; /* why */
  int32_t thread_count;
  pthread_mutex_t lock; /* of what follows */
  pthread_cond_t changed;
  FileRequest *request; /* NULL: none */
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

/* Short transfers continue. */
static bool transfer(const TierFile *file, bool reads, uint8_t *part, uint64_t first,
                     uint64_t bytes, Status *status) {
  for (uint64_t done = 0; done < bytes;) {
    const off_t at = (off_t)(first + done);
    int64_t moved = reads ? pread(file->file, part + done, bytes - done, at)
                          : pwrite(file->file, part + done, bytes - done, at);
    moved = file_calls.moved(reads, part + done, moved, at);
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

/* Some bytes of a request, in memory of a thread. */
typedef struct RequestPart {
  const FileRequest *request;
  uint8_t *memory;
  uint64_t at, bytes, done;
} RequestPart;

static RequestPart part_of(const FileRequest *request, uint8_t *memory, uint64_t at,
                           uint64_t most_bytes) {
  const uint64_t left = request->size_bytes - at;
  return (RequestPart){request, memory, at, left < most_bytes ? left : most_bytes, 0};
}

/* Called before the part is written. */
static void begin_part(const TierFile *file, const RequestPart *part) {
  const uint64_t first = part->request->first + part->at;
  if (part->request->reads) return;
  memcpy(part->memory, part->request->memory + part->at, part->bytes);
  for (uint64_t run = 0; run < part->bytes && file->sums != NULL; run += RUN_BYTES)
    file->sums[(first + run) / RUN_BYTES] = sum_of(part->memory + run);
}

/* Called after the part has moved. Without O_DIRECT its pages are written to the disk and dropped
 * from the page cache. A full or failing disk may report its error only when they are written. A
 * file system without sync_file_range writes them later by itself, and checksums detect lost bytes.
 */
static bool end_part(const TierFile *file, const RequestPart *part, Status *status) {
  const uint64_t first = part->request->first + part->at;
  const bool reads = part->request->reads;
  if (!file->is_direct) {
    if (!reads && file_calls.flush(file->file, (off_t)first, (off_t)part->bytes) != 0 &&
        errno != ENOSYS && errno != EINVAL && errno != ESPIPE)
      return fail_part(file, false, first, part->bytes, strerror(errno), status);
    (void)posix_fadvise(file->file, (off_t)first, (off_t)part->bytes, POSIX_FADV_DONTNEED);
  }
  for (uint64_t run = 0; run < part->bytes && reads && file->sums != NULL; run += RUN_BYTES) {
    const uint64_t sum = file->sums[(first + run) / RUN_BYTES];
    if (sum != 0 && sum != sum_of(part->memory + run))
      return fail_part(file, true, first + run, RUN_BYTES,
                       "these are not the bytes that were written there (offload-corrupt)", status);
  }
  if (reads) memcpy(part->request->memory + part->at, part->memory, part->bytes);
  return true;
}

static bool move_part(const TierFile *file, const RequestPart *part, Status *status) {
  begin_part(file, part);
  return transfer(file, part->request->reads, part->memory, part->request->first + part->at,
                  part->bytes, status) &&
         end_part(file, part, status);
}

/* ---- by io_uring: a thread's slots are in flight at once */

static bool start_slot(const TierFile *file, FileRing *ring, const RequestPart *part, int32_t slot,
                       Status *status) {
  const uint64_t at = part->request->first + part->at + part->done;
  const uint64_t bytes = part->bytes - part->done;
  return file_ring_start(ring, slot, part->request->reads, part->done, bytes, at) ||
         fail_part(file, part->request->reads, at, bytes, strerror(errno), status);
}

/* A slot whose transfer has ended, short or whole. `goes_on`: the rest of it was started. */
static bool end_slot(const TierFile *file, FileRing *ring, RequestPart *part, int32_t slot,
                     int64_t moved, bool *goes_on, Status *status) {
  const uint64_t at = part->request->first + part->at + part->done;
  moved = file_calls.moved(part->request->reads, part->memory + part->done, moved, (off_t)at);
  const bool again = moved < 0 && (errno == EINTR || errno == EAGAIN);
  *goes_on = false;
  if (moved <= 0 && !again)
    return fail_part(file, part->request->reads, at, part->bytes - part->done,
                     moved < 0 ? strerror(errno) : "the file ends there", status);
  part->done += moved > 0 ? (uint64_t)moved : 0;
  if (part->done == part->bytes) return end_part(file, part, status);
  *goes_on = start_slot(file, ring, part, slot, status);
  return *goes_on;
}

/* Puts the next bytes of the request that no thread has taken into a slot. False: no bytes are
 * left, or the transfer cannot start. */
static bool take_slot(const TierFile *file, FileRing *ring, FileRequest *request, uint8_t *memory,
                      RequestPart *part, int32_t slot, Status *status) {
  const uint64_t at = atomic_fetch_add(&request->next, SLOT_BYTES);
  if (at >= request->size_bytes) return false;
  *part = part_of(request, memory + (size_t)slot * SLOT_BYTES, at, SLOT_BYTES);
  begin_part(file, part);
  return start_slot(file, ring, part, slot, status);
}

/* The slot whose transfer ends next. A ring that cannot be waited for is a failure; its transfers
 * still end. */
static int32_t await_slot(const TierFile *file, FileRing *ring, int64_t *moved, Status *status) {
  const int fault = file_calls.await();
  const int32_t slot = fault == 0 ? file_ring_wait(ring, moved) : -1;
  if (slot >= 0) return slot;
  if (status->code == 0)
    (void)status_fail(status, STATUS_WORLD, "%s: io_uring: %s", file->directory,
                      strerror(fault != 0 ? fault : errno));
  return file_ring_look(ring, moved);
}

/* After a failure nothing new starts, and what is under way is awaited: its memory is in use. */
static void move_by_ring(const TierFile *file, FileRing *ring, FileRequest *request,
                         uint8_t *memory, Status *status) {
  RequestPart parts[SLOTS];
  int32_t flying = 0;
  for (int32_t slot = 0; slot < SLOTS && status->code == 0; slot++)
    flying += take_slot(file, ring, request, memory, &parts[slot], slot, status);
  while (flying > 0) {
    int64_t moved;
    bool goes_on = false;
    const int32_t slot = await_slot(file, ring, &moved, status);
    if (status->code == 0) (void)end_slot(file, ring, &parts[slot], slot, moved, &goes_on, status);
    if (!goes_on && status->code == 0)
      goes_on = take_slot(file, ring, request, memory, &parts[slot], slot, status);
    flying -= !goes_on;
  }
}

/* ---- threads */

static void move_by_parts(const TierFile *file, FileRequest *request, uint8_t *memory,
                          Status *status) {
  for (uint64_t at; status->code == 0 &&
                    (at = atomic_fetch_add(&request->next, PART_BYTES)) < request->size_bytes;) {
    const RequestPart part = part_of(request, memory, at, PART_BYTES);
    (void)move_part(file, &part, status);
  }
}

static void work_on(TierFile *file, FileRequest *request, int32_t number) {
  Status status = {0};
  if (file->ring[0] != NULL)
    move_by_ring(file, file->ring[number], request, file->part[number], &status);
  else
    move_by_parts(file, request, file->part[number], &status);
  if (status.code == 0) return;
  pthread_mutex_lock(&file->lock);
  if (file->failure.code == 0) file->failure = status;
  pthread_mutex_unlock(&file->lock);
  atomic_store(&request->next, request->size_bytes);
}

typedef struct FileWorker {
  TierFile *file;
  int32_t number;
} FileWorker;

static void *worker_main(void *context) {
  FileWorker worker = *(FileWorker *)context;
  TierFile *file = worker.file;
  free(context);
  pthread_mutex_lock(&file->lock);
  while (!file->stop) {
    FileRequest *request = file->request;
    if (request == NULL || atomic_load(&request->next) >= request->size_bytes) {
      pthread_cond_wait(&file->changed, &file->lock);
      continue;
    }
    file->at_work++;
    pthread_mutex_unlock(&file->lock);
    work_on(file, request, worker.number);
    pthread_mutex_lock(&file->lock);
    file->at_work--;
    pthread_cond_broadcast(&file->changed);
  }
  pthread_mutex_unlock(&file->lock);
  return NULL;
}

static void close_rings(TierFile *file) {
  for (int32_t i = 0; i < THREADS; i++) {
    file_ring_close(file->ring[i]);
    file->ring[i] = NULL;
  }
}

static void open_rings(TierFile *file) {
  bool opened = file_calls.rings;
  for (int32_t i = 0; i < THREADS && opened; i++) {
    file->ring[i] = file_ring_open(file->file, file->part[i], SLOTS, SLOT_BYTES, file->no_ring);
    opened = file->ring[i] != NULL;
  }
  if (!opened) close_rings(file);
}

static bool start_threads(TierFile *file, Status *status) {
  for (int32_t i = 0; i < THREADS; i++)
    if (posix_memalign((void **)&file->part[i], 4096, PART_BYTES) != 0)
      return status_fail(status, STATUS_WORLD, "not enough memory to read and write files");
  open_rings(file);
  for (int32_t i = 0; i < THREADS; i++) {
    FileWorker *worker = malloc(sizeof *worker);
    if (worker == NULL)
      return status_fail(status, STATUS_WORLD, "not enough memory to read and write files");
    *worker = (FileWorker){file, i};
    if (pthread_create(&file->threads[i], NULL, worker_main, worker) != 0) {
      free(worker);
      return status_fail(status, STATUS_WORLD, "cannot start a thread to read and write files");
    }
    file->thread_count++;
  }
  return true;
}

/* One request at a time: the rank's lane of files makes one after another. */
static bool run_request(TierFile *file, FileRequest *request, Status *status) {
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
  FileRequest of = {.reads = reads,
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
static int make_file(const char *directory, bool *is_direct) {
  const int flags = O_RDWR | O_CLOEXEC | O_EXCL;
  int file = file_calls.open(directory, O_TMPFILE | O_DIRECT | O_RDWR | O_CLOEXEC, 0600);
  *is_direct = file >= 0;
  if (file < 0 && errno == EINVAL)
    file = file_calls.open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return file;
  char *path = NULL;
  static _Atomic int32_t number;
  if (asprintf(&path, "%s/.lockstep-%d-%d", directory, (int)getpid(),
               atomic_fetch_add(&number, 1)) < 0)
    return -1;
  file = file_calls.open(path, flags | O_CREAT | O_DIRECT, 0600);
  *is_direct = file >= 0;
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
  char need[QUANTITY_BYTES], have[QUANTITY_BYTES];
  const bool known = statfs(file->directory, &is) == 0;
  return status_fail(status, STATUS_WORLD,
                     "offload.path: %s: no room for a rank's file of %s: %s; %s are free there",
                     file->directory, text_bytes(need, (double)file->size_bytes), strerror(error),
                     text_bytes(have, known ? (double)is.f_bavail * (double)is.f_bsize : 0));
}

const char *tier_file_apart(const char *directory) {
  enum { NFS = 0x6969, SMB = 0x517b, LUSTRE = 0x0bd00bd0 };
  struct statfs is;
  if (statfs(directory, &is) != 0) return NULL;
  const uint32_t kind = (uint32_t)is.f_type;
  return kind == NFS                          ? "NFS"
         : kind == LUSTRE                     ? "Lustre"
         : kind == SMB || kind == 0xff534d42u ? "SMB"
         : kind == 0x47504653u                ? "GPFS"
         : kind == 0x01021994u                ? "memory (tmpfs)"
                                              : NULL;
}

static void warn_of_network(const char *directory) {
  const char *name = tier_file_apart(directory);
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
  close_rings(file);
  if (file->base != NULL) munmap(file->base, file->size_bytes);
  if (file->file >= 0) close(file->file);
  free(file->window);
  free(file->sums);
  free(file->directory);
  free(file);
}

static bool fill_in(TierFile *file, bool verifies, Status *status) {
  file->file = make_file(file->directory, &file->is_direct);
  if (file->file < 0)
    return status_fail(status, STATUS_WORLD, "offload.path: %s: cannot make a file there: %s",
                       file->directory, strerror(errno));
  if (!start_threads(file, status) || !allocate(file, status)) return false;
  if (verifies) file->sums = calloc(file->size_bytes / RUN_BYTES + 1, sizeof *file->sums);
  void *at =
      mmap(NULL, file->size_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at != MAP_FAILED) file->base = at;
  return ((file->sums != NULL || !verifies) && file->base != NULL) ||
         status_fail(status, STATUS_WORLD, "not enough memory for the sums of a file");
}

bool tier_file_open(const TierFileSetup *setup, uint8_t **base, Status *status) {
  TierFile *file = calloc(1, sizeof *file);
  if (file == NULL) return status_fail(status, STATUS_WORLD, "not enough memory for a file");
  file->file = -1;
  file->size_bytes = (setup->size_bytes + RUN_BYTES - 1) / RUN_BYTES * RUN_BYTES;
  file->directory = strdup(setup->directory);
  pthread_mutex_init(&file->lock, NULL);
  pthread_cond_init(&file->changed, NULL);
  if (file->directory == NULL || !fill_in(file, setup->verifies, status)) {
    file_free(file);
    return false;
  }
  warn_of_network(setup->directory);
  pthread_mutex_lock(&all_lock);
  file->next = all;
  all = file;
  pthread_mutex_unlock(&all_lock);
  *base = file->base;
  return true;
}

bool tier_file_is_direct(const uint8_t *base) {
  const TierFile *file = file_of(base);
  return file != NULL && file->is_direct;
}

void tier_file_way(const uint8_t *base, char way[TIER_WAY_BYTES]) {
  const TierFile *file = file_of(base);
  *way = '\0';
  if (file == NULL) return;
  (void)snprintf(way, TIER_WAY_BYTES, "%s, %s%s", file->ring[0] != NULL ? "io_uring" : "threads",
                 file->is_direct ? "O_DIRECT" : "pages are dropped, for there is no O_DIRECT",
                 file->sums != NULL ? "" : ", no sums");
  if (file->ring[0] == NULL && *file->no_ring != '\0')
    (void)snprintf(way + strlen(way), TIER_WAY_BYTES - strlen(way), "; no io_uring: %s",
                   file->no_ring);
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

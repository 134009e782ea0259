#include "runtime/checkpoint/owner.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RECORD_BYTES = 512 };

static void owner_path(char path[CHECKPOINT_PATH_BYTES], const char *directory) {
  (void)snprintf(path, CHECKPOINT_PATH_BYTES, "%.*s/owner", CHECKPOINT_PATH_BYTES - 64, directory);
}

/* "3 process 4711 on node7": 0 and "" where no run has been. */
static bool read_owner(const char *path, char record[RECORD_BYTES], int64_t *generation,
                       Status *status) {
  *generation = 0;
  record[0] = '\0';
  int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0 && errno == ENOENT) return true;
  ssize_t length = descriptor < 0 ? -1 : read(descriptor, record, RECORD_BYTES - 1);
  int failure = errno;
  if (descriptor >= 0) (void)close(descriptor);
  if (length < 0)
    return status_fail(status, STATUS_WORLD, "%s: cannot be read: %s", path, strerror(failure));
  record[length] = '\0';
  record[strcspn(record, "\n")] = '\0';
  *generation = strtoll(record, NULL, 10);
  return true;
}

bool owner_generation(const char *directory, int64_t *generation, Status *status) {
  char path[CHECKPOINT_PATH_BYTES], record[RECORD_BYTES];
  owner_path(path, directory);
  return read_owner(path, record, generation, status);
}

bool owner_take(const char *directory, int64_t *generation, Status *status) {
  char path[CHECKPOINT_PATH_BYTES], fresh[CHECKPOINT_PATH_BYTES + 8], record[RECORD_BYTES];
  char host[256] = "";
  owner_path(path, directory);
  if (!read_owner(path, record, generation, status)) return false;
  ++*generation;
  (void)gethostname(host, sizeof host - 1);
  int length = snprintf(record, sizeof record, "%lld process %d on %s\n", (long long)*generation,
                        (int)getpid(), host);
  (void)snprintf(fresh, sizeof fresh, "%s.new", path);
  if (checkpoint_write_file(fresh, record, (size_t)length) && rename(fresh, path) == 0 &&
      checkpoint_sync_folder(directory))
    return true;
  return status_fail(status, STATUS_WORLD, "%s: cannot be written: %s", path, strerror(errno));
}

bool owner_is(const char *directory, int64_t generation, Status *status) {
  char path[CHECKPOINT_PATH_BYTES], record[RECORD_BYTES];
  int64_t now = 0;
  owner_path(path, directory);
  if (!read_owner(path, record, &now, status)) return false;
  if (now == generation) return true;
  return status_fail(status, STATUS_WORLD,
                     "%s: start %s has taken over the checkpoints of start %lld, process %d: this "
                     "run ends and gives its save no name",
                     directory, record[0] != '\0' ? record : "unknown", (long long)generation,
                     (int)getpid());
}

bool checkpoint_write_at(int descriptor, const void *bytes, size_t count, uint64_t offset) {
  const uint8_t *at = bytes;
  while (count > 0) {
    ssize_t written = pwrite(descriptor, at, count, (off_t)offset);
    if (written < 0 && errno == EINTR) continue;
    if (written == 0) errno = ENOSPC;
    if (written <= 0) return false;
    at += written;
    count -= (size_t)written;
    offset += (uint64_t)written;
  }
  return true;
}

/* After a failed fsync the file is thrown away: a second one would succeed without the bytes. */
bool checkpoint_write_file(const char *path, const void *bytes, size_t count) {
  int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) return false;
  bool written = checkpoint_write_at(descriptor, bytes, count, 0) && fsync(descriptor) == 0;
  int failure = errno;
  if (close(descriptor) != 0 && written) {
    written = false;
    failure = errno;
  }
  if (!written) (void)unlink(path);
  errno = failure;
  return written;
}

bool checkpoint_sync_folder(const char *path) {
  int descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return false;
  bool synced = fsync(descriptor) == 0;
  int failure = errno;
  (void)close(descriptor);
  errno = failure;
  return synced;
}

static void remove_items(int at, const char *name, bool has_folders);

/* False: it is still there. */
static bool remove_item(int folder, const char *name, bool is_folder, bool has_folders) {
  /* A file system may not say what an entry is. */
  if (!is_folder && unlinkat(folder, name, 0) == 0) return true;
  if (!is_folder && errno != EISDIR && errno != EPERM) return false;
  if (!has_folders || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) return false;
  remove_items(folder, name, false);
  return unlinkat(folder, name, AT_REMOVEDIR) == 0;
}

/* Entries are read into a buffer here, because opendir allocates. */
static void remove_items(int at, const char *name, bool has_folders) {
  _Alignas(struct dirent64) char entries[8192];
  int folder = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  bool removed = folder >= 0;
  for (ssize_t bytes; removed && (bytes = getdents64(folder, entries, sizeof entries)) > 0;) {
    removed = false; /* nothing more is to be done, unless one of these is removed */
    for (ssize_t i = 0; i < bytes;) {
      const struct dirent64 *item = (const struct dirent64 *)(const void *)(entries + i);
      removed |= remove_item(folder, item->d_name, item->d_type == DT_DIR, has_folders);
      i += item->d_reclen;
    }
    (void)lseek(folder, 0, SEEK_SET);
  }
  if (folder >= 0) (void)close(folder);
}

bool checkpoint_remove_folder(const char *path) {
  remove_items(AT_FDCWD, path, true);
  return rmdir(path) == 0;
}

uint64_t checkpoint_save_id(const CheckpointStore *store, int64_t step) {
  const uint64_t parts[] = {store->plan->id, (uint64_t)store->steps.generation, (uint64_t)step};
  return part_sum(parts, sizeof parts);
}

#include "runtime/checkpoint/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "runtime/checkpoint/owner.h"
#include "runtime/checkpoint/pick.h"

#define MEMORY_ROOT "/dev/shm"
enum { COPY_BYTES = 1 << 20, LONG_PATH_BYTES = CHECKPOINT_PATH_BYTES + 512 };

/* ---- the folder */

void memory_path(char path[CHECKPOINT_PATH_BYTES], const char *directory) {
  char whole[2 * CHECKPOINT_PATH_BYTES] = "", *at = whole;
  if (directory[0] != '/' && getcwd(whole, CHECKPOINT_PATH_BYTES) != NULL) {
    at += strlen(whole);
    *at++ = '/';
  }
  (void)snprintf(at, CHECKPOINT_PATH_BYTES, "%s", directory);
  (void)snprintf(path, CHECKPOINT_PATH_BYTES, MEMORY_ROOT "/lockstep-%u-%016llx",
                 (unsigned)geteuid(), (unsigned long long)part_sum(whole, strlen(whole)));
}

uint64_t memory_node(void) {
  struct {
    char boot[64];
    uint64_t device;
  } node = {0};
  struct stat about;
  int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  if (file >= 0 && read(file, node.boot, sizeof node.boot - 1) < 0) node.boot[0] = '\0';
  if (file >= 0) (void)close(file);
  if (stat(MEMORY_ROOT, &about) == 0) node.device = (uint64_t)about.st_dev;
  return part_sum(&node, sizeof node);
}

bool memory_is_there(const char *path) {
  struct stat about;
  return lstat(path, &about) == 0 && S_ISDIR(about.st_mode) && about.st_uid == geteuid() &&
         (about.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool memory_make(const char *path, Status *status) {
  if (mkdir(path, 0700) != 0 && errno != EEXIST)
    return status_fail(status, STATUS_WORLD, "checkpoint.memory: %s cannot be made: %s", path,
                       strerror(errno));
  return memory_is_there(path) ||
         status_fail(status, STATUS_WORLD,
                     "checkpoint.memory: %s is not this user's folder alone: remove it", path);
}

int64_t memory_free_bytes(const char *path) {
  struct statvfs room;
  if (statvfs(path, &room) != 0) return -1;
  return (int64_t)((uint64_t)room.f_bavail * room.f_frsize);
}

/* The next folder of a checkpoint, whole or not: its step, or -1 after the last one. */
static int64_t next_step(DIR *folder, const char **name, bool *is_whole) {
  for (const struct dirent *item; folder != NULL && (item = readdir(folder)) != NULL;) {
    const char *rest = "";
    const int64_t step = checkpoint_step_of(item->d_name, &rest);
    if (step < 0) continue;
    *name = item->d_name;
    *is_whole = *rest == '\0';
    return step;
  }
  return -1;
}

void memory_clear(const char *path) {
  char item[LONG_PATH_BYTES];
  const char *name;
  bool is_whole;
  if (!memory_is_there(path)) return;
  DIR *folder = opendir(path);
  while (next_step(folder, &name, &is_whole) >= 0) {
    (void)snprintf(item, sizeof item, "%s/%s", path, name);
    (void)checkpoint_remove_folder(item);
  }
  if (folder != NULL) (void)closedir(folder);
  (void)rmdir(path);
}

/* ---- what was kept */

static char *read_manifest(const char *path, int64_t generation, uint64_t *text_bytes) {
  Picked *picked = calloc(1, sizeof *picked);
  Checkpoint own = {0};
  CheckpointFault fault;
  Status status = {0};
  if (picked == NULL) return NULL;
  (void)snprintf(picked->path, sizeof picked->path, "%s", path);
  char *text = pick_text(picked, &fault, &status);
  *text_bytes = picked->text_bytes;
  if (text != NULL && (!pick_manifest(&own, path, text, *text_bytes, &fault, &status) ||
                       own.manifest.facts.generation != generation)) {
    free(text);
    text = NULL;
  }
  checkpoint_close(&own);
  free(picked);
  return text;
}

int64_t memory_newest(const char *path, const MemoryWanted *wanted, char **text,
                      uint64_t *text_bytes) {
  char item[CHECKPOINT_PATH_BYTES];
  const char *name;
  bool is_whole;
  int64_t newest = -1, step;
  *text = NULL;
  if (!memory_is_there(path)) return -1;
  DIR *folder = opendir(path);
  while ((step = next_step(folder, &name, &is_whole)) >= 0) {
    uint64_t bytes = 0;
    if (!is_whole || step <= newest || step >= wanted->below) continue;
    checkpoint_path(item, path, step);
    char *found = read_manifest(item, wanted->generation, &bytes);
    if (found == NULL) continue;
    free(*text);
    *text = found;
    *text_bytes = bytes;
    newest = step;
  }
  if (folder != NULL) (void)closedir(folder);
  return newest;
}

/* ---- to disk */

/* Opens the part in the folder, if it is that of the manifest; -1: it is not. */
static int open_kept(const char *folder, const ManifestPart *part) {
  char name[PART_FILE_NAME_BYTES], path[LONG_PATH_BYTES + sizeof name];
  uint8_t end[PART_SUM_BYTES];
  uint64_t file_bytes, sum = 0;
  CheckpointFault fault;
  Status status = {0};
  int file;
  part_file_name(name, part->number);
  (void)snprintf(path, sizeof path, "%s/%s", folder, name);
  if (!checkpoint_open_file(path, &file, &file_bytes, &fault, &status)) return -1;
  bool is_it =
      file_bytes == part->file_bytes && file_bytes >= sizeof end &&
      checkpoint_read(file, path, end, sizeof end, file_bytes - sizeof end, &fault, &status);
  for (int32_t i = PART_SUM_BYTES; is_it && i-- > 0;)
    sum = sum << 8 | end[i];
  if (is_it && sum == part->sum) return file;
  (void)close(file);
  return -1;
}

/* A node that was killed between the last part and the name has it under the name of before. */
static int find_kept(const char *path, int64_t step, const ManifestPart *part) {
  char item[LONG_PATH_BYTES];
  const char *name;
  bool is_whole;
  int64_t at;
  int file = -1;
  DIR *folder = opendir(path);
  while (file < 0 && (at = next_step(folder, &name, &is_whole)) >= 0) {
    if (at != step) continue;
    (void)snprintf(item, sizeof item, "%s/%s", path, name);
    file = open_kept(item, part);
  }
  if (folder != NULL) (void)closedir(folder);
  return file;
}

static bool copy_file(int from, const char *path, Status *status) {
  uint8_t *bytes = malloc(COPY_BYTES);
  int to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  bool good = bytes != NULL && to >= 0;
  uint64_t offset = 0;
  for (bool ends = false; good && !ends;) {
    const ssize_t got = pread(from, bytes, COPY_BYTES, (off_t)offset);
    if (got < 0 && errno == EINTR) continue;
    ends = got == 0;
    good = got >= 0 && checkpoint_write_at(to, bytes, (size_t)got, offset);
    if (good) offset += (uint64_t)got;
  }
  good = good && fsync(to) == 0;
  const int failure = errno;
  if (to >= 0 && close(to) != 0) good = false;
  free(bytes);
  return good ||
         status_fail(status, STATUS_WORLD, "%s: cannot be written: %s", path, strerror(failure));
}

MemoryGiven memory_give(const char *path, const Manifest *manifest, const char *folder,
                        Status *status) {
  MemoryGiven given = {0};
  if (!memory_is_there(path)) return given;
  for (int32_t i = 0; i < manifest->part_count && given.failed == 0; i++) {
    char name[PART_FILE_NAME_BYTES], to[LONG_PATH_BYTES];
    const int from = find_kept(path, manifest->facts.step, &manifest->part[i]);
    if (from < 0) continue;
    part_file_name(name, manifest->part[i].number);
    (void)snprintf(to, sizeof to, "%s/%s", folder, name);
    if (copy_file(from, to, status))
      given.parts++;
    else
      given.failed = 1;
    (void)close(from);
  }
  return given;
}

/* ---- a save */

bool memory_publish(CheckpointStore *store, const CheckpointState *state, const MemoryEnd *end,
                    Status *status) {
  for (int32_t i = 0; i < store->part_count; i++) {
    store->part[i].file_bytes = (uint64_t)end[store->part[i].number].bytes;
    store->part[i].sum = end[store->part[i].number].sum;
  }
  return checkpoint_name(store, state, status);
}

/* load.c -- believes a checkpoint only when every checksum agrees. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/checksum.h"

static bool map_file(Checkpoint *checkpoint, Status *status) {
  int descriptor = open(checkpoint->path, O_RDONLY | O_CLOEXEC);
  struct stat state;
  if (descriptor < 0 || fstat(descriptor, &state) != 0) {
    int failure = errno;
    if (descriptor >= 0) close(descriptor);
    return status_fail(status, STATUS_USER, "%s: cannot be read: %s", checkpoint->path,
                       strerror(failure));
  }
  if (!S_ISREG(state.st_mode) || (size_t)state.st_size < sizeof(CheckpointHeader)) {
    close(descriptor);
    return status_fail(status, STATUS_USER, "%s: is too short for a checkpoint", checkpoint->path);
  }
  checkpoint->mapped_bytes = (size_t)state.st_size;
  checkpoint->mapped = mmap(NULL, checkpoint->mapped_bytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
  close(descriptor);
  if (checkpoint->mapped != MAP_FAILED) return true;
  checkpoint->mapped = NULL;
  return status_fail(status, STATUS_WORLD, "%s: cannot be mapped", checkpoint->path);
}

static bool check_header(Checkpoint *checkpoint, Status *status) {
  const CheckpointHeader *header = checkpoint->mapped;
  const char *path = checkpoint->path;
  if (memcmp(header->magic, CHECKPOINT_MAGIC, sizeof header->magic) != 0)
    return status_fail(status, STATUS_USER, "%s: is not a checkpoint", path);
  if (header->version != CHECKPOINT_VERSION && header->version != CHECKPOINT_VERSION_PARTS)
    return status_fail(status, STATUS_USER, "%s: has version %u; up to %d are known", path,
                       header->version, CHECKPOINT_VERSION_PARTS);
  if (header->header_sum != checksum(header, offsetof(CheckpointHeader, header_sum)))
    return status_fail(status, STATUS_USER, "%s: its header is damaged", path);
  if (header->file_bytes != checkpoint->mapped_bytes)
    return status_fail(status, STATUS_USER, "%s: has %zu of %llu bytes", path,
                       checkpoint->mapped_bytes, (unsigned long long)header->file_bytes);
  uint64_t part_bytes = header->version == CHECKPOINT_VERSION_PARTS ? sizeof(CheckpointPart) : 0;
  if (part_bytes > checkpoint->mapped_bytes - sizeof *header)
    return status_fail(status, STATUS_USER, "%s: is too short for a checkpoint", path);
  const uint8_t *table = (const uint8_t *)(header + 1);
  uint64_t room = checkpoint->mapped_bytes - sizeof *header - part_bytes;
  uint64_t entries_bytes = (uint64_t)header->entry_count * sizeof(CheckpointEntry);
  if (entries_bytes > room || header->names_bytes > room - entries_bytes ||
      checksum(table, part_bytes + entries_bytes + header->names_bytes) != header->table_sum)
    return status_fail(status, STATUS_USER, "%s: its table of tensors is damaged", path);
  checkpoint->header = header;
  checkpoint->part = part_bytes > 0 ? (const CheckpointPart *)(const void *)table : NULL;
  checkpoint->entry = (const CheckpointEntry *)(const void *)(table + part_bytes);
  checkpoint->names = (const char *)(checkpoint->entry + header->entry_count);
  return true;
}

static bool check_tensors(const Checkpoint *checkpoint, Status *status) {
  const CheckpointHeader *header = checkpoint->header;
  const uint8_t *bytes = checkpoint->mapped;
  for (uint32_t i = 0; i < header->entry_count; i++) {
    const CheckpointEntry *entry = &checkpoint->entry[i];
    bool named = entry->name < header->names_bytes &&
                 memchr(checkpoint->names + entry->name, 0, header->names_bytes - entry->name);
    bool inside = entry->offset <= checkpoint->mapped_bytes &&
                  entry->size_bytes <= checkpoint->mapped_bytes - entry->offset;
    if (!named || !inside || checksum(bytes + entry->offset, entry->size_bytes) != entry->sum)
      return status_fail(status, STATUS_USER, "%s: tensor %s is damaged", checkpoint->path,
                         named ? checkpoint->names + entry->name : "without a name");
  }
  return true;
}

bool checkpoint_open(Checkpoint *checkpoint, const char *path, Status *status) {
  *checkpoint = (Checkpoint){0};
  (void)snprintf(checkpoint->path, sizeof checkpoint->path, "%s", path);
  if (map_file(checkpoint, status) && check_header(checkpoint, status) &&
      check_tensors(checkpoint, status))
    return true;
  checkpoint_close(checkpoint);
  return false;
}

void checkpoint_close(Checkpoint *checkpoint) {
  if (checkpoint->mapped) munmap(checkpoint->mapped, checkpoint->mapped_bytes);
  checkpoint->mapped = NULL;
  checkpoint->header = NULL;
}

/* The greatest step below `below` that has a file, or -1. */
static int64_t newest_below(const char *directory, int64_t below) {
  int64_t newest = -1;
  DIR *folder = opendir(directory);
  if (!folder) return newest;
  for (struct dirent *item; (item = readdir(folder));) {
    int64_t step = checkpoint_step_of(item->d_name, NULL);
    if (step > newest && step < below) newest = step;
  }
  closedir(folder);
  return newest;
}

bool checkpoint_open_newest(CheckpointSet *set, const char *directory,
                            void skipped(const char *why), Status *status) {
  int64_t step = INT64_MAX;
  while ((step = newest_below(directory, step)) >= 0) {
    char path[CHECKPOINT_PATH_BYTES];
    checkpoint_path(path, directory, step, 0);
    if (checkpoint_set_open(set, path, status)) return true;
    skipped(status->text);
  }
  status->code = 0;
  return false;
}

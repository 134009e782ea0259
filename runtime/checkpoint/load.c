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
  if (header->version != CHECKPOINT_VERSION)
    return status_fail(status, STATUS_USER, "%s: has version %u; %d is known", path,
                       header->version, CHECKPOINT_VERSION);
  if (header->header_sum != checksum(header, offsetof(CheckpointHeader, header_sum)))
    return status_fail(status, STATUS_USER, "%s: its header is damaged", path);
  if (header->file_bytes != checkpoint->mapped_bytes)
    return status_fail(status, STATUS_USER, "%s: has %zu of %llu bytes", path,
                       checkpoint->mapped_bytes, (unsigned long long)header->file_bytes);
  uint64_t room = checkpoint->mapped_bytes - sizeof *header;
  uint64_t entries_bytes = (uint64_t)header->entry_count * sizeof(CheckpointEntry);
  if (entries_bytes > room || header->names_bytes > room - entries_bytes ||
      checksum(header + 1, entries_bytes + header->names_bytes) != header->table_sum)
    return status_fail(status, STATUS_USER, "%s: its table of tensors is damaged", path);
  checkpoint->header = header;
  checkpoint->entry = (const CheckpointEntry *)(const void *)(header + 1);
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
    int64_t step = checkpoint_step_of(item->d_name);
    if (step > newest && step < below) newest = step;
  }
  closedir(folder);
  return newest;
}

bool checkpoint_open_newest(Checkpoint *checkpoint, const char *directory,
                            void skipped(const char *why), Status *status) {
  int64_t step = INT64_MAX;
  while ((step = newest_below(directory, step)) >= 0) {
    char path[CHECKPOINT_PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/step_%08lld.ckpt", directory, (long long)step);
    if (checkpoint_open(checkpoint, path, status)) return true;
    skipped(status->text);
  }
  status->code = 0;
  return false;
}

typedef struct Matching {
  const Checkpoint *checkpoint;
  const Plan *plan;
  uint32_t entry;
  uint8_t *arena;
  Status *status;
} Matching;

static bool match_tensor(void *context, const PlanTensor *tensor, int32_t layer, uint64_t offset) {
  (void)offset;
  Matching *matching = context;
  const Checkpoint *checkpoint = matching->checkpoint;
  const char *name = plan_string(matching->plan, tensor->name);
  if (matching->entry == checkpoint->header->entry_count)
    return status_fail(matching->status, STATUS_USER, "%s: lacks tensor %s, which the plan has",
                       checkpoint->path, name);
  const CheckpointEntry *entry = &checkpoint->entry[matching->entry++];
  const char *saved = checkpoint->names + entry->name;
  if (strcmp(saved, name) != 0 || entry->layer != layer || entry->kind != tensor->kind)
    return status_fail(
        matching->status, STATUS_USER,
        "%s: is of another model: it has tensor %s (layer %d) where the plan has %s (layer %d)",
        checkpoint->path, saved, entry->layer, name, layer);
  if (entry->dtype != tensor->dtype || entry->elements != tensor->elements ||
      entry->size_bytes != tensor->size_bytes)
    return status_fail(matching->status, STATUS_USER,
                       "%s: tensor %s has %lld elements of %s there, %lld of %s in the plan",
                       checkpoint->path, name, (long long)entry->elements,
                       entry->dtype < DTYPE_COUNT ? dtype_name((DType)entry->dtype) : "?",
                       (long long)tensor->elements, dtype_name((DType)tensor->dtype));
  return true;
}

bool checkpoint_match(const Checkpoint *checkpoint, const Plan *plan, const PlanClass *class,
                      Status *status) {
  Matching matching = {.checkpoint = checkpoint, .plan = plan, .status = status};
  if (!checkpoint_each(plan, class, match_tensor, &matching)) return false;
  const CheckpointHeader *header = checkpoint->header;
  if (matching.entry != header->entry_count)
    return status_fail(status, STATUS_USER, "%s: has tensor %s, which the plan lacks",
                       checkpoint->path,
                       checkpoint->names + checkpoint->entry[matching.entry].name);
  if (header->seed != plan->jobs[0].seed)
    return status_fail(
        status, STATUS_USER,
        "%s: was trained with seed %llu, the plan says %llu: data and dropout would change",
        checkpoint->path, (unsigned long long)header->seed, (unsigned long long)plan->jobs[0].seed);
  return true;
}

static bool restore_tensor(void *context, const PlanTensor *tensor, int32_t layer,
                           uint64_t offset) {
  (void)layer;
  Matching *matching = context;
  const CheckpointEntry *entry = &matching->checkpoint->entry[matching->entry++];
  memcpy(matching->arena + offset, (const uint8_t *)matching->checkpoint->mapped + entry->offset,
         tensor->size_bytes);
  return true;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the tensors are written through it */
void checkpoint_restore(const Checkpoint *checkpoint, uint8_t *arena, const Plan *plan,
                        const PlanClass *class) {
  Matching matching = {.checkpoint = checkpoint, .plan = plan, .arena = arena};
  (void)checkpoint_each(plan, class, restore_tensor, &matching);
}

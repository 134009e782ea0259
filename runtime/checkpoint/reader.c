#include "runtime/checkpoint/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool unread(CheckpointFault *fault, const char *path, int failure, Status *status) {
  bool absent = failure == ENOENT || failure == ENOTDIR || failure == ENAMETOOLONG;
  *fault = absent ? CHECKPOINT_ABSENT : CHECKPOINT_UNREAD;
  return status_fail(status, absent ? STATUS_USER : STATUS_WORLD, "%s: cannot be read: %s", path,
                     strerror(failure));
}

bool checkpoint_read(int descriptor, const char *path, void *bytes, size_t count, uint64_t offset,
                     CheckpointFault *fault, Status *status) {
  uint8_t *at = bytes;
  while (count > 0) {
    ssize_t done = pread(descriptor, at, count, (off_t)offset);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return unread(fault, path, errno, status);
    if (done == 0) {
      *fault = CHECKPOINT_DAMAGED;
      return status_fail(status, STATUS_USER, "%s: is shorter than it was written", path);
    }
    at += done;
    count -= (size_t)done;
    offset += (uint64_t)done;
  }
  return true;
}

bool checkpoint_open_file(const char *path, int *descriptor, uint64_t *file_bytes,
                          CheckpointFault *fault, Status *status) {
  struct stat state;
  *descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (*descriptor < 0) return unread(fault, path, errno, status);
  bool known = fstat(*descriptor, &state) == 0;
  int failure = !known ? errno : S_ISDIR(state.st_mode) ? EISDIR : EINVAL;
  *file_bytes = known ? (uint64_t)state.st_size : 0;
  if (known && S_ISREG(state.st_mode)) return true;
  (void)close(*descriptor);
  return unread(fault, path, failure, status);
}

void reader_open(Reader *reader, const Checkpoint *from) {
  *reader = (Reader){.from = from};
}

static void close_file(ReaderFile *file) {
  if (file->path != NULL) (void)close(file->descriptor);
  free(file->path);
  free(file->sums);
  *file = (ReaderFile){0};
}

void reader_close(Reader *reader) {
  for (int32_t i = 0; i < READER_FILES; i++)
    close_file(&reader->file[i]);
  for (int32_t i = 0; i < READER_BLOCKS; i++)
    free(reader->block[i].bytes);
}

/* ---- files */

static bool damaged(const char *path, const char *what, CheckpointFault *fault, Status *status) {
  *fault = CHECKPOINT_DAMAGED;
  return status_fail(status, STATUS_USER, "%s: %s", path, what);
}

/* The sums are trusted if their own sum is the manifest's. */
static bool check_sums(const Reader *reader, ReaderFile *file, uint64_t file_bytes,
                       CheckpointFault *fault, Status *status) {
  const Manifest *manifest = &reader->from->manifest;
  const ManifestPart *part = manifest_part(manifest, file->number);
  if (!part_layout(&manifest->state, file->number, &file->layout))
    return unread(fault, file->path, ENOMEM, status);
  size_t sums = (size_t)file->layout.blocks;
  if (part == NULL || file_bytes != part->file_bytes ||
      file_bytes != (uint64_t)file->layout.file_bytes)
    return damaged(file->path, "has another size than it was written with", fault, status);
  file->sums = calloc(sums + 1, sizeof *file->sums);
  if (file->sums == NULL) return unread(fault, file->path, ENOMEM, status);
  if (!checkpoint_read(file->descriptor, file->path, file->sums, (sums + 1) * PART_SUM_BYTES,
                       (uint64_t)file->layout.sums_first, fault, status))
    return false;
  return (file->sums[sums] == part->sum &&
          part_sum(file->sums, sums * PART_SUM_BYTES) == part->sum) ||
         damaged(file->path, "its sums are damaged", fault, status);
}

static bool open_file(const Reader *reader, ReaderFile *file, int32_t number,
                      CheckpointFault *fault, Status *status) {
  char name[PART_FILE_NAME_BYTES];
  uint64_t file_bytes = 0;
  part_file_name(name, number);
  size_t room = strlen(reader->from->path) + sizeof name + 2;
  char *path = malloc(room);
  if (path == NULL) return unread(fault, reader->from->path, ENOMEM, status);
  (void)snprintf(path, room, "%s/%s", reader->from->path, name);
  if (!checkpoint_open_file(path, &file->descriptor, &file_bytes, fault, status)) {
    if (*fault == CHECKPOINT_ABSENT) *fault = CHECKPOINT_DAMAGED; /* the checkpoint is incomplete */
    free(path);
    return false;
  }
  file->path = path;
  file->number = number;
  if (check_sums(reader, file, file_bytes, fault, status)) return true;
  close_file(file);
  return false;
}

/* ---- blocks */

static bool read_block(const ReaderFile *file, ReaderBlock *block, const StateStored *stored,
                       CheckpointFault *fault, Status *status) {
  int64_t first = block->index * PART_BLOCK_BYTES;
  int64_t end = first + PART_BLOCK_BYTES;
  if (end > file->layout.sums_first) end = file->layout.sums_first;
  if (block->bytes == NULL) block->bytes = malloc(PART_BLOCK_BYTES);
  if (block->bytes == NULL) return unread(fault, file->path, ENOMEM, status);
  if (!checkpoint_read(file->descriptor, file->path, block->bytes, (size_t)(end - first),
                       (uint64_t)first, fault, status))
    return false;
  if (part_sum(block->bytes, (size_t)(end - first)) == file->sums[block->index]) return true;
  *fault = CHECKPOINT_DAMAGED;
  return status_fail(status, STATUS_USER,
                     "%s: bytes %lld to %lld are damaged: tensor %s cannot be read", file->path,
                     (long long)first, (long long)end, stored->item->name);
}

static const ReaderBlock *block_of(Reader *reader, ReaderFile *file, int64_t index,
                                   const StateStored *stored, CheckpointFault *fault,
                                   Status *status) {
  ReaderBlock *oldest = &reader->block[0];
  for (int32_t i = 0; i < READER_BLOCKS; i++) {
    ReaderBlock *block = &reader->block[i];
    bool is_it = block->bytes != NULL && block->number == file->number && block->index == index;
    if (is_it) block->used = ++reader->now;
    if (is_it) return block;
    if (block->used < oldest->used) oldest = block;
  }
  oldest->number = file->number;
  oldest->index = index;
  oldest->used = ++reader->now;
  if (read_block(file, oldest, stored, fault, status)) return oldest;
  oldest->number = -1;
  return NULL;
}

/* Copies bytes of a file out of its blocks. */
static bool copy_out(Reader *reader, ReaderFile *file, const StateStored *stored, uint64_t at,
                     uint8_t *to, size_t count, CheckpointFault *fault, Status *status) {
  while (count > 0) {
    uint64_t inside = at % PART_BLOCK_BYTES, room = PART_BLOCK_BYTES - inside;
    size_t take = count < room ? count : (size_t)room;
    const ReaderBlock *block =
        block_of(reader, file, (int64_t)(at / PART_BLOCK_BYTES), stored, fault, status);
    if (block == NULL) return false;
    memcpy(to, block->bytes + inside, take);
    to += take;
    at += take;
    count -= take;
  }
  return true;
}

/* The header follows from the manifest. */
static bool check_header(Reader *reader, ReaderFile *file, const StateStored *stored,
                         CheckpointFault *fault, Status *status) {
  const Manifest *manifest = &reader->from->manifest;
  const PartId id = {file->number, manifest->facts.step, manifest->facts.save};
  size_t bytes = (size_t)file->layout.header_bytes;
  char *wanted = part_header(&manifest->state, &id, &file->layout), *found = malloc(bytes);
  bool good = false;
  if (wanted == NULL || found == NULL)
    (void)unread(fault, file->path, ENOMEM, status);
  else if (copy_out(reader, file, stored, 0, (uint8_t *)found, bytes, fault, status))
    good = memcmp(found, wanted, bytes) == 0 ||
           damaged(file->path, "its header is of another save", fault, status);
  free(wanted);
  free(found);
  return good;
}

static ReaderFile *file_of(Reader *reader, const StateStored *stored, CheckpointFault *fault,
                           Status *status) {
  ReaderFile *oldest = &reader->file[0];
  for (int32_t i = 0; i < READER_FILES; i++) {
    ReaderFile *file = &reader->file[i];
    if (file->path != NULL && file->number == stored->number) return file;
    if (file->path == NULL || (oldest->path != NULL && file->used < oldest->used)) oldest = file;
  }
  close_file(oldest);
  if (!open_file(reader, oldest, stored->number, fault, status)) return NULL;
  if (check_header(reader, oldest, stored, fault, status)) return oldest;
  close_file(oldest);
  return NULL;
}

bool reader_read(Reader *reader, const StateStored *stored, uint64_t first, void *bytes,
                 size_t count, CheckpointFault *fault, Status *status) {
  ReaderFile *file = file_of(reader, stored, fault, status);
  if (file == NULL) return false;
  file->used = ++reader->now;
  uint64_t at = (uint64_t)file->layout.header_bytes + stored->data_first + first;
  return copy_out(reader, file, stored, at, bytes, count, fault, status);
}

/* load.c -- accepts a checkpoint only if every checksum agrees. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/checksum.h"

enum { PIECE_BYTES = 1 << 20 }; /* a multiple of CHECKSUM_BLOCK_BYTES */

static bool unread(CheckpointFault *fault, const char *path, int failure, Status *status) {
  bool absent = failure == ENOENT || failure == ENOTDIR || failure == ENAMETOOLONG;
  *fault = absent ? CHECKPOINT_ABSENT : CHECKPOINT_UNREAD;
  return status_fail(status, absent ? STATUS_USER : STATUS_WORLD, "%s: cannot be read: %s", path,
                     strerror(failure));
}

static bool too_short(CheckpointFault *fault, const char *path, Status *status) {
  *fault = CHECKPOINT_DAMAGED;
  return status_fail(status, STATUS_USER, "%s: is too short for a checkpoint", path);
}

bool checkpoint_read(int descriptor, const char *path, void *bytes, size_t count, uint64_t offset,
                     CheckpointFault *fault, Status *status) {
  uint8_t *at = bytes;
  while (count > 0) {
    ssize_t done = pread(descriptor, at, count, (off_t)offset);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return unread(fault, path, errno, status);
    if (done == 0) return too_short(fault, path, status);
    at += done;
    count -= (size_t)done;
    offset += (uint64_t)done;
  }
  return true;
}

/* A file being checked. */
typedef struct CheckpointReading {
  const char *path;
  int descriptor;
  uint64_t file_bytes;
  CheckpointFault *fault;
  Status *status;
} CheckpointReading;

static bool damaged(const CheckpointReading *file, const char *what) {
  *file->fault = CHECKPOINT_DAMAGED;
  return status_fail(file->status, STATUS_USER, "%s: %s", file->path, what);
}

static bool open_file(CheckpointReading *file) {
  struct stat state;
  file->descriptor = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file->descriptor < 0 || fstat(file->descriptor, &state) != 0)
    return unread(file->fault, file->path, errno, file->status);
  if (S_ISDIR(state.st_mode)) return unread(file->fault, file->path, EISDIR, file->status);
  if (!S_ISREG(state.st_mode)) return unread(file->fault, file->path, EINVAL, file->status);
  file->file_bytes = (uint64_t)state.st_size;
  return true;
}

static bool check_header(const CheckpointReading *file, const CheckpointHeader *header) {
  if (memcmp(header->magic, CHECKPOINT_MAGIC, sizeof header->magic) != 0)
    return damaged(file, "is not a checkpoint");
  if (header->version != CHECKPOINT_VERSION) {
    *file->fault = CHECKPOINT_FOREIGN;
    return status_fail(file->status, STATUS_USER,
                       "%s: has checkpoint format %u, this program reads %d: go on with the "
                       "program that wrote it, or start anew with --resume never",
                       file->path, header->version, CHECKPOINT_VERSION);
  }
  if (header->header_sum != checksum(header, offsetof(CheckpointHeader, header_sum)))
    return damaged(file, "its header is damaged");
  if (header->file_bytes == file->file_bytes) return true;
  *file->fault = CHECKPOINT_DAMAGED;
  return status_fail(file->status, STATUS_USER, "%s: has %llu of %llu bytes", file->path,
                     (unsigned long long)file->file_bytes, (unsigned long long)header->file_bytes);
}

/* No memory is allocated for a table that the file is too short for. Counts have 32 bits, so their
 * sum cannot overflow. */
static bool table_size(const CheckpointReading *file, const CheckpointHeader *header,
                       uint64_t *size_bytes) {
  uint64_t fixed = (uint64_t)header->entry_count * sizeof(CheckpointEntry) +
                   (uint64_t)header->setting_count * sizeof(CheckpointSetting) +
                   (uint64_t)header->part_count * sizeof(CheckpointPart);
  uint64_t room = file->file_bytes - sizeof *header;
  if (room > CHECKPOINT_TABLE_BYTES_MAX) room = CHECKPOINT_TABLE_BYTES_MAX;
  if (header->part_count > 1 || fixed > room || header->text_bytes > room - fixed)
    return damaged(file, "its table of tensors is damaged");
  *size_bytes = fixed + header->text_bytes;
  return true;
}

static bool is_text(const CheckpointHeader *header, const char *text, uint32_t offset) {
  return offset < header->text_bytes && memchr(text + offset, 0, header->text_bytes - offset);
}

static bool check_settings(const CheckpointReading *file, const Checkpoint *checkpoint) {
  for (uint32_t i = 0; i < checkpoint->header->setting_count; i++) {
    const CheckpointSetting *setting = &checkpoint->setting[i];
    if (setting->effect >= SettingEffect_COUNT ||
        !is_text(checkpoint->header, checkpoint->text, setting->key) ||
        !is_text(checkpoint->header, checkpoint->text, setting->value) ||
        !is_text(checkpoint->header, checkpoint->text, setting->origin))
      return damaged(file, "its list of settings is damaged");
  }
  return true;
}

static bool check_entries(const CheckpointReading *file, const Checkpoint *checkpoint) {
  const CheckpointHeader *header = checkpoint->header;
  for (uint32_t i = 0; i < header->entry_count; i++) {
    const CheckpointEntry *entry = &checkpoint->entry[i];
    bool named = is_text(header, checkpoint->text, entry->name);
    bool inside =
        entry->offset <= file->file_bytes && entry->size_bytes <= file->file_bytes - entry->offset;
    if (!named || !inside)
      return checkpoint_damaged(file->path, named ? checkpoint->text + entry->name : NULL,
                                file->fault, file->status);
  }
  return true;
}

static bool read_table(CheckpointReading *file, Checkpoint *checkpoint) {
  CheckpointHeader header;
  uint64_t table_bytes = 0;
  if (file->file_bytes < sizeof header) return too_short(file->fault, file->path, file->status);
  if (!checkpoint_read(file->descriptor, file->path, &header, sizeof header, 0, file->fault,
                       file->status) ||
      !check_header(file, &header) || !table_size(file, &header, &table_bytes))
    return false;
  uint8_t *block = malloc(sizeof header + table_bytes + 1);
  if (!block) return unread(file->fault, file->path, ENOMEM, file->status);
  uint8_t *table = block + sizeof header;
  memcpy(block, &header, sizeof header);
  checkpoint->block = block;
  checkpoint->block_bytes = sizeof header + table_bytes;
  if (!checkpoint_read(file->descriptor, file->path, table, table_bytes, sizeof header, file->fault,
                       file->status))
    return false;
  if (checksum(table, table_bytes) != header.table_sum)
    return damaged(file, "its table of tensors is damaged");
  checkpoint_view(checkpoint);
  return check_settings(file, checkpoint) && check_entries(file, checkpoint);
}

bool checkpoint_damaged(const char *path, const char *tensor, CheckpointFault *fault,
                        Status *status) {
  *fault = CHECKPOINT_DAMAGED;
  return status_fail(status, STATUS_USER, "%s: tensor %s is damaged", path,
                     tensor != NULL ? tensor : "without a name");
}

void checkpoint_view(Checkpoint *checkpoint) {
  const CheckpointHeader *header = checkpoint->block;
  const CheckpointPart *part = (const CheckpointPart *)(const void *)(header + 1);
  checkpoint->header = header;
  checkpoint->part = header->part_count > 0 ? part : NULL;
  checkpoint->entry = (const CheckpointEntry *)(const void *)(part + header->part_count);
  checkpoint->setting =
      (const CheckpointSetting *)(const void *)(checkpoint->entry + header->entry_count);
  checkpoint->text = (const char *)(checkpoint->setting + header->setting_count);
}

/* The checksum of a tensor's bytes in the file. */
static bool sum_tensor(const Checkpoint *from, const CheckpointEntry *entry, uint8_t *piece,
                       uint64_t *sum, CheckpointFault *fault, Status *status) {
  Checksum running;
  checksum_begin(&running);
  for (uint64_t done = 0; done < entry->size_bytes;) {
    uint64_t left = entry->size_bytes - done;
    size_t take = left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;
    if (!checkpoint_read(from->descriptor, from->path, piece, take, entry->offset + done, fault,
                         status))
      return false;
    checksum_add(&running, piece, take);
    done += take;
  }
  *sum = checksum_end(&running);
  return true;
}

bool checkpoint_sums(const Checkpoint *checkpoint, CheckpointFault *fault, Status *status) {
  uint8_t *piece = malloc(PIECE_BYTES);
  bool good = piece || unread(fault, checkpoint->path, ENOMEM, status);
  for (uint32_t i = 0; good && i < checkpoint->header->entry_count; i++) {
    const CheckpointEntry *entry = &checkpoint->entry[i];
    uint64_t sum = 0;
    good = sum_tensor(checkpoint, entry, piece, &sum, fault, status) &&
           (sum == entry->sum ||
            checkpoint_damaged(checkpoint->path, checkpoint->text + entry->name, fault, status));
  }
  free(piece);
  return good;
}

bool checkpoint_open(Checkpoint *checkpoint, const char *path, CheckpointFault *fault,
                     Status *status) {
  *checkpoint = (Checkpoint){.path = strdup(path), .is_reader = true, .descriptor = -1};
  CheckpointReading file = {.path = path, .descriptor = -1, .fault = fault, .status = status};
  bool good = checkpoint->path ? open_file(&file) && read_table(&file, checkpoint)
                               : unread(fault, path, ENOMEM, status);
  checkpoint->descriptor = file.descriptor;
  if (!good) checkpoint_close(checkpoint);
  return good;
}

bool checkpoint_receive(Checkpoint *checkpoint, const char *path, uint64_t block_bytes,
                        Status *status) {
  *checkpoint =
      (Checkpoint){.path = strdup(path), .block = malloc(block_bytes), .block_bytes = block_bytes};
  if (checkpoint->path && checkpoint->block) return true;
  checkpoint_close(checkpoint);
  return status_fail(status, STATUS_WORLD, "%s: not enough memory to open it", path);
}

void checkpoint_close(Checkpoint *checkpoint) {
  if (checkpoint->is_reader && checkpoint->descriptor >= 0) close(checkpoint->descriptor);
  free(checkpoint->block);
  free(checkpoint->path);
  *checkpoint = (Checkpoint){0};
}

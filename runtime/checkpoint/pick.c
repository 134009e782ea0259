#include "runtime/checkpoint/pick.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Formats 1 to 4 were files step_N.ckpt, which begin with LSTEPCKP and the version. */
#define FILE_SUFFIX ".ckpt"
#define FILE_MAGIC  "LSTEPCKP"

static int64_t step_of_any(const char *name, bool *is_file) {
  const char *rest = "";
  int64_t step = checkpoint_step_of(name, &rest);
  *is_file = strcmp(rest, FILE_SUFFIX) == 0;
  return *rest == '\0' || *is_file ? step : -1;
}

bool pick_newest_below(const char *directory, int64_t below, int64_t *newest, bool *is_file,
                       Status *status) {
  *newest = -1;
  DIR *folder = opendir(directory);
  if (!folder && errno == ENOENT) return true;
  int failure = folder ? 0 : errno;
  while (folder) {
    bool file;
    errno = 0;
    const struct dirent *item = readdir(folder);
    failure = errno;
    if (!item) break;
    int64_t step = step_of_any(item->d_name, &file);
    if (!file && item->d_type == DT_REG) continue; /* no checkpoint of any format */
    if (step >= below || step < *newest || (step == *newest && file)) continue;
    *newest = step;
    *is_file = file;
  }
  if (folder) closedir(folder);
  return failure == 0 ||
         status_fail(status, STATUS_WORLD, "%s: cannot be read: %s", directory, strerror(failure));
}

/* A file in place of a folder: a checkpoint of an earlier format, or none at all. */
static void refuse_file(const char *path, CheckpointFault *fault, Status *status) {
  char magic[sizeof FILE_MAGIC - 1] = "";
  uint32_t version = 0;
  uint64_t file_bytes;
  int descriptor;
  if (!checkpoint_open_file(path, &descriptor, &file_bytes, fault, status)) return;
  bool read =
      checkpoint_read(descriptor, path, magic, sizeof magic, 0, fault, status) &&
      checkpoint_read(descriptor, path, &version, sizeof version, sizeof magic, fault, status);
  (void)close(descriptor);
  *fault = CHECKPOINT_FOREIGN;
  if (read && memcmp(magic, FILE_MAGIC, sizeof magic) == 0)
    (void)status_fail(status, STATUS_USER,
                      "%s: has checkpoint format %u, this program reads %d: go on with the program "
                      "that wrote it, or start anew with --resume never",
                      path, version, CHECKPOINT_VERSION);
  else
    (void)status_fail(status, STATUS_USER,
                      "%s: is a file, not a checkpoint: name one of the folders step_N that a run "
                      "keeps in its folder checkpoint",
                      path);
}

static bool is_folder(const char *path) {
  struct stat state;
  return stat(path, &state) == 0 && S_ISDIR(state.st_mode);
}

static void pick_named(const CheckpointSearch *search, Picked *picked, CheckpointFault *fault,
                       Status *status) {
  char manifest[CHECKPOINT_PATH_BYTES + 32];
  (void)snprintf(picked->path, sizeof picked->path, "%s", search->path);
  (void)snprintf(manifest, sizeof manifest, "%s/%s", picked->path, MANIFEST_FILE);
  picked->state = PICKED_FAILED;
  if (access(picked->path, F_OK) == 0 && !is_folder(picked->path)) {
    refuse_file(picked->path, fault, status);
    return;
  }
  picked->state = PICKED_ONE;
  if (!is_folder(picked->path) || access(manifest, F_OK) == 0) return;
  picked->state = PICKED_FAILED;
  *fault = CHECKPOINT_ABSENT;
  (void)status_fail(status, STATUS_USER,
                    "%s: is a folder without %s, not a checkpoint: name one of the folders step_N "
                    "that a run keeps in its folder checkpoint",
                    picked->path, MANIFEST_FILE);
}

void pick_path(const CheckpointSearch *search, Picked *picked, CheckpointFault *fault,
               Status *status) {
  bool is_file = false;
  *picked = (Picked){.state = PICKED_ONE};
  if (search->path) {
    pick_named(search, picked, fault, status);
    return;
  }
  if (!pick_newest_below(search->directory, *search->below, search->below, &is_file, status)) {
    picked->state = PICKED_FAILED;
    *fault = CHECKPOINT_UNREAD;
    return;
  }
  if (*search->below < 0) {
    picked->state = PICKED_NONE;
    return;
  }
  checkpoint_path(picked->path, search->directory, *search->below);
  if (!is_file) return;
  size_t length = strlen(picked->path);
  (void)snprintf(picked->path + length, sizeof picked->path - length, "%s", FILE_SUFFIX);
  picked->state = PICKED_FAILED;
  refuse_file(picked->path, fault, status);
}

char *pick_text(Picked *picked, CheckpointFault *fault, Status *status) {
  char path[CHECKPOINT_PATH_BYTES + 32];
  int descriptor;
  (void)snprintf(path, sizeof path, "%s/%s", picked->path, MANIFEST_FILE);
  if (!checkpoint_open_file(path, &descriptor, &picked->text_bytes, fault, status)) {
    /* A folder without its manifest was a checkpoint once. */
    if (*fault == CHECKPOINT_ABSENT && is_folder(picked->path)) *fault = CHECKPOINT_DAMAGED;
    return NULL;
  }
  char *text = NULL;
  if (picked->text_bytes > MANIFEST_BYTES_MAX) {
    *fault = CHECKPOINT_DAMAGED;
    (void)status_fail(status, STATUS_USER, "%s: is longer than any manifest", path);
  } else {
    text = malloc((size_t)picked->text_bytes + 1);
    *fault = text != NULL ? CHECKPOINT_WHOLE : CHECKPOINT_UNREAD;
    if (text == NULL) (void)status_fail(status, STATUS_WORLD, "%s: not enough memory", path);
  }
  if (text != NULL &&
      !checkpoint_read(descriptor, path, text, (size_t)picked->text_bytes, 0, fault, status)) {
    free(text);
    text = NULL;
  }
  (void)close(descriptor);
  return text;
}

bool pick_manifest(Checkpoint *own, const char *path, const char *text, uint64_t text_bytes,
                   CheckpointFault *fault, Status *status) {
  char why[MANIFEST_WHY_BYTES];
  own->path = strdup(path);
  ManifestFault found = own->path != NULL
                            ? manifest_read(&own->manifest, text, (size_t)text_bytes, why)
                            : MANIFEST_NO_MEMORY;
  if (found == MANIFEST_WHOLE && !manifest_is_of(&own->manifest, path, why))
    found = MANIFEST_DAMAGED;
  if (found == MANIFEST_WHOLE) return true;
  if (own->path == NULL) (void)snprintf(why, sizeof why, "needs more memory than there is");
  *fault = found == MANIFEST_FOREIGN     ? CHECKPOINT_FOREIGN
           : found == MANIFEST_NO_MEMORY ? CHECKPOINT_UNREAD
                                         : CHECKPOINT_DAMAGED;
  return status_fail(status, found == MANIFEST_NO_MEMORY ? STATUS_WORLD : STATUS_USER, "%s/%s: %s",
                     path, MANIFEST_FILE, why);
}

static bool check_size(const Checkpoint *own, const ManifestPart *part, CheckpointFault *fault,
                       Status *status) {
  char name[PART_FILE_NAME_BYTES], path[CHECKPOINT_PATH_BYTES + sizeof name];
  struct stat state;
  part_file_name(name, part->number);
  (void)snprintf(path, sizeof path, "%s/%s", own->path, name);
  *fault = CHECKPOINT_DAMAGED;
  if (stat(path, &state) != 0) {
    if (errno != ENOENT) *fault = CHECKPOINT_UNREAD;
    return status_fail(status, errno == ENOENT ? STATUS_USER : STATUS_WORLD,
                       "%s: cannot be read: %s", path, strerror(errno));
  }
  if ((uint64_t)state.st_size != part->file_bytes)
    return status_fail(status, STATUS_USER, "%s: has %llu of %llu bytes", path,
                       (unsigned long long)state.st_size, (unsigned long long)part->file_bytes);
  *fault = CHECKPOINT_WHOLE;
  return true;
}

bool pick_parts(const Checkpoint *own, CheckpointFault *fault, Status *status) {
  const Manifest *manifest = &own->manifest;
  for (int32_t number = 0; number < manifest->state.numbers; number++) {
    if (state_part_data(&manifest->state, number) == 0) continue;
    const ManifestPart *part = manifest_part(manifest, number);
    if (part == NULL) {
      *fault = CHECKPOINT_DAMAGED;
      return status_fail(status, STATUS_USER, "%s/%s: does not list the part of rank %d", own->path,
                         MANIFEST_FILE, number);
    }
    if (!check_size(own, part, fault, status)) return false;
  }
  return true;
}

bool checkpoint_is_whole(const char *path) {
  Picked *picked = calloc(1, sizeof *picked);
  Checkpoint own = {0};
  CheckpointFault fault;
  Status status = {0};
  if (picked == NULL) return false;
  (void)snprintf(picked->path, sizeof picked->path, "%s", path);
  char *text = pick_text(picked, &fault, &status);
  bool is_whole = text != NULL &&
                  pick_manifest(&own, path, text, picked->text_bytes, &fault, &status) &&
                  pick_parts(&own, &fault, &status);
  checkpoint_close(&own);
  free(text);
  free(picked);
  return is_whole;
}

void checkpoint_close(Checkpoint *checkpoint) {
  manifest_close(&checkpoint->manifest);
  free(checkpoint->path);
  checkpoint->path = NULL;
}

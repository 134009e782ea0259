/* find.c -- all ranks take the same checkpoint, or none. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/checkpoint/pick.h"
#include "runtime/checkpoint/weights.h"
#include "runtime/process/plural.h"

enum { SHARE_BYTES = 1 << 20 };

/* The fault that was found, and the rank that found it. */
typedef struct FindVerdict {
  int32_t fault;
  int32_t rank;
  Status status;
} FindVerdict;

/* All ranks take the verdict of the first rank that has one. False: `status` is this rank's, or an
 * echo. */
static bool agree(const CheckpointSearch *search, FindVerdict *verdict, Status *status) {
  Comm *comm = search->comm;
  int32_t ranks = search->mesh->rank_count, first = 0;
  int32_t *faults = malloc((size_t)ranks * sizeof *faults);
  if (!faults)
    return status_fail(status, STATUS_WORLD, "not enough memory for %d rank%s", ranks,
                       plural(ranks));
  status->code = STATUS_ECHO;
  bool told = comm->ops->gather_bytes(comm, &verdict->fault, faults, sizeof *faults);
  while (told && first + 1 < ranks && faults[first] == CHECKPOINT_WHOLE)
    first++;
  if (told && faults[first] != CHECKPOINT_WHOLE)
    told = comm->ops->broadcast_bytes(comm, first, verdict, sizeof *verdict);
  verdict->rank = first;
  free(faults);
  return told;
}

/* All get the first verdict that is not good. */
static bool settle(const CheckpointSearch *search, FindVerdict *verdict, CheckpointFault *fault,
                   Status *status) {
  if (!agree(search, verdict, status)) return false;
  *fault = (CheckpointFault)verdict->fault;
  if (*fault == CHECKPOINT_WHOLE) return true;
  *status = verdict->status;
  if (search->rank != verdict->rank) status->code = STATUS_ECHO;
  return false;
}

/* Gives rank 0's text to all. */
static bool share_text(const CheckpointSearch *search, char *text, uint64_t bytes) {
  for (uint64_t at = 0; at < bytes; at += SHARE_BYTES) {
    size_t take = bytes - at < SHARE_BYTES ? (size_t)(bytes - at) : SHARE_BYTES;
    if (!search->comm->ops->broadcast_bytes(search->comm, 0, text + at, take)) return false;
  }
  return true;
}

/* On ranks beside 0. False: this rank or another cannot continue. */
static bool receive(const CheckpointSearch *search, const Picked *picked, Checkpoint *own,
                    FindVerdict *verdict, Status *status) {
  CheckpointFault fault = CHECKPOINT_WHOLE;
  char *text = malloc((size_t)picked->text_bytes + 1);
  if (text == NULL)
    return status_fail(status, STATUS_WORLD, "%s: not enough memory to open it", picked->path);
  status->code = STATUS_ECHO;
  bool shared = share_text(search, text, picked->text_bytes);
  if (shared &&
      !pick_manifest(own, picked->path, text, picked->text_bytes, &fault, &verdict->status))
    verdict->fault = (int32_t)fault;
  free(text);
  return shared;
}

/* On rank 0: what it picks, and the manifest's text; all of it is judged before others hear of it.
 */
static char *pick(const CheckpointSearch *search, Picked *picked, Checkpoint *own,
                  FindVerdict *verdict) {
  CheckpointFault fault = CHECKPOINT_WHOLE;
  char *text = NULL;
  pick_path(search, picked, &fault, &verdict->status);
  if (picked->state == PICKED_ONE) text = pick_text(picked, &fault, &verdict->status);
  bool good =
      text != NULL &&
      pick_manifest(own, picked->path, text, picked->text_bytes, &fault, &verdict->status) &&
      pick_parts(own, &fault, &verdict->status);
  if (picked->state == PICKED_ONE && !good) picked->state = PICKED_FAILED;
  verdict->fault = (int32_t)fault;
  return text;
}

/* False with status code 0: there is none. False with `fault` CHECKPOINT_DAMAGED: all know why. */
static bool try_one(const CheckpointSearch *search, Checkpoint *own, CheckpointFault *fault,
                    Status *status) {
  Picked picked = {0};
  FindVerdict verdict = {0};
  char *text = NULL;
  *fault = CHECKPOINT_WHOLE;
  checkpoint_close(own);
  if (search->rank == 0) text = pick(search, &picked, own, &verdict);
  status->code = STATUS_ECHO;
  bool told = search->comm->ops->broadcast_bytes(search->comm, 0, &picked, sizeof picked);
  if (told && picked.state == PICKED_ONE)
    told = search->rank == 0 ? share_text(search, text, picked.text_bytes)
                             : receive(search, &picked, own, &verdict, status);
  free(text);
  if (!told) return false;
  status->code = 0;
  if (picked.state == PICKED_NONE) return false;
  return settle(search, &verdict, fault, status);
}

bool checkpoint_skip(const CheckpointSearch *search, Checkpoint *own, CheckpointFault fault,
                     Status *status) {
  bool skips = fault == CHECKPOINT_DAMAGED && !search->path;
  checkpoint_close(own);
  if (skips && search->rank == 0) search->skipped(status->text);
  if (!skips && status->code == STATUS_ECHO) status->text[0] = 0; /* another rank has reported it */
  return skips;
}

bool checkpoint_find(const CheckpointSearch *search, Checkpoint *own, CheckpointFault *fault,
                     Status *status) {
  while (!try_one(search, own, fault, status))
    if (!checkpoint_skip(search, own, *fault, status)) return false;
  return true;
}

/* ---- damage */

typedef struct Heard {
  const char *folder;
  Status *status;
  bool any;
} Heard;

/* The first damage is reported, with the first tensor that it affects. */
static void hear(void *context, const PartDamage *damage) {
  Heard *heard = context;
  if (heard->any) return;
  heard->any = true;
  int64_t end = damage->first_byte + damage->bytes;
  const char *tensor = damage->tensor_count > 0 ? damage->tensor[0] : "";
  (void)status_fail(heard->status, STATUS_USER, "%s/%s: bytes %lld to %lld: %s%s%s", heard->folder,
                    damage->file, (long long)damage->first_byte, (long long)end, damage->why,
                    tensor[0] != '\0' ? ": tensor " : "", tensor);
}

/* Parts are dealt to ranks, so that each is read once. */
bool checkpoint_verify(const CheckpointSearch *search, const Checkpoint *own,
                       CheckpointFault *fault, Status *status) {
  FindVerdict verdict = {0};
  const Manifest *manifest = &own->manifest;
  for (int32_t i = search->rank; i < manifest->part_count && verdict.fault == CHECKPOINT_WHOLE;
       i += search->mesh->rank_count) {
    const ManifestPart *part = &manifest->part[i];
    Heard heard = {own->path, &verdict.status, false};
    PartSink sink = {hear, &heard};
    PartFile file = {.state = &manifest->state,
                     .folder = own->path,
                     .id = {part->number, manifest->facts.step, manifest->facts.save},
                     .file_bytes = (int64_t)part->file_bytes,
                     .sum = part->sum};
    PartResult result = part_check(&file, &sink, &verdict.status);
    if (result != PART_WHOLE)
      verdict.fault = result == PART_DAMAGED ? CHECKPOINT_DAMAGED : CHECKPOINT_UNREAD;
  }
  return settle(search, &verdict, fault, status);
}

bool checkpoint_restore(const CheckpointSearch *search, const Checkpoint *own,
                        const CheckpointTarget *target, CheckpointFault *fault, Status *status) {
  FindVerdict verdict = {0};
  *fault = CHECKPOINT_WHOLE;
  if (!checkpoint_install(search, own, target, fault, &verdict.status)) {
    *status = verdict.status;
    return false;
  }
  verdict.fault = (int32_t)*fault;
  return settle(search, &verdict, fault, status);
}

bool weights_install(const CheckpointSearch *search, const WeightFiles *files,
                     const CheckpointTarget *target, Status *status) {
  FindVerdict verdict = {0};
  CheckpointFault fault = CHECKPOINT_WHOLE;
  if (!weights_fill(search, files, target, &fault, &verdict.status)) {
    *status = verdict.status;
    return false;
  }
  if (fault == CHECKPOINT_WHOLE && search->rank == 0 &&
      !weight_files_check_tied(files, &verdict.status))
    fault = CHECKPOINT_UNREAD;
  verdict.fault = (int32_t)fault;
  return settle(search, &verdict, &fault, status);
}

/* find.c -- all ranks take the same checkpoint, each its own file of it. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/checkpoint/take.h"
#include "runtime/plan/plan_job.h"
#include "runtime/process/plural.h"

/* The greatest step below `below` that has a file, or -1. False: the directory cannot be read. */
static bool newest_below(const char *directory, int64_t below, int64_t *newest, Status *status) {
  *newest = -1;
  DIR *folder = opendir(directory);
  if (!folder && errno == ENOENT) return true;
  int failure = folder ? 0 : errno;
  while (folder) {
    errno = 0;
    const struct dirent *item = readdir(folder);
    failure = errno;
    if (!item) break;
    int64_t step = checkpoint_step_of(item->d_name, NULL);
    if (step > *newest && step < below) *newest = step;
  }
  if (folder) closedir(folder);
  return failure == 0 ||
         status_fail(status, STATUS_WORLD, "%s: cannot be read: %s", directory, strerror(failure));
}

/* Rank 0's message to the others about the checkpoint that it has picked. */
typedef struct CheckpointHead {
  enum { HEAD_NONE, HEAD_PICKED, HEAD_FAILED } state;
  bool in_parts;
  char path[CHECKPOINT_PATH_BYTES];
  CheckpointHeader header;
  CheckpointPart part;
} CheckpointHead;

/* On rank 0. Only `head` fails if the directory cannot be read, or the path is one, because there
 * is no file to judge. */
static void pick(const CheckpointSearch *search, int64_t *step, CheckpointHead *head,
                 Status *status) {
  head->state = HEAD_PICKED;
  if (search->path) {
    struct stat state;
    (void)snprintf(head->path, sizeof head->path, "%s", search->path);
    if (stat(search->path, &state) != 0 || !S_ISDIR(state.st_mode)) return;
    head->state = HEAD_FAILED;
    (void)status_fail(
        status, STATUS_USER,
        "%s: is a folder, not a checkpoint: name one of the files that a run keeps in "
        "its folder checkpoint",
        search->path);
    return;
  }
  if (!newest_below(search->directory, *step, step, status))
    head->state = HEAD_FAILED;
  else if (*step < 0)
    head->state = HEAD_NONE;
  else
    checkpoint_path(head->path, search->directory, *step, 0);
}

static bool open_head(CheckpointHead *head, Checkpoint *own, CheckpointFault *fault,
                      Status *status) {
  if (!checkpoint_open(own, head->path, fault, status)) return false;
  head->header = *own->header;
  head->in_parts = own->part != NULL;
  if (!own->part) return true;
  head->part = *own->part;
  if (own->part->rank == 0) return true;
  *fault = CHECKPOINT_DAMAGED;
  return status_fail(status, STATUS_USER, "%s: is not rank 0's part of a checkpoint", head->path);
}

static bool is_of(const Checkpoint *own, const CheckpointHead *head, int32_t writer) {
  CheckpointPart want = head->part;
  want.rank = writer;
  return (own->part != NULL) == head->in_parts &&
         (!own->part || memcmp(own->part, &want, sizeof want) == 0) &&
         own->header->step == head->header.step && own->header->samples == head->header.samples &&
         own->header->plan_id == head->header.plan_id;
}

/* A rank's role for the files of a checkpoint. */
typedef struct Role {
  bool in_place; /* the file is cut as the plan is; otherwise every rank reports by rank 0's file */
  int32_t writer; /* the rank whose part this rank has */
  bool is_reader; /* the first of those that have it */
  char path[CHECKPOINT_PATH_BYTES];
} Role;

static Role role_of(const CheckpointSearch *search, const CheckpointHead *head) {
  Role role = {.in_place = checkpoint_same_mesh(head->in_parts ? &head->part : NULL, search->plan)};
  if (role.in_place)
    role.writer = checkpoint_writer(search->mesh, job_state_axes(search->plan), search->rank);
  role.is_reader = role.writer == mesh_number(search->mesh, search->rank);
  if (role.writer > 0)
    (void)snprintf(role.path, sizeof role.path, "%.*s.r%05d", CHECKPOINT_PATH_BYTES - 16,
                   head->path, role.writer);
  else
    (void)snprintf(role.path, sizeof role.path, "%s", head->path);
  return role;
}

/* On a reader that is not rank 0. */
static bool open_beside(const CheckpointHead *head, const Role *role, Checkpoint *own,
                        CheckpointFault *fault, Status *status) {
  if (!checkpoint_open(own, role->path, fault, status)) {
    if (*fault == CHECKPOINT_ABSENT) *fault = CHECKPOINT_DAMAGED; /* the checkpoint is incomplete */
    return false;
  }
  if (is_of(own, head, role->writer)) return true;
  *fault = CHECKPOINT_DAMAGED;
  return status_fail(status, STATUS_USER, "%s: is not of the same checkpoint as %s", role->path,
                     head->path);
}

static bool share(const CheckpointSearch *search, const Role *role, void *bytes,
                  uint64_t size_bytes) {
  Comm *comm = search->comm;
  return role->in_place ? comm->ops->share_bytes(comm, bytes, size_bytes)
                        : comm->ops->broadcast_bytes(comm, 0, bytes, size_bytes);
}

/* Gives the reader's table to all ranks with its part of the state; nothing if it could not be
 * opened. False: this rank or another cannot go on. */
static bool share_table(const CheckpointSearch *search, const Role *role, Checkpoint *own,
                        Status *status) {
  uint64_t block_bytes = own->block_bytes;
  status->code = STATUS_ECHO;
  if (!share(search, role, &block_bytes, sizeof block_bytes)) return false;
  if (block_bytes == 0) return true;
  if (!role->is_reader && !checkpoint_receive(own, role->path, block_bytes, status)) return false;
  if (!share(search, role, own->block, block_bytes)) return false;
  if (!role->is_reader) checkpoint_view(own);
  return true;
}

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

/* Opens the checkpoint that rank 0 has picked, on every rank. */
static bool open_picked(const CheckpointSearch *search, const CheckpointHead *head, Checkpoint *own,
                        FindVerdict *verdict, Status *status) {
  CheckpointFault fault = CHECKPOINT_WHOLE;
  Role role = role_of(search, head);
  if (role.is_reader && search->rank != 0 &&
      !open_beside(head, &role, own, &fault, &verdict->status)) {
    checkpoint_close(own);
    verdict->fault = (int32_t)fault;
  }
  return share_table(search, &role, own, status);
}

/* False with status code 0: there is none. False with `fault` CHECKPOINT_DAMAGED: all know why. */
static bool try_one(const CheckpointSearch *search, int64_t *step, Checkpoint *own,
                    CheckpointFault *fault, Status *status) {
  CheckpointHead head = {0};
  FindVerdict verdict = {0};
  *own = (Checkpoint){0};
  *fault = CHECKPOINT_WHOLE;
  if (search->rank == 0) {
    pick(search, step, &head, &verdict.status);
    bool failed = head.state == HEAD_PICKED && !open_head(&head, own, fault, &verdict.status);
    verdict.fault = failed                      ? (int32_t)*fault
                    : head.state == HEAD_FAILED ? CHECKPOINT_UNREAD
                                                : CHECKPOINT_WHOLE;
  }
  /* If rank 0 could not open its file, the others open nothing and only take part in the verdict.
   */
  if (verdict.fault != CHECKPOINT_WHOLE) head.state = HEAD_FAILED;
  status->code = STATUS_ECHO;
  if (!search->comm->ops->broadcast_bytes(search->comm, 0, &head, sizeof head)) return false;
  status->code = 0;
  if (head.state == HEAD_NONE) return false;
  if (head.state == HEAD_PICKED && !open_picked(search, &head, own, &verdict, status)) return false;
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
  while (!try_one(search, search->below, own, fault, status))
    if (!checkpoint_skip(search, own, *fault, status)) return false;
  return true;
}

bool checkpoint_verify(const CheckpointSearch *search, const Checkpoint *own,
                       CheckpointFault *fault, Status *status) {
  FindVerdict verdict = {0};
  *fault = CHECKPOINT_WHOLE;
  if (own->is_reader && !checkpoint_sums(own, fault, &verdict.status))
    verdict.fault = (int32_t)*fault;
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

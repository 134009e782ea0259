/* find.c -- all ranks take the same checkpoint, each its own file of it. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/checkpoint/checkpoint.h"

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

/* What rank 0 tells the others of the one that it has picked. */
typedef struct Head {
  enum { HEAD_NONE, HEAD_PICKED, HEAD_FAILED } state;
  bool in_parts;
  char path[CHECKPOINT_PATH_BYTES];
  CheckpointHeader header;
  CheckpointPart part;
} Head;

/* On rank 0. The head alone fails when the directory does, before there is a file to judge. */
static void pick(const CheckpointSearch *search, int64_t *step, Head *head, Status *status) {
  head->state = HEAD_PICKED;
  if (search->path) {
    (void)snprintf(head->path, sizeof head->path, "%s", search->path);
    return;
  }
  if (!newest_below(search->directory, *step, step, status))
    head->state = HEAD_FAILED;
  else if (*step < 0)
    head->state = HEAD_NONE;
  else
    checkpoint_path(head->path, search->directory, *step, 0);
}

static bool open_head(Head *head, Checkpoint *own, CheckpointFault *fault, Status *status) {
  if (!checkpoint_open(own, head->path, fault, status)) return false;
  head->header = *own->header;
  head->in_parts = own->part != NULL;
  if (!own->part) return true;
  head->part = *own->part;
  if (own->part->rank == 0) return true;
  *fault = CHECKPOINT_DAMAGED;
  return status_fail(status, STATUS_USER, "%s: is not rank 0's part of a checkpoint", head->path);
}

static bool is_of(const Checkpoint *own, const Head *head, int32_t writer) {
  CheckpointPart want = head->part;
  want.rank = writer;
  return (own->part != NULL) == head->in_parts &&
         (!own->part || memcmp(own->part, &want, sizeof want) == 0) &&
         own->header->step == head->header.step && own->header->samples == head->header.samples &&
         own->header->plan_id == head->header.plan_id;
}

/* On the other ranks. When the mesh is another one, rank 0's file says so on every rank. */
static bool open_beside(const Head *head, int32_t writer, Checkpoint *own, CheckpointFault *fault,
                        Status *status) {
  char path[CHECKPOINT_PATH_BYTES];
  if (writer > 0)
    (void)snprintf(path, sizeof path, "%.*s.r%05d", CHECKPOINT_PATH_BYTES - 16, head->path, writer);
  else
    (void)snprintf(path, sizeof path, "%s", head->path);
  if (!checkpoint_open(own, path, fault, status)) {
    if (*fault == CHECKPOINT_ABSENT) *fault = CHECKPOINT_DAMAGED; /* not whole */
    return false;
  }
  if (is_of(own, head, writer)) return true;
  *fault = CHECKPOINT_DAMAGED;
  return status_fail(status, STATUS_USER, "%s: is not of the same checkpoint as %s", path,
                     head->path);
}

/* Whose part this rank reads, when the checkpoint is cut as the plan is; else that of rank 0. */
static int32_t writer_of(const CheckpointSearch *search, const Head *head) {
  if (!head->in_parts || !checkpoint_same_mesh(&head->part, search->plan)) return 0;
  return checkpoint_writer(search->mesh, search->plan->jobs[0].state_axes, search->rank);
}

/* What went wrong, and where. */
typedef struct Verdict {
  int32_t fault;
  int32_t rank;
  Status status;
} Verdict;

/* The first rank that has something to say is believed by all. False: `status` is of this rank, or
 * an echo. */
static bool agree(const CheckpointSearch *search, Verdict *verdict, Status *status) {
  Comm *comm = search->comm;
  int32_t ranks = search->mesh->rank_count, first = 0;
  int32_t *faults = malloc((size_t)ranks * sizeof *faults);
  if (!faults) return status_fail(status, STATUS_WORLD, "not enough memory for %d ranks", ranks);
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

/* Opens what rank 0 has picked, on every rank. */
static void open_picked(const CheckpointSearch *search, const Head *head, Checkpoint *own,
                        Verdict *verdict) {
  CheckpointFault fault = (CheckpointFault)verdict->fault;
  int32_t writer = writer_of(search, head);
  bool open = fault == CHECKPOINT_WHOLE &&
              (search->rank == 0 || open_beside(head, writer, own, &fault, &verdict->status));
  if (open && writer == mesh_number(search->mesh, search->rank))
    open = checkpoint_verify(own, &fault, &verdict->status);
  verdict->fault = open ? CHECKPOINT_WHOLE : (int32_t)fault;
}

/* False with status code 0: there is none. False with `fault` CHECKPOINT_DAMAGED: all know why. */
static bool try_one(const CheckpointSearch *search, int64_t *step, Checkpoint *own,
                    CheckpointFault *fault, Status *status) {
  Head head = {0};
  Verdict verdict = {0};
  *own = (Checkpoint){0};
  *fault = CHECKPOINT_WHOLE;
  if (search->rank == 0) {
    pick(search, step, &head, &verdict.status);
    bool failed = head.state == HEAD_PICKED && !open_head(&head, own, fault, &verdict.status);
    verdict.fault = failed                      ? (int32_t)*fault
                    : head.state == HEAD_FAILED ? CHECKPOINT_UNREAD
                                                : CHECKPOINT_WHOLE;
  }
  /* What others open beside a file that rank 0 could not open is of no use: they only listen. */
  if (verdict.fault != CHECKPOINT_WHOLE) head.state = HEAD_FAILED;
  status->code = STATUS_ECHO;
  if (!search->comm->ops->broadcast_bytes(search->comm, 0, &head, sizeof head)) return false;
  status->code = 0;
  if (head.state == HEAD_NONE) return false;
  if (head.state == HEAD_PICKED) open_picked(search, &head, own, &verdict);
  if (!agree(search, &verdict, status)) return false;
  *fault = (CheckpointFault)verdict.fault;
  if (*fault == CHECKPOINT_WHOLE) return true;
  *status = verdict.status;
  if (search->rank != verdict.rank) status->code = STATUS_ECHO;
  return false;
}

bool checkpoint_find(const CheckpointSearch *search, Checkpoint *own, CheckpointFault *fault,
                     Status *status) {
  int64_t step = INT64_MAX;
  while (!try_one(search, &step, own, fault, status)) {
    checkpoint_close(own);
    if (*fault == CHECKPOINT_DAMAGED && !search->path) {
      if (search->rank == 0) search->skipped(status->text);
      continue;
    }
    if (status->code == STATUS_ECHO) status->text[0] = 0; /* one rank has said it */
    return false;
  }
  return true;
}

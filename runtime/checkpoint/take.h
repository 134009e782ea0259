/* take.h -- all ranks of a job take the same checkpoint, and each file of it is opened and read
 * once.
 *
 * Of the ranks that have the same part of the state the first is its reader. What it reads, the
 * others get from it: the table when the checkpoint is picked, the tensors when memory is there. */
#ifndef LOCKSTEP_CHECKPOINT_TAKE_H
#define LOCKSTEP_CHECKPOINT_TAKE_H

#include "runtime/checkpoint/checkpoint.h"

/* What a rank looks for. All ranks of the job look together. */
typedef struct CheckpointSearch {
  const Plan *plan;
  const Mesh *mesh;
  int32_t rank;
  Comm *comm;
  const char *path;                 /* rank 0's file of the one to take; NULL: the newest */
  const char *directory;            /* of which it is the newest, */
  int64_t *below;                   /* and before this step; then the step that was picked */
  void (*skipped)(const char *why); /* called on rank 0, with a line about each newer damaged one */
} CheckpointSearch;

/* Rank 0 picks a checkpoint; each file is opened by its reader, whose table the others get. All
 * take it, or none: what one rank finds damaged gives way to the one before on all. True: `own` is
 * of this rank's file, whose tensors nobody has looked at yet. False with status code 0: there is
 * none. False with another code: the one that was picked, or the directory, cannot be read, or is
 * of another format; the first rank to which this happened has `fault` and the reason, the others
 * an echo. */
bool checkpoint_find(const CheckpointSearch *search, Checkpoint *own, CheckpointFault *fault,
                     Status *status);

/* Reads the tensors of what was found, for a checkpoint that is not loaded: each file once. As
 * checkpoint_find, true on all ranks or on none. */
bool checkpoint_verify(const CheckpointSearch *search, const Checkpoint *own,
                       CheckpointFault *fault, Status *status);

/* Where a rank's state goes. */
typedef struct CheckpointTarget {
  Device *device;
  uint8_t *arena;
  const PlanClass *class;
} CheckpointTarget;

/* Loads what was found, and matches: each file is read once, by its reader, and every rank compares
 * the checksums of what it has installed. As checkpoint_find, true on all ranks or on none; after
 * false the state is not to be used, and where `fault` is CHECKPOINT_DAMAGED the one before may
 * serve. The rest of a checkpoint is in its header. */
bool checkpoint_restore(const CheckpointSearch *search, const Checkpoint *own,
                        const CheckpointTarget *target, CheckpointFault *fault, Status *status);

/* The part of checkpoint_restore between the meetings. True also where `fault` says that what came
 * is not to be used. False: the device or the other ranks have failed. */
bool checkpoint_install(const CheckpointSearch *search, const Checkpoint *own,
                        const CheckpointTarget *target, CheckpointFault *fault, Status *status);

/* Whether what has failed gives way to the one before: then rank 0 says so. `own` is closed; an
 * echo of what has another rank to say is left without words. */
bool checkpoint_skip(const CheckpointSearch *search, Checkpoint *own, CheckpointFault fault,
                     Status *status);

#endif

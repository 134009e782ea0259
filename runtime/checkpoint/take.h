/* take.h -- all ranks of a job take the same checkpoint, and each of its files is opened and read
 * once.
 *
 * The first of the ranks with the same part of the state is its reader. The others get from it what
 * it reads: the table when the checkpoint is picked, the tensors when memory is mapped. */
#ifndef LOCKSTEP_CHECKPOINT_TAKE_H
#define LOCKSTEP_CHECKPOINT_TAKE_H

#include "runtime/checkpoint/checkpoint.h"

/* The checkpoint to look for. All ranks of the job look together. */
typedef struct CheckpointSearch {
  const Plan *plan;
  const Mesh *mesh;
  int32_t rank;
  Comm *comm;
  const char *path;                 /* rank 0's file of the one to take; NULL: the newest */
  const char *directory;            /* otherwise the newest in this directory, */
  int64_t *below;                   /* below this step; afterwards the step that was picked */
  void (*skipped)(const char *why); /* called on rank 0 with a line about each newer, damaged one */
} CheckpointSearch;

/* Rank 0 picks a checkpoint; each file is opened by its reader, whose table the others get. All
 * take it, or none: if one rank finds it damaged, all go on to the one before. True: `own` is of
 * this rank's file, whose tensors have not been read yet. False with status code 0: there is
 * none. False with another code: the one that was picked, or the directory, cannot be read, or is
 * of another format; the first rank that found this has `fault` and the reason, the others an echo.
 */
bool checkpoint_find(const CheckpointSearch *search, Checkpoint *own, CheckpointFault *fault,
                     Status *status);

/* Reads the tensors of the checkpoint found, without loading it: each file once. As with
 * checkpoint_find, true on all ranks or on none. */
bool checkpoint_verify(const CheckpointSearch *search, const Checkpoint *own,
                       CheckpointFault *fault, Status *status);

/* Where to load a rank's state. */
typedef struct CheckpointTarget {
  Device *device;
  uint8_t *const *arena; /* by tier */
  const PlanClass *class;
} CheckpointTarget;

/* Loads a checkpoint that was found and matches: each file is read once, by its reader, and every
 * rank compares the checksums of what it has installed. As with checkpoint_find, true on all ranks
 * or on none; after false the state must not be used, and if `fault` is CHECKPOINT_DAMAGED the one
 * before may be tried. The rest of a checkpoint is in its header. */
bool checkpoint_restore(const CheckpointSearch *search, const Checkpoint *own,
                        const CheckpointTarget *target, CheckpointFault *fault, Status *status);

/* The part of checkpoint_restore between the barriers. Also true if `fault` says that the tensors
 * must not be used. False: the device or the other ranks have failed. */
bool checkpoint_install(const CheckpointSearch *search, const Checkpoint *own,
                        const CheckpointTarget *target, CheckpointFault *fault, Status *status);

/* True if to go on to the checkpoint before after a failure: then rank 0 reports it. `own` is
 * closed; an echo gets no text. */
bool checkpoint_skip(const CheckpointSearch *search, Checkpoint *own, CheckpointFault fault,
                     Status *status);

#endif

/* take.h -- all ranks of a job take the same checkpoint.
 *
 * Rank 0 picks one, judges its manifest, and gives it to the others. Parts are checked when they
 * are read, by the ranks that read them. */
#ifndef LOCKSTEP_CHECKPOINT_TAKE_H
#define LOCKSTEP_CHECKPOINT_TAKE_H

#include "kernels/threads/threads.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/weights/sums.h"

/* The checkpoint to look for. All ranks of the job look together. */
typedef struct CheckpointSearch {
  const Plan *plan;
  const Mesh *mesh;
  int32_t rank;
  Comm *comm;
  const char *path;                 /* the folder of the one to take; NULL: the newest */
  const char *directory;            /* otherwise the newest in this directory, */
  int64_t *below;                   /* below this step; afterwards the step that was picked */
  void (*skipped)(const char *why); /* called on rank 0 with a line about each newer, damaged one */
} CheckpointSearch;

/* Rank 0 picks a checkpoint, whose manifest all get. A checkpoint counts if its manifest is whole
 * and its parts are there with their sizes; if not, all try the previous one. False with status
 * code 0: there is none. False with another code: the one that was picked, or the directory, cannot
 * be read, or is of another format; the first rank that found this has `fault` and the reason, the
 * others an echo. */
bool checkpoint_find(const CheckpointSearch *search, Checkpoint *own, CheckpointFault *fault,
                     Status *status);

/* Reads all parts of the checkpoint found, without loading it: each once. As with checkpoint_find,
 * true on all ranks or on none. */
bool checkpoint_verify(const CheckpointSearch *search, const Checkpoint *own,
                       CheckpointFault *fault, Status *status);

/* Where to load a rank's state. */
typedef struct CheckpointTarget {
  Device *device;
  uint8_t *const *arena; /* by tier */
  const PlanClass *class;
  bool weights_only; /* masters and weights: moments stay as init has left them */
  Threads *threads;  /* threads that read files of a model; NULL: the calling thread alone */
  WeightSums *sums;  /* of a model's files: bytes that are read are added; NULL: not wanted */
  bool compares; /* nothing is written: memory must have the very bytes that loading would leave */
} CheckpointTarget;

/* Loads a checkpoint that was found and matches. As with checkpoint_find, true on all ranks or on
 * none; after false the state must not be used, and if `fault` is CHECKPOINT_DAMAGED the previous
 * one may be tried. Control values and counts are in its manifest. */
bool checkpoint_restore(const CheckpointSearch *search, const Checkpoint *own,
                        const CheckpointTarget *target, CheckpointFault *fault, Status *status);

/* The part of checkpoint_restore between the barriers. Also true if `fault` says that the tensors
 * must not be used. False: the device or the other ranks have failed. */
bool checkpoint_install(const CheckpointSearch *search, const Checkpoint *own,
                        const CheckpointTarget *target, CheckpointFault *fault, Status *status);

/* True if to try the previous checkpoint after a failure: then rank 0 reports it. `own` is
 * closed; an echo gets no text. */
bool checkpoint_skip(const CheckpointSearch *search, Checkpoint *own, CheckpointFault fault,
                     Status *status);

#endif

/* pick.h -- for find.c: rank 0 chooses a checkpoint and reads its manifest. */
#ifndef LOCKSTEP_CHECKPOINT_PICK_H
#define LOCKSTEP_CHECKPOINT_PICK_H

#include "runtime/checkpoint/take.h"

/* Rank 0's choice, as the others get it. */
typedef struct Picked {
  enum { PICKED_NONE, PICKED_ONE, PICKED_FAILED } state;
  char path[CHECKPOINT_PATH_BYTES];
  uint64_t text_bytes; /* of the manifest */
} Picked;

/* The greatest step below `below`, or -1. False: the directory cannot be read. */
bool pick_newest_below(const char *directory, int64_t below, int64_t *newest, bool *is_file,
                       Status *status);
/* Chooses a path; nothing is opened yet. */
void pick_path(const CheckpointSearch *search, Picked *picked, CheckpointFault *fault,
               Status *status);
/* Reads the manifest's text, which the caller frees. NULL: `fault` and `status` say why. */
char *pick_text(Picked *picked, CheckpointFault *fault, Status *status);
/* The manifest of a checkpoint from its text. */
bool pick_manifest(Checkpoint *own, const char *path, const char *text, uint64_t text_bytes,
                   CheckpointFault *fault, Status *status);
/* True if all parts are there, with their sizes. */
bool pick_parts(const Checkpoint *own, CheckpointFault *fault, Status *status);

#endif

/* weights.h -- begins a run with the tensors of a model folder (runtime/weights). The part of a
 * checkpoint that places elements does the work; here elements are found in the files. */
#ifndef LOCKSTEP_CHECKPOINT_WEIGHTS_H
#define LOCKSTEP_CHECKPOINT_WEIGHTS_H

#include "runtime/checkpoint/take.h"
#include "runtime/weights/weights.h"

/* The files of a folder, which all ranks of a process read. */
typedef struct WeightFiles {
  const Plan *plan;
  SafeSet set;
  bool is_checkpoint; /* of ours: `set` is empty */
} WeightFiles;

/* Opens the folder that the plan names, and compares its hash with the plan's. */
bool weight_files_open(WeightFiles *files, const Plan *plan, Status *status);
void weight_files_close(WeightFiles *files);

/* True if the tensors that the plan says are tied are equal bit for bit. */
bool weight_files_check_tied(const WeightFiles *files, Status *status);

/* The tensor of a parameter's layer. */
typedef struct WeightSource {
  SafePlace place;
  DType dtype;
  bool is_transposed;
  const uint8_t *bytes; /* of all of it, if they were read; NULL: they are read run by run */
} WeightSource;

/* How bytes of files are read. */
typedef struct WeightReading {
  Threads *threads; /* as in CheckpointTarget */
  WeightSums *sums;
} WeightReading;

bool weight_source(const WeightFiles *files, const PlanTensor *tensor, int32_t layer,
                   WeightSource *source, Status *status);

/* All elements of the parameter, in the model's order of dims. */
StatePiece weight_whole(const StatePiece *piece);

/* Reads the elements of `want` in its order. */
bool weight_read(const WeightSource *source, const StatePiece *want, WeightReading reading,
                 uint8_t *packed, Status *status);
/* Reads the whole tensor, in the file's order, to `bytes`: what source->bytes may be. */
bool weight_read_whole(const WeightSource *source, WeightReading reading, uint8_t *bytes,
                       Status *status);

/* Fills masters and weights of a rank, of which all of a job do so together. A master is the file's
 * value, a weight that value rounded once, padding 0. False on all ranks or on none. */
bool weights_install(const CheckpointSearch *search, const WeightFiles *files,
                     const CheckpointTarget *target, Status *status);
/* The part of weights_install before all agree: as checkpoint_install. */
bool weights_fill(const CheckpointSearch *search, const WeightFiles *files,
                  const CheckpointTarget *target, CheckpointFault *fault, Status *status);

#endif

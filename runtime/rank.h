/* rank.h -- what the ranks of a process share, and the life of one of them. */
#ifndef LOCKSTEP_RANK_H
#define LOCKSTEP_RANK_H

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/comm/local.h"
#include "runtime/data/samples.h"
#include "runtime/device/arena.h"
#include "runtime/mesh.h"
#include "runtime/metrics/report.h"
#include "runtime/process/lock.h"
#include "runtime/run.h"

/* Of one rank, in blocks as memory is given out. */
typedef struct RankMemory {
  uint64_t planned_bytes;
  uint64_t measured_bytes;
} RankMemory;

typedef struct Run {
  const Plan *plan;
  const RunOptions *options;
  Mesh mesh;
  Samples train;
  Samples valid;
  LocalWorld *world;
  int32_t first_core; /* -1: threads are not bound */
  bool resumes;
  CheckpointSet checkpoint; /* when it resumes */
  int64_t first_step;
  int64_t last_step;
  int64_t samples_before;
  uint64_t data_sum;        /* of the training data */
  double *peak_flops_per_s; /* one per rank, written before the first meeting */
  int32_t peak_size;
  RankMemory *memory; /* one per rank, written before the last meeting */
  Arenas *arena;      /* one per rank, opened by it, closed when all have left */
  double unigram;
  bool stopped;  /* by a request, before the last step */
  Lock lock[2];  /* of the run's folder and the checkpoints' */
  Report report; /* rank 0's */
} Run;

/* A BootRank: opens everything, runs all steps, closes everything. */
bool rank_main(void *run, int32_t rank, Status *status);

#endif

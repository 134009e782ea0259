/* saves.h -- what a checkpoint of a plan costs: the exact bytes of its files, the time that they
 * take, and how often to save. */
#ifndef LOCKSTEP_SAVES_H
#define LOCKSTEP_SAVES_H

#include "compiler/job/job.h"
#include "runtime/plan/plan.h"

typedef struct Saves {
  int64_t bytes, largest_part_bytes; /* of all part files; of the largest */
  int64_t parts;
  double write_s; /* by slurm.write */
  double stall_s; /* in which ranks wait: all of it, or with snapshots what copying takes at most */
  int64_t snapshot_bytes; /* of the rank that has most; 0: there are none */
  int64_t kept_bytes;     /* checkpoint.memory: two copies of the largest part; 0: none is kept */
  double restart_s;       /* reading is as fast as writing */
  double failure_s;       /* between failures of any node, by cluster.mtbf; 0: unknown */
  double best_s;          /* the interval that loses least; 0: unknown */
} Saves;

/* Asks the functions that the ranks write by. False: out of memory, or a plan whose state cannot be
 * saved. */
bool saves_of(const Plan *plan, const Job *job, int64_t nodes, Saves *saves);

#endif

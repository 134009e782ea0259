/* comm.h -- what a rank asks of its peers. Every implementation has every entry.
 *
 * A communicator of the plan is a sub-mesh; `comm` is its index in the plan's table. All members
 * call the same entries in the same order. Sums run in rank order whatever the sizes: results are
 * bitwise equal on all members and from run to run. bf16 is summed in f32 and rounded once. False =
 * the job is being aborted: leave quietly. */
#ifndef LOCKSTEP_COMM_H
#define LOCKSTEP_COMM_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/plan/plan.h"

typedef struct Comm Comm;

typedef struct CommElements {
  int64_t count;
  DType dtype;
} CommElements;

typedef struct CommOps {
  /* y[count] = sum or max over members of x[count]; x may be y, otherwise they do not overlap. */
  bool (*all_reduce)(Comm *self, uint32_t comm, const void *x, void *y, CommElements elements,
                     ReduceOp reduce);
  /* y[members * count] = the members' x[count] in member order; x may be its own part of y. */
  bool (*all_gather)(Comm *self, uint32_t comm, const void *x, void *y, CommElements elements);
  /* y[count] = this member's part of the reduction of x[members * count]; y may be that part of x.
   */
  bool (*reduce_scatter)(Comm *self, uint32_t comm, const void *x, void *y, CommElements elements,
                         ReduceOp reduce);
  /* Part m of y[members * count] = this member's part of member m's x[members * count]; no overlap.
   */
  bool (*all_to_all)(Comm *self, uint32_t comm, const void *x, void *y, CommElements elements);
  /* Returns when every rank of the job has called it. */
  bool (*barrier)(Comm *self);
  /* Makes every present and future call of every rank return false. */
  void (*abort)(Comm *self);
  /* Ranks of the communicator `comm` that this rank is in. */
  int32_t (*members)(const Comm *self, uint32_t comm);
} CommOps;

/* The first member of every implementation's struct. */
struct Comm {
  const CommOps *ops;
  int64_t sent_bytes; /* by this rank, as its peers copied them */
};

#endif

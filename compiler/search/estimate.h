/* estimate.h -- the memory and the time of a job's plan, computed without making the plan.
 *
 * It runs the compiler's passes, without those that take longest: the proof, all programs but the
 * train step, and most rounds of a pipeline's steady state. */
#ifndef LOCKSTEP_ESTIMATE_H
#define LOCKSTEP_ESTIMATE_H

#include "compiler/compile.h"
#include "compiler/search/flow.h"

typedef enum EstimatePart {
  PART_OF_COMPUTE,
  PART_OF_TP, /* time in communication over an axis, or waiting for it */
  PART_OF_CP,
  PART_OF_DP,
  PART_OF_PP,
  PART_OF_BUBBLE,
  ESTIMATE_PARTS
} EstimatePart;
extern const char *const estimate_part_words[ESTIMATE_PARTS];

typedef struct Estimate {
  int64_t live_bytes;  /* of device memory, alive at once on the stage that needs most */
  int64_t arena_bytes; /* the same when packed; of a pipeline, with fewer micro-batches */
  int64_t host_bytes;  /* of host memory */
  int64_t step_ns;     /* of a train step; 0: the device's rates are unknown */
  int64_t part_ns[ESTIMATE_PARTS]; /* of it, on the stage that takes longest */
  double mfu;                      /* share of the peak of all devices; 0: unknown */
} Estimate;

/* Estimates `known`, which is open, with this recomputation. The compile's arena grows by the
 * drafts. False when reported: the job cannot be compiled so. */
bool estimate(Compile *c, Job *job, const Compiled *known, Recompute recompute, Estimate *out);

/* Returns the bytes of device memory that are alive at once in the train step, on the stage that
 * needs most: the number of the plan, computed from a draft that has segments only. A result above
 * `enough` may be of another stage. INT64_MAX: the draft cannot be cut into stages. */
int64_t estimate_live_most(Flows *flows, const Draft *segments, int64_t enough);

/* Returns the bytes of the arena of that stage, packed with few micro-batches. */
int64_t estimate_packed_most(Flows *flows, const Draft *segments, int64_t enough);

/* The time of a plan's step and its parts. */
void estimate_times(const Plan *plan, Estimate *out);

/* Share of the peak of all devices; 0: unknown. */
double estimate_mfu(const Draft *d, int64_t step_ns);

/* True if device memory has room for it, and a node's memory for the host memory of its ranks. */
bool estimate_fits(const Compiled *known, const Estimate *estimate);

#endif

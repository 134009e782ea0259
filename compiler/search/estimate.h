/* estimate.h -- what a plan of a job needs and takes, without making the plan.
 *
 * The passes are the compiler's. Left out is what takes longest: the proof, all programs but the
 * train step, and the steady state of a pipeline, of which a few rounds are enough. */
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

/* For `known`, which is open, with this recomputation. The compile's arena grows by the drafts.
 * False when reported: the job cannot be compiled so. */
bool estimate(Compile *c, Job *job, const Compiled *known, Recompute recompute, Estimate *out);

/* Bytes of device memory alive at once in the train step, of a draft with segments and on the stage
 * that needs most: the plan's, without more of it. Above `enough` it may be of another stage.
 * INT64_MAX: it cannot be cut into stages. */
int64_t estimate_live_most(Flows *flows, const Draft *segments, int64_t enough);

/* The same of its arena, packed with few micro-batches. */
int64_t estimate_packed_most(Flows *flows, const Draft *segments, int64_t enough);

/* The time of a plan's step and its parts. */
void estimate_times(const Plan *plan, Estimate *out);

/* Share of the peak of all devices; 0: unknown. */
double estimate_mfu(const Draft *d, int64_t step_ns);

/* True if device memory has room for it, and so has a node's memory for what its ranks keep there.
 */
bool estimate_fits(const Compiled *known, const Estimate *estimate);

#endif

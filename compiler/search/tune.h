/* tune.h -- which degrees, order, micro-batch, ZeRO and recomputation make a job fastest.
 *
 * Bounds leave few settings over: the settings whose lower bound is below the best estimates so
 * far. These are estimated in full, in the order of their bounds, until no bound is better, or
 * `most` are estimated. The fastest are compiled and proven. The answer does not depend on the
 * number of threads. */
#ifndef LOCKSTEP_TUNE_H
#define LOCKSTEP_TUNE_H

#include "compiler/search/bounds.h"
#include "compiler/search/estimate.h"

enum { TUNE_ROWS = 5, TUNE_ESTIMATES_MOST = 1024 };

typedef struct TuneRow {
  Candidate candidate;
  Estimate estimate;
  int64_t steps; /* of the run */
  /* is_proven: compiled and proven; the estimate then has the time and bytes of the plan.
   * lacks_host: a node's memory may be too small for it. */
  bool is_proven, lacks_host;
} TuneRow;

typedef struct Tuned {
  Cluster cluster;
  int64_t batch_samples, sample_tokens, budget_bytes;
  /* Settings that fit, the fastest first. No plan of another setting is faster than the first's
   * unless cut[CUT_LIMIT] or `doubtful` counts some; the others are the fastest of those that had
   * to be estimated to know that. */
  TuneRow row[TUNE_ROWS];
  int32_t row_count;
  int64_t seen, cut[CUT_RULES]; /* settings looked at, and left out by each rule */
  int64_t parts, forecasts, estimates;
  int64_t layers;   /* of the model */
  int32_t proven;   /* rows that were compiled and proven, of the table or slower */
  int32_t doubtful; /* estimated, not compiled, and with a bound below the first row's plan */
  /* The errors of the estimated times of these rows, as shares: the one that is most too short, and
   * the one that is most too long. */
  double off_least, off_most;
  bool has_candidates;  /* some setting passes the bounds */
  Candidate smallest;   /* of those that do not fit, with a lower bound of its bytes */
  const TuneRow *front; /* estimated rows that fit, such that none is faster with less memory */
  int32_t front_count;
} Tuned;

/* A callback for progress: `done` of `all` steps. It is called from any thread. */
typedef struct TuneProgress {
  void (*tell)(void *state, const char *what, int64_t done, int64_t all);
  void *state;
} TuneProgress;

/* `c` takes results and errors. False when reported: the job cannot be compiled, whatever the
 * degrees, or the device's rates are unknown. No row: nothing fits, or nothing of `most`. */
bool tune(Compile *c, const Subject *subject, int32_t threads, int32_t most,
          const TuneProgress *progress, Tuned *out);

/* The reasons why a setting that is not in the table may be faster than the first row: assumptions,
 * and settings that were not searched. */
TextList tune_limits(Arena *arena, const Tuned *tuned);

#endif

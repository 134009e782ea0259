/* lanes.h -- how long each lane of offload worked in the steps of a rank, beside what was
 * predicted. */
#ifndef LOCKSTEP_METRICS_LANES_H
#define LOCKSTEP_METRICS_LANES_H

#include "runtime/plan/plan.h"
#include "runtime/process/status.h"
#include "runtime/process/text.h"

typedef struct LaneFacts {
  const char *name;
  double busy_ms;      /* measured, a step */
  double predicted_ms; /* alone on its cores; 0: the plan has no rates of it */
  double grows;        /* the part of its bytes that is more with more tokens: kept activations */
} LaneFacts;

typedef struct OffloadFacts {
  int32_t rank;
  double step_ms; /* mean of all steps after the first; 0: there were none, or nothing was offloaded
                   */
  double step_predicted_ms; /* 0: not known. Where lanes share cores, this prediction counts that */
  bool shares_cores;
  double compute_ms; /* of step_ms, the main lane worked; 0: not known */
  LaneFacts lane[PLAN_LANES_MAX];
  int32_t count;
  int32_t longest;    /* of these lanes */
  double more_tokens; /* this many times the tokens a micro-batch, and computing takes as long as
                         the longest lane; 0: no number does, or not known */
  double tokens;      /* of a step now */
  bool disk_is_slow;  /* the step waits for a file that takes far longer than predicted */
  const char *disk;   /* offload.path */
  double disk_ms, disk_predicted_ms;
} OffloadFacts;

/* Measured: the time of each lane in all steps after the first, and the number of these steps;
 * `computes`: the main lane's time is that of its kernels. */
typedef struct LaneTimesOf {
  int64_t busy_ns[PLAN_LANES_MAX];
  int64_t steps_ns, steps;
  int32_t rank;
  bool computes;
} LaneTimesOf;

/* False: not enough memory. */
bool offload_facts(const Plan *plan, const PlanProgram *program, const LaneTimesOf *times,
                   OffloadFacts *facts, Status *status);

/* Two or three lines for the screen, handed over one by one. */
void offload_tell(const OffloadFacts *facts, void (*say)(void *context, const char *line),
                  void *context);
/* ,"offload":{...}; or null where nothing was measured. */
void offload_json(const OffloadFacts *facts, Text *text);

#endif

/* breakdown.h -- where the time of a rank's step went. The parts add up to the step. */
#ifndef LOCKSTEP_OBSERVE_BREAKDOWN_H
#define LOCKSTEP_OBSERVE_BREAKDOWN_H

#include "runtime/observe/steplog.h"
#include "runtime/plan/mesh.h"
#include "runtime/process/text.h"

/* Exposed communication: the main lane did it, or waited for it, instead of computing. */
typedef struct Breakdown {
  int64_t step_ns;
  int64_t compute_ns;                    /* kernels on the main lane */
  int64_t exposed_ns[MESH_AXES_MAX + 1]; /* over each axis; last: over several at once */
  int64_t bubble_ns;                     /* waiting in exchanges between stages of a pipeline */
  int64_t offload_ns; /* waiting for copies to and from host memory, for files, and for updates by
                         the host's processors */
  int64_t data_ns;    /* waiting for samples */
  int64_t other_ns;   /* between records, and around the step */
} Breakdown;

/* Times of each of the plan's records. An exchange without waiting takes as long as its fastest so
 * far: the rest is bubble. */
typedef struct RecordTimes {
  int64_t *fastest_ns; /* 0: it has not run */
  int64_t *sum_ns;     /* on the main lane, or while the main lane waits for them */
} RecordTimes;

/* Adds a step of a rank from begin to end, whose records are in the log. */
typedef struct StepSpan {
  int64_t begin_ns, end_ns;
  int64_t data_ns;
} StepSpan;

void breakdown_step(Breakdown *of, const Plan *plan, const StepLog *log, const StepSpan *span,
                    const RecordTimes *records);

/* True if steps of the plan copy to and from host memory. */
bool breakdown_has_offload(const Plan *plan);

/* The plan's prediction of a step; all 0: it has no rates for its device. */
Breakdown breakdown_predicted(const Plan *plan, const PlanProgram *program);

void breakdown_add(Breakdown *to, const Breakdown *step);

/* The parts as fields of a JSON object, each preceded by a comma; without the wait for samples,
 * which is recorded for every step. NULL: they are not known, and null. */
void breakdown_print(const Breakdown *of, const Plan *plan, Text *text);

/* Exposed communication over all axes, without the bubble. */
int64_t breakdown_exposed_ns(const Breakdown *of);

#endif

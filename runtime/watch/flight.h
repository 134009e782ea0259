/* flight.h -- what a rank is doing and has just done: written by the threads that do it, read by
 * the thread that watches. Nothing waits for anything here. */
#ifndef LOCKSTEP_WATCH_FLIGHT_H
#define LOCKSTEP_WATCH_FLIGHT_H

#include <stdatomic.h>
#include <stdbool.h>

#include "runtime/plan/plan.h"
#include "runtime/watch/pulse.h"

enum { FLIGHT_ENTRIES = 128, FLIGHT_MEDIAN_STEPS = 20 };

typedef enum FlightPhase {
  FLIGHT_STARTING, /* nothing in the run's folder belongs to this run yet */
  FLIGHT_OPENING,  /* it does: rank 0 has the lock */
  FLIGHT_RESUMING, /* the existing files may still turn out to be another experiment's */
  FLIGHT_RESTORING,
  FLIGHT_STEP,
  FLIGHT_VALIDATING,
  FLIGHT_SAVING,
  FLIGHT_ENDING,
  FLIGHT_UNKNOWN, /* not known */
  FlightPhase_COUNT
} FlightPhase;

typedef struct FlightEntry {
  _Atomic int64_t start_ns, end_ns; /* of the monotonic clock; end 0: it runs */
  _Atomic int64_t step;
  _Atomic uint32_t record; /* in the plan's table */
  _Atomic int32_t layer, microbatch;
} FlightEntry;

/* The newest records of one lane; one thread writes. */
typedef struct FlightLane {
  _Atomic uint64_t begun;
  _Atomic int64_t busy_ns; /* of records that ended in steps after the first */
  FlightEntry entry[FLIGHT_ENTRIES];
} FlightLane;

typedef struct Flight {
  _Atomic int64_t step;
  _Atomic int32_t phase;
  /* The usual time of a step. After the first step, which is slower, it is the plan's prediction,
   * if the plan has one for this device; later the median of FLIGHT_MEDIAN_STEPS steps. 0: unknown.
   */
  _Atomic int64_t usual_ns;
  int64_t predicted_ns;
  int64_t step_ns[FLIGHT_MEDIAN_STEPS];
  int32_t steps_timed;
  int64_t later_ns;     /* of all steps after the first */
  _Atomic bool is_warm; /* the first step has ended */
  FlightLane lane[PLAN_LANES_MAX];
} Flight;

/* A lane's newest record, as shown to others. */
typedef struct FlightNow {
  uint64_t begun; /* number of records begun; 0: none */
  uint32_t record;
  int32_t layer, microbatch;
  uint32_t is_running;
} FlightNow;

/* A rank's message about itself; processes send it ten times a second. */
typedef struct Beat {
  int64_t step;
  int64_t usual_ns; /* of its steps; 0: not known yet */
  int32_t phase;
  int32_t pid;
  Load load;          /* of its machine; zeros unless it has not moved for a while */
  int32_t starved_ms; /* since it moved last: how long the process waited for a processor */
  FlightNow lane[PLAN_LANES_MAX];
} Beat;

/* True if a rank has got on between two beats. */
bool beat_has_moved(const Beat *before, const Beat *now);

void flight_begin(Flight *flight, uint32_t lane, uint32_t record, int32_t layer,
                  int64_t microbatch);
void flight_end(Flight *flight, uint32_t lane);

void flight_phase(Flight *flight, FlightPhase phase, int64_t step);
/* Sets the plan's prediction of the rank's step on this device, in ns; 0: none. Before the first
 * step.
 */
void flight_predict(Flight *flight, int64_t predicted_ns);
/* Adds the time of a step. The first of a run is not counted. */
void flight_step_took(Flight *flight, int64_t step_ns);

Beat flight_beat(const Flight *flight, const Plan *plan);
FlightNow flight_now(const Flight *flight, uint32_t lane);

/* "all_reduce h.* gradients over dp (lane dp, record 7, layer 3)": the current work of a rank. */
void flight_text(const Plan *plan, const FlightNow *now, uint32_t lane, char *text,
                 size_t text_bytes);
const char *flight_phase_name(int32_t phase);

#endif

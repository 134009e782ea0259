/* lanes.h -- the threads that run one program: the rank's own runs the records of LANE_COMPUTE, and
 * every other lane that the program uses has one, all in list order. Edges between lanes are waited
 * for here. */
#ifndef LOCKSTEP_LANES_H
#define LOCKSTEP_LANES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "runtime/plan/plan.h"
#include "runtime/status.h"

/* What a lane's thread does in a run; false as replay_run. */
typedef bool LanesBody(void *context, Lane lane, Status *status);

typedef struct Lanes Lanes;

typedef struct LaneThread {
  Lanes *lanes;
  Lane lane;
  bool is_running;
  bool done; /* how its last run ended */
  Status status;
  pthread_t thread;
} LaneThread;

struct Lanes {
  LanesBody *body;
  void *context;
  /* Positions are those of records in the running program, ascending; a lane has done all of its
   * records before this one. */
  _Atomic uint64_t passed[Lane_COUNT];
  _Atomic bool failed;
  _Atomic int32_t sleepers;
  pthread_mutex_t lock; /* of what follows, and around sleeping and waking */
  pthread_cond_t wake;
  bool stop;
  uint32_t started; /* bit of each lane that has a thread */
  LaneThread threads[Lane_COUNT];
};

/* Starts a thread for each lane whose bit is in `lanes_mask`; they sleep. */
bool lanes_open(Lanes *lanes, uint32_t lanes_mask, LanesBody *body, void *context, Status *status);
void lanes_close(Lanes *lanes);

/* Wakes the threads of these lanes; the others sleep on. */
void lanes_begin(Lanes *lanes, uint32_t lanes_mask);

/* Waits until all lanes are done, too. `done` and `status` are how the caller's ended; of several
 * failures the first that has a reason counts. */
bool lanes_end(Lanes *lanes, bool done, Status *status);

/* The lane has run its record at `position`. */
void lanes_pass(Lanes *lanes, Lane lane, uint64_t position);

/* Waits until the lane has run its record at `position`. False: it never will. */
bool lanes_wait(Lanes *lanes, Lane lane, uint64_t position);

/* A lane has failed: nobody waits any more. */
void lanes_fail(Lanes *lanes);

#endif

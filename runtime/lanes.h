/* lanes.h -- two threads that run one program: the rank's own runs the records of LANE_COMPUTE, the
 * other one those of all other lanes, both in list order. Edges between the two are waited for
 * here. */
#ifndef LOCKSTEP_LANES_H
#define LOCKSTEP_LANES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "runtime/status.h"

typedef enum LaneSide { SIDE_COMPUTE, SIDE_BESIDE, SIDE_COUNT } LaneSide;

/* What the other thread does in a run; false as replay_run. */
typedef bool LanesBody(void *context, Status *status);

typedef struct Lanes {
  LanesBody *body;
  void *context;
  /* Positions are those of records in the running program, ascending; a side has done all of its
   * records before this one. */
  _Atomic uint64_t passed[SIDE_COUNT];
  _Atomic bool failed;
  _Atomic int32_t sleepers;
  pthread_mutex_t lock; /* of what follows, and around sleeping and waking */
  pthread_cond_t wake;
  bool is_running;
  bool stop;
  bool done; /* how the last run of the other thread ended */
  Status status;
  pthread_t thread;
} Lanes;

/* Starts the thread, which sleeps. */
bool lanes_open(Lanes *lanes, LanesBody *body, void *context, Status *status);
void lanes_close(Lanes *lanes);

/* Wakes the other thread. */
void lanes_begin(Lanes *lanes);

/* Waits until the other thread is done, too. `done` and `status` are how the caller's side ended;
 * of two failures the one that has a reason counts. */
bool lanes_end(Lanes *lanes, bool done, Status *status);

/* The side has run its record at `position`. */
void lanes_pass(Lanes *lanes, LaneSide side, uint64_t position);

/* Waits until the side has run its record at `position`. False: it never will. */
bool lanes_wait(Lanes *lanes, LaneSide side, uint64_t position);

/* A side has failed: nobody waits any more. */
void lanes_fail(Lanes *lanes);

#endif

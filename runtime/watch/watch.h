/* watch.h -- the watchdog of a rank that is a process: it notices when a rank is lost, reports
 * which and where, and ends the run everywhere. Under Slurm PMIx does not report it, and a stopped
 * process stops its own threads, too, so ranks watch each other. */
#ifndef LOCKSTEP_WATCH_WATCH_H
#define LOCKSTEP_WATCH_WATCH_H

#include "runtime/plan/mesh.h"
#include "runtime/pmix/client.h"
#include "runtime/watch/flight.h"

typedef struct Watch Watch;

/* Called once, in the watchdog's thread, when the run has ended for this rank: its calls to peers
 * must return. */
typedef void WatchEnd(void *context);

typedef struct WatchSetup {
  const Plan *plan;
  const Mesh *mesh;
  const int32_t *node;           /* of every rank */
  const char *const *node_names; /* of every rank; must live as long as the watch */
  WatchEnd *end;
  void *context;
} WatchSetup;

/* Every rank calls it. NULL: `status` says why. */
Watch *watch_open(const WatchSetup *setup, Client *client, Status *status);

/* Where this rank records what it is doing. */
Flight *watch_flight(Watch *watch);

/* This rank has failed. If it has its own reason (not STATUS_ECHO), tells all others and returns
 * when they know, or soon after. `status` becomes what this process ends with: an echo says whose,
 * and the rank that reports a lost one ends with STATUS_WORLD in its place. */
void watch_fail(Watch *watch, Status *status);

/* A normal end unless watch_fail was called. */
void watch_close(Watch *watch);

#endif

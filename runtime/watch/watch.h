/* watch.h -- the watchdog of a rank that is a process: notices when a rank is lost, says which and
 * where, and ends the run everywhere. PMIx says nothing of it under Slurm, and a process that is
 * stopped stops its own threads too, so ranks watch each other. */
#ifndef LOCKSTEP_WATCH_WATCH_H
#define LOCKSTEP_WATCH_WATCH_H

#include "runtime/boot/client.h"
#include "runtime/mesh.h"
#include "runtime/watch/flight.h"

typedef struct Watch Watch;

/* Called once, in the watchdog's thread, when the run is over for this rank: what it calls of its
 * peers must return. */
typedef void WatchEnd(void *context);

typedef struct WatchSetup {
  const Plan *plan;
  const Mesh *mesh;
  const int32_t *node;           /* of every rank */
  const char *const *node_names; /* of every rank; they live as long as the watch */
  WatchEnd *end;
  void *context;
} WatchSetup;

/* Every rank calls it. NULL: `status` says why. */
Watch *watch_open(const WatchSetup *setup, Client *client, Status *status);

/* What this rank does; it writes there. */
Flight *watch_flight(Watch *watch);

/* This rank's part has failed. With a reason of its own (not STATUS_ECHO) all others are told;
 * returns when they are, or soon after. Then `status` is what this process ends with: of an echo it
 * says whose, and the rank that reports a lost one ends with STATUS_WORLD in its stead. */
void watch_fail(Watch *watch, Status *status);

/* In good order when watch_fail was not called. */
void watch_close(Watch *watch);

#endif

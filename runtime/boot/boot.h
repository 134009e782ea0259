/* boot.h -- how the ranks of a job come up: which of them run in this process, and how they reach
 * the others. What is above it does not know whether its peers are threads or processes. */
#ifndef LOCKSTEP_BOOT_H
#define LOCKSTEP_BOOT_H

#include "kernels/threads.h"
#include "runtime/boot/cores.h"
#include "runtime/comm/comm.h"
#include "runtime/status.h"
#include "runtime/watch/flight.h"

/* What one rank does from start to end. False with STATUS_ECHO: it ended because another rank did.
 */
typedef bool BootRank(void *context, int32_t rank, Status *status);

typedef struct Boot Boot;

typedef struct BootOps {
  /* The comm of a rank of this process; it lives as long as the boot. Large reductions use
   * `threads` (may be NULL); asked again, only these change. */
  Comm *(*comm)(Boot *self, int32_t rank, Threads *threads);
  /* More of the same rank, one for the thread of each lane beside the main lane: what is called on
   * them meets only what peers call on theirs. They reduce on the calling thread. */
  CommLanes (*comm_beside)(Boot *self, int32_t rank);
  /* Where a rank of this process writes what it does; it lives as long as the boot. */
  Flight *(*flight)(Boot *self, int32_t rank);
  /* Runs `body` for the ranks of this process and returns when all have returned. True: `status` is
   * what a rank left there, and all end alike. False: it is that of the rank that failed first, an
   * echo only when there is nothing else. */
  bool (*run)(Boot *self, BootRank *body, void *context, Status *status);
  /* This process cannot go on, for this reason, and will not run its ranks: others must not wait
   * for them. `status` may become what the process ends with. */
  void (*abandon)(Boot *self, Status *status);
  void (*close)(Boot *self);
} BootOps;

/* The first member of every implementation's struct. */
struct Boot {
  const BootOps *ops;
  int32_t rank_first; /* of those of this process, which follow one another */
  int32_t rank_count;
  Neighbours here;     /* of the first of them */
  Cores allowed;       /* to this process */
  const int32_t *node; /* of every rank of the job; NULL: all are in this process */
  char words[320];     /* where ranks are, for people; "" when they are threads */
};

#endif

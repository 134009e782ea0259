/* boot.h -- how the ranks of a job start: which of them run in this process, and how they reach the
 * others. Code above it does not know whether peers are threads or processes. */
#ifndef LOCKSTEP_BOOT_H
#define LOCKSTEP_BOOT_H

#include "kernels/threads/threads.h"
#include "runtime/boot/cores.h"
#include "runtime/comm/comm.h"
#include "runtime/process/status.h"
#include "runtime/watch/flight.h"

/* The whole life of one rank. False with STATUS_ECHO: it ended because another rank did.
 */
typedef bool BootRank(void *context, int32_t rank, Status *status);

typedef struct Boot Boot;

typedef struct BootOps {
  /* The comm of a rank of this process, valid as long as the boot. Large reductions use `threads`
   * (may be NULL); a second call only changes these. */
  Comm *(*comm)(Boot *self, int32_t rank, Threads *threads);
  /* Further comms of the same rank, one for the thread of each lane beside the main lane: calls on
   * them match only peers' calls on the same lane. They reduce on the calling thread. */
  CommLanes (*comm_beside)(Boot *self, int32_t rank);
  /* The place where a rank of this process records its current work; valid as long as the boot. */
  Flight *(*flight)(Boot *self, int32_t rank);
  /* Runs `body` for the ranks of this process and returns when all have returned. True: `status` is
   * that of a rank; all end with the same. False: it is that of the rank that failed first; an echo
   * only if there is nothing else. */
  bool (*run)(Boot *self, BootRank *body, void *context, Status *status);
  /* Tells other processes the reason why this one cannot run its ranks, so that none of them waits
   * for it. May change `status` to what the process ends with. */
  void (*abandon)(Boot *self, Status *status);
  void (*close)(Boot *self);
} BootOps;

/* The first member of every implementation's struct. */
struct Boot {
  const BootOps *ops;
  int32_t rank_first; /* the first of this process's ranks, which are consecutive */
  int32_t rank_count;
  Neighbours here;     /* of the first of these ranks */
  Cores allowed;       /* to this process */
  const int32_t *node; /* of every rank of the job; NULL: all are in this process */
  char words[320];     /* where ranks are, as text; "" when they are threads */
};

#endif

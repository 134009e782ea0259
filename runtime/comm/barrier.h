/* barrier.h -- threads that wait for each other: briefly by spinning, then asleep. */
#ifndef LOCKSTEP_BARRIER_H
#define LOCKSTEP_BARRIER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* `round` counts completed meetings; it plays the part of the sense of a sense-reversing barrier.
 */
typedef struct Barrier {
  _Atomic int32_t arrived;
  _Atomic uint32_t round;
  _Atomic int32_t sleepers;
  _Atomic bool broken;
  pthread_mutex_t lock; /* only around sleeping and waking */
  pthread_cond_t wake;
  int32_t count;
  int32_t spins;
} Barrier;

/* `spins` = pauses before a waiter sleeps: few when there are more threads than cores. */
void barrier_open(Barrier *barrier, int32_t count, int32_t spins);
void barrier_close(Barrier *barrier);

/* What a thread wrote before is seen by all after. False when the barrier was broken. */
bool barrier_wait(Barrier *barrier);
void barrier_break(Barrier *barrier);

#endif

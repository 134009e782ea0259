/* barrier.h -- threads that wait for each other, of one process or of several that share the
 * memory it lies in: briefly by spinning, then asleep. It holds no lock, so who is killed in it
 * leaves nothing locked. */
#ifndef LOCKSTEP_BARRIER_H
#define LOCKSTEP_BARRIER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* `round` counts completed meetings; it plays the part of the sense of a sense-reversing barrier.
 */
typedef struct Barrier {
  _Atomic int32_t arrived;
  _Atomic uint32_t round; /* who sleeps waits for it to change */
  _Atomic int32_t sleepers;
  atomic_bool broken;
  int32_t count;
  int32_t spins;
} Barrier;

/* `spins` = pauses before a waiter sleeps: few when there are more threads than cores. Nothing has
 * to be closed. */
void barrier_open(Barrier *barrier, int32_t count, int32_t spins);

/* What a thread wrote before is seen by all after. False when the barrier was broken. */
bool barrier_wait(Barrier *barrier);
void barrier_break(Barrier *barrier);

/* As barrier_wait, but false when `given_up` is set, of which the others need not know. It is
 * noticed within a few milliseconds. */
bool barrier_wait_unless(Barrier *barrier, const atomic_bool *given_up);

#endif

/* barrier.h -- a barrier for threads of one process, or of several that share its memory: they spin
 * briefly, then sleep. It holds no lock, so a process killed in it leaves nothing locked. */
#ifndef LOCKSTEP_BARRIER_H
#define LOCKSTEP_BARRIER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* `round` counts completed barriers; it has the role of the sense in a sense-reversing barrier.
 */
typedef struct Barrier {
  _Atomic int32_t arrived;
  _Atomic uint32_t round; /* sleepers wait for it to change */
  _Atomic int32_t sleepers;
  atomic_bool broken;
  int32_t count;
  int32_t spins;
} Barrier;

/* `spins` = pauses before a waiter sleeps: few when there are more threads than cores. Nothing has
 * to be closed. */
void barrier_open(Barrier *barrier, int32_t count, int32_t spins);

/* Writes before it are visible to all afterwards. False if the barrier was broken. */
bool barrier_wait(Barrier *barrier);
void barrier_break(Barrier *barrier);

/* As barrier_wait, but returns false within a few milliseconds when `given_up` is set, of which the
 * others need not know. */
bool barrier_wait_unless(Barrier *barrier, const atomic_bool *given_up);

#endif

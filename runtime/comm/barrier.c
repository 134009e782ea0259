/* barrier.c -- the last thread to arrive starts a new round and wakes the sleepers. */
#include "runtime/comm/barrier.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SLEEP_NS = 5000000 }; /* until a sleeper checks again whether the job was given up */

/* The futex is shared by processes, so the private forms cannot be used. */
static void sleep_while(_Atomic uint32_t *word, uint32_t value) {
  struct timespec most = {.tv_nsec = SLEEP_NS};
  (void)syscall(SYS_futex, word, FUTEX_WAIT, value, &most, NULL, 0);
}

static void wake_all(_Atomic uint32_t *word) {
  (void)syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void barrier_open(Barrier *barrier, int32_t count, int32_t spins) {
  atomic_init(&barrier->arrived, 0);
  atomic_init(&barrier->round, 0);
  atomic_init(&barrier->sleepers, 0);
  atomic_init(&barrier->broken, false);
  barrier->count = count;
  barrier->spins = spins;
}

static bool is_over(Barrier *barrier, uint32_t round, const atomic_bool *given_up) {
  return atomic_load(&barrier->round) != round || atomic_load(given_up);
}

static void pause_core(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/* A sleeper increments `sleepers` before the system compares `round`, and the last to arrive
 * changes `round` before it reads `sleepers`: one of the two always sees the other. */
bool barrier_wait_unless(Barrier *barrier, const atomic_bool *given_up) {
  uint32_t round = atomic_load(&barrier->round);
  if (atomic_load(given_up)) return false;
  if (atomic_fetch_add(&barrier->arrived, 1) + 1 == barrier->count) {
    atomic_store(&barrier->arrived, 0);
    atomic_fetch_add(&barrier->round, 1);
    if (atomic_load(&barrier->sleepers) != 0) wake_all(&barrier->round);
    return true;
  }
  for (int32_t spin = 0; spin < barrier->spins && !is_over(barrier, round, given_up); spin++)
    pause_core();
  if (!is_over(barrier, round, given_up)) {
    atomic_fetch_add(&barrier->sleepers, 1);
    while (!is_over(barrier, round, given_up))
      sleep_while(&barrier->round, round);
    atomic_fetch_sub(&barrier->sleepers, 1);
  }
  return atomic_load(&barrier->round) != round;
}

bool barrier_wait(Barrier *barrier) {
  return barrier_wait_unless(barrier, &barrier->broken);
}

/* A thread that falls asleep at this moment wakes by itself a little later. */
void barrier_break(Barrier *barrier) {
  atomic_store(&barrier->broken, true);
  wake_all(&barrier->round);
}

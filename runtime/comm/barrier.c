/* barrier.c -- the last to arrive starts a new round and wakes those who sleep. */
#include "runtime/comm/barrier.h"

void barrier_open(Barrier *barrier, int32_t count, int32_t spins) {
  atomic_init(&barrier->arrived, 0);
  atomic_init(&barrier->round, 0);
  atomic_init(&barrier->sleepers, 0);
  atomic_init(&barrier->broken, false);
  pthread_mutex_init(&barrier->lock, NULL);
  pthread_cond_init(&barrier->wake, NULL);
  barrier->count = count;
  barrier->spins = spins;
}

void barrier_close(Barrier *barrier) {
  pthread_cond_destroy(&barrier->wake);
  pthread_mutex_destroy(&barrier->lock);
}

static void wake_sleepers(Barrier *barrier) {
  if (atomic_load(&barrier->sleepers) == 0) return;
  pthread_mutex_lock(&barrier->lock);
  pthread_cond_broadcast(&barrier->wake);
  pthread_mutex_unlock(&barrier->lock);
}

static bool is_over(Barrier *barrier, uint32_t round) {
  return atomic_load(&barrier->round) != round || atomic_load(&barrier->broken);
}

static void pause_core(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/* A sleeper raises `sleepers` before it looks at `round` for the last time, and the last to arrive
 * changes `round` before it looks at `sleepers`: one of the two always sees the other. */
bool barrier_wait(Barrier *barrier) {
  uint32_t round = atomic_load(&barrier->round);
  if (atomic_load(&barrier->broken)) return false;
  if (atomic_fetch_add(&barrier->arrived, 1) + 1 == barrier->count) {
    atomic_store(&barrier->arrived, 0);
    atomic_fetch_add(&barrier->round, 1);
    wake_sleepers(barrier);
    return true;
  }
  for (int32_t spin = 0; spin < barrier->spins && !is_over(barrier, round); spin++)
    pause_core();
  if (!is_over(barrier, round)) {
    pthread_mutex_lock(&barrier->lock);
    atomic_fetch_add(&barrier->sleepers, 1);
    while (!is_over(barrier, round))
      pthread_cond_wait(&barrier->wake, &barrier->lock);
    atomic_fetch_sub(&barrier->sleepers, 1);
    pthread_mutex_unlock(&barrier->lock);
  }
  return atomic_load(&barrier->round) != round;
}

void barrier_break(Barrier *barrier) {
  atomic_store(&barrier->broken, true);
  pthread_mutex_lock(&barrier->lock);
  pthread_cond_broadcast(&barrier->wake);
  pthread_mutex_unlock(&barrier->lock);
}

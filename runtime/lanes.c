/* lanes.c -- progress counters: waiters spin for a moment, then sleep. */
#include "runtime/lanes.h"

#include <signal.h>
#include <string.h>

enum { SPINS = 200 };

static void pause_core(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/* A signal is the main thread's. */
static void *lanes_main(void *argument) {
  Lanes *lanes = argument;
  pthread_mutex_lock(&lanes->lock);
  while (!lanes->stop) {
    if (!lanes->is_running) {
      pthread_cond_wait(&lanes->wake, &lanes->lock);
      continue;
    }
    pthread_mutex_unlock(&lanes->lock);
    Status status = {0};
    bool done = lanes->body(lanes->context, &status);
    pthread_mutex_lock(&lanes->lock);
    lanes->done = done;
    lanes->status = status;
    lanes->is_running = false;
    pthread_cond_broadcast(&lanes->wake);
  }
  pthread_mutex_unlock(&lanes->lock);
  return NULL;
}

bool lanes_open(Lanes *lanes, LanesBody *body, void *context, Status *status) {
  *lanes = (Lanes){.body = body, .context = context};
  pthread_mutex_init(&lanes->lock, NULL);
  pthread_cond_init(&lanes->wake, NULL);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int failure = pthread_create(&lanes->thread, NULL, lanes_main, lanes);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (failure == 0) return true;
  pthread_cond_destroy(&lanes->wake);
  pthread_mutex_destroy(&lanes->lock);
  lanes->body = NULL;
  return status_fail(status, STATUS_WORLD, "cannot start a thread for communication: %s",
                     strerror(failure));
}

void lanes_close(Lanes *lanes) {
  if (!lanes->body) return;
  pthread_mutex_lock(&lanes->lock);
  lanes->stop = true;
  pthread_cond_broadcast(&lanes->wake);
  pthread_mutex_unlock(&lanes->lock);
  pthread_join(lanes->thread, NULL);
  pthread_cond_destroy(&lanes->wake);
  pthread_mutex_destroy(&lanes->lock);
  lanes->body = NULL;
}

void lanes_begin(Lanes *lanes) {
  pthread_mutex_lock(&lanes->lock);
  for (int32_t side = 0; side < SIDE_COUNT; side++)
    atomic_store(&lanes->passed[side], 0);
  atomic_store(&lanes->failed, false);
  lanes->is_running = true;
  pthread_cond_broadcast(&lanes->wake);
  pthread_mutex_unlock(&lanes->lock);
}

bool lanes_end(Lanes *lanes, bool done, Status *status) {
  pthread_mutex_lock(&lanes->lock);
  while (lanes->is_running)
    pthread_cond_wait(&lanes->wake, &lanes->lock);
  bool other_done = lanes->done;
  pthread_mutex_unlock(&lanes->lock);
  if (!other_done && (done || status->code == 0)) *status = lanes->status;
  return done && other_done;
}

static void wake_sleepers(Lanes *lanes) {
  if (atomic_load(&lanes->sleepers) == 0) return;
  pthread_mutex_lock(&lanes->lock);
  pthread_cond_broadcast(&lanes->wake);
  pthread_mutex_unlock(&lanes->lock);
}

/* Counted from 1, so that 0 is before the first record. */
void lanes_pass(Lanes *lanes, LaneSide side, uint64_t position) {
  atomic_store(&lanes->passed[side], position + 1);
  wake_sleepers(lanes);
}

void lanes_fail(Lanes *lanes) {
  atomic_store(&lanes->failed, true);
  wake_sleepers(lanes);
}

static bool is_over(Lanes *lanes, LaneSide side, uint64_t position) {
  return atomic_load(&lanes->passed[side]) > position || atomic_load(&lanes->failed);
}

/* As in a barrier: a sleeper raises `sleepers` before it looks for the last time, and who passes
 * looks at `sleepers` after it has passed: one of the two sees the other. */
bool lanes_wait(Lanes *lanes, LaneSide side, uint64_t position) {
  for (int32_t spin = 0; spin < SPINS && !is_over(lanes, side, position); spin++)
    pause_core();
  if (!is_over(lanes, side, position)) {
    pthread_mutex_lock(&lanes->lock);
    atomic_fetch_add(&lanes->sleepers, 1);
    while (!is_over(lanes, side, position))
      pthread_cond_wait(&lanes->wake, &lanes->lock);
    atomic_fetch_sub(&lanes->sleepers, 1);
    pthread_mutex_unlock(&lanes->lock);
  }
  return atomic_load(&lanes->passed[side]) > position;
}

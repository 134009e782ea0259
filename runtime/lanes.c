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

static void *lane_main(void *argument) {
  LaneThread *self = argument;
  Lanes *lanes = self->lanes;
  pthread_mutex_lock(&lanes->lock);
  while (!lanes->stop) {
    if (!self->is_running) {
      pthread_cond_wait(&lanes->wake, &lanes->lock);
      continue;
    }
    pthread_mutex_unlock(&lanes->lock);
    Status status = {0};
    bool done = lanes->body(lanes->context, self->lane, &status);
    pthread_mutex_lock(&lanes->lock);
    self->done = done;
    self->status = status;
    self->is_running = false;
    pthread_cond_broadcast(&lanes->wake);
  }
  pthread_mutex_unlock(&lanes->lock);
  return NULL;
}

/* A signal is the main thread's. */
static int start(Lanes *lanes, Lane lane) {
  LaneThread *self = &lanes->threads[lane];
  *self = (LaneThread){.lanes = lanes, .lane = lane, .done = true};
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int failure = pthread_create(&self->thread, NULL, lane_main, self);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (failure == 0) lanes->started |= 1u << lane;
  return failure;
}

bool lanes_open(Lanes *lanes, uint32_t lanes_mask, LanesBody *body, void *context, Status *status) {
  *lanes = (Lanes){.body = body, .context = context};
  pthread_mutex_init(&lanes->lock, NULL);
  pthread_cond_init(&lanes->wake, NULL);
  int failure = 0;
  for (uint32_t lane = 0; lane < Lane_COUNT && failure == 0; lane++)
    if (lanes_mask >> lane & 1u) failure = start(lanes, (Lane)lane);
  if (failure == 0) return true;
  lanes_close(lanes);
  return status_fail(status, STATUS_WORLD, "cannot start a thread for communication: %s",
                     strerror(failure));
}

void lanes_close(Lanes *lanes) {
  if (!lanes->body) return;
  pthread_mutex_lock(&lanes->lock);
  lanes->stop = true;
  pthread_cond_broadcast(&lanes->wake);
  pthread_mutex_unlock(&lanes->lock);
  for (uint32_t lane = 0; lane < Lane_COUNT; lane++)
    if (lanes->started >> lane & 1u) pthread_join(lanes->threads[lane].thread, NULL);
  pthread_cond_destroy(&lanes->wake);
  pthread_mutex_destroy(&lanes->lock);
  lanes->body = NULL;
}

/* Those that do not run have nothing to say at the end. */
void lanes_begin(Lanes *lanes, uint32_t lanes_mask) {
  pthread_mutex_lock(&lanes->lock);
  atomic_store(&lanes->failed, false);
  for (uint32_t lane = 0; lane < Lane_COUNT; lane++) {
    atomic_store(&lanes->passed[lane], 0);
    lanes->threads[lane].is_running = lanes_mask >> lane & 1u;
    lanes->threads[lane].done = true;
  }
  pthread_cond_broadcast(&lanes->wake);
  pthread_mutex_unlock(&lanes->lock);
}

bool lanes_end(Lanes *lanes, bool done, Status *status) {
  pthread_mutex_lock(&lanes->lock);
  for (uint32_t lane = 0; lane < Lane_COUNT; lane++) {
    const LaneThread *other = &lanes->threads[lane];
    while (other->is_running)
      pthread_cond_wait(&lanes->wake, &lanes->lock);
    if (!other->done && (done || status->code == STATUS_ECHO)) *status = other->status;
    done = done && other->done;
  }
  pthread_mutex_unlock(&lanes->lock);
  return done;
}

static void wake_sleepers(Lanes *lanes) {
  if (atomic_load(&lanes->sleepers) == 0) return;
  pthread_mutex_lock(&lanes->lock);
  pthread_cond_broadcast(&lanes->wake);
  pthread_mutex_unlock(&lanes->lock);
}

/* Counted from 1, so that 0 is before the first record. */
void lanes_pass(Lanes *lanes, Lane lane, uint64_t position) {
  atomic_store(&lanes->passed[lane], position + 1);
  wake_sleepers(lanes);
}

void lanes_fail(Lanes *lanes) {
  atomic_store(&lanes->failed, true);
  wake_sleepers(lanes);
}

static bool is_over(Lanes *lanes, Lane lane, uint64_t position) {
  return atomic_load(&lanes->passed[lane]) > position || atomic_load(&lanes->failed);
}

/* As in a barrier: a sleeper raises `sleepers` before it looks for the last time, and who passes
 * looks at `sleepers` after it has passed: one of the two sees the other. */
bool lanes_wait(Lanes *lanes, Lane lane, uint64_t position) {
  for (int32_t spin = 0; spin < SPINS && !is_over(lanes, lane, position); spin++)
    pause_core();
  if (!is_over(lanes, lane, position)) {
    pthread_mutex_lock(&lanes->lock);
    atomic_fetch_add(&lanes->sleepers, 1);
    while (!is_over(lanes, lane, position))
      pthread_cond_wait(&lanes->wake, &lanes->lock);
    atomic_fetch_sub(&lanes->sleepers, 1);
    pthread_mutex_unlock(&lanes->lock);
  }
  return atomic_load(&lanes->passed[lane]) > position;
}

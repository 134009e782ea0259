/* deadline.c -- a thread that sleeps, and ends the process unless it is woken in time. */
#include "runtime/process/deadline.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "runtime/process/status.h"
#include "runtime/process/text.h"

struct Deadline {
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t woken;
  bool is_over;
  struct timespec until;
  const char *who;
  const char *what;
  const char *why;
  int32_t seconds;
};

const char deadline_of_others[] = "another rank never came, or the launcher does not answer";

static void *wait_for_end(void *argument) {
  Deadline *deadline = argument;
  int result = 0;
  pthread_mutex_lock(&deadline->lock);
  while (!deadline->is_over && result != ETIMEDOUT)
    result = pthread_cond_timedwait(&deadline->woken, &deadline->lock, &deadline->until);
  bool missed = !deadline->is_over;
  pthread_mutex_unlock(&deadline->lock);
  if (!missed) return NULL;
  text_warn("lockstep-rank: %s: %s has not returned after %d s: %s", deadline->who, deadline->what,
            deadline->seconds, deadline->why);
  _exit(STATUS_WORLD);
}

static bool start(Deadline *deadline) {
  sigset_t all, before;
  pthread_condattr_t clock;
  pthread_condattr_init(&clock);
  pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
  pthread_mutex_init(&deadline->lock, NULL);
  pthread_cond_init(&deadline->woken, &clock);
  pthread_condattr_destroy(&clock);
  clock_gettime(CLOCK_MONOTONIC, &deadline->until);
  deadline->until.tv_sec += deadline->seconds;
  sigfillset(&all); /* signals are for the main thread alone */
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool started = pthread_create(&deadline->thread, NULL, wait_for_end, deadline) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return started;
}

/* If the thread cannot be started there is no limit, which is not a reason to fail. */
Deadline *deadline_begin(const char *who, const char *what, int32_t seconds, const char *why) {
  Deadline *deadline = calloc(1, sizeof *deadline);
  if (!deadline) return NULL;
  deadline->who = who;
  deadline->what = what;
  deadline->why = why;
  deadline->seconds = seconds;
  if (start(deadline)) return deadline;
  free(deadline);
  return NULL;
}

void deadline_end(Deadline *deadline) {
  if (!deadline) return;
  pthread_mutex_lock(&deadline->lock);
  deadline->is_over = true;
  pthread_cond_signal(&deadline->woken);
  pthread_mutex_unlock(&deadline->lock);
  pthread_join(deadline->thread, NULL);
  pthread_cond_destroy(&deadline->woken);
  pthread_mutex_destroy(&deadline->lock);
  free(deadline);
}

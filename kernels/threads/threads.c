/* threads.c -- a team sleeps between runs and claims tasks by counting one number down.
 *
 * A claim is a compare-and-swap that lowers `unclaimed`. Whoever succeeds holds a task of the run
 * in progress, and that run cannot end before the task is done: so `run`, `context` and `tasks` are
 * read after the claim and need no lock, and a thread that wakes late finds either nothing or a
 * task of a newer run. */
#include "kernels/threads/threads.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "kernels/threads/bind.h"

enum {
  CACHE_LINE_BYTES = 64,
  SPINS = 100, /* with pause, 1 to 5 us: longer than the gap between most kernels */
  /* then, some 100 us, longer than a wake-up takes on a virtual machine: lets a thread run that has
     no core of its own */
  YIELDS = 300,
  TRIES = SPINS + YIELDS
};

typedef struct Worker {
  Threads *team;
  pthread_t thread;
  int32_t number;
} Worker;

struct Threads {
  alignas(CACHE_LINE_BYTES) _Atomic int64_t unclaimed; /* tasks of this run nobody has taken */
  alignas(CACHE_LINE_BYTES) _Atomic int64_t unfinished;
  alignas(
      CACHE_LINE_BYTES) _Atomic int32_t sleepers; /* workers that need a signal to see a new run */
  _Atomic bool caller_sleeps;
  _Atomic bool stop;

  ThreadsTask *run;
  void *context;
  int64_t tasks;

  pthread_mutex_t lock; /* only around sleeping and waking */
  pthread_cond_t wake;
  pthread_cond_t done;
  int32_t count;
  int32_t started; /* workers that exist; count - 1 once threads_new has succeeded */
  int32_t bound;
  Worker worker[];
};

static void pause_core(int32_t tries) {
  if (tries >= SPINS) {
    (void)sched_yield();
    return;
  }
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

static bool work_once(Threads *team, int32_t number) {
  int64_t unclaimed = atomic_load(&team->unclaimed);
  do {
    if (unclaimed == 0) return false;
  } while (!atomic_compare_exchange_weak(&team->unclaimed, &unclaimed, unclaimed - 1));

  team->run(team->context, team->tasks - unclaimed, number);

  if (atomic_fetch_sub(&team->unfinished, 1) == 1 && atomic_load(&team->caller_sleeps)) {
    pthread_mutex_lock(&team->lock);
    pthread_cond_signal(&team->done);
    pthread_mutex_unlock(&team->lock);
  }
  return true;
}

/* `sleepers` is raised before `unclaimed` is read for the last time, and threads_run writes
 * `unclaimed` before it reads `sleepers`: one of the two always sees the other. */
static void sleep_until_run(Threads *team) {
  pthread_mutex_lock(&team->lock);
  atomic_fetch_add(&team->sleepers, 1);
  while (atomic_load(&team->unclaimed) == 0 && !atomic_load(&team->stop))
    pthread_cond_wait(&team->wake, &team->lock);
  atomic_fetch_sub(&team->sleepers, 1);
  pthread_mutex_unlock(&team->lock);
}

static void *worker_main(void *argument) {
  const Worker *self = argument;
  Threads *team = self->team;
  int32_t tries = 0;
  while (!atomic_load(&team->stop)) {
    if (work_once(team, self->number)) {
      tries = 0;
    } else if (tries < TRIES) {
      pause_core(tries++);
    } else {
      sleep_until_run(team);
      tries = 0;
    }
  }
  return NULL;
}

Threads *threads_new(int32_t count, const int32_t *core) {
  assert(count >= 1);
  size_t bytes = sizeof(Threads) + (size_t)(count - 1) * sizeof(Worker);
  bytes = (bytes + CACHE_LINE_BYTES - 1) / CACHE_LINE_BYTES * CACHE_LINE_BYTES;
  Threads *team = aligned_alloc(CACHE_LINE_BYTES, bytes);
  if (!team) return NULL;

  *team = (Threads){.count = count};
  atomic_init(&team->unclaimed, 0);
  atomic_init(&team->unfinished, 0);
  atomic_init(&team->sleepers, 0);
  atomic_init(&team->caller_sleeps, false);
  atomic_init(&team->stop, false);
  pthread_mutex_init(&team->lock, NULL);
  pthread_cond_init(&team->wake, NULL);
  pthread_cond_init(&team->done, NULL);

  team->bound += core != NULL && bind_thread(pthread_self(), core[0]);
  for (int32_t i = 1; i < count; i++) {
    Worker *worker = &team->worker[i - 1];
    *worker = (Worker){.team = team, .number = i};
    if (pthread_create(&worker->thread, NULL, worker_main, worker) != 0) {
      threads_free(team);
      return NULL;
    }
    team->started = i;
    team->bound += core != NULL && bind_thread(worker->thread, core[i]);
  }
  return team;
}

void threads_free(Threads *team) {
  if (!team) return;
  pthread_mutex_lock(&team->lock);
  atomic_store(&team->stop, true);
  pthread_cond_broadcast(&team->wake);
  pthread_mutex_unlock(&team->lock);
  for (int32_t i = 0; i < team->started; i++)
    pthread_join(team->worker[i].thread, NULL);
  pthread_cond_destroy(&team->done);
  pthread_cond_destroy(&team->wake);
  pthread_mutex_destroy(&team->lock);
  free(team);
}

int32_t threads_count(const Threads *team) {
  return team->count;
}

int32_t threads_bound(const Threads *team) {
  return team->bound;
}

/* Polls before it sleeps, because other threads end their last tasks at about the same time as the
 * caller. */
static void wait_until_done(Threads *team) {
  for (int32_t tries = 0; tries < TRIES; tries++) {
    if (atomic_load(&team->unfinished) == 0) return;
    pause_core(tries);
  }
  pthread_mutex_lock(&team->lock);
  atomic_store(&team->caller_sleeps, true);
  while (atomic_load(&team->unfinished) != 0)
    pthread_cond_wait(&team->done, &team->lock);
  atomic_store(&team->caller_sleeps, false);
  pthread_mutex_unlock(&team->lock);
}

void threads_run(Threads *team, int64_t tasks, ThreadsTask *run, void *context) {
  if (team->count == 1 || tasks <= 1) {
    for (int64_t task = 0; task < tasks; task++)
      run(context, task, 0);
    return;
  }
  team->run = run;
  team->context = context;
  team->tasks = tasks;
  atomic_store(&team->unfinished, tasks);
  atomic_store(&team->unclaimed, tasks);
  if (atomic_load(&team->sleepers) > 0) {
    pthread_mutex_lock(&team->lock);
    pthread_cond_broadcast(&team->wake);
    pthread_mutex_unlock(&team->lock);
  }
  while (work_once(team, 0)) {
  }
  wait_until_done(team);
}

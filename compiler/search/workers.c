#include "compiler/search/workers.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { THREADS_MOST = 256 };

typedef struct Crew {
  atomic_int next;
  int32_t count;
  Work *work;
  void *state;
} Crew;

typedef struct CrewWorker {
  Crew *crew;
  int32_t thread;
} CrewWorker;

static void *run(void *at) {
  const CrewWorker *worker = at;
  Crew *crew = worker->crew;
  for (;;) {
    const int32_t i = atomic_fetch_add(&crew->next, 1);
    if (i >= crew->count) return NULL;
    crew->work(crew->state, worker->thread, i);
  }
}

void workers_run(int32_t threads, int32_t count, Work *work, void *state) {
  pthread_t thread[THREADS_MOST];
  CrewWorker worker[THREADS_MOST];
  Crew crew = {.count = count, .work = work, .state = state};
  int32_t started = 1; /* this thread is the first */
  if (threads > THREADS_MOST) threads = THREADS_MOST;
  for (int32_t t = 0; t < threads || t == 0; t++)
    worker[t] = (CrewWorker){&crew, t};
  while (started < threads && started < count &&
         pthread_create(&thread[started], NULL, run, &worker[started]) == 0)
    started++; /* where no thread can be made, fewer do the work */
  run(&worker[0]);
  for (int32_t t = 1; t < started; t++)
    pthread_join(thread[t], NULL);
}

int32_t workers_available(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  const int32_t count = CPU_COUNT(&set);
  return count < THREADS_MOST ? count : THREADS_MOST;
}

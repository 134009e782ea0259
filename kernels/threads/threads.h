/* threads.h -- the worker threads of one rank: a fixed team that runs numbered tasks. */
#ifndef LOCKSTEP_THREADS_H
#define LOCKSTEP_THREADS_H

#include <stdint.h>

typedef struct Threads Threads;

/* A team of `count` threads including the caller (count >= 1). Thread i is bound to processor
 * core[i]; NULL leaves placement to the system. Returns NULL when threads cannot be created. */
Threads *threads_new(int32_t count, const int32_t *core);
void threads_free(Threads *team);
int32_t threads_count(const Threads *team);
/* The number of workers that are bound to cores; the system may refuse to bind them. */
int32_t threads_bound(const Threads *team);

typedef void ThreadsTask(void *context, int64_t task, int32_t worker);

/* Runs task 0 .. tasks-1 and returns when all are done. `worker` is 0 .. count-1, stable within one
 * task. Tasks are handed out in order, to whichever thread is free. Not reentrant: a task must not
 * call it. */
void threads_run(Threads *team, int64_t tasks, ThreadsTask *run, void *context);

#endif

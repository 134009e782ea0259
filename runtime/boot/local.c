/* local.c -- one thread a rank; the first failure is the root cause, later ones are its echo. */
#include "runtime/boot/local.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

typedef struct Boot {
  BootRank *body;
  BootAbort *abort_all;
  void *context;
  pthread_mutex_t lock;
  bool failed;
  Status status;
} Boot;

typedef struct RankThread {
  Boot *boot;
  pthread_t thread;
  int32_t rank;
} RankThread;

static void run_rank(Boot *boot, int32_t rank) {
  Status status = {0};
  if (boot->body(boot->context, rank, &status)) return;
  pthread_mutex_lock(&boot->lock);
  bool first = !boot->failed || boot->status.code == STATUS_ECHO;
  if (first) boot->status = status;
  boot->failed = true;
  pthread_mutex_unlock(&boot->lock);
  if (first && status.code != STATUS_ECHO) boot->abort_all(boot->context);
}

static void *thread_main(void *argument) {
  const RankThread *self = argument;
  run_rank(self->boot, self->rank);
  return NULL;
}

/* Signals are for the main thread alone: threads inherit the mask that their creator has. */
static int start_thread(RankThread *rank) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int failure = pthread_create(&rank->thread, NULL, thread_main, rank);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return failure;
}

bool boot_local(int32_t rank_count, BootRank *body, BootAbort *abort_all, void *context,
                Status *status) {
  Boot boot = {.body = body, .abort_all = abort_all, .context = context};
  RankThread *ranks = calloc((size_t)rank_count, sizeof *ranks);
  if (!ranks)
    return status_fail(status, STATUS_WORLD, "not enough memory for %d ranks", rank_count);
  pthread_mutex_init(&boot.lock, NULL);
  int32_t started = 1;
  for (; started < rank_count; started++) {
    ranks[started] = (RankThread){.boot = &boot, .rank = started};
    int failure = start_thread(&ranks[started]);
    if (failure == 0) continue;
    pthread_mutex_lock(&boot.lock);
    boot.failed = true;
    (void)status_fail(&boot.status, STATUS_WORLD, "cannot start rank %d: %s", started,
                      strerror(failure));
    pthread_mutex_unlock(&boot.lock);
    abort_all(context);
    break;
  }
  if (started == rank_count) run_rank(&boot, 0);
  for (int32_t i = 1; i < started; i++)
    pthread_join(ranks[i].thread, NULL);
  pthread_mutex_destroy(&boot.lock);
  free(ranks);
  if (boot.failed) *status = boot.status;
  return !boot.failed;
}

int32_t boot_first_core(int32_t rank_count, int32_t threads_per_rank) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return -1;
  int64_t wanted = (int64_t)rank_count * threads_per_rank;
  if (wanted != CPU_COUNT(&allowed)) return -1;
  for (int64_t core = 0; core < wanted; core++)
    if (!CPU_ISSET((size_t)core, &allowed)) return -1;
  return 0;
}

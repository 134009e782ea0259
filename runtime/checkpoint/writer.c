#include "runtime/checkpoint/writer.h"

#include <signal.h>
#include <string.h>

static bool run_task(CheckpointWriter *w, WriterTask task, Status *why) {
  if (task == WRITER_PART) return checkpoint_write(w->store, w->state, why);
  if (!checkpoint_publish(w->store, w->state, w->record, why)) return false;
  checkpoint_remove_oldest(w->store, w->state->step);
  return true;
}

static void *writer_main(void *argument) {
  CheckpointWriter *w = argument;
  pthread_mutex_lock(&w->lock);
  for (;;) {
    while (w->task == WRITER_REST)
      pthread_cond_wait(&w->work, &w->lock);
    const WriterTask task = w->task;
    if (task == WRITER_LEAVE) break;
    pthread_mutex_unlock(&w->lock);
    Status why = {0};
    if (run_task(w, task, &why)) why.code = 0;
    pthread_mutex_lock(&w->lock);
    w->why = why;
    if (w->task != WRITER_LEAVE) w->task = WRITER_REST;
    pthread_cond_signal(&w->rest);
  }
  pthread_mutex_unlock(&w->lock);
  return NULL;
}

/* Signals are handled by the main thread. */
bool writer_open(CheckpointWriter *w, CheckpointStore *store, const char *record, Status *status) {
  *w = (CheckpointWriter){.store = store, .record = record};
  pthread_mutex_init(&w->lock, NULL);
  pthread_cond_init(&w->work, NULL);
  pthread_cond_init(&w->rest, NULL);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int failure = pthread_create(&w->thread, NULL, writer_main, w);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  w->has_thread = failure == 0;
  return failure == 0 ||
         status_fail(status, STATUS_WORLD, "cannot start a thread for checkpoints: %s",
                     strerror(failure));
}

void writer_close(CheckpointWriter *w) {
  if (!w->has_thread) return;
  atomic_store(&w->store->gives_up, true);
  writer_start(w, WRITER_LEAVE, NULL);
  pthread_join(w->thread, NULL);
  w->has_thread = false;
}

void writer_start(CheckpointWriter *w, WriterTask task, const CheckpointState *state) {
  pthread_mutex_lock(&w->lock);
  w->task = task;
  if (state != NULL) w->state = state;
  pthread_cond_signal(&w->work);
  pthread_mutex_unlock(&w->lock);
}

bool writer_rests(CheckpointWriter *w) {
  pthread_mutex_lock(&w->lock);
  const bool rests = w->task == WRITER_REST;
  pthread_mutex_unlock(&w->lock);
  return rests;
}

void writer_await(CheckpointWriter *w) {
  pthread_mutex_lock(&w->lock);
  while (w->task != WRITER_REST)
    pthread_cond_wait(&w->rest, &w->lock);
  pthread_mutex_unlock(&w->lock);
}

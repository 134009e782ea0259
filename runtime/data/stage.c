/* stage.c -- one producer, one consumer, a ring of slots. */
#include "runtime/data/stage.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct Stage {
  StageSetup setup;
  int64_t slots;
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t filled;
  pthread_cond_t emptied;
  int64_t filled_count; /* slots so far; which one is the count modulo slots */
  int64_t taken_count;  /* of the consumer only */
  int64_t free_count;   /* given back */
  bool stop;
  bool failed; /* `status` says why the slot after filled_count never comes */
  Status status;
  int64_t wait_ns; /* of the consumer only */
};

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

bool stage_validates(const StageSetup *setup, int64_t step) {
  int64_t every = setup->plan->jobs[0].validate_every;
  return every > 0 && setup->valid_passes > 0 && (step % every == 0 || step == setup->last_step);
}

static uint8_t *slot_at(const Stage *stage, int64_t count) {
  const PlanJob *job = &stage->setup.plan->jobs[0];
  uint64_t step_bytes = (uint64_t)job->accumulation * job->sample_bytes;
  return stage->setup.ring + (uint64_t)(count % stage->slots) * step_bytes;
}

/* A slot is the producer's alone until filled_count is raised. */
static uint8_t *wait_for_slot(Stage *stage) {
  pthread_mutex_lock(&stage->lock);
  while (stage->filled_count - stage->free_count == stage->slots && !stage->stop)
    pthread_cond_wait(&stage->emptied, &stage->lock);
  bool stop = stage->stop;
  pthread_mutex_unlock(&stage->lock);
  return stop ? NULL : slot_at(stage, stage->filled_count);
}

static void publish(Stage *stage, const Status *failure) {
  pthread_mutex_lock(&stage->lock);
  if (failure) {
    stage->failed = true;
    stage->status = *failure;
  } else
    stage->filled_count++;
  pthread_cond_signal(&stage->filled);
  pthread_mutex_unlock(&stage->lock);
}

/* The micro-batches of one run of a program; false when the thread is to end. */
static bool produce(Stage *stage, const Samples *samples, int64_t position, int64_t loads) {
  const StageSetup *setup = &stage->setup;
  const PlanJob *job = &setup->plan->jobs[0];
  int64_t rows = job->microbatch_samples;
  uint8_t *slot = wait_for_slot(stage);
  if (!slot) return false;
  for (int64_t row = 0; row < loads * rows; row++) {
    int64_t load = row / rows;
    int64_t number = position + (load * setup->replicas + setup->replica) * rows + row % rows;
    uint8_t *at = slot + (uint64_t)load * job->sample_bytes;
    Status status;
    if (samples_fill(samples, samples_at(samples, number), row % rows, at, &status)) continue;
    publish(stage, &status);
    return false;
  }
  publish(stage, NULL);
  return true;
}

/* Pass after pass, one micro-batch each. */
static bool produce_validation(Stage *stage) {
  const StageSetup *setup = &stage->setup;
  int64_t pass_samples = setup->replicas * setup->plan->jobs[0].microbatch_samples;
  for (int64_t pass = 0; pass < setup->valid_passes; pass++)
    if (!produce(stage, setup->valid, pass * pass_samples, 1)) return false;
  return true;
}

static bool wait_to_begin(Stage *stage) {
  pthread_mutex_lock(&stage->lock);
  while (stage->setup.is_held && !stage->stop)
    pthread_cond_wait(&stage->emptied, &stage->lock);
  bool stop = stage->stop;
  pthread_mutex_unlock(&stage->lock);
  return !stop;
}

static void *stage_main(void *argument) {
  Stage *stage = argument;
  if (!wait_to_begin(stage)) return NULL;
  const StageSetup *setup = &stage->setup;
  int64_t position = setup->samples_before;
  for (int64_t step = setup->first_step; step <= setup->last_step; step++) {
    if (!produce(stage, setup->train, position, setup->train_loads)) break;
    position += setup->plan->jobs[0].batch_samples;
    if (stage_validates(setup, step) && !produce_validation(stage)) break;
  }
  return NULL;
}

Stage *stage_start(const StageSetup *setup, Status *status) {
  Stage *stage = calloc(1, sizeof *stage);
  if (!stage) {
    (void)status_fail(status, STATUS_WORLD, "not enough memory to stage data");
    return NULL;
  }
  stage->setup = *setup;
  stage->slots = setup->plan->jobs[0].prefetch_steps;
  pthread_mutex_init(&stage->lock, NULL);
  pthread_cond_init(&stage->filled, NULL);
  pthread_cond_init(&stage->emptied, NULL);
  int failure = pthread_create(&stage->thread, NULL, stage_main, stage);
  if (failure == 0) return stage;
  (void)status_fail(status, STATUS_WORLD, "cannot start the data thread: %s", strerror(failure));
  free(stage);
  return NULL;
}

void stage_begin(Stage *stage, int64_t first_step, int64_t samples_before) {
  pthread_mutex_lock(&stage->lock);
  stage->setup.first_step = first_step;
  stage->setup.samples_before = samples_before;
  stage->setup.is_held = false;
  pthread_cond_signal(&stage->emptied);
  pthread_mutex_unlock(&stage->lock);
}

void stage_stop(Stage *stage) {
  if (!stage) return;
  pthread_mutex_lock(&stage->lock);
  stage->stop = true;
  pthread_cond_signal(&stage->emptied);
  pthread_mutex_unlock(&stage->lock);
  pthread_join(stage->thread, NULL);
  pthread_cond_destroy(&stage->emptied);
  pthread_cond_destroy(&stage->filled);
  pthread_mutex_destroy(&stage->lock);
  free(stage);
}

static bool wait_for_data(Stage *stage, Status *status) {
  int64_t start_ns = now_ns();
  pthread_mutex_lock(&stage->lock);
  while (stage->filled_count == stage->taken_count && !stage->failed)
    pthread_cond_wait(&stage->filled, &stage->lock);
  bool have = stage->filled_count > stage->taken_count;
  pthread_mutex_unlock(&stage->lock);
  stage->wait_ns += now_ns() - start_ns;
  if (!have) *status = stage->status;
  return have;
}

const uint8_t *stage_take(Stage *stage, Status *status) {
  return wait_for_data(stage, status) ? slot_at(stage, stage->taken_count++) : NULL;
}

void stage_give_back(Stage *stage) {
  pthread_mutex_lock(&stage->lock);
  stage->free_count++;
  pthread_cond_signal(&stage->emptied);
  pthread_mutex_unlock(&stage->lock);
}

int64_t stage_wait_ns(const Stage *stage) {
  return stage->wait_ns;
}

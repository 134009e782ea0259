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
  int64_t filled_count; /* micro-batches staged so far; the slot is the count modulo slots */
  int64_t taken_count;
  bool stop;
  bool failed; /* `status` says why the micro-batch after filled_count never comes */
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
  return every > 0 && setup->valid_loads > 0 && (step % every == 0 || step == setup->last_step);
}

/* A slot is the producer's alone until filled_count is raised. */
static uint8_t *wait_for_slot(Stage *stage) {
  pthread_mutex_lock(&stage->lock);
  while (stage->filled_count - stage->taken_count == stage->slots && !stage->stop)
    pthread_cond_wait(&stage->emptied, &stage->lock);
  bool stop = stage->stop;
  int64_t slot = stage->filled_count % stage->slots;
  pthread_mutex_unlock(&stage->lock);
  return stop ? NULL : stage->setup.ring + (uint64_t)slot * stage->setup.plan->jobs[0].sample_bytes;
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

/* The micro-batches of one step or one validation; false when the thread is to end. */
static bool produce(Stage *stage, const Samples *samples, int64_t position, int64_t loads) {
  const StageSetup *setup = &stage->setup;
  int64_t rows = setup->plan->jobs[0].microbatch_samples;
  for (int64_t load = 0; load < loads; load++) {
    uint8_t *slot = wait_for_slot(stage);
    if (!slot) return false;
    int64_t first = position + (load * setup->replicas + setup->replica) * rows;
    for (int64_t row = 0; row < rows; row++) {
      Status status;
      if (samples_fill(samples, samples_at(samples, first + row), row, slot, &status)) continue;
      publish(stage, &status);
      return false;
    }
    publish(stage, NULL);
  }
  return true;
}

static void *stage_main(void *argument) {
  Stage *stage = argument;
  const StageSetup *setup = &stage->setup;
  int64_t position = setup->samples_before;
  for (int64_t step = setup->first_step; step <= setup->last_step; step++) {
    if (!produce(stage, setup->train, position, setup->train_loads)) break;
    position += setup->plan->jobs[0].batch_samples;
    if (stage_validates(setup, step) && !produce(stage, setup->valid, 0, setup->valid_loads)) break;
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
  stage->slots = setup->plan->jobs[0].prefetch_batches;
  pthread_mutex_init(&stage->lock, NULL);
  pthread_cond_init(&stage->filled, NULL);
  pthread_cond_init(&stage->emptied, NULL);
  int failure = pthread_create(&stage->thread, NULL, stage_main, stage);
  if (failure == 0) return stage;
  (void)status_fail(status, STATUS_WORLD, "cannot start the data thread: %s", strerror(failure));
  free(stage);
  return NULL;
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

bool stage_take(void *context, void *const *operand, const int64_t *bytes, int32_t count,
                Status *status) {
  Stage *stage = context;
  const Plan *plan = stage->setup.plan;
  if (!wait_for_data(stage, status)) return false;
  uint64_t slot = (uint64_t)(stage->taken_count % stage->slots);
  const uint8_t *staged = stage->setup.ring + slot * plan->jobs[0].sample_bytes;
  for (int32_t i = 0; i < count; i++)
    memcpy(operand[i], staged + samples_input_offset(plan, (uint32_t)i), (size_t)bytes[i]);
  pthread_mutex_lock(&stage->lock);
  stage->taken_count++;
  pthread_cond_signal(&stage->emptied);
  pthread_mutex_unlock(&stage->lock);
  return true;
}

int64_t stage_wait_ns(const Stage *stage) {
  return stage->wait_ns;
}

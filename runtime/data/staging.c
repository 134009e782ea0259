/* staging.c -- one producer, one consumer, a ring of slots. */
#include "runtime/data/staging.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/plan/plan_job.h"

struct Staging {
  StagingSetup setup;
  int64_t slots;
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t filled;
  pthread_cond_t emptied;
  int64_t filled_count; /* slots filled so far; the current one is the count modulo slots */
  int64_t taken_count;  /* of the consumer only */
  int64_t free_count;   /* given back */
  bool stop;
  bool failed; /* `status` says why there is no slot after filled_count */
  Status status;
  int64_t wait_ns;      /* of the consumer only */
  LossTargets *targets; /* by slot */
};

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

bool staging_validates(const StagingSetup *setup, int64_t step) {
  int64_t every = job_validate_every(setup->plan);
  return every > 0 && setup->valid_passes > 0 && (step % every == 0 || step == setup->last_step);
}

static LossTargets *targets_at(const Staging *staging, int64_t count) {
  return &staging->targets[count % staging->slots];
}

static uint8_t *slot_at(const Staging *staging, int64_t count) {
  uint64_t step_bytes =
      (uint64_t)job_accumulation(staging->setup.plan) * job_sample_bytes(staging->setup.plan);
  return staging->setup.ring + (uint64_t)(count % staging->slots) * step_bytes;
}

/* A slot belongs to the producer until filled_count is incremented. */
static uint8_t *wait_for_slot(Staging *staging) {
  pthread_mutex_lock(&staging->lock);
  while (staging->filled_count - staging->free_count == staging->slots && !staging->stop)
    pthread_cond_wait(&staging->emptied, &staging->lock);
  bool stop = staging->stop;
  pthread_mutex_unlock(&staging->lock);
  return stop ? NULL : slot_at(staging, staging->filled_count);
}

static void publish(Staging *staging, const Status *failure) {
  pthread_mutex_lock(&staging->lock);
  if (failure) {
    staging->failed = true;
    staging->status = *failure;
  } else
    staging->filled_count++;
  pthread_cond_signal(&staging->filled);
  pthread_mutex_unlock(&staging->lock);
}

/* Stages the micro-batches of one run of a program; false when the thread must end. */
static bool produce(Staging *staging, const Samples *samples, int64_t position, int64_t loads) {
  const StagingSetup *setup = &staging->setup;
  int64_t rows = job_microbatch_samples(setup->plan);
  uint8_t *slot = wait_for_slot(staging);
  LossTargets targets = {0};
  if (!slot) return false;
  for (int64_t row = 0; row < loads * rows; row++) {
    int64_t load = row / rows;
    int64_t number = position + (load * setup->replicas + setup->replica) * rows + row % rows;
    uint8_t *at = slot + (uint64_t)load * job_sample_bytes(setup->plan);
    Status status;
    if (!samples_fill(samples, samples_at(samples, number), row % rows, at, &status)) {
      publish(staging, &status);
      return false;
    }
    samples_targets(samples, at, row % rows, targets.of);
  }
  *targets_at(staging, staging->filled_count) = targets;
  publish(staging, NULL);
  return true;
}

/* Stages a validation pass by pass, one micro-batch each. */
static bool produce_validation(Staging *staging) {
  const StagingSetup *setup = &staging->setup;
  int64_t pass_samples = setup->replicas * job_microbatch_samples(setup->plan);
  for (int64_t pass = 0; pass < setup->valid_passes; pass++)
    if (!produce(staging, setup->valid, pass * pass_samples, 1)) return false;
  return true;
}

static bool wait_to_begin(Staging *staging) {
  pthread_mutex_lock(&staging->lock);
  while (staging->setup.is_held && !staging->stop)
    pthread_cond_wait(&staging->emptied, &staging->lock);
  bool stop = staging->stop;
  pthread_mutex_unlock(&staging->lock);
  return !stop;
}

static void *produce_all(void *argument) {
  Staging *staging = argument;
  if (!wait_to_begin(staging)) return NULL;
  const StagingSetup *setup = &staging->setup;
  int64_t position = setup->samples_before;
  if (!plan_trains(setup->plan)) {
    (void)produce_validation(staging);
    return NULL;
  }
  for (int64_t step = setup->first_step; step <= setup->last_step; step++) {
    if (!produce(staging, setup->train, position, setup->train_loads)) break;
    position += job_batch_samples(setup->plan);
    if (staging_validates(setup, step) && !produce_validation(staging)) break;
  }
  return NULL;
}

Staging *staging_start(const StagingSetup *setup, Status *status) {
  Staging *staging = calloc(1, sizeof *staging);
  if (!staging) {
    (void)status_fail(status, STATUS_WORLD, "not enough memory to stage data");
    return NULL;
  }
  staging->setup = *setup;
  staging->slots = job_prefetch_steps(setup->plan);
  staging->targets = calloc((size_t)staging->slots, sizeof *staging->targets);
  if (!staging->targets) {
    (void)status_fail(status, STATUS_WORLD, "not enough memory to stage data");
    free(staging);
    return NULL;
  }
  pthread_mutex_init(&staging->lock, NULL);
  pthread_cond_init(&staging->filled, NULL);
  pthread_cond_init(&staging->emptied, NULL);
  int failure = pthread_create(&staging->thread, NULL, produce_all, staging);
  if (failure == 0) return staging;
  (void)status_fail(status, STATUS_WORLD, "cannot start the data thread: %s", strerror(failure));
  free(staging->targets);
  free(staging);
  return NULL;
}

void staging_begin(Staging *staging, int64_t first_step, int64_t samples_before) {
  pthread_mutex_lock(&staging->lock);
  staging->setup.first_step = first_step;
  staging->setup.samples_before = samples_before;
  staging->setup.is_held = false;
  pthread_cond_signal(&staging->emptied);
  pthread_mutex_unlock(&staging->lock);
}

void staging_stop(Staging *staging) {
  if (!staging) return;
  pthread_mutex_lock(&staging->lock);
  staging->stop = true;
  pthread_cond_signal(&staging->emptied);
  pthread_mutex_unlock(&staging->lock);
  pthread_join(staging->thread, NULL);
  pthread_cond_destroy(&staging->emptied);
  pthread_cond_destroy(&staging->filled);
  pthread_mutex_destroy(&staging->lock);
  free(staging->targets);
  free(staging);
}

static bool wait_for_data(Staging *staging, Status *status) {
  int64_t start_ns = now_ns();
  pthread_mutex_lock(&staging->lock);
  while (staging->filled_count == staging->taken_count && !staging->failed)
    pthread_cond_wait(&staging->filled, &staging->lock);
  bool have = staging->filled_count > staging->taken_count;
  pthread_mutex_unlock(&staging->lock);
  staging->wait_ns += now_ns() - start_ns;
  if (!have) *status = staging->status;
  return have;
}

const uint8_t *staging_take(Staging *staging, Status *status) {
  return wait_for_data(staging, status) ? slot_at(staging, staging->taken_count++) : NULL;
}

void staging_give_back(Staging *staging) {
  pthread_mutex_lock(&staging->lock);
  staging->free_count++;
  pthread_cond_signal(&staging->emptied);
  pthread_mutex_unlock(&staging->lock);
}

LossTargets staging_targets(const Staging *staging) {
  return *targets_at(staging, staging->taken_count - 1);
}

int64_t staging_wait_ns(const Staging *staging) {
  return staging->wait_ns;
}

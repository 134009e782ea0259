/* writer.h -- a thread of a rank that writes its part, and rank 0's names checkpoints, while steps
 * continue. It neither communicates nor touches the device. */
#ifndef LOCKSTEP_CHECKPOINT_WRITER_H
#define LOCKSTEP_CHECKPOINT_WRITER_H

#include <pthread.h>

#include "runtime/checkpoint/checkpoint.h"

typedef enum WriterTask {
  WRITER_REST,
  WRITER_PART, /* checkpoint_write */
  WRITER_NAME, /* checkpoint_publish, and the removal of older ones */
  WRITER_LEAVE
} WriterTask;

typedef struct CheckpointWriter {
  CheckpointStore *store;
  const CheckpointState *state;
  const char *record; /* as checkpoint_publish has it */
  bool has_thread;
  pthread_t thread;
  pthread_mutex_t lock; /* of what follows; neither it nor the conditions hold anything to free */
  pthread_cond_t work, rest;
  WriterTask task;
  Status why; /* of the last task; code 0: it was done */
} CheckpointWriter;

/* `store` and `record` must stay until the writer is closed. */
bool writer_open(CheckpointWriter *writer, CheckpointStore *store, const char *record,
                 Status *status);
/* Drops what it is writing. */
void writer_close(CheckpointWriter *writer);

/* The writer rests; `state` must stay until it rests again. */
void writer_start(CheckpointWriter *writer, WriterTask task, const CheckpointState *state);
bool writer_rests(CheckpointWriter *writer);
/* Returns when it rests. */
void writer_await(CheckpointWriter *writer);

#endif

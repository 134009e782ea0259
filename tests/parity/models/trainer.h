/* trainer.h -- one rank that a test drives step by step: it brings the initial values and the data,
 * and looks at gradients in the arena. */
#ifndef LOCKSTEP_TESTS_TRAINER_H
#define LOCKSTEP_TESTS_TRAINER_H

#include "runtime/comm/local.h"
#include "runtime/device/arena.h"
#include "runtime/replay/replay.h"

/* Writes what sample `sample` of the step's batch has of the input called `name`. */
typedef void TrainerInput(void *context, int64_t step, int64_t sample, const PlanInput *input,
                          const char *name, void *out);

typedef struct Trainer {
  const Plan *plan;
  Mesh mesh;
  LocalWorld *world;
  Arena arena;
  Threads *threads;
  Replay replay;
  TrainerInput *input;
  void *input_context;
  int64_t step; /* the one that runs */
  ReplayLeft left;
} Trainer;

/* Runs the init program. False when something was printed. */
bool trainer_open(Trainer *trainer, const Plan *plan, KernelVariant variant, TrainerInput *input,
                  void *input_context);
void trainer_close(Trainer *trainer);

/* The next step. */
bool trainer_step(Trainer *trainer);
double trainer_loss(const Trainer *trainer);
double trainer_norm(const Trainer *trainer);

/* Calls `visit` for each layer of each tensor of a kind, with its name (the layer in place of *)
 * and its values as f32; those it changes are written back. */
typedef void TrainerVisit(void *context, const char *name, int64_t count, float *values);
void trainer_each(Trainer *trainer, BufferKind kind, TrainerVisit *visit, void *context);

#endif

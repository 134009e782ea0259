/* replay_rig.h -- runs the program train_step of a sketched plan on all its ranks, as threads. */
#ifndef LOCKSTEP_TESTS_REPLAY_RIG_H
#define LOCKSTEP_TESTS_REPLAY_RIG_H

#include <stdlib.h>

#include "runtime/boot/local.h"
#include "runtime/comm/local.h"
#include "runtime/plan/plan_io.h"
#include "runtime/replay/replay.h"
#include "tests/unit/check.h"
#include "tests/unit/plan_sketch.h"

enum { RIG_RANKS_MAX = 16 };

typedef struct Rig {
  Plan plan;
  Mesh mesh;
  LocalWorld *world;
  int32_t rounds; /* how often the program runs; 0 = once */
  uint8_t *arena[RIG_RANKS_MAX];
  Threads *threads[RIG_RANKS_MAX];
  Replay replay[RIG_RANKS_MAX];
  ReplayLeft left[RIG_RANKS_MAX]; /* by the last run */
} Rig;

/* Every rank's data are floats: 1000 * rank + i. */
static inline void rig_open(Rig *rig, const Sketch *sketch) {
  Status status = {0};
  char why[PLAN_WHY_BYTES] = "";
  memset(rig, 0, sizeof *rig);
  rig->plan = build_view(&sketch->b);
  CHECK(plan_check(&rig->plan, why));
  CHECK_TEXT(why, "");
  CHECK(mesh_read(&rig->mesh, &rig->plan, &status));
  rig->world = local_world_new(&rig->plan, &rig->mesh, 1);
  for (int32_t rank = 0; rank < rig->mesh.rank_count; rank++) {
    rig->threads[rank] = threads_new(1, NULL);
    rig->arena[rank] = aligned_alloc(256, SKETCH_DATA_AT + SKETCH_DATA_BYTES);
    memset(rig->arena[rank], 0, SKETCH_DATA_AT);
    ReplaySetup setup = {.plan = &rig->plan,
                         .mesh = &rig->mesh,
                         .rank = rank,
                         .arena = {rig->arena[rank]},
                         .comm = local_comm(rig->world, rank, NULL),
                         .comm_beside = local_comm_beside(rig->world, rank),
                         .threads = rig->threads[rank],
                         .kernels = {kernels_of(KERNEL_REFERENCE)}};
    CHECK(replay_bind(&rig->replay[rank], &setup, &status));
    CHECK_TEXT(status.text, "");
    float *data = (float *)(void *)(rig->arena[rank] + SKETCH_DATA_AT);
    hostile_allow(&rig->replay[rank].hostile, data, SKETCH_DATA_BYTES);
    for (int i = 0; i < SKETCH_DATA_BYTES / 4; i++)
      data[i] = (float)(1000 * rank + i);
  }
}

static inline float *rig_data(const Rig *rig, int32_t rank) {
  return (float *)(void *)(rig->arena[rank] + SKETCH_DATA_AT);
}

/* The sketches set no control and load nothing. */
static inline bool rig_step(Rig *rig, int32_t rank, Status *status) {
  Replay *replay = &rig->replay[rank];
  const PlanProgram *program = replay_program(replay, PROGRAM_TRAIN_STEP);
  return replay_run(replay, program, &(Control){0}, NULL, &rig->left[rank], status);
}

static inline bool rig_body(void *context, int32_t rank, Status *status) {
  Rig *rig = context;
  for (int32_t i = 0; i < rig->rounds || i == 0; i++)
    if (!rig_step(rig, rank, status)) return false;
  return true;
}

static inline void rig_abort(void *context) {
  local_world_abort(((Rig *)context)->world);
}

static inline bool rig_run(Rig *rig, Status *status) {
  *status = (Status){0};
  bool done = boot_local(rig->mesh.rank_count, rig_body, rig_abort, rig, status);
  for (int32_t rank = 0; rank < rig->mesh.rank_count; rank++)
    hostile_allow(&rig->replay[rank].hostile, rig_data(rig, rank), SKETCH_DATA_BYTES);
  return done;
}

static inline void rig_close(Rig *rig) {
  for (int32_t rank = 0; rank < rig->mesh.rank_count; rank++) {
    replay_free(&rig->replay[rank]);
    threads_free(rig->threads[rank]);
    free(rig->arena[rank]);
  }
  local_world_free(rig->world);
}

#endif

/* world.h -- all ranks of a plan as threads of a test: arenas, data, communicators and replay of
 * each, as in a run. The test decides what the ranks do. */
#ifndef LOCKSTEP_TESTS_WORLD_H
#define LOCKSTEP_TESTS_WORLD_H

#include "runtime/comm/local.h"
#include "runtime/data/staging.h"
#include "runtime/device/arena.h"
#include "runtime/replay/replay.h"

enum { WORLD_RANKS_MAX = 32 };

typedef struct World World;

/* One of them, on its own thread. */
typedef struct WorldRank {
  World *world;
  int32_t number;
  Arenas *arenas;
  Comm *comm;
  Threads *threads;
  Replay replay;
  Staging *staging; /* NULL: its stage loads no samples, or the test has samples of its own */
} WorldRank;

/* The work of a rank between world_run and its end; `context` is the world's. */
typedef bool WorldBody(void *context, WorldRank *rank, Status *status);

struct World {
  /* set by the test */
  const Plan *plan;
  const Plan *data;    /* as staging reads it, if that differs; NULL: the plan */
  int64_t steps;       /* how many steps are staged from the plan's files; 0: none */
  CommDelay delay;     /* of all that ranks send each other */
  void (*abort)(void); /* beside ending the world's communicators; or NULL */
  WorldBody *body;
  void *context;
  /* by world_run */
  Mesh mesh;
  Samples samples, valid;
  LocalWorld *local;
  Arenas arenas[WORLD_RANKS_MAX]; /* a peer may still read one when its rank has left */
};

/* Runs the body on every rank. False: `status` says why. Close the world anyway. */
bool world_run(World *world, Status *status);
void world_close(World *world);

/* ---- for bodies, in this order; world_run leaves for them afterwards */

/* Its arenas, zeroed, and its threads: before world_bind the body may fill the one and open
 * communicators on the other. */
bool world_open(WorldRank *rank, Status *status);

/* Binds the replay, and starts staging. `setup`: what the test wants otherwise than a run has it;
 * without `comm` both are the world's, `comm_beside` too; without kernels the fast ones. */
bool world_bind(WorldRank *rank, ReplaySetup setup, Status *status);

/* Waits until all ranks have arrived. */
bool world_meet(const WorldRank *rank, Status *status);
/* Others may read the rank's arenas now, in a HOSTILE build too; or no longer. */
void world_open_memory(const WorldRank *rank, bool open);

/* With the samples that are staged next, if the program loads any. `left` says what it left. */
bool world_program(WorldRank *rank, ProgramKind kind, const Control *in, Control *left,
                   Status *status);

/* A training step, which may continue beside the next one: until replay_settle, or another program.
 */
bool world_step(WorldRank *rank, const Control *in, Control *left, Status *status);

/* Frees the rank's replay and all that is beside it; for a body that has more to close then. */
void world_leave(WorldRank *rank);

/* How often eval_step runs in one validation; 0: the plan does not validate. */
int64_t world_validations(const WorldRank *rank);

#endif

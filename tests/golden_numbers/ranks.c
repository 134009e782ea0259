#include "tests/golden_numbers/ranks.h"

#include <stdio.h>
#include <stdlib.h>

#include "runtime/plan/plan_job.h"
#include "tests/common/world.h"

_Static_assert((int)RANKS_MAX == (int)WORLD_RANKS_MAX, "a rank each");

static bool run_program(Replay *replay, ProgramKind kind, int64_t step, Status *status) {
  Control in = {.lr = 1e-3, .step = step};
  ReplayLeft left;
  void *samples =
      calloc((size_t)job_accumulation(replay->setup.plan), job_sample_bytes(replay->setup.plan));
  if (!samples) abort();
  bool ran = replay_run(replay, replay_program(replay, kind), &in, samples, &left, status);
  free(samples);
  return ran;
}

static bool run_rank(void *context, WorldRank *rank, Status *status) {
  Ranks *ranks = context;
  uint32_t records = ranks->plan->records_count;
  RecordCount *counts = calloc(records, sizeof *counts);
  if (!counts) abort();
  ranks->counts[rank->number] = counts;
  Replay *replay = &rank->replay;
  if (!world_open(rank, status) || !world_bind(rank, (ReplaySetup){0}, status) ||
      !run_program(replay, PROGRAM_INIT, 0, status))
    return false;
  for (uint32_t r = 0; r < records; r++)
    counts[r] = (RecordCount){-replay_count(replay, r)->runs, -replay_count(replay, r)->sent_bytes};
  if (!run_program(replay, PROGRAM_TRAIN_STEP, 1, status)) return false;
  for (uint32_t r = 0; r < records; r++) {
    counts[r].runs += replay_count(replay, r)->runs;
    counts[r].sent_bytes += replay_count(replay, r)->sent_bytes;
  }
  return world_meet(rank, status);
}

bool ranks_run(const Plan *plan, Ranks *ranks) {
  World *world = calloc(1, sizeof *world);
  if (!world) abort();
  *ranks = (Ranks){.plan = plan};
  world->plan = plan, world->body = run_rank, world->context = ranks;
  Status status = {0};
  bool done = world_run(world, &status);
  if (!done) printf("%s\n", status.text);
  ranks->count = world->mesh.rank_count;
  world_close(world);
  free(world);
  return done;
}

void ranks_close(Ranks *ranks) {
  for (int32_t rank = 0; rank < RANKS_MAX; rank++)
    free(ranks->counts[rank]);
  *ranks = (Ranks){0};
}

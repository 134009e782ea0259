/* checkpoint_set.h -- all ranks of a plan's mesh look for a checkpoint together, as in a job. */
#ifndef LOCKSTEP_TESTS_CHECKPOINT_SET_H
#define LOCKSTEP_TESTS_CHECKPOINT_SET_H

#include <string.h>

#include "runtime/boot/local.h"
#include "runtime/checkpoint/owner.h"
#include "runtime/checkpoint/take.h"
#include "tests/unit/check.h"

enum { SET_RANKS_MAX = 16 };

/* The files that every rank has opened, and which of them are whole. */
typedef struct CheckpointSet {
  Checkpoint at[SET_RANKS_MAX];
  CheckpointFault fault; /* when it could not be opened */
} CheckpointSet;

typedef struct SetLook {
  CheckpointSearch search;
  CheckpointSet *set;
  Boot *boot;
  CheckpointFault fault[SET_RANKS_MAX];
  int32_t none[SET_RANKS_MAX]; /* whether each rank heard that there is no checkpoint */
} SetLook;

static inline bool set_body(void *context, int32_t rank, Status *status) {
  SetLook *look = context;
  CheckpointSearch search = look->search;
  CheckpointFault *fault = &look->fault[rank];
  Checkpoint *own = &look->set->at[rank];
  int64_t below = INT64_MAX;
  search.rank = rank;
  search.comm = look->boot->ops->comm(look->boot, rank, NULL);
  search.below = &below;
  bool found = checkpoint_find(&search, own, fault, status);
  while (found && !checkpoint_verify(&search, own, fault, status))
    found = checkpoint_skip(&search, own, *fault, status) &&
            checkpoint_find(&search, own, fault, status);
  look->none[rank] = !found && status->code == 0;
  return found || status->code == 0;
}

static inline bool set_look(CheckpointSet *set, const Plan *plan, CheckpointSearch search,
                            Status *status) {
  Mesh mesh;
  SetLook look = {.search = search, .set = set};
  CHECK(mesh_read(&mesh, plan, status));
  CHECK(mesh.rank_count <= SET_RANKS_MAX);
  memset(set, 0, sizeof *set);
  look.search.plan = plan;
  look.search.mesh = &mesh;
  look.boot = boot_local_new(plan, &mesh, 1, (CommDelay){0});
  bool found = look.boot->ops->run(look.boot, set_body, &look, status) && !look.none[0];
  look.boot->ops->close(look.boot);
  for (int32_t rank = 1; rank < mesh.rank_count; rank++) {
    CHECK_INT(look.none[rank], look.none[0]);
    CHECK_INT(look.fault[rank], look.fault[0]);
    CHECK_INT(set->at[rank].path != NULL, found);
    if (found) CHECK_INT(set->at[rank].manifest.facts.step, set->at[0].manifest.facts.step);
  }
  set->fault = look.fault[0];
  return found;
}

static inline bool set_open(CheckpointSet *set, const char *path, const Plan *plan,
                            Status *status) {
  return set_look(set, plan, (CheckpointSearch){.path = path}, status);
}

static inline bool set_open_newest(CheckpointSet *set, const char *directory, const Plan *plan,
                                   void skipped(const char *why), Status *status) {
  return set_look(set, plan, (CheckpointSearch){.directory = directory, .skipped = skipped},
                  status);
}

static inline void set_close(CheckpointSet *set) {
  for (int32_t rank = 0; rank < SET_RANKS_MAX; rank++)
    checkpoint_close(&set->at[rank]);
}

/* Every rank saves: arenas are memory of a processor. */
typedef struct SetSave {
  const Plan *plan;
  const Mesh *mesh;
  Boot *boot;
  uint8_t *arena; /* of all ranks: their state is the same */
  int64_t step;
  uint64_t data_sum;
  bool publish;
} SetSave;

static inline bool set_save_body(void *context, int32_t rank, Status *status) {
  SetSave *save = context;
  Comm *comm = save->boot->ops->comm(save->boot, rank, NULL);
  Device *device = device_cpu_open(&(DeviceSetup){0}, status);
  CheckpointStore store;
  CheckpointState state = {device, &save->arena, save->step, 10 * save->step,
                           .lasting = {.updates = save->step - 1}};
  bool good =
      checkpoint_store_open(&store, save->plan, save->mesh, rank, rank == 0,
                            (CheckpointData){.sum = save->data_sum, .epoch_samples = 100}, status);
  if (good && rank == 0) good = checkpoint_store_list(&store, status);
  good = good && comm->ops->broadcast_bytes(comm, 0, &store.steps, sizeof store.steps);
  if (good && rank == 0) good = checkpoint_begin(&store, save->step, status);
  good = good && comm->ops->barrier(comm) && checkpoint_write(&store, &state, status) &&
         comm->ops->barrier(comm);
  if (good && rank == 0 && save->publish) {
    good = checkpoint_publish(&store, &state, NULL, status);
    if (good) checkpoint_remove_oldest(&store, save->step);
  }
  checkpoint_store_close(&store);
  device->ops->close(device);
  return good;
}

static inline bool set_save(SetSave save, Status *status) {
  Mesh mesh;
  CHECK(mesh_read(&mesh, save.plan, status));
  save.mesh = &mesh;
  save.boot = boot_local_new(save.plan, &mesh, 1, (CommDelay){0});
  bool saved = save.boot->ops->run(save.boot, set_save_body, &save, status);
  save.boot->ops->close(save.boot);
  return saved;
}

/* Flips one bit. */
static inline void damage(const char *file_path, long at) {
  FILE *file = fopen(file_path, "r+b");
  if (!file) abort();
  fseek(file, at, at < 0 ? SEEK_END : SEEK_SET);
  long place = ftell(file);
  int byte = fgetc(file);
  fseek(file, place, SEEK_SET);
  fputc(byte ^ 0x10, file);
  fclose(file);
}

/* Every rank's state. */
typedef struct SetLoad {
  const CheckpointSet *set;
  uint8_t *const *arena; /* by rank */
  const Plan *plan;
  const Mesh *mesh;
  Boot *boot;
  bool compares;
  CheckpointFault fault[SET_RANKS_MAX];
} SetLoad;

static inline bool set_load_body(void *context, int32_t rank, Status *status) {
  SetLoad *load = context;
  CheckpointSearch search = {.plan = load->plan, .mesh = load->mesh, .rank = rank};
  search.comm = load->boot->ops->comm(load->boot, rank, NULL);
  CheckpointTarget target = {.device = device_cpu_open(&(DeviceSetup){0}, status),
                             .arena = &load->arena[rank],
                             .class = &load->plan->classes[0],
                             .compares = load->compares};
  bool restored =
      checkpoint_restore(&search, &load->set->at[rank], &target, &load->fault[rank], status);
  target.device->ops->close(target.device);
  return restored;
}

static inline bool set_compare(CheckpointSet *set, uint8_t *const *arena, const Plan *plan,
                               bool compares, Status *status) {
  Mesh mesh;
  SetLoad load = {.set = set, .arena = arena, .plan = plan, .mesh = &mesh, .compares = compares};
  CHECK(mesh_read(&mesh, plan, status));
  load.boot = boot_local_new(plan, &mesh, 1, (CommDelay){0});
  bool restored = load.boot->ops->run(load.boot, set_load_body, &load, status);
  load.boot->ops->close(load.boot);
  for (int32_t rank = 0; rank < mesh.rank_count; rank++)
    CHECK_INT(load.fault[rank], load.fault[0]);
  set->fault = load.fault[0];
  return restored;
}

static inline bool set_restore(CheckpointSet *set, uint8_t *const *arena, const Plan *plan,
                               Status *status) {
  return set_compare(set, arena, plan, false, status);
}

#endif

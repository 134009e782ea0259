/* near.c -- each rank has a piece of memory that the others on its node map. It holds a barrier for
 * each communicator and lane, of which the one of the group's first member is used, and a window
 * for each lane.
 */
#include "runtime/comm/near.h"

#include <stdlib.h>

#include "runtime/comm/window.h"

enum { WINDOW_BYTES = 4 << 20, BARRIER_BYTES = 64, PAGE_BYTES = 4096 };

struct Near {
  NearSetup setup;
  Window *seen;         /* by rank, for ranks on this node */
  NearGroup *group;     /* of each communicator and lane */
  char **member_window; /* of each member of each of these groups */
};

int64_t near_window_bytes(void) {
  return WINDOW_BYTES;
}

static size_t group_count(const Plan *plan) {
  return (size_t)plan->comms_count * plan->lanes_count;
}

static size_t windows_at(const Plan *plan) {
  size_t barriers_bytes = group_count(plan) * BARRIER_BYTES;
  return (barriers_bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

static Barrier *barrier_of(const Near *near, int32_t rank, size_t group) {
  return (Barrier *)(void *)((char *)near->seen[rank].at + group * BARRIER_BYTES);
}

/* Lists the ranks of the communicator's group that `setup->rank` is in, in member order. False:
 * its members are on several nodes, or it has one member. */
static bool find_members(const NearSetup *setup, uint32_t axes_mask, int32_t *member) {
  const Mesh *mesh = setup->mesh;
  MeshGroup own = mesh_group(mesh, axes_mask, setup->rank);
  for (int32_t rank = 0; rank < mesh->rank_count; rank++) {
    MeshGroup at = mesh_group(mesh, axes_mask, rank);
    if (at.group != own.group) continue;
    if (setup->node[rank] != setup->node[setup->rank]) return false;
    member[at.member] = rank;
  }
  return own.member_count > 1;
}

/* Sets up the barriers of groups in which this rank is the first member. */
static void make_barriers(const Near *near) {
  const NearSetup *setup = &near->setup;
  for (uint32_t comm = 0; comm < setup->plan->comms_count; comm++)
    for (uint32_t lane = 0; lane < setup->plan->lanes_count; lane++) {
      size_t group = (size_t)comm * setup->plan->lanes_count + lane;
      MeshGroup at = mesh_group(setup->mesh, setup->plan->comms[comm].axes_mask, setup->rank);
      barrier_open(barrier_of(near, setup->rank, group), at.member_count, setup->spins);
    }
}

static bool make_own(Near *near, WindowKey *key) {
  const NearSetup *setup = &near->setup;
  size_t size_bytes = windows_at(setup->plan) + (size_t)setup->plan->lanes_count * WINDOW_BYTES;
  if (!window_make(&near->seen[setup->rank], key, size_bytes)) return false;
  make_barriers(near);
  return true;
}

static bool see_others(Near *near, const WindowKey *keys) {
  const NearSetup *setup = &near->setup;
  bool good = true;
  for (int32_t rank = 0; rank < setup->mesh->rank_count && good; rank++)
    if (rank != setup->rank && setup->node[rank] == setup->node[setup->rank])
      good = window_see(&near->seen[rank], &keys[rank]);
  return good;
}

static bool all_agree(const NearSetup *setup, bool good) {
  int own = good, all = 0;
  return MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_MIN, setup->all) == MPI_SUCCESS && all;
}

/* Its file stays open until all have reported whether they can map it. */
static bool meet(Near *near) {
  const NearSetup *setup = &near->setup;
  WindowKey own = {.file = -1}, *keys = calloc((size_t)setup->mesh->rank_count, sizeof *keys);
  bool good = all_agree(setup, keys && make_own(near, &own));
  good = good && MPI_Allgather(&own, sizeof own, MPI_BYTE, keys, sizeof own, MPI_BYTE,
                               setup->all) == MPI_SUCCESS;
  good = all_agree(setup, good && see_others(near, keys));
  window_hide(&own);
  free(keys);
  return good;
}

static void join_groups(Near *near, int32_t *member) {
  const Plan *plan = near->setup.plan;
  char **next = near->member_window;
  for (uint32_t comm = 0; comm < plan->comms_count; comm++) {
    MeshGroup at = mesh_group(near->setup.mesh, plan->comms[comm].axes_mask, near->setup.rank);
    if (!find_members(&near->setup, plan->comms[comm].axes_mask, member)) continue;
    for (uint32_t lane = 0; lane < plan->lanes_count; lane++) {
      size_t group = (size_t)comm * plan->lanes_count + lane;
      near->group[group] =
          (NearGroup){barrier_of(near, member[0], group), next, at.member_count, at.member};
      for (int32_t i = 0; i < at.member_count; i++)
        *next++ = (char *)near->seen[member[i]].at + windows_at(plan) + (size_t)lane * WINDOW_BYTES;
    }
  }
}

static size_t all_members(const NearSetup *setup) {
  size_t members = 1;
  for (uint32_t comm = 0; comm < setup->plan->comms_count; comm++)
    members += (size_t)setup->plan->lanes_count *
               (size_t)mesh_group(setup->mesh, setup->plan->comms[comm].axes_mask, setup->rank)
                   .member_count;
  return members;
}

static bool take_memory(Near *near) {
  const NearSetup *setup = &near->setup;
  near->seen = calloc((size_t)setup->mesh->rank_count, sizeof *near->seen);
  near->group = calloc(group_count(setup->plan) + 1, sizeof *near->group);
  near->member_window = calloc(all_members(setup), sizeof *near->member_window);
  return near->seen && near->group && near->member_window;
}

Near *near_open(const NearSetup *setup) {
  Near *near = calloc(1, sizeof *near);
  int32_t *member = calloc((size_t)setup->mesh->rank_count, sizeof *member);
  if (near) near->setup = *setup;
  bool has_memory = near && member && take_memory(near);
  bool all_have = all_agree(setup, has_memory);
  bool good = has_memory && all_have && meet(near);
  if (good) join_groups(near, member);
  free(member);
  if (good) return near;
  near_close(near);
  return NULL;
}

void near_close(Near *near) {
  if (!near) return;
  for (int32_t rank = 0; near->seen && rank < near->setup.mesh->rank_count; rank++)
    window_close(&near->seen[rank]);
  free(near->seen);
  free(near->group);
  free(near->member_window);
  free(near);
}

NearGroup near_group(const Near *near, uint32_t comm, uint32_t lane) {
  return near->group[(size_t)comm * near->setup.plan->lanes_count + lane];
}

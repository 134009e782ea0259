/* nccl_open.c -- opens an NCCL communicator for each of the plan's and each lane that uses it: from
 * ids, or by splitting one that is open. */
#include <stdio.h>
#include <stdlib.h>

#include "runtime/comm/nccl_world.h"

enum { MEMBERS_AN_ID = 256 /* with more, too many would connect to one thread */ };

static int32_t ids_of(int32_t members_count) {
  return (members_count + MEMBERS_AN_ID - 1) / MEMBERS_AN_ID;
}

/* The first member of the id's block, in NCCL's distribution: the first blocks have one more
 * member. */
static int32_t id_maker(int32_t members_count, int32_t id) {
  int32_t ids = ids_of(members_count), more = members_count % ids;
  return id * (members_count / ids) + (id < more ? id : more);
}

/* Gathers the ids of this rank's group: each rank that makes an id puts it where all ranks look for
 * it. */
static bool gather_ids(NcclWorld *world, const MeshGroup *at, uint32_t axes_mask, NcclId *ids,
                       Status *status) {
  NcclId own = {{0}}, *all = calloc((size_t)world->mesh.rank_count, sizeof *all);
  int32_t count = ids_of(at->member_count);
  if (all == NULL) return status_fail(status, STATUS_WORLD, "not enough memory for NCCL's ids");
  bool good = true;
  for (int32_t id = 0; good && id < count; id++)
    if (id_maker(at->member_count, id) == at->member)
      good = nccl_good(world, world->api->get_unique_id(&own), "ncclGetUniqueId", status);
  if (good && !world->host->ops->gather_bytes(world->host, &own, all, sizeof own))
    good = status_fail(status, STATUS_ECHO, "aborted");
  for (int32_t rank = 0; good && rank < world->mesh.rank_count; rank++) {
    MeshGroup other = mesh_group(&world->mesh, axes_mask, rank);
    for (int32_t id = 0; other.group == at->group && id < count; id++)
      if (id_maker(at->member_count, id) == other.member) ids[id] = all[rank];
  }
  free(all);
  return good;
}

/* "ncclCommSplit, communicator dp on lane gather" */
typedef struct OpeningName {
  char text[160];
} OpeningName;

static OpeningName opening_name(const NcclWorld *world, const char *call, uint32_t comm,
                                uint32_t lane) {
  const Plan *plan = world->plan;
  OpeningName name;
  (void)snprintf(name.text, sizeof name.text, "%s, communicator %s on lane %s", call,
                 plan_string(plan, plan->comms[comm].name), plan_lane_name(plan, lane));
  return name;
}

/* From ids, which all ranks of the job exchange. */
static bool open_anew(NcclWorld *world, uint32_t comm, uint32_t lane, const MeshGroup *at,
                      Status *status) {
  NcclGroup *group = nccl_group(world, comm, lane);
  OpeningName name = opening_name(world, "ncclCommInitRank", comm, lane);
  NcclConfig config = {sizeof config, (unsigned)NCCL_CONFIG_MAGIC, NCCL_CONFIG_VERSION, 0};
  NcclId *ids = calloc((size_t)ids_of(at->member_count), sizeof *ids);
  if (ids == NULL) return status_fail(status, STATUS_WORLD, "not enough memory for NCCL's ids");
  bool good = gather_ids(world, at, world->plan->comms[comm].axes_mask, ids, status);
  if (good) {
    int result = world->api->init_rank(&group->handle, at->member_count, at->member,
                                       ids_of(at->member_count), ids, &config);
    good = nccl_good(world, nccl_settle_open(world, group->handle, result), name.text, status);
  }
  free(ids);
  return good;
}

/* The smallest open communicator that has all members of this one; NULL: none. One of the same
 * members and lane counts too. */
static const NcclGroup *parent_of(const NcclWorld *world, uint32_t axes_mask) {
  const Plan *plan = world->plan;
  const NcclGroup *best = NULL;
  for (uint32_t comm = 0; comm < plan->comms_count; comm++)
    for (uint32_t lane = 0; lane < plan->lanes_count; lane++) {
      const NcclGroup *group = nccl_group(world, comm, lane);
      bool has_all = (plan->comms[comm].axes_mask & axes_mask) == axes_mask;
      if (has_all && group->handle != NULL && (best == NULL || group->count < best->count))
        best = group;
    }
  return best;
}

/* The members agree over the connections that they have: no ids, and no new thread that all of them
 * connect to. The parts share nothing with the whole (splitShare stays 0), for NCCL runs the
 * kernels of communicators that share one after the other, and lanes are there to run beside each
 * other. */
static bool split_off(NcclWorld *world, const NcclGroup *parent, uint32_t comm, uint32_t lane,
                      const MeshGroup *at, Status *status) {
  NcclGroup *group = nccl_group(world, comm, lane);
  OpeningName name = opening_name(world, "ncclCommSplit", comm, lane);
  int result = world->api->split(parent->handle, at->group, at->member, &group->handle, NULL);
  result = nccl_settle_open(world, parent->handle, result);
  if (result == NCCL_DONE && group->handle == NULL)
    return status_fail(status, STATUS_WORLD, "%s: NCCL left no communicator", name.text);
  if (result == NCCL_DONE) result = nccl_settle_open(world, group->handle, result);
  return nccl_good(world, result, name.text, status);
}

static bool open_group(NcclWorld *world, uint32_t comm, uint32_t lane, Status *status) {
  uint32_t axes_mask = world->plan->comms[comm].axes_mask;
  MeshGroup at = mesh_comm(&world->mesh, world->plan, comm, world->rank);
  NcclGroup *group = nccl_group(world, comm, lane);
  *group = (NcclGroup){NULL, at.member_count, at.member, NULL};
  if ((plan_comm_lanes(world->plan, comm) >> lane & 1u) == 0) return true;
  const NcclGroup *parent = world->api->split != NULL ? parent_of(world, axes_mask) : NULL;
  return parent != NULL ? split_off(world, parent, comm, lane, &at, status)
                        : open_anew(world, comm, lane, &at, status);
}

static int32_t members_of(const NcclWorld *world, uint32_t comm) {
  return mesh_comm(&world->mesh, world->plan, comm, world->rank).member_count;
}

/* The plan's communicator that is opened after this many others: communicators with most members
 * first, because smaller ones may be split from them. */
static uint32_t opened_as(const NcclWorld *world, uint32_t number) {
  for (uint32_t comm = 0;; comm++) {
    uint32_t before = 0;
    for (uint32_t other = 0; other < world->plan->comms_count; other++)
      before += members_of(world, other) > members_of(world, comm) ||
                (members_of(world, other) == members_of(world, comm) && other < comm);
    if (before == number) return comm;
  }
}

bool nccl_open_groups(NcclWorld *world, Status *status) {
  for (uint32_t number = 0; number < world->plan->comms_count; number++) {
    uint32_t comm = opened_as(world, number);
    for (uint32_t lane = 0; lane < world->plan->lanes_count; lane++)
      if (!open_group(world, comm, lane, status)) return false;
  }
  return true;
}

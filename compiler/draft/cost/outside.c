#include "compiler/draft/cost/outside.h"

#include "compiler/draft/draft.h"

typedef struct Groups {
  JobMesh mesh;
  int64_t devices; /* of a node */
  uint32_t *axes;
  Communicator *at;
  int32_t count;
} Groups;

/* In the usual order axes are outermost first, as MeshAxis has them: a group is a block of ranks
 * as long as its outermost axis reaches. */
static bool is_in_node(const Groups *groups, uint32_t axes) {
  int64_t reach = 1;
  for (int32_t axis = MESH_AXES - 1; axis >= 0; axis--) {
    if ((axes & (MESH_BIT(axis + 1) - 1)) == 0) break;
    reach *= groups->mesh.size[axis];
  }
  return groups->devices % reach == 0;
}

/* The communicator along these axes on this lane; every use of it gets the same one. NULL: no axis
 * has more than one rank. */
static Communicator *group(Groups *groups, uint32_t axes, Lane lane) {
  axes = mesh_used(&groups->mesh, axes);
  if (axes == 0) return NULL;
  for (int32_t i = 0; i < groups->count; i++)
    if (groups->axes[i] == axes && groups->at[i].lane == (uint32_t)lane) return &groups->at[i];
  if (groups->count == OUTSIDE_GROUPS_MOST) return NULL;
  groups->axes[groups->count] = axes;
  groups->at[groups->count] = (Communicator){.lane = (uint32_t)lane,
                                             .ranks = (uint32_t)mesh_count(&groups->mesh, axes),
                                             .is_in_node = is_in_node(groups, axes)};
  return &groups->at[groups->count++];
}

static void sum(Groups *groups, uint32_t axes, Lane lane) {
  Communicator *use = group(groups, axes, lane);
  if (use != NULL) use->sums = true;
}

static void gather(Groups *groups, uint32_t axes, Lane lane) {
  Communicator *use = group(groups, axes, lane);
  if (use != NULL) use->gathers = true;
}

static void exchange(Groups *groups, uint32_t axes, Lane lane, uint32_t peers) {
  Communicator *use = group(groups, axes, lane);
  if (use == NULL) return;
  if (use->sends < peers) use->sends = use->receives = peers;
}

/* Gradients: what ranks of tp owe each other, what replicas do, and squares for the norm. */
static void add_update(Groups *groups, const Derived *derived) {
  const uint32_t zero_axes = draft_zero_axes(derived);
  const bool is_split = mesh_used(&groups->mesh, MESH_BIT(MESH_TP_GROUP)) != 0;
  const Lane reducing = mesh_used(&groups->mesh, BATCH_AXES) != 0 ? LANE_DP : LANE_COMPUTE;
  if (zero_axes != 0) {
    gather(groups, zero_axes, LANE_DP);
    sum(groups, MESH_BIT(MESH_REPLICATE), LANE_DP);
  } else {
    sum(groups, BATCH_AXES, LANE_DP);
  }
  if (derived->sequence) sum(groups, TENSOR_AXES, reducing);
  if (is_split) sum(groups, MESH_BIT(MESH_TP_GROUP), reducing);
  if (is_split) sum(groups, MESH_BIT(MESH_TP), LANE_COMPUTE);
  sum(groups, MESH_BIT(MESH_PP) | zero_axes, LANE_COMPUTE);
}

static void add_forward(Groups *groups, const Job *job, const Derived *derived) {
  const uint32_t cp = MESH_BIT(MESH_CP), pp = MESH_BIT(MESH_PP);
  sum(groups, MESH_BIT(MESH_AXES) - 1, LANE_COMPUTE); /* control */
  sum(groups, TENSOR_AXES, LANE_COMPUTE);
  if (derived->sequence) gather(groups, TENSOR_AXES, LANE_COMPUTE);
  if (job->parallel.cp_kind == CHOICE_RING)
    exchange(groups, cp, LANE_CP, 1);
  else
    exchange(groups, cp, LANE_COMPUTE, (uint32_t)derived->cp - 1);
  exchange(groups, pp, LANE_PP, derived->pp > 2 ? 2 : 1);
}

int32_t outside_groups(const Job *job, const Cluster *cluster, const Derived *derived,
                       int64_t kv_heads, uint32_t *axes, Communicator *at) {
  Groups groups = {draft_mesh(derived), cluster->devices, axes, at, 0};
  if (kv_heads > 0 && kv_heads < derived->tp) {
    groups.mesh.size[MESH_TP] = kv_heads;
    groups.mesh.size[MESH_TP_GROUP] = derived->tp / kv_heads;
  }
  add_forward(&groups, job, derived);
  if (job->use == USE_TRAIN) add_update(&groups, derived);
  for (int32_t i = 0; i < groups.count; i++)
    at[i].size_bytes = communicator_bytes(&at[i]);
  return groups.count;
}

Outside outside_of(const Job *job, const Cluster *cluster, const Derived *derived,
                   int64_t kv_heads) {
  uint32_t axes[OUTSIDE_GROUPS_MOST];
  Communicator groups[OUTSIDE_GROUPS_MOST];
  if (cluster->reserve_bytes >= 0)
    return (Outside){.is_said = true, .all_bytes = cluster->reserve_bytes};
  Outside out = {.context_bytes = OUTSIDE_CONTEXT_BYTES};
  if (derived != NULL) out.groups = outside_groups(job, cluster, derived, kv_heads, axes, groups);
  for (int32_t i = 0; i < out.groups; i++)
    out.nccl_bytes += groups[i].size_bytes;
  out.all_bytes = out.context_bytes + out.nccl_bytes + out.workspace_bytes;
  return out;
}

/* mesh.h -- ranks as coordinates, and communicators as sub-meshes. */
#ifndef LOCKSTEP_MESH_H
#define LOCKSTEP_MESH_H

#include "runtime/plan/plan.h"
#include "runtime/process/status.h"

enum { MESH_AXES_MAX = PLAN_AXES_MAX, MESH_RANKS_MAX = 1 << 20 };

typedef struct Mesh {
  int32_t axis_count;
  int32_t size[MESH_AXES_MAX];
  PlanAxis axes[MESH_AXES_MAX]; /* their strides give a rank's coordinates */
  int32_t rank_count;
  uint32_t replica_axes; /* bit i: axis i, whose name begins with "dp", divides the samples */
} Mesh;

bool mesh_read(Mesh *mesh, const Plan *plan, Status *status);

/* The rank's number by its coordinates alone, last axis fastest: independent of where ranks are
 * placed.
 */
int32_t mesh_number(const Mesh *mesh, int32_t rank);

void mesh_coordinates(const Mesh *mesh, int32_t rank, int32_t coordinate[MESH_AXES_MAX]);

/* The sub-mesh of `axes_mask` that `rank` is in: the sub-mesh's number among those of this mask,
 * and the rank's member number in it. Members follow the order of the axes. */
typedef struct MeshGroup {
  int32_t group;
  int32_t group_count;
  int32_t member;
  int32_t member_count;
} MeshGroup;

MeshGroup mesh_group(const Mesh *mesh, uint32_t axes_mask, int32_t rank);
/* The same for one of the plan's communicators. */
MeshGroup mesh_comm(const Mesh *mesh, const Plan *plan, uint32_t comm, int32_t rank);

/* The axes along which all ranks of the class have the same elements of the tensor, and there is
 * more than one of them. */
uint32_t mesh_same_axes(const Plan *plan, const PlanClass *class, const PlanTensor *tensor);

enum { MESH_SHARES_MAX = 32 };

/* The different mesh_same_axes of a plan's persistent tensors, those without axes left out. */
typedef struct MeshShares {
  int32_t count;
  uint32_t axes[MESH_SHARES_MAX];
} MeshShares;

MeshShares mesh_shares(const Plan *plan);
/* The index of a mask; -1: it is not among them. */
int32_t mesh_share_of(const MeshShares *shares, uint32_t axes);

/* The number of replicas that divide the samples, and which of them `rank` is, in mesh order. */
int32_t mesh_replicas(const Mesh *mesh);
int32_t mesh_replica(const Mesh *mesh, int32_t rank);
/* True if it is the first rank of its replica, in mesh order. */
bool mesh_is_first_of_replica(const Mesh *mesh, int32_t rank);

/* The class whose box contains `rank`, or NULL. */
const PlanClass *mesh_class(const Mesh *mesh, const Plan *plan, int32_t rank);

#endif

/* mesh.h -- the axes of the mesh that a job's parallel degrees make. */
#ifndef LOCKSTEP_JOB_MESH_H
#define LOCKSTEP_JOB_MESH_H

#include "runtime/plan/plan.h"

/* Mesh axes, outermost first: a rank is its coordinates, tp innermost. Data parallel replicas are
 * replicate x dp: state may be sharded over dp only (hybrid). Tensor parallel ranks are tp x
 * tp_group: tp_group > 1 only when there are fewer kv_heads than tensor parallel ranks; ranks of
 * one tp_group hold the same kv_heads. */
typedef enum MeshAxis {
  MESH_REPLICATE,
  MESH_DP,
  MESH_PP,
  MESH_CP,
  MESH_TP,
  MESH_TP_GROUP,
  MESH_AXES
} MeshAxis;
#define MESH_BIT(axis) (1u << (axis)) /* masks of axes: communicators, partial sums */
typedef struct JobMesh {
  int64_t size[MESH_AXES];
} JobMesh;

const char *mesh_axis_name(MeshAxis axis);
Divides mesh_axis_divides(MeshAxis axis);

#endif

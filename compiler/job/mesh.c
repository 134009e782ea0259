#include "compiler/job/mesh.h"

const char *mesh_axis_name(MeshAxis axis) {
  static const char *const names[MESH_AXES] = {"dp_replicate", "dp", "pp", "cp", "tp", "tp_group"};
  return names[axis];
}

Divides mesh_axis_divides(MeshAxis axis) {
  static const Divides divides[MESH_AXES] = {
      [MESH_REPLICATE] = DIVIDES_SAMPLES, [MESH_DP] = DIVIDES_SAMPLES,
      [MESH_PP] = DIVIDES_DEPTH,          [MESH_CP] = DIVIDES_TOKENS,
      [MESH_TP] = DIVIDES_FEATURES,       [MESH_TP_GROUP] = DIVIDES_FEATURES};
  return divides[axis];
}

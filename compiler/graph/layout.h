/* layout.h -- how the elements of a value are distributed over the ranks of a mesh.
 *
 * Along every mesh axis a value is whole; or cut (one of its dims in blocks or zig-zag, or all of
 * it as one flat row of equal pieces); or owed: its ranks hold partial sums. Cuts of one dim are
 * ordered, outermost first. Sizes are those of the whole value, padding included. */
#ifndef LOCKSTEP_LAYOUT_H
#define LOCKSTEP_LAYOUT_H

#include "compiler/graph/graph.h"

typedef struct LayoutCut {
  MeshAxis axis;
  CutStyle style;
} LayoutCut;

typedef struct LayoutDim {
  const char *name;
  int64_t size, real_size; /* elements that are not padding */
  int32_t cut_count;
  LayoutCut cuts[MESH_AXES];
} LayoutDim;

typedef struct Layout {
  int32_t dim_count;
  LayoutDim dims[DIMS_MAX];
  uint32_t flat_axes, owed_axes; /* MESH_BITs */
  int64_t piece;                 /* of a flat layout: elements of one member */
  ReduceOp owed;
} Layout;

/* The layout of a value: sharded after shard/, whole before. */
Layout value_layout(const Graph *g, ValueId v);
Layout param_layout(const Graph *g, ParamId p);

#endif

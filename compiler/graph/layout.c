#include "compiler/graph/layout.h"

/* Follows a dim to the dims that it is a part of, which finds the innermost cut first. */
static LayoutDim layout_dim(const Graph *g, DimId d) {
  LayoutDim dim = {.name = g->dims.at[d].name};
  LayoutCut inward[MESH_AXES];
  int32_t count = 0;
  for (; g->dims.at[d].is_part; d = g->dims.at[d].whole) {
    const Dim *part = &g->dims.at[d];
    if (g->mesh.size[part->mesh] > 1 && count < MESH_AXES)
      inward[count++] = (LayoutCut){part->mesh, part->zigzag ? CUT_ZIGZAG : CUT_BLOCK};
  }
  dim.size = g->dims.at[d].size;
  dim.real_size = g->dims.at[d].real_size > 0 ? g->dims.at[d].real_size : dim.size;
  for (dim.cut_count = 0; dim.cut_count < count; dim.cut_count++)
    dim.cuts[dim.cut_count] = inward[count - 1 - dim.cut_count];
  return dim;
}

static Layout dims_layout(const Graph *g, const DimId *dims, int32_t dim_count) {
  Layout layout = {.dim_count = dim_count};
  for (int32_t i = 0; i < dim_count; i++)
    layout.dims[i] = layout_dim(g, dims[i]);
  return layout;
}

Layout value_layout(const Graph *g, ValueId v) {
  const Value *value = graph_value(g, v);
  Layout layout = dims_layout(g, value->dims, value->dim_count);
  if (value->extra_elements > 0) {
    layout.dim_count = 1;
    layout.dims[0] = (LayoutDim){
        .name = "statistics", .size = value->extra_elements, .real_size = value->extra_elements};
  }
  layout.owed_axes = value->partial;
  return layout;
}

Layout param_layout(const Graph *g, ParamId p) {
  const Param *param = &g->params.at[p];
  return dims_layout(g, param->dims, param->dim_count);
}

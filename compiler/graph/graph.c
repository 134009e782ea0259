#include "compiler/graph/graph.h"

#include <string.h>

Graph *graph_new(Compile *c, bool training) {
  Graph *g = ARENA_NEW(c->arena, Graph);
  g->compile = c;
  g->training = training;
  g->program = training ? PROGRAM_TRAIN_STEP : PROGRAM_EVAL_STEP;
  g->answer = NO_ID;
  g->threads = 1;
  g->loss_count = 1;
  return g;
}

static void *copied(Arena *arena, const void *at, int32_t count, size_t item_bytes) {
  void *copy = arena_alloc(arena, ((size_t)count + 1) * item_bytes);
  if (count > 0) memcpy(copy, at, (size_t)count * item_bytes);
  return copy;
}

#define COPY_VEC(arena, vec)                                                                       \
  ((vec)->at = copied(arena, (vec)->at, (vec)->count, sizeof *(vec)->at),                          \
   (vec)->capacity = (vec)->count)

void graph_keep_logical(Graph *g) {
  Arena *arena = g->compile->arena;
  for (NodeId n = 0; n < g->nodes.count; n++)
    g->nodes.at[n].logical = n;
  for (ValueId v = 0; v < g->values.count; v++)
    g->values.at[v].logical = v;
  Graph *kept = ARENA_NEW(arena, Graph);
  *kept = *g;
  kept->mesh = (JobMesh){0};
  COPY_VEC(arena, &kept->dims);
  COPY_VEC(arena, &kept->values);
  COPY_VEC(arena, &kept->nodes);
  COPY_VEC(arena, &kept->params);
  COPY_VEC(arena, &kept->regions);
  for (RegionId r = 0; r < kept->regions.count; r++) {
    COPY_VEC(arena, &kept->regions.at[r].forward);
    COPY_VEC(arena, &kept->regions.at[r].backward);
  }
  g->logical = kept;
}

DimId graph_dim(Graph *g, const char *name) {
  for (DimId d = 0; d < g->dims.count; d++)
    if (strcmp(g->dims.at[d].name, name) == 0) return d;
  return NO_ID;
}

DimId graph_add_dim(Graph *g, Dim dim) {
  VEC_PUSH(g->compile->arena, &g->dims, dim);
  return g->dims.count - 1;
}

void graph_pad_dim(Graph *g, const char *name, int64_t multiple) {
  DimId d = graph_dim(g, name);
  if (d == NO_ID || g->dims.at[d].size % multiple == 0) return;
  Dim *dim = &g->dims.at[d];
  dim->real_size = dim->size;
  dim->size = round_up(dim->size, multiple);
  for (ParamId p = 0; p < g->params.count; p++) {
    Param *param = &g->params.at[p];
    for (int32_t i = 0; i < param->dim_count; i++)
      if (param->dims[i] == d) param->elements = param->elements / dim->real_size * dim->size;
  }
}

ValueId graph_add_value(Graph *g, Value value) {
  VEC_PUSH(g->compile->arena, &g->values, value);
  return g->values.count - 1;
}

ValueId graph_value_dims(Graph *g, const DimId *dims, int32_t dim_count, DType dtype,
                         const char *name) {
  Value value = {.name = name,
                 .kind = VALUE_ACTIVATION,
                 .dtype = dtype,
                 .dim_count = dim_count,
                 .logical = NO_ID,
                 .producer = NO_ID,
                 .region = NO_ID,
                 .param = NO_ID,
                 .input = NO_ID,
                 .view_of = NO_ID};
  for (int32_t i = 0; i < dim_count; i++)
    value.dims[i] = dims[i];
  return graph_add_value(g, value);
}

ValueId graph_value_like(Graph *g, ValueId like, DType dtype, const char *name) {
  Value original = *graph_value(g, like); /* the array may move */
  ValueId v = graph_value_dims(g, original.dims, original.dim_count, dtype, name);
  graph_value(g, v)->extra_elements = original.extra_elements;
  return v;
}

ValueId graph_value_extra(Graph *g, int64_t elements, DType dtype, const char *name) {
  ValueId v = graph_value_dims(g, NULL, 0, dtype, name);
  graph_value(g, v)->extra_elements = elements;
  return v;
}

static int64_t product(const Graph *g, const Value *value, bool carried, bool features) {
  int64_t n = 1;
  for (int32_t i = 0; i < value->dim_count; i++) {
    const Dim *dim = &g->dims.at[value->dims[i]];
    if (dim->carried ? carried : features) n *= dim->size;
  }
  return n;
}

int64_t value_elements(const Graph *g, ValueId v) {
  const Value *value = graph_value(g, v);
  if (value->extra_elements > 0) return value->extra_elements;
  return product(g, value, true, true);
}

int64_t value_bytes(const Graph *g, ValueId v) {
  return value_elements(g, v) * dtype_bytes(graph_value(g, v)->dtype);
}
int64_t value_rows(const Graph *g, ValueId v) {
  return product(g, graph_value(g, v), true, false);
}
int64_t value_features(const Graph *g, ValueId v) {
  return product(g, graph_value(g, v), false, true);
}

int64_t value_row_stride(const Graph *g, ValueId v) {
  while (graph_value(g, v)->view_of != NO_ID)
    v = graph_value(g, v)->view_of;
  return value_features(g, v);
}

bool value_has_dim(const Graph *g, ValueId v, DimId d) {
  const Value *value = graph_value(g, v);
  for (int32_t i = 0; i < value->dim_count; i++)
    if (value->dims[i] == d) return true;
  return false;
}

char *value_dims_text(Graph *g, ValueId v) {
  const Value *value = graph_value(g, v);
  char *text = arena_copy(g->compile->arena, "[");
  for (int32_t i = 0; i < value->dim_count; i++)
    text = arena_printf(g->compile->arena, "%s%s%s", text, i > 0 ? ", " : "",
                        g->dims.at[value->dims[i]].name);
  return arena_printf(g->compile->arena, "%s]", text);
}

bool region_feeds_back(const Graph *g, RegionId r) {
  return r > 0 && g->regions.at[r - 1].d_output != NO_ID;
}

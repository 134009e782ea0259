/* table.c -- the conversions of a sharded graph as rows, for people. */
#include <string.h>

#include "compiler/ops/op.h"
#include "compiler/shard/shard.h"

typedef VEC(ShardRow) Rows;

static bool converts(const Node *n) {
  return (op_def(n->op)->layout & LAYOUT_CONVERTS) != 0;
}

/* Both sides of a collective have their layout written; the larger one is the whole. */
static int64_t whole_bytes(const Graph *g, const Node *n) {
  int64_t in = 0, out = 0;
  for (int32_t i = 0; i < n->input_count; i++)
    in += value_bytes(g, n->inputs[i]);
  for (int32_t i = 0; i < n->output_count; i++)
    out += value_bytes(g, n->outputs[i]);
  return in > out ? in : out;
}

/* A value's layout along the first of the axes that cuts it or leaves summands. */
static const char *layout_text(const Graph *g, ValueId v, uint32_t axes) {
  const char *first = NULL;
  for (MeshAxis axis = MESH_REPLICATE; axis < MESH_AXES; axis++) {
    if ((axes & MESH_BIT(axis)) == 0) continue;
    const char *text = value_layout_text(g, v, MESH_BIT(axis));
    if (strncmp(text, "Replicated", strlen("Replicated")) != 0) return text;
    if (first == NULL) first = text;
  }
  return first;
}

/* Statistics have no names: the shares of all ranks stand one after the other. */
static const char *before_text(const Graph *g, const Node *n, uint32_t axes) {
  const char *text = layout_text(g, n->inputs[0], axes);
  if (n->op != OP_all_gather || graph_value(g, n->inputs[0])->dim_count > 0) return text;
  return arena_printf(g->compile->arena, "Shard(ranks)%s", strchr(text, '@'));
}

static void add_list(const Graph *g, const Region *region, const char *name, const NodeList *list,
                     Rows *rows) {
  for (int32_t i = 0; i < list->count; i++) {
    const Node *n = graph_node(g, list->at[i]);
    if (!converts(n)) continue;
    uint32_t axes = (uint32_t)n->attrs[0];
    const char *value = graph_value(g, n->inputs[0])->name;
    VEC_PUSH(g->compile->arena, rows,
             (ShardRow){.region = region->name,
                        .list = name,
                        .value = value != NULL ? value : n->path,
                        .before = before_text(g, n, axes),
                        .what = op_def(n->op)->name,
                        .after = layout_text(g, n->outputs[0], axes),
                        .size_bytes = whole_bytes(g, n)});
  }
}

ShardTable shard_table(const Graph *g) {
  Rows rows = {0};
  for (RegionId r = 0; r < g->regions.count; r++) {
    const Region *region = &g->regions.at[r];
    add_list(g, region, "forward", &region->forward, &rows);
    add_list(g, region, "recompute", &region->recompute, &rows);
    add_list(g, region, "backward", &region->backward, &rows);
    add_list(g, region, "weight", &region->weight, &rows);
  }
  return (ShardTable){rows.at, rows.count};
}

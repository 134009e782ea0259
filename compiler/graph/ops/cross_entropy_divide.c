/* cross_entropy_divide.c -- cross-entropy when ranks share the classes: each computes three numbers
 * a token from its own classes, these are gathered, and no logit leaves its rank. */
#include "compiler/graph/ops/divide.h"

bool divide_cross_entropy(Shard *s, Node *n) {
  if (s->everywhere) return false;
  Graph *g = s->g;
  ValueId logits = n->inputs[0];
  DimId cut = cut_of(s, logits);
  if (cut == NO_ID || g->dims.at[cut].carried) return false;
  int64_t ranks = g->dims.at[base_of(s, cut)].size / g->dims.at[cut].size;
  const char *name = arena_printf(g->compile->arena, "%s.stats", n->path);
  ValueId own = graph_value_extra(g, 3 * value_rows(g, logits), DTYPE_F32, name);
  ValueId all = graph_value_extra(g, ranks * 3 * value_rows(g, logits), DTYPE_F32, name);
  NodeId stats =
      push_op(s, n, OP_cross_entropy_stats, (const ValueId[]){logits, n->inputs[1], NO_ID},
              (const ValueId[]){own, NO_ID});
  graph_node(g, stats)->attrs[0] = n->attrs[0]; /* smoothing */
  Node gather = {.op = OP_all_gather,
                 .input_count = 1,
                 .output_count = 1,
                 .inputs = {own},
                 .outputs = {all},
                 .attrs = {-1},
                 .axes = axes_of(s, cut),
                 .region = s->region,
                 .path = name,
                 .clone_of = NO_ID,
                 .logical = n->logical,
                 .origin = n->origin};
  push_node(s, gather);
  Node parts = *n;
  parts.op = OP_cross_entropy_parts;
  parts.inputs[parts.input_count++] = all;
  if (parts.output_count > 1) { /* d_logits, in the place of logits */
    Value *d_logits = graph_value(g, parts.outputs[1]);
    *d_logits = (Value){.name = d_logits->name,
                        .logical = d_logits->logical,
                        .kind = VALUE_ACTIVATION,
                        .dtype = graph_value(g, logits)->dtype,
                        .dim_count = graph_value(g, logits)->dim_count,
                        .param = NO_ID,
                        .input = NO_ID,
                        .view_of = logits};
    for (int32_t i = 0; i < d_logits->dim_count; i++)
      d_logits->dims[i] = graph_value(g, logits)->dims[i];
  }
  push_node(s, parts);
  return true;
}

/* ops.c -- the table of all ops and what holds for each of them. */
#include <assert.h>

#include "compiler/ops/rule.h"

static const OpDef *const table[OP_COUNT] = {
#define OP(name) [OP_##name] = &op_##name,
#include "compiler/ops/ops.def"
#undef OP
};

const OpDef *op_def(int32_t op) {
  assert(op >= 0 && op < OP_COUNT);
  return table[op];
}

void op_lower(const Graph *g, const Node *n, Lowered *out) {
  const OpDef *def = op_def(n->op);
  *out = (Lowered){.kernel = def->name};
  assert(n->input_count + n->output_count <= LOWERED_OPERANDS_MAX);
  for (int32_t i = 0; i < n->input_count; i++) {
    out->operands[out->operand_count] = n->inputs[i];
    out->access[out->operand_count++] = ACCESS_READ;
  }
  for (int32_t i = 0; i < n->output_count; i++) {
    out->operands[out->operand_count] = n->outputs[i];
    out->access[out->operand_count++] = ACCESS_WRITE;
  }
  if (def->lower) def->lower(g, n, out);
}

ValueId op_dense(Graph *g, NodeList *list, const Node *n, ValueId v) {
  if (graph_value(g, v)->view_of == NO_ID || value_row_stride(g, v) == value_features(g, v))
    return v;
  for (int32_t i = 0; i < list->count; i++) {
    const Node *made = graph_node(g, list->at[i]);
    if (made->op == OP_copy && made->inputs[0] == v &&
        graph_value(g, made->outputs[0])->view_of == NO_ID)
      return made->outputs[0];
  }
  Node copy = {.op = OP_copy,
               .input_count = 1,
               .inputs = {v},
               .region = n->region,
               .path = n->path,
               .clone_of = NO_ID,
               .origin = n->origin};
  NodeId id = graph_append(g, list, copy);
  return id == NO_ID ? v : graph_node(g, id)->outputs[0];
}

void op_dense_inputs(Graph *g, NodeList *list, Node *n) {
  uint32_t reads_views = op_def(n->op)->reads_views;
  for (int32_t i = 0; i < n->input_count; i++)
    if (!(reads_views >> i & 1)) n->inputs[i] = op_dense(g, list, n, n->inputs[i]);
}

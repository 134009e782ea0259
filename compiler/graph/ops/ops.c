/* ops.c -- the table of all ops, and what is the same for all of them. */
#include <assert.h>

#include "compiler/graph/ops/rule.h"
#include "kernels/contract/contract.h"
#include "kernels/contract/workspace.h"

static const OpDef *const table[OP_COUNT] = {
#define OP(name) [OP_##name] = &op_##name,
#include "compiler/graph/ops/ops.def"
#undef OP
};

const OpDef *op_def(int32_t op) {
  assert(op >= 0 && op < OP_COUNT);
  return table[op];
}

uint32_t op_layout(const Node *n) {
  const OpDef *def = op_def(n->op);
  return def->layout | (def->layout_with != NULL ? def->layout_with(n->attrs) : 0);
}

_Static_assert((int)TARGET_CUDA == (int)KERNEL_TARGET_CUDA &&
                   (int)Target_COUNT == (int)KERNEL_TARGET_COUNT,
               "one order of processors");

/* Sets scratch, and the access of operands that are read before they are written, from the kernel's
 * row. */
static void add_contract(const Graph *g, Lowered *out) {
  const KernelContract *contract = contract_find(out->kernel);
  assert(contract != NULL && contract_dims_fit(contract, out->dims, (uint32_t)out->dim_count));
  assert(out->operand_count + (contract->row->workspace != NULL) == contract->operand_count);
  uint32_t dtypes[LOWERED_OPERANDS_MAX];
  for (int32_t i = 0; i < out->operand_count; i++) {
    KernelAccess access = contract->operands[i].access;
    if (access == KERNEL_UPDATE) out->access[i] = ACCESS_UPDATE;
    assert((access == KERNEL_READ) == (out->access[i] == ACCESS_READ));
    dtypes[i] = graph_value(g, out->operands[i])->dtype;
  }
  WorkspaceUse use = {(KernelTarget)g->target, out->dims, dtypes, g->threads,
                      contract_is_tf32(contract, out->attrs, out->attr_count)};
  out->workspace_bytes = contract_workspace_bytes(contract, &use);
}

/* A collective of one part moves so much fewer elements. */
static void divide_rows(Lowered *out, int64_t parts) {
  int32_t rows = 1;
  if (out->kind == RECORD_KERNEL) rows = contract_dim(contract_find(out->kernel), "rows");
  assert(rows >= 0 && out->dims[rows] % parts == 0);
  out->dims[rows] /= parts;
  out->flops /= parts;
}

void op_lower_part(const Graph *g, const Node *n, int64_t parts, Lowered *out) {
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
  if (parts > 1) divide_rows(out, parts);
  if (out->kind == RECORD_KERNEL && out->kernel != NULL) add_contract(g, out);
}

void op_lower(const Graph *g, const Node *n, Lowered *out) {
  op_lower_part(g, n, 1, out);
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
  copy.logical = n->logical;
  NodeId id = op_append(g, list, copy);
  if (id == NO_ID) return v;
  ValueId dense = graph_node(g, id)->outputs[0];
  graph_value(g, dense)->logical = graph_value(g, v)->logical;
  graph_value(g, dense)->partial = graph_value(g, v)->partial;
  return dense;
}

void op_dense_inputs(Graph *g, NodeList *list, Node *n) {
  uint32_t reads_views = op_def(n->op)->reads_views;
  for (int32_t i = 0; i < n->input_count; i++)
    if (!(reads_views >> i & 1)) n->inputs[i] = op_dense(g, list, n, n->inputs[i]);
}

NodeId op_append(Graph *g, NodeList *list, Node node) {
  op_dense_inputs(g, list, &node);
  if (!op_def(node.op)->shape(g, &node)) return NO_ID;
  VEC_PUSH(g->compile->arena, &g->nodes, node);
  NodeId id = g->nodes.count - 1;
  for (int32_t i = 0; i < node.output_count; i++) {
    Value *out = graph_value(g, node.outputs[i]);
    if (out->producer == NO_ID) out->producer = id;
    if (out->region == NO_ID) out->region = node.region;
  }
  VEC_PUSH(g->compile->arena, list, id);
  return id;
}

/* gates.c -- an activation whose result is only multiplied by a value of the same dims is joined
 * with that product: silu(gate(x)) * up(x) becomes one node, which takes the place of the product.
 */
#include "compiler/graph/grad/grad.h"

/* Counts the nodes that read the value, or a view of it; the next region reads the result of this
 * one. */
static int32_t readers_of(const Graph *g, const Region *region, ValueId v) {
  int32_t count = region->output == v;
  for (int32_t i = 0; i < region->forward.count; i++) {
    const Node *n = graph_node(g, region->forward.at[i]);
    for (int32_t k = 0; k < n->input_count; k++)
      for (ValueId in = n->inputs[k]; in != NO_ID; in = graph_value(g, in)->view_of)
        count += in == v;
  }
  return count;
}

static bool are_alike(const Graph *g, ValueId a, ValueId b) {
  const Value *x = graph_value(g, a), *y = graph_value(g, b);
  bool alike = x->dim_count == y->dim_count && x->dtype == y->dtype && x->kind != VALUE_PARAM &&
               y->kind != VALUE_PARAM;
  for (int32_t i = 0; i < x->dim_count && alike; i++)
    alike = x->dims[i] == y->dims[i];
  return alike;
}

/* The position of the activation that makes input k of the product, or NO_ID. */
static int32_t activation_of(const Graph *g, const Region *region, const Node *product, int32_t k) {
  const ValueId v = product->inputs[k];
  if (!are_alike(g, v, product->inputs[1 - k]) || graph_value(g, v)->view_of != NO_ID) return NO_ID;
  for (int32_t i = 0; i < region->forward.count; i++) {
    const Node *n = graph_node(g, region->forward.at[i]);
    if (n->outputs[0] != v) continue;
    return op_gate_form(n->op) != NO_ID && readers_of(g, region, v) == 1 ? i : NO_ID;
  }
  return NO_ID;
}

static void take_out(NodeList *list, int32_t at) {
  list->count--;
  for (int32_t i = at; i < list->count; i++)
    list->at[i] = list->at[i + 1];
}

void grad_join_gates(Graph *g) {
  for (RegionId r = 0; r < g->regions.count; r++) {
    Region *region = &g->regions.at[r];
    for (int32_t i = 0; i < region->forward.count; i++) {
      Node *product = graph_node(g, region->forward.at[i]);
      if (!op_def(product->op)->is_gate) continue;
      int32_t k = 0, at = activation_of(g, region, product, 0);
      if (at == NO_ID) k = 1, at = activation_of(g, region, product, 1);
      if (at == NO_ID) continue;
      const Node *f = graph_node(g, region->forward.at[at]);
      const ValueId other = product->inputs[1 - k];
      product->op = OP_gate;
      product->attrs[0] = op_gate_form(f->op);
      product->inputs[0] = f->inputs[0];
      product->inputs[1] = other;
      graph_value(g, f->outputs[0])->is_joined = true;
      take_out(&region->forward, at);
      i--;
    }
  }
}

/* fusion_order.c -- brings nodes that may be fused next to each other, where the model has others
 * between them: in silu(gate(x)) * up(x) the layer `up` comes between the two.
 *
 * Only kernels that go element by element are moved. The second goes up to the first where what it
 * reads is there by then, for its result often takes the place of what is between the two; else the
 * first goes down to the second. */
#include "compiler/graph/backward/backward.h"
#include "compiler/graph/ops/op.h"

/* True if the node reads the value, or a view of it. */
static bool reads(const Graph *g, const Node *n, ValueId value) {
  for (int32_t k = 0; k < n->input_count; k++)
    for (ValueId v = n->inputs[k]; v != NO_ID; v = graph_value(g, v)->view_of)
      if (v == value) return true;
  return false;
}

static bool reads_result(const Graph *g, const Node *n, const Node *of) {
  for (int32_t k = 0; k < of->output_count; k++)
    if (reads(g, n, of->outputs[k])) return true;
  return false;
}

/* A result that is a part of a fused value has readers that read the whole. */
static bool is_own(const Graph *g, const Node *n) {
  return n->output_count == 1 && graph_value(g, n->outputs[0])->view_of == NO_ID;
}

static bool may_fuse(const Graph *g, const Node *first, const Node *second) {
  return reads_result(g, second, first) && is_own(g, first) && is_own(g, second) &&
         op_may_fuse(g, first, second);
}

/* The first node after position `at` that reads its result; the end of the list if none does, or
 * if one before it writes over what it reads. */
static int32_t first_reader(const Graph *g, const NodeList *list, int32_t at) {
  const Node *n = graph_node(g, list->at[at]);
  for (int32_t i = at + 1; i < list->count; i++) {
    const Node *next = graph_node(g, list->at[i]);
    if (reads_result(g, next, n)) return i;
    if (op_def(next->op)->overwrites != 0) break;
  }
  return list->count;
}

static bool may_go_up(const Graph *g, const NodeList *list, int32_t from, int32_t to) {
  for (int32_t i = to; i < from; i++)
    if (reads_result(g, graph_node(g, list->at[from]), graph_node(g, list->at[i]))) return false;
  return true;
}

static void move(const NodeList *list, int32_t from, int32_t to) {
  const NodeId id = list->at[from];
  for (; from < to; from++)
    list->at[from] = list->at[from + 1];
  for (; from > to; from--)
    list->at[from] = list->at[from - 1];
  list->at[to] = id;
}

static void pair_list(const Graph *g, const NodeList *list) {
  for (int32_t i = 0; i < list->count; i++) {
    const Node *first = graph_node(g, list->at[i]);
    if (!op_def(first->op)->is_light) continue;
    const int32_t at = first_reader(g, list, i);
    if (at == list->count || at == i + 1) continue;
    const Node *second = graph_node(g, list->at[at]);
    if (!may_fuse(g, first, second)) continue;
    if (may_go_up(g, list, at, i + 1))
      move(list, at, i + 1);
    else if (!may_fuse(g, graph_node(g, list->at[at - 1]), second)) /* it has one before it, else */
      move(list, i--, at - 1);
  }
}

void backward_fusion_order(Graph *g) {
  for (RegionId r = 0; r < g->regions.count; r++) {
    const Region *region = &g->regions.at[r];
    if (region->chunks > 0) continue; /* chunks are a range of positions in the list */
    pair_list(g, &region->forward);
    pair_list(g, &region->recompute);
    pair_list(g, &region->backward);
  }
}

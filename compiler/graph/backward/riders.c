/* riders.c -- places the gradients of biases where they may be fused: right after the kernel that
 * makes the rows (FUSION of fusions.def), or between the backward of a norm and the addition after
 * it, which reads the same rows (RIDER).
 *
 * A bias' gradient is the sum of the rows of its layer's d_y. That of a layer before an activation
 * is made by the activation's backward. In a residual model the d_y of the last layer of a branch
 * is also the other summand of the addition after the backward of the branch's norm, so the node of
 * that gradient moves to right before that addition. */
#include <string.h>

#include "compiler/graph/backward/backward.h"
#include "compiler/graph/ops/op.h"
#include "kernels/contract/contract.h"
#include "kernels/contract/fusions.h"

/* True if this kernel computes the node: it has the op's name. */
static bool runs(const Node *n, KernelId kernel) {
  return strcmp(op_def(n->op)->name, contract_of(kernel)->row->name) == 0;
}

/* The position of the one node that sums the rows of v, if nothing else adds to what it makes; or
 * NO_ID. */
static int32_t sum_of(const Graph *g, const NodeList *list, ValueId v) {
  int32_t found = NO_ID, writers = 0;
  for (int32_t i = 0; i < list->count && found == NO_ID; i++) {
    const Node *n = graph_node(g, list->at[i]);
    if (runs(n, KERNEL_linear_db) && n->inputs[0] == v) found = i;
  }
  if (found == NO_ID) return NO_ID;
  const ValueId sum = graph_node(g, list->at[found])->outputs[0];
  for (int32_t i = 0; i < list->count; i++) {
    const Node *n = graph_node(g, list->at[i]);
    for (int32_t k = 0; k < n->output_count; k++)
      writers += n->outputs[k] == sum;
  }
  return writers == 1 ? found : NO_ID;
}

/* Moves a node; those between make room. */
static void move(NodeList *list, int32_t from, int32_t to) {
  const NodeId moved = list->at[from];
  for (; from < to; from++)
    list->at[from] = list->at[from + 1];
  for (; from > to; from--)
    list->at[from] = list->at[from - 1];
  list->at[to] = moved;
}

/* The value that an addition at this place adds to the norm's gradient, made right before it; or
 * NO_ID. */
static ValueId added(const Graph *g, const NodeList *list, int32_t at) {
  const Node *add = graph_node(g, list->at[at]);
  if (at == 0 || !runs(add, KERNEL_add)) return NO_ID;
  const Node *norm = graph_node(g, list->at[at - 1]);
  if (!runs(norm, KERNEL_layernorm_backward)) return NO_ID;
  for (int32_t k = 0; k < 2; k++)
    if (add->inputs[k] == norm->outputs[0]) return add->inputs[1 - k];
  return NO_ID;
}

/* Beside the additions that read their rows. */
static void place_before_additions(const Graph *g, NodeList *list) {
  for (int32_t at = 0; at < list->count; at++) {
    const ValueId other = added(g, list, at);
    const int32_t sum = other == NO_ID ? NO_ID : sum_of(g, list, other);
    if (sum != NO_ID && sum < at) move(list, sum, at - 1);
    if (sum != NO_ID && sum > at) move(list, sum, at++);
  }
}

/* Right after the nodes that make their rows. */
static void place_after_makers(const Graph *g, NodeList *list) {
  int32_t count;
  for (const KernelFusion *row = contract_fusions(&count); count > 0; row++, count--) {
    if (row->second != KERNEL_linear_db || (row->targets >> g->target & 1u) == 0) continue;
    for (int32_t at = 0; at < list->count; at++) {
      const Node *maker = graph_node(g, list->at[at]);
      const int32_t sum = runs(maker, row->first) ? sum_of(g, list, maker->outputs[0]) : NO_ID;
      if (sum != NO_ID && sum > at + 1) move(list, sum, at + 1);
    }
  }
}

void backward_place_riders(Graph *g) {
  for (RegionId r = 0; r < g->regions.count; r++) {
    Region *region = &g->regions.at[r];
    if (region->chunks > 0) continue;
    if (contract_rider(KERNEL_linear_db, KERNEL_layernorm_backward, KERNEL_add,
                       (KernelTarget)g->target) != NULL)
      place_before_additions(g, &region->backward);
    place_after_makers(g, &region->backward);
  }
}

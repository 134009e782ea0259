/* chunks.c -- the last layer and its loss in runs of tokens, so that the logits of one run exist at
 * a time instead of those of the whole micro-batch.
 *
 * The gradient of the loss needs no later node: cross-entropy writes it over the logits.
 * So the forward nodes from the last linear layer on move into backward, in front of
 * the nodes that read that gradient, and all of them together run once for each chunk: logits,
 * loss, gradients of the layer's input and of its weights. Validation has forward nodes alone.
 *
 * Each loss of the last region is divided with its layer; losses of one layer stay whole. */
#include "compiler/graph/backward/backward.h"
#include "compiler/graph/ops/op.h"

typedef struct Chunking {
  Graph *graph;
  Region *region;
  ValueId logits[LOSSES_MAX]; /* of each loss that is divided: its gradient is written over them */
  int32_t count;
  bool *after; /* by value: made by the chunked nodes, or by nodes after them */
  NodeList nodes;
} Chunking;

static ValueId root_of(const Graph *g, ValueId v) {
  while (graph_value(g, v)->view_of != NO_ID)
    v = graph_value(g, v)->view_of;
  return v;
}

static const Node *last_of(const Graph *g, const NodeList *list) {
  return list->count == 0 ? NULL : graph_node(g, list->at[list->count - 1]);
}

static bool in_runs(const Node *n) {
  return op_def(n->op)->in_runs;
}

static void comes_behind(const Chunking *c, const Node *n) {
  for (int32_t k = 0; k < n->output_count; k++)
    c->after[n->outputs[k]] = c->after[root_of(c->graph, n->outputs[k])] = true;
}

static void take(Chunking *c, NodeId id) {
  comes_behind(c, graph_node(c->graph, id));
  VEC_PUSH(c->graph->compile->arena, &c->nodes, id);
}

static bool gathers(const Node *n) {
  return (op_def(n->op)->layout & LAYOUT_MAKES_WHOLE) != 0;
}

/* Ranks that shard the classes gather their statistics of each chunk. */
static bool is_of_loss(const Graph *g, const Node *n) {
  return in_runs(n) || (gathers(n) && graph_value(g, n->inputs[0])->extra_elements > 0);
}

static bool must_follow(const Chunking *c, const Node *n) {
  for (int32_t k = 0; k < n->input_count; k++)
    if (c->after[root_of(c->graph, n->inputs[k])]) return true;
  return false;
}

static bool is_loss(const Graph *g, const Node *n) {
  return in_runs(n) && graph_value(g, n->outputs[0])->kind == VALUE_LOSS;
}

static bool are_logits(const Chunking *c, ValueId v) {
  for (int32_t i = 0; i < c->count; i++)
    if (c->logits[i] == v) return true;
  return false;
}

static const Node *maker_of(const Chunking *c, ValueId v) {
  const NodeList *list = &c->region->forward;
  for (int32_t i = 0; i < list->count; i++) {
    const Node *n = graph_node(c->graph, list->at[i]);
    if (n->outputs[0] == v) return n;
  }
  return NULL;
}

/* True if a linear layer makes the logits, with a weight that makes no others of them, and only the
 * loss reads them. */
static bool may_divide(const Chunking *c, const Node *loss) {
  const Graph *g = c->graph;
  const ValueId logits = loss->inputs[0];
  const Node *linear = maker_of(c, logits);
  if (linear == NULL || !in_runs(linear) || linear->input_count < 2) return false;
  for (int32_t i = 0; i < c->count; i++)
    if (maker_of(c, c->logits[i])->inputs[1] == linear->inputs[1]) return false;
  for (int32_t i = 0; i < c->region->forward.count; i++) {
    const Node *n = graph_node(g, c->region->forward.at[i]);
    for (int32_t k = 0; k < n->input_count; k++)
      if (root_of(g, n->inputs[k]) == logits && !is_of_loss(g, n)) return false;
  }
  return true;
}

/* The last region that has losses which may be divided, and these. */
static void find_logits(Chunking *c) {
  Graph *g = c->graph;
  for (RegionId r = g->regions.count - 1; r >= 0 && c->count == 0; r--) {
    c->region = &g->regions.at[r];
    for (int32_t i = c->region->forward.count - 1; i >= 0; i--) {
      const Node *n = graph_node(g, c->region->forward.at[i]);
      if (is_loss(g, n) && may_divide(c, n)) c->logits[c->count++] = n->inputs[0];
    }
  }
}

/* Finds the linear layers that make logits, and their losses. False: the model does not end so, or
 * something else is between them. */
static bool find_tail(Chunking *c) {
  const Graph *g = c->graph;
  find_logits(c);
  if (c->count == 0) return false;
  const NodeList *list = &c->region->forward;
  c->after = ARENA_ARRAY(g->compile->arena, bool, g->values.count + 1);
  for (int32_t i = 0; i < list->count; i++) {
    const Node *n = graph_node(g, list->at[i]);
    const bool follows = must_follow(c, n);
    if (follows && !is_of_loss(g, n)) return false;
    if (are_logits(c, n->outputs[0]) || follows) take(c, list->at[i]);
  }
  return true;
}

static void leave_forward(const Chunking *c) {
  NodeList *list = &c->region->forward;
  int32_t kept = 0, taken = 0;
  for (int32_t i = 0; i < list->count; i++)
    if (taken < c->nodes.count && list->at[i] == c->nodes.at[taken])
      taken++;
    else
      list->at[kept++] = list->at[i];
  list->count = kept;
}

/* True of the nodes that make the gradients of the last linear layer. */
static bool is_gradient(const Chunking *c, const Node *n) {
  bool reads = false;
  for (int32_t k = 0; k < n->input_count; k++)
    reads = reads || are_logits(c, root_of(c->graph, n->inputs[k]));
  return reads && in_runs(n);
}

/* Nodes that read nothing of the chunks run before them. */
static void take_backward(Chunking *c) {
  Arena *arena = c->graph->compile->arena;
  NodeList before = {0}, after = {0}, old = c->region->backward;
  for (int32_t i = 0; i < old.count; i++) {
    const Node *n = graph_node(c->graph, old.at[i]);
    if (is_gradient(c, n)) {
      take(c, old.at[i]);
    } else if (must_follow(c, n)) {
      comes_behind(c, n);
      VEC_PUSH(arena, &after, old.at[i]);
    } else {
      VEC_PUSH(arena, &before, old.at[i]);
    }
  }
  c->region->backward = before;
  for (int32_t i = 0; i < c->nodes.count; i++)
    VEC_PUSH(arena, &c->region->backward, c->nodes.at[i]);
  for (int32_t i = 0; i < after.count; i++)
    VEC_PUSH(arena, &c->region->backward, after.at[i]);
  c->region->chunk_first = before.count;
}

/* Where backward gathers the input of the layers again, forward need not gather it. */
static void spare_gather(const Chunking *c) {
  const Node *last = last_of(c->graph, &c->region->forward);
  bool is_read = false;
  for (int32_t n = 0; n < c->nodes.count && last != NULL; n++)
    is_read = is_read || graph_node(c->graph, c->nodes.at[n])->inputs[0] == last->outputs[0];
  if (!is_read || !gathers(last)) return;
  for (int32_t i = 0; i < c->region->chunk_first; i++) {
    const Node *again = graph_node(c->graph, c->region->backward.at[i]);
    if (again->op != last->op || again->inputs[0] != last->inputs[0]) continue;
    for (int32_t n = 0; n < c->nodes.count; n++) {
      Node *linear = graph_node(c->graph, c->nodes.at[n]);
      if (linear->inputs[0] == last->outputs[0]) linear->inputs[0] = again->outputs[0];
    }
    c->region->forward.count--;
    return;
  }
}

static int64_t divisor_of(int64_t rows, int64_t most) {
  while (rows % most != 0)
    most--;
  return most;
}

/* False when reported. */
static bool fits(Graph *g, const Chunking *c, int64_t chunks, Span at) {
  int64_t rows = value_rows(g, c->logits[0]);
  if (rows % chunks == 0) return true;
  error_at(g->compile, at, "loss-chunks",
           "memory.loss_chunks = %lld does not divide the %lld tokens of a micro-batch%s",
           (long long)chunks, (long long)rows, g->mesh.size[MESH_CP] > 1 ? " that a rank has" : "");
  fix_last(g->compile, "loss_chunks = %lld", (long long)divisor_of(rows, chunks));
  return false;
}

bool backward_chunks(Graph *g, int64_t chunks, Span at) {
  Chunking c = {.graph = g};
  if (chunks == 1) return true;
  if (!find_tail(&c)) {
    error_at(g->compile, at, "loss-chunks",
             "memory.loss_chunks: the model does not end in a linear layer and cross_entropy");
    fix_last(g->compile, "remove loss_chunks");
    return false;
  }
  if (!fits(g, &c, chunks, at)) return false;
  leave_forward(&c);
  c.region->chunks = chunks;
  if (g->training) {
    take_backward(&c);
    c.region->chunk_count = c.nodes.count;
    spare_gather(&c);
    return true;
  }
  c.region->chunk_first = c.region->forward.count;
  c.region->chunk_count = c.nodes.count;
  for (int32_t i = 0; i < c.nodes.count; i++)
    VEC_PUSH(g->compile->arena, &c.region->forward, c.nodes.at[i]);
  return true;
}

int64_t backward_chunks_most(Graph *g, int64_t most) {
  Chunking c = {.graph = g};
  return find_tail(&c) ? divisor_of(value_rows(g, c.logits[0]), most) : 1;
}

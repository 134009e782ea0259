/* split.c -- splits backward in two: nodes that other layers and stages wait for, and nodes that
 * only make parameter gradients and can run later (arXiv:2401.10241).
 *
 * A node can be deferred if it only makes parameter gradients, or values that only deferred nodes
 * read. It cannot if a later node overwrites what it reads, if another contribution to the same
 * gradient cannot be deferred, because the first one assigns, or if it reads a parameter, because
 * sharded ones are gathered for backward and dropped after it. */
#include "compiler/graph/backward/backward.h"

typedef struct Waiting {
  const Graph *g;
  const Region *region;
  bool *waits;       /* by position in backward */
  bool *read_now;    /* by value: by a node that does not wait, or by another layer */
  bool *read;        /* by value: by any node */
  bool *written_now; /* by parameter: by a node that does not wait */
  int32_t *written;  /* by value that owns storage: the last position that writes into it */
} Waiting;

static ValueId root_of(const Graph *g, ValueId v) {
  while (graph_value(g, v)->view_of != NO_ID)
    v = graph_value(g, v)->view_of;
  return v;
}

static bool is_param_grad(const Graph *g, ValueId v) {
  return graph_value(g, v)->kind == VALUE_PARAM_GRAD;
}

static bool may_wait(const Waiting *w, int32_t at) {
  const Node *n = graph_node(w->g, w->region->backward.at[at]);
  if (region_in_chunks(w->region, at)) return false;
  for (int32_t k = 0; k < n->output_count; k++) {
    ValueId v = n->outputs[k];
    if (is_param_grad(w->g, v)) {
      if (w->written_now[graph_value(w->g, v)->param]) return false;
    } else if (w->read_now[v] || !w->read[v] || root_of(w->g, v) != v) {
      return false;
    }
  }
  for (int32_t k = 0; k < n->input_count; k++) {
    ValueId root = root_of(w->g, n->inputs[k]);
    if (w->written[root] > at || graph_value(w->g, root)->kind == VALUE_PARAM) return false;
  }
  return n->output_count > 0;
}

/* Marks a node that is not deferred: what it reads must exist, what it adds to must have been
 * assigned. */
static void keep(Waiting *w, int32_t at) {
  const Node *n = graph_node(w->g, w->region->backward.at[at]);
  w->waits[at] = false;
  for (int32_t k = 0; k < n->input_count; k++)
    for (ValueId v = n->inputs[k]; v != NO_ID; v = graph_value(w->g, v)->view_of)
      w->read_now[v] = true;
  for (int32_t k = 0; k < n->output_count; k++)
    if (is_param_grad(w->g, n->outputs[k]))
      w->written_now[graph_value(w->g, n->outputs[k])->param] = true;
}

static Waiting begin(Graph *g, const Region *region) {
  Arena *arena = g->compile->arena;
  Waiting w = {.g = g, .region = region};
  w.waits = ARENA_ARRAY(arena, bool, region->backward.count + 1);
  w.read_now = ARENA_ARRAY(arena, bool, g->values.count + 1);
  w.read = ARENA_ARRAY(arena, bool, g->values.count + 1);
  w.written_now = ARENA_ARRAY(arena, bool, g->params.count + 1);
  w.written = ARENA_ARRAY(arena, int32_t, g->values.count + 1);
  if (region->d_input != NO_ID)
    w.read_now[root_of(g, region->d_input)] = w.read_now[region->d_input] = true;
  for (int32_t i = 0; i < region->backward.count; i++) {
    const Node *n = graph_node(g, region->backward.at[i]);
    w.waits[i] = true;
    for (int32_t k = 0; k < n->input_count; k++)
      w.read[n->inputs[k]] = true;
    for (int32_t k = 0; k < n->output_count; k++)
      w.written[root_of(g, n->outputs[k])] = i;
  }
  return w;
}

static void split_region(Graph *g, Region *region) {
  Waiting w = begin(g, region);
  for (bool changed = true; changed;) {
    changed = false;
    for (int32_t i = region->backward.count - 1; i >= 0; i--)
      if (w.waits[i] && !may_wait(&w, i)) {
        keep(&w, i);
        changed = true;
      }
  }
  int32_t kept = 0, chunk_first = region->chunk_first;
  for (int32_t i = 0; i < region->backward.count; i++) {
    NodeId id = region->backward.at[i];
    if (i == chunk_first) region->chunk_first = kept;
    if (w.waits[i])
      VEC_PUSH(g->compile->arena, &region->weight, id);
    else
      region->backward.at[kept++] = id;
  }
  region->backward.count = kept;
}

void backward_split(Graph *g) {
  for (RegionId r = 0; r < g->regions.count; r++)
    split_region(g, &g->regions.at[r]);
}

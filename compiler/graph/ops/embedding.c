/* embedding.c -- y[r] = table[ids[r]]; padding ids (< 0) give zeros.
 *
 *   d_table[id] = sum of d_y[r] over the rows r with ids[r] = id, in order
 *
 * inputs: table [entries, features...], ids. y has the dims of ids, then the table's features.
 * Where the entries of the table are cut, a part gives zeros for ids of other parts. positions: no
 * inputs; y[i] = the position of token i in its sample, also when seq is cut. */
#include "compiler/graph/ops/rule.h"

/* The largest position is known here and must have a row. Other ids are checked with the data. */
static bool enough_rows(Graph *g, const Node *n, const Value *table, const Value *ids) {
  if (ids->producer == NO_ID) return true;
  if (!op_def(graph_node(g, ids->producer)->op)->is_position) return true;
  int64_t rows = g->dims.at[table->dims[0]].size;
  int64_t end = g->dims.at[ids->dims[0]].size;
  if (rows >= end) return true;
  return error_at(
      g->compile, n->origin, "context-too-long",
      "embedding '%s' has %lld row%s, but a sequence has %lld position%s (train.context)",
      table->name, (long long)rows, plural(rows), (long long)end, plural(end));
}

static bool shape(Graph *g, Node *n) {
  if (!rule_ids(g, n, 1)) return false;
  Value table = *graph_value(g, n->inputs[0]), ids = *graph_value(g, n->inputs[1]);
  if (table.kind != VALUE_PARAM || table.dim_count < 1)
    return error_at(g->compile, n->origin, "needs-weight",
                    "embedding: expected a weight with the entries first, got %s",
                    value_dims_text(g, n->inputs[0]));
  if (!enough_rows(g, n, &table, &ids)) return false;
  DimList dims = rule_dims(g, n->inputs[1]);
  if (dims.count + table.dim_count - 1 > DIMS_MAX)
    return error_at(g->compile, n->origin, "too-many-dimensions",
                    "embedding: %s of %s has more than %d dimensions", table.name,
                    value_dims_text(g, n->inputs[1]), DIMS_MAX);
  for (int32_t i = 1; i < table.dim_count; i++)
    dims.at[dims.count++] = table.dims[i];
  if (!rule_made(n)) rule_output(g, n, dims, g->compute_dtype);
  return true;
}

static void backward(Grad *b, const Node *n) {
  Accumulate accumulate;
  ValueId d_table = grad_param(b, n->inputs[0], &accumulate);
  NodeId id = grad_append(b, n, OP_embedding_backward,
                          (const ValueId[]){grad_output(b, n, 0), n->inputs[1], NO_ID},
                          (const ValueId[]){d_table, NO_ID});
  graph_node(b->graph, id)->accumulate = accumulate;
}

static void lower_table(const Graph *g, ValueId table, ValueId ids, Lowered *out) {
  DimId first = graph_value(g, table)->dims[0];
  int64_t entries = g->dims.at[first].size;
  LOWER_DIMS(out, value_elements(g, ids), value_elements(g, table) / entries, entries);
  LOWER_ATTRS(out, 0);
  lower_first(g, out, 0, first, rule_whole_dim(g, first));
}

static void lower(const Graph *g, const Node *n, Lowered *out) {
  lower_table(g, n->inputs[0], n->inputs[1], out);
}

static void lower_backward(const Graph *g, const Node *n, Lowered *out) {
  lower_table(g, n->outputs[0], n->inputs[1], out);
}

static bool shape_positions(Graph *g, Node *n) {
  DimId seq = graph_dim(g, "seq");
  if (seq == NO_ID)
    return error_at(g->compile, n->origin, "no-seq", "positions: there is no 'seq' here");
  if (!rule_made(n)) rule_output(g, n, (DimList){1, {seq}}, DTYPE_I32);
  return true;
}

static void lower_positions(const Graph *g, const Node *n, Lowered *out) {
  DimId seq = graph_value(g, n->outputs[0])->dims[0];
  LOWER_DIMS(out, g->dims.at[seq].size);
  LOWER_ATTRS(out, 0, 0);
  lower_runs(g, out, 0, seq);
}

const OpDef op_embedding = {.name = "embedding",
                            .shape = shape,
                            .backward = backward,
                            .lower = lower,
                            .in_place = -1,
                            .ids = IDS_OF_ROWS};
const OpDef op_embedding_backward = {
    .name = "embedding_backward", .shape = rule_given, .lower = lower_backward, .in_place = -1};
const OpDef op_positions = {.name = "positions",
                            .shape = shape_positions,
                            .lower = lower_positions,
                            .in_place = -1,
                            .is_position = true};

/* convert.c -- from one layout to another along one mesh axis.
 *
 *   all_reduce       Partial -> Replicated        in place: the output is a view of the input
 *   all_gather       Shard(name) -> Replicated
 *   reduce_scatter   Partial -> Shard(name)
 *   slice            Replicated -> Shard(name)    a copy of the rank's own part: no communication
 *
 * attrs: mesh axis; which of the value's dims is gathered or scattered (-1: none). Where that dim
 * is not the first, the bytes of one rank come in `outer` pieces: a collective states dims outer,
 * inner -- elements of one rank's piece. */
#include "compiler/ops/rule.h"

typedef struct Pieces {
  int64_t outer, inner;
} Pieces;

/* Of `v`, which holds one rank's part at dim `at`. */
static Pieces pieces_of(const Graph *g, ValueId v, int32_t at) {
  const Value *value = graph_value(g, v);
  Pieces pieces = {1, 1};
  if (value->extra_elements > 0) pieces.inner = value->extra_elements;
  for (int32_t i = 0; i < value->dim_count; i++) {
    int64_t size = g->dims.at[value->dims[i]].size;
    if (i < at)
      pieces.outer *= size;
    else
      pieces.inner *= size;
  }
  return pieces;
}

static void lower_collective(const Graph *g, const Node *n, RecordKind kind, ValueId part,
                             Lowered *out) {
  Pieces pieces = pieces_of(g, part, (int32_t)n->attrs[1]);
  out->kind = kind;
  out->axes = MESH_BIT((int)n->attrs[0]);
  LOWER_DIMS(out, pieces.outer, pieces.inner);
}

static void lower_all_reduce(const Graph *g, const Node *n, Lowered *out) {
  out->kind = RECORD_ALL_REDUCE;
  out->axes = MESH_BIT((int)n->attrs[0]);
  LOWER_DIMS(out, 1, value_elements(g, n->inputs[0]));
  out->operand_count = 1;
  out->access[0] = ACCESS_UPDATE;
}

static void lower_all_gather(const Graph *g, const Node *n, Lowered *out) {
  lower_collective(g, n, RECORD_ALL_GATHER, n->inputs[0], out);
}

static void lower_reduce_scatter(const Graph *g, const Node *n, Lowered *out) {
  lower_collective(g, n, RECORD_REDUCE_SCATTER, n->outputs[0], out);
}

static void lower_slice(const Graph *g, const Node *n, Lowered *out) {
  Pieces pieces = pieces_of(g, n->outputs[0], (int32_t)n->attrs[1]);
  int64_t whole = value_elements(g, n->inputs[0]) / pieces.outer;
  out->kernel = "copy";
  LOWER_DIMS(out, pieces.outer, pieces.inner, whole, pieces.inner);
}

const OpDef op_all_reduce = {
    .name = "all_reduce", .shape = rule_given, .lower = lower_all_reduce, .in_place = -1};
const OpDef op_all_gather = {
    .name = "all_gather", .shape = rule_given, .lower = lower_all_gather, .in_place = -1};
const OpDef op_reduce_scatter = {
    .name = "reduce_scatter", .shape = rule_given, .lower = lower_reduce_scatter, .in_place = -1};
const OpDef op_slice = {.name = "slice", .shape = rule_given, .lower = lower_slice, .in_place = -1};

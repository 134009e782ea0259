/* convert.c -- conversions between layouts along mesh axes, and the exchange of blocks in a ring.
 *
 *   all_reduce       Partial -> Replicated          in place: the output is a view of the input
 *   all_gather       Shard(name) -> Replicated
 *   reduce_scatter   Partial -> Shard(name)
 *   slice            Replicated -> Shard(name)      the rank's own part of what it has
 *   all_to_all       Shard(a) -> Shard(b)
 *   exchange         each input goes to the next member, each output comes from the one before
 *
 * axes: the mesh axes as a mask. attrs: which of the value's dims is gathered or scattered
 * (-1: none); for all_to_all the dim that becomes whole and the one that is cut. Where the dim is
 * not the first, a member's share lies in `outer` pieces of `inner` elements. */
#include <assert.h>

#include "compiler/graph/ops/rule.h"

enum { AT, CUT };

/* Elements of a value before, at and after one of its dims. */
typedef struct Around {
  int64_t outer, size, inner;
} Around;

static Around around(const Graph *g, ValueId v, int32_t at) {
  const Value *value = graph_value(g, v);
  Around a = {1, 1, value->extra_elements > 0 ? value->extra_elements : 1};
  for (int32_t i = 0; i < value->dim_count; i++)
    *(i < at ? &a.outer : i == at ? &a.size : &a.inner) *= g->dims.at[value->dims[i]].size;
  return a;
}

static void lower_collective(const Graph *g, const Node *n, RecordKind kind, ValueId part,
                             Lowered *out) {
  Around a = around(g, part, (int32_t)n->attrs[AT]);
  out->kind = kind;
  out->axes = n->axes;
  LOWER_DIMS(out, a.outer, a.size * a.inner);
}

static void lower_all_reduce(const Graph *g, const Node *n, Lowered *out) {
  (void)g;
  out->kind = RECORD_ALL_REDUCE;
  out->axes = n->axes;
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
  int32_t at = (int32_t)n->attrs[AT];
  Around whole = around(g, n->inputs[0], at), part = around(g, n->outputs[0], at);
  DimId from = graph_value(g, n->inputs[0])->dims[at], to = graph_value(g, n->outputs[0])->dims[at];
  LOWER_DIMS(out, whole.outer, whole.size, part.size, part.inner);
  LOWER_ATTRS(out, 0, 0);
  if (g->dims.at[to].zigzag && g->dims.at[to].whole == from) {
    lower_runs(g, out, 0, to);
    return;
  }
  lower_first(g, out, 0, to, from);
  lower_first(g, out, 1, to, from);
  int64_t half = part.size / 2;
  out->attrs[1] = (double)half;
}

/* x is [outer, a, middle, b n, inner], y [outer, a n, middle, b, inner]; the other way round when
 * the cut dim is before the one that becomes whole. */
static void lower_all_to_all(const Graph *g, const Node *n, Lowered *out) {
  int32_t at = (int32_t)n->attrs[AT], cut = (int32_t)n->attrs[CUT];
  bool back = cut < at;
  ValueId x = n->inputs[0], y = n->outputs[0];
  Around a = around(g, back ? y : x, back ? cut : at), b = around(g, back ? x : y, back ? at : cut);
  int64_t middle = a.inner / around(g, back ? y : x, back ? at : cut).size / b.inner;
  out->kind = RECORD_ALL_TO_ALL;
  out->axes = n->axes;
  LOWER_DIMS(out, a.outer, a.size, middle, b.size, b.inner);
  LOWER_ATTRS(out, back);
}

static void lower_exchange(const Graph *g, const Node *n, Lowered *out) {
  (void)g;
  out->kind = RECORD_EXCHANGE;
  out->axes = n->axes;
  out->dim_count = out->operand_count;
  for (int32_t i = 0; i < out->operand_count; i++)
    out->dims[i] = i < n->input_count ? 1 : -1;
}

const OpDef op_all_reduce = {.name = "all_reduce",
                             .shape = rule_given,
                             .lower = lower_all_reduce,
                             .in_place = -1,
                             .overwrites = 1,
                             .layout = LAYOUT_LINEAR | LAYOUT_CONVERTS};
const OpDef op_all_gather = {.name = "all_gather",
                             .shape = rule_given,
                             .lower = lower_all_gather,
                             .in_place = -1,
                             .layout = LAYOUT_LINEAR | LAYOUT_CONVERTS | LAYOUT_MAKES_WHOLE};
const OpDef op_reduce_scatter = {.name = "reduce_scatter",
                                 .shape = rule_given,
                                 .lower = lower_reduce_scatter,
                                 .in_place = -1,
                                 .layout = LAYOUT_LINEAR | LAYOUT_CONVERTS};
const OpDef op_slice = {.name = "slice",
                        .shape = rule_given,
                        .lower = lower_slice,
                        .in_place = -1,
                        .layout = LAYOUT_LINEAR | LAYOUT_CONVERTS};
const OpDef op_all_to_all = {.name = "all_to_all",
                             .shape = rule_given,
                             .lower = lower_all_to_all,
                             .in_place = -1,
                             .layout = LAYOUT_LINEAR | LAYOUT_CONVERTS | LAYOUT_SAME_PLACES |
                                       LAYOUT_WHOLE_TOKENS};
const OpDef op_exchange = {.name = "exchange",
                           .shape = rule_given,
                           .lower = lower_exchange,
                           .in_place = -1,
                           .is_sent = true,
                           .layout = LAYOUT_LINEAR | LAYOUT_CONVERTS | LAYOUT_SAME_PLACES |
                                     LAYOUT_WHOLE_TOKENS};

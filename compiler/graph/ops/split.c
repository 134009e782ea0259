/* split.c -- cuts a value along its first feature, one piece for each index; join is its gradient.
 *
 * No byte moves: piece i is a view of x with x's row stride between tokens. In backward the
 * gradients of the pieces become views of d_x if their producer can write with a stride, and are
 * copied into d_x otherwise; join then only marks d_x as complete. A piece that is not used has
 * gradient 0.
 *
 * inputs: x. attrs: which dim of x. Splitting along another feature than the first would scatter
 * the pieces and is refused. */
#include "compiler/graph/ops/divide.h"
#include "compiler/graph/ops/rule.h"

static bool cut_fits(Graph *g, const Node *n, DimId cut) {
  ValueId x = n->inputs[0];
  const Dim *dim = &g->dims.at[cut];
  DimList features = rule_features(g, x);
  if (features.count == 0 || features.at[0] != cut)
    return error_at(g->compile, n->origin, "split-first",
                    "split: '%s' is not the first feature of %s; only that one can be split",
                    dim->name, value_dims_text(g, x));
  if (dim->size > NODE_OUTPUTS_MAX)
    return rule_size_error(g, n, cut, cut, "split-many",
                           "split: %s = %lld piece%s; at most %d come out of one split", dim->name,
                           (long long)dim->size, plural(dim->size), NODE_OUTPUTS_MAX);
  return true;
}

/* A view always refers to the value that owns the storage. */
static void set_view(Graph *g, ValueId v, ValueId of, int64_t offset) {
  const Value *parent = graph_value(g, of);
  Value *view = graph_value(g, v);
  bool owner = parent->view_of == NO_ID;
  view->view_of = owner ? of : parent->view_of;
  view->view_offset = offset + (owner ? 0 : parent->view_offset);
}

static bool shape(Graph *g, Node *n) {
  ValueId x = n->inputs[0];
  if (!rule_numbers(g, n, 1)) return false;
  DimList dims = rule_dims(g, x), piece = {0};
  int32_t which = (int32_t)n->attrs[0];
  if (which < 0 || which >= dims.count)
    return error_at(g->compile, n->origin, "no-dimension", "split: %s has no dimension %d",
                    value_dims_text(g, x), which);
  DimId cut = dims.at[which];
  if (!cut_fits(g, n, cut)) return false;
  if (rule_made(n)) return true;
  for (int32_t i = 0; i < dims.count; i++)
    if (dims.at[i] != cut) piece.at[piece.count++] = dims.at[i];
  int64_t pieces = g->dims.at[cut].size, piece_features = value_features(g, x) / pieces;
  for (int64_t i = 0; i < pieces; i++) {
    ValueId v = rule_output(g, n, piece, graph_value(g, x)->dtype);
    graph_value(g, v)->name =
        arena_printf(g->compile->arena, "%s.%lld", graph_value(g, v)->name, (long long)i);
    set_view(g, v, x, i * piece_features);
  }
  return true;
}

/* Each rank would have some of the pieces only. */
static bool refuse_cut(Shard *s, Node *n) {
  Graph *g = s->g;
  DimId cut = graph_value(g, n->inputs[0])->dims[(int32_t)n->attrs[0]];
  if (base_of(s, cut) == NO_ID) return false;
  const char *name = g->dims.at[base_of(s, cut)].name;
  error_at(g->compile, n->origin, "degrees",
           "split: parallel.tp divides '%s', which is taken apart", name);
  fix_last(g->compile, "axes = { %s = false }", name);
  note_at(g->compile, g->tp_at, "by this");
  return true;
}

/* A zero gradient for an unused piece, made from any other piece's gradient. */
static ValueId zero_piece(Grad *b, const Node *n) {
  Node zero = *n;
  zero.attrs[0] = zero.attrs[1] = 0;
  for (int32_t i = 0; i < n->output_count; i++) {
    ValueId d = grad_output(b, n, i);
    if (d != NO_ID) return rule_grad1(b, &zero, OP_affine, d, NO_ID, n->outputs[i]);
  }
  return NO_ID;
}

static void backward(Grad *b, const Node *n) {
  ValueId x = n->inputs[0], inputs[NODE_OUTPUTS_MAX + 1];
  if (!grad_needed(b, x)) return;
  Graph *g = b->graph;
  ValueId d_x = grad_like(b, x);
  for (int32_t i = 0; i < n->output_count; i++) {
    int64_t offset = i * value_features(g, n->outputs[i]);
    ValueId d = grad_output(b, n, i);
    if (d == NO_ID) d = zero_piece(b, n);
    inputs[i] = d;
    if (grad_place(b, d, d_x, offset)) continue;
    inputs[i] = grad_like(b, n->outputs[i]);
    set_view(g, inputs[i], d_x, offset);
    grad_append(b, n, OP_copy, (const ValueId[]){d, NO_ID}, (const ValueId[]){inputs[i], NO_ID});
  }
  inputs[n->output_count] = NO_ID;
  grad_append(b, n, OP_join, inputs, (const ValueId[]){d_x, NO_ID});
  grad_add(b, x, d_x);
}

static void lower_nothing(const Graph *g, const Node *n, Lowered *out) {
  (void)g;
  (void)n;
  out->kernel = NULL;
}

/* The pieces of a join are views of its output. A piece that was converted no longer is: it is
 * copied there, and the value before the conversion gets its own storage. */
static void append_join(Shard *s, NodeId id, const Node *asked, Node *n) {
  Graph *g = s->g;
  ValueId whole = n->outputs[0], root = graph_value(g, whole)->view_of;
  int64_t offset = root == NO_ID ? 0 : graph_value(g, whole)->view_offset;
  if (root == NO_ID) root = whole;
  for (int32_t i = 0; i < n->input_count; i++) {
    ValueId v = n->inputs[i];
    if (graph_value(g, v)->view_of == root) continue;
    Value *before = graph_value(g, asked->inputs[i]);
    if (before->view_of == root) before->view_of = NO_ID, before->view_offset = 0;
    ValueId piece = value_as(s, v, graph_value(g, v)->dtype);
    graph_value(g, piece)->view_of = root;
    graph_value(g, piece)->view_offset = offset + i * value_features(g, v);
    push_op(s, n, OP_copy, (const ValueId[]){v, NO_ID}, (const ValueId[]){piece, NO_ID});
    n->inputs[i] = piece;
  }
  push_cut(s, id, n);
}

const OpDef op_split = {.name = "split",
                        .shape = shape,
                        .backward = backward,
                        .lower = lower_nothing,
                        .in_place = -1,
                        .reads_views = 1,
                        .divide = refuse_cut,
                        .layout = LAYOUT_LINEAR};
const OpDef op_join = {.name = "join",
                       .shape = rule_given,
                       .lower = lower_nothing,
                       .in_place = -1,
                       .reads_views = (1u << NODE_OUTPUTS_MAX) - 1,
                       .layout = LAYOUT_LINEAR | LAYOUT_AS_FORWARD,
                       .gradient_of = &op_split,
                       .append = append_join};

/* codes.c -- linear layers inside stacks multiply codes of eight bits (precision.linear = "fp8").
 *
 *   once a step  w -> quantise -> w codes, scale
 *   forward      x -> quantise -> x codes, scale     kept for linear_fp8_dw instead of x, where
 *                                                    nothing else reads x and blocks are whole
 *                linear_fp8(x codes, scale, w codes, scale [, bias]) -> y
 *   backward     d_y -> quantise; linear_fp8_dx, linear_fp8_dw
 *
 * Scales follow from the rank's own part, so nothing is communicated. By block, a sum over tokens
 * needs blocks of tokens: x and d_y are quantised once more for linear_fp8_dw. */
#include "compiler/graph/ops/codes.h"

typedef struct CodedValue {
  ValueId codes, scale;
} CodedValue;

typedef struct Coding {
  Graph *g;
  Fp8Scaling scaling;
  RegionId region;
  NodeList list; /* being made */
  NodeList once; /* for weights */
  CodedValue
      *by_rows; /* by value, of those there were: for sums over features; codes NO_ID: not yet */
  CodedValue *by_cols; /* for sums over tokens */
} Coding;

static bool is_product(const Node *n) {
  return n->op == OP_linear || n->op == OP_linear_dx || n->op == OP_linear_dw;
}

/* Whole vectors of the library, whole blocks. */
static bool has_sizes(const Coding *c, const Node *n) {
  Lowered low;
  op_lower(c->g, n, &low);
  const int64_t unit = c->scaling == FP8_BLOCK ? CODE_BLOCK : FP8_UNIT;
  return low.dims[0] % unit == 0 && low.dims[1] % unit == 0 && low.dims[2] % unit == 0;
}

static Value storage_value(const Coding *c, ValueId of, NodeId producer, DType dtype,
                           const char *what) {
  Value value = *graph_value(c->g, of);
  value.name = arena_printf(c->g->compile->arena, "%s, %s", value.name, what);
  value.kind = VALUE_ACTIVATION;
  value.dtype = dtype;
  value.region = c->region;
  value.producer = producer;
  value.param = NO_ID;
  value.input = NO_ID;
  value.view_of = NO_ID;
  return value;
}

/* Appends the node that quantises v, a matrix with this many columns, to a list. */
static CodedValue quantise(Coding *c, NodeList *list, const Node *reader, ValueId v, DType dtype,
                           CodeBlocks blocks, int64_t cols) {
  Graph *g = c->g;
  const NodeId id = g->nodes.count;
  Node node = {.op = OP_quantise,
               .input_count = 1,
               .output_count = 2,
               .inputs = {v},
               .attrs = {blocks, (double)cols},
               .region = c->region,
               .path = reader->path,
               .clone_of = NO_ID,
               .logical = NO_ID,
               .origin = reader->origin};
  Value codes = storage_value(c, v, id, dtype, "codes");
  Value scale = storage_value(c, v, id, DTYPE_F32, "scale");
  scale.dim_count = 0;
  scale.extra_elements = code_scales(blocks, value_elements(g, v) / cols, cols);
  const CodedValue coded = {graph_add_value(g, codes), graph_add_value(g, scale)};
  node.outputs[0] = coded.codes, node.outputs[1] = coded.scale;
  VEC_PUSH(g->compile->arena, &g->nodes, node);
  VEC_PUSH(g->compile->arena, list, id);
  return coded;
}

/* A value with a row for each token; for a sum over its features, or over tokens. */
static CodedValue code_rows(Coding *c, const Node *reader, ValueId v, bool is_gradient,
                            bool over_tokens) {
  const bool by_block = c->scaling == FP8_BLOCK;
  const DType dtype = is_gradient && !by_block ? DTYPE_E5M2 : DTYPE_E4M3;
  CodedValue *kept = by_block && over_tokens ? &c->by_cols[v] : &c->by_rows[v];
  if (kept->codes == NO_ID)
    *kept = quantise(c, &c->list, reader, v, dtype,
                     !by_block     ? CODES_WHOLE
                     : over_tokens ? CODES_DOWN
                                   : CODES_ACROSS,
                     value_features(c->g, v));
  return *kept;
}

static CodedValue code_weight(Coding *c, const Node *reader, ValueId w, int64_t cols) {
  CodedValue *kept = &c->by_rows[w];
  if (kept->codes == NO_ID)
    *kept = quantise(c, &c->once, reader, w, DTYPE_E4M3,
                     c->scaling == FP8_BLOCK ? CODES_SQUARE : CODES_WHOLE, cols);
  return *kept;
}

static int64_t weight_columns(const Graph *g, const Node *n) {
  Lowered low;
  op_lower(g, n, &low);
  return low.dims[low.dims[3] != 0 ? 2 : 1];
}

/* Nodes move when one is added. */
static void code_product(Coding *c, NodeId id) {
  static const OpKind ops[] = {[OP_linear] = OP_linear_fp8,
                               [OP_linear_dx] = OP_linear_fp8_dx,
                               [OP_linear_dw] = OP_linear_fp8_dw};
  Node n = *graph_node(c->g, id);
  const bool is_dx = n.op == OP_linear_dx, is_dw = n.op == OP_linear_dw;
  const CodedValue first = code_rows(c, &n, n.inputs[0], is_dx, is_dw);
  const CodedValue second = is_dw ? code_rows(c, &n, n.inputs[1], true, true)
                                  : code_weight(c, &n, n.inputs[1], weight_columns(c->g, &n));
  const bool has_bias = n.op == OP_linear && n.input_count > 2;
  const ValueId bias = has_bias ? n.inputs[2] : NO_ID;
  n.op = ops[n.op];
  n.inputs[0] = first.codes, n.inputs[1] = first.scale;
  n.inputs[2] = second.codes, n.inputs[3] = second.scale;
  n.input_count = 4;
  if (has_bias) n.inputs[n.input_count++] = bias;
  *graph_node(c->g, id) = n;
}

static void note_kept(Coding *c, const Node *n) {
  if (n->op == OP_linear) VEC_PUSH(c->g->compile->arena, &c->g->not_fp8, n->path);
}

static void code_list(Coding *c, NodeList *list) {
  c->list = (NodeList){0};
  for (int32_t i = 0; i < list->count; i++) {
    const Node *n = graph_node(c->g, list->at[i]);
    if (is_product(n) && !has_sizes(c, n))
      note_kept(c, n);
    else if (is_product(n))
      code_product(c, list->at[i]);
    VEC_PUSH(c->g->compile->arena, &c->list, list->at[i]);
  }
  *list = c->list;
}

/* Regions that share a weight have codes of it each. */
static void forget_weights(Coding *c, int32_t values) {
  for (ValueId v = 0; v < values; v++)
    if (graph_value(c->g, v)->kind == VALUE_PARAM) c->by_rows[v].codes = NO_ID;
}

void op_code_products(Graph *g, Fp8Scaling scaling) {
  const int32_t values = g->values.count;
  Coding c = {.g = g, .scaling = scaling};
  c.by_rows = ARENA_ARRAY(g->compile->arena, CodedValue, values + 1);
  c.by_cols = ARENA_ARRAY(g->compile->arena, CodedValue, values + 1);
  for (ValueId v = 0; v < values; v++)
    c.by_rows[v].codes = c.by_cols[v].codes = NO_ID;
  for (RegionId r = 0; r < g->regions.count; r++) {
    if (!g->regions.at[r].is_stack) continue;
    c.region = r;
    c.once = (NodeList){0};
    code_list(&c, &g->regions.at[r].forward);
    code_list(&c, &g->regions.at[r].backward);
    g->regions.at[r].codes = c.once;
    forget_weights(&c, values);
  }
}

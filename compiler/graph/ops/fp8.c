/* fp8.c -- linear layers whose factors are codes of eight bits with scales, and the node that makes
 * these of a value. codes.c puts them in the place of linear.c's.
 *
 * quantise         x                                   codes, scale    attrs: CodeBlocks, columns
 * linear_fp8       x, its scale, w, its scale [, bias]
 * linear_fp8_dx    d_y, its scale, w, its scale
 * linear_fp8_dw    x, its scale, d_y, its scale
 *
 * Codes have the dims of what they are codes of. */
#include "compiler/graph/ops/codes.h"
#include "compiler/graph/ops/rule.h"

/* Blocks down and across a matrix of rows x columns. */
static void lower_blocks(CodeBlocks blocks, int64_t rows, int64_t cols, Lowered *out) {
  const bool down = blocks == CODES_DOWN || blocks == CODES_SQUARE;
  const bool across = blocks == CODES_ACROSS || blocks == CODES_SQUARE;
  const bool whole = blocks == CODES_WHOLE;
  out->dims[out->dim_count++] = whole ? 1 : down ? rows / CODE_BLOCK : rows;
  out->dims[out->dim_count++] = whole ? 1 : across ? cols / CODE_BLOCK : cols;
}

int64_t code_scales(CodeBlocks blocks, int64_t rows, int64_t cols) {
  Lowered out = {.dim_count = 0};
  lower_blocks(blocks, rows, cols, &out);
  return out.dims[0] * out.dims[1];
}

static void lower_quantise(const Graph *g, const Node *n, Lowered *out) {
  const int64_t cols = (int64_t)n->attrs[1], rows = value_elements(g, n->inputs[0]) / cols;
  LOWER_DIMS(out, rows, cols);
  lower_blocks((CodeBlocks)n->attrs[0], rows, cols, out);
}

/* The node that made the codes says how they lie in blocks. */
static CodeBlocks blocks_of(const Graph *g, ValueId codes) {
  return (CodeBlocks)graph_node(g, graph_value(g, codes)->producer)->attrs[0];
}

static void lower_weight_blocks(const Graph *g, ValueId w, Lowered *out) {
  const bool transposed = out->dims[3] != 0;
  lower_blocks(blocks_of(g, w), out->dims[transposed ? 1 : 2], out->dims[transposed ? 2 : 1], out);
}

static void lower_forward(const Graph *g, const Node *n, Lowered *out) {
  if (n->input_count > 4) out->kernel = "linear_fp8_bias";
  linear_lower(g, n->inputs[0], n->inputs[2], out);
  lower_blocks(blocks_of(g, n->inputs[0]), out->dims[0], out->dims[1], out);
  lower_weight_blocks(g, n->inputs[2], out);
}

static void lower_dx(const Graph *g, const Node *n, Lowered *out) {
  linear_lower(g, n->outputs[0], n->inputs[2], out);
  lower_blocks(blocks_of(g, n->inputs[0]), out->dims[0], out->dims[2], out);
  lower_weight_blocks(g, n->inputs[2], out);
}

static void lower_dw(const Graph *g, const Node *n, Lowered *out) {
  linear_lower(g, n->inputs[0], n->outputs[0], out);
  lower_blocks(blocks_of(g, n->inputs[0]), out->dims[0], out->dims[1], out);
  lower_blocks(blocks_of(g, n->inputs[2]), out->dims[0], out->dims[2], out);
}

const OpDef op_quantise = {.name = "quantise",
                           .shape = rule_given,
                           .lower = lower_quantise,
                           .in_place = -1,
                           .is_light = true,
                           .recodes = true};
const OpDef op_linear_fp8 = {
    .name = "linear_fp8", .shape = rule_given, .lower = lower_forward, .in_place = -1};
const OpDef op_linear_fp8_dx = {
    .name = "linear_fp8_dx", .shape = rule_given, .lower = lower_dx, .in_place = -1};
const OpDef op_linear_fp8_dw = {
    .name = "linear_fp8_dw", .shape = rule_given, .lower = lower_dw, .in_place = -1};

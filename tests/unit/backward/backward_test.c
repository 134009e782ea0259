/* LINK: backward grad ops graph base contract -- which nodes of backward are deferred, which run in
 * chunks of tokens, and where the gradients of biases are in plans for GPUs. */
#include "kernels/contract/contract.h"
#include "tests/unit/check.h"
#include "tests/unit/graph_builder.h"

typedef void Build(Builder *b);

static void gpt2(Builder *b) {
  build_gpt2(b, 3, 0);
}
static void llama(Builder *b) {
  build_llama(b, 3);
}
static Builder derived(Build *build) {
  Builder b = builder_new(true, DTYPE_F32);
  build(&b);
  CHECK(grad_derive(b.g));
  return b;
}

static int32_t place_of(const NodeList *list, NodeId id) {
  for (int32_t i = 0; i < list->count; i++)
    if (list->at[i] == id) return i;
  return -1;
}
static int32_t count_op(const Graph *g, const NodeList *list, OpKind op) {
  int32_t count = 0;
  for (int32_t i = 0; i < list->count; i++)
    count += graph_node(g, list->at[i])->op == (int32_t)op;
  return count;
}

/* ---- backward_split */

static bool reads(const Graph *g, const NodeList *list, ValueId value) {
  for (int32_t i = 0; i < list->count; i++) {
    const Node *n = graph_node(g, list->at[i]);
    for (int32_t k = 0; k < n->input_count; k++)
      for (ValueId v = n->inputs[k]; v != NO_ID; v = graph_value(g, v)->view_of)
        if (v == value) return true;
  }
  return false;
}

/* Every node is in one of both lists, in the order that it had. */
static void check_order(const NodeList *before, const Region *region) {
  int32_t kept = 0, deferred = 0;
  for (int32_t i = 0; i < before->count; i++)
    if (kept < region->backward.count && region->backward.at[kept] == before->at[i])
      kept++;
    else if (deferred < region->weight.count && region->weight.at[deferred] == before->at[i])
      deferred++;
  CHECK_INT(kept, region->backward.count);
  CHECK_INT(deferred, region->weight.count);
  CHECK_INT(kept + deferred, before->count);
}

static void check_deferred(const Graph *g, const Region *region) {
  for (int32_t i = 0; i < region->weight.count; i++) {
    const Node *n = graph_node(g, region->weight.at[i]);
    for (int32_t k = 0; k < n->input_count; k++)
      CHECK(graph_value(g, n->inputs[k])->kind != VALUE_PARAM);
    for (int32_t k = 0; k < n->output_count; k++) {
      CHECK(n->outputs[k] != region->d_input);
      CHECK(!reads(g, &region->backward, n->outputs[k]));
    }
  }
}

static NodeList copied(const Graph *g, const NodeList *list) {
  NodeList copy = {0};
  for (int32_t i = 0; i < list->count; i++)
    VEC_PUSH(g->compile->arena, &copy, list->at[i]);
  return copy;
}

static void check_split(Build *build, RecomputeKind recompute, int32_t layer_products) {
  Builder b = derived(build);
  NodeList before[3];
  recompute_apply(b.g, recompute, 1);
  for (RegionId r = 0; r < 3; r++)
    before[r] = copied(b.g, &b.g->regions.at[r].backward);
  backward_split(b.g);
  for (RegionId r = 0; r < 3; r++) {
    check_order(&before[r], &b.g->regions.at[r]);
    check_deferred(b.g, &b.g->regions.at[r]);
  }
  const Region *layers = &b.g->regions.at[1];
  CHECK_INT(count_op(b.g, &layers->weight, OP_linear_dw), layer_products);
  CHECK_INT(count_op(b.g, &layers->weight, OP_linear_dx), 0);
  compile_free(b.c);
}

/* ---- backward_chunks: 2 x 5 tokens */

static const Span nowhere;

static void check_chunks(void) {
  Builder b = derived(gpt2);
  const Region *end = &b.g->regions.at[2];
  CHECK(backward_chunks(b.g, 5, nowhere));
  CHECK_INT(end->chunks, 5);
  CHECK_INT(count_op(b.g, &end->forward, OP_linear), 0);
  CHECK_INT(count_op(b.g, &end->forward, OP_cross_entropy), 0);
  NodeList chunk = {.at = &end->backward.at[end->chunk_first], .count = end->chunk_count};
  CHECK_INT(count_op(b.g, &chunk, OP_linear), 1);
  CHECK_INT(count_op(b.g, &chunk, OP_cross_entropy), 1);
  CHECK_INT(count_op(b.g, &chunk, OP_linear_dw), 1);
  CHECK_INT(count_op(b.g, &chunk, OP_layernorm_backward), 0);
  NodeId weights = NO_ID;
  for (int32_t i = 0; i < chunk.count; i++)
    if (graph_node(b.g, chunk.at[i])->op == OP_linear_dw) weights = chunk.at[i];
  backward_split(b.g);
  CHECK_INT(place_of(&end->weight, weights), -1);
  CHECK(place_of(&end->backward, weights) >= end->chunk_first);
  compile_free(b.c);
}

static void check_most(void) {
  Builder b = derived(llama);
  CHECK_INT(backward_chunks_most(b.g, 1), 1);
  CHECK_INT(backward_chunks_most(b.g, 4), 2);
  CHECK_INT(backward_chunks_most(b.g, 9), 5);
  CHECK_INT(backward_chunks_most(b.g, 10), 10);
  CHECK(!backward_chunks(b.g, 3, nowhere));
  CHECK_INT(b.g->regions.at[2].chunks, 0);
  compile_free(b.c);
}

/* An activation between the linear layer and the loss. */
static void check_other_end(void) {
  Builder b = builder_new(true, DTYPE_F32);
  ValueId x = add_input(&b, "x", DTYPE_F32, DIMS("batch", "seq", "width"));
  ValueId targets = add_input(&b, "targets", DTYPE_I32, DIMS("batch", "seq"));
  x = add_linear(&b, "head", x, DIMS("vocab", "width"), NULL);
  x = add_node(&b, OP_tanh, "tanh", INPUTS(x), NULL);
  add_loss(b.g, add_node(&b, OP_cross_entropy, "cross_entropy", INPUTS(x, targets), NULL));
  CHECK(grad_derive(b.g));
  CHECK_INT(backward_chunks_most(b.g, 10), 1);
  CHECK(!backward_chunks(b.g, 5, nowhere));
  CHECK(backward_chunks(b.g, 1, nowhere));
  compile_free(b.c);
}

/* ---- backward_place_riders */

/* The ops of the layers' backward list for the target. */
static void check_riders(KernelTarget target, double dropout, const char *ops) {
  Builder b = builder_new(true, DTYPE_F32);
  b.g->target = (Target)target;
  build_gpt2(&b, 3, dropout);
  CHECK(grad_derive(b.g));
  backward_place_riders(b.g);
  const NodeList *list = &b.g->regions.at[1].backward;
  const char *text = "";
  for (int32_t i = 0; i < list->count; i++)
    text = arena_printf(b.g->compile->arena, "%s %s", text,
                        op_def(graph_node(b.g, list->at[i])->op)->name);
  CHECK_TEXT(text, ops);
  compile_free(b.c);
}

int main(void) {
  TEST("weight gradients are deferred; values that other nodes read are not") {
    check_split(gpt2, RECOMPUTE_NONE, 4);
    check_split(llama, RECOMPUTE_NONE, 7);
  }
  TEST("the same holds with recomputation") {
    check_split(gpt2, RECOMPUTE_BLOCK, 4);
    check_split(llama, RECOMPUTE_SELECTIVE, 7);
  }
  TEST("the last layer, its loss and their gradients run in chunks") check_chunks();
  TEST("the number of chunks divides the tokens of a micro-batch") check_most();
  TEST("a model without a last linear layer has one chunk; more are refused") check_other_end();
  TEST("on GPUs the gradient of a bias is made where its rows are made, or added")
  check_riders(KERNEL_TARGET_CUDA, 0,
               " linear_dw linear_dx gelu_backward linear_db linear_dw linear_dx"
               " layernorm_backward linear_db add linear_dw linear_dx attention_backward"
               " join linear_dw linear_db linear_dx layernorm_backward linear_db add");
  TEST("and stays with its layer on processors, or where dropout makes other rows") {
    check_riders(KERNEL_TARGET_CPU, 0,
                 " linear_dw linear_db linear_dx gelu_backward linear_dw linear_db linear_dx"
                 " layernorm_backward add linear_dw linear_db linear_dx attention_backward"
                 " join linear_dw linear_db linear_dx layernorm_backward add");
    check_riders(
        KERNEL_TARGET_CUDA, 0.1,
        " dropout linear_dw linear_db linear_dx gelu_backward linear_db linear_dw linear_dx"
        " layernorm_backward add dropout linear_dw linear_db linear_dx attention_backward"
        " join linear_dw linear_db linear_dx layernorm_backward add");
  }
  CHECK_DONE();
}

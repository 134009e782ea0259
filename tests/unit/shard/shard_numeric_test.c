/* Sharded and uncut graphs compute the same loss and the same gradients, element by element: every
 * rank's nodes run through the reference kernels in f64.
 * LINK: shard backward grad ops graph base kernels plan */
#include "compiler/graph/shard/shard.h"
#include "tests/unit/shard_run.h"

typedef enum ModelKind { GPT2, LLAMA, ODD, REGRESSOR } ModelKind;

typedef struct Case {
  const char *says;
  ModelKind model;
  int64_t kv_heads, cp, tp;
  ShardOptions options;
  RecomputeKind recompute;
  int64_t group_layers;
  bool split, whole_heads; /* heads are not on tp */
  int64_t window;          /* of attention, with a soft cap and a smoothed loss; 0: none of them */
} Case;

/* Models with features that the others lack: norms over heads and after a sum over ranks, a handle
 * used both ways, dropout on what is cut, products with positions, a block that returns a sum over
 * ranks. */
static void build_odd(Builder *b, double dropout) {
  Graph *g = b->g;
  ValueId tokens = add_input(b, "tokens", DTYPE_I32, DIMS("batch", "seq"));
  ValueId targets = add_input(b, "targets", DTYPE_I32, DIMS("batch", "seq"));
  ValueId embed = add_param(b, "embed.weight", DIMS("vocab", "width"));
  ValueId wpe = add_param(b, "wpe.weight", DIMS("positions", "width"));
  ValueId x = add_node(b, OP_embedding, "embed", INPUTS(embed, tokens), NULL);
  ValueId at = add_node(b, OP_positions, "positions", INPUTS(NO_ID), NULL);
  ValueId p = add_node(b, OP_embedding, "wpe", INPUTS(wpe, at), NULL);
  x = add_node(b, OP_multiply, "multiply", INPUTS(x, p), NULL);
  x = add_node(b, OP_add, "add", INPUTS(x, p), NULL);

  RegionId stack = open_region(b, "h", 2, x);
  x = g->regions.at[stack].input;
  ValueId h = add_rmsnorm(b, "h.*.norm", x);
  ValueId q = add_linear(b, "h.*.q", h, DIMS("heads", "head", "width"), DIMS("heads", "head"));
  ValueId k =
      add_linear(b, "h.*.k", h, DIMS("kv_heads", "head", "width"), DIMS("kv_heads", "head"));
  ValueId v =
      add_linear(b, "h.*.v", h, DIMS("kv_heads", "head", "width"), DIMS("kv_heads", "head"));
  ValueId k_norm = add_param(b, "h.*.k_norm.weight", DIMS("kv_heads", "head"));
  k = add_node(b, OP_rmsnorm, "h.*.k_norm", INPUTS(k, k_norm), ATTRS(1e-5));
  ValueId head_norm = add_param(b, "h.*.head_norm.weight", DIMS("head"));
  k = add_node(b, OP_rmsnorm, "h.*.head_norm", INPUTS(k, head_norm), ATTRS(1e-5, 1));
  k = add_node(b, OP_rope, "h.*.rope", INPUTS(k), ATTRS(100));
  ValueId q_norm = add_param(b, "h.*.q_norm.weight", DIMS("head"));
  ValueId q_bias = add_param(b, "h.*.q_norm.bias", DIMS("head"));
  q = add_node(b, OP_layernorm, "h.*.q_norm", INPUTS(q, q_norm, q_bias), ATTRS(1e-5));
  ValueId a = add_node(b, OP_attention, "h.*.attention", INPUTS(q, k, v), ATTRS(0, 0.7, dropout));
  ValueId w = add_param(b, "h.*.w", DIMS("width", "heads", "head"));
  ValueId u = add_node(b, OP_linear, "h.*.w", INPUTS(a, w), NULL);
  ValueId back = add_node(b, OP_linear, "h.*.w.2", INPUTS(u, w), NULL);
  back = add_node(b, OP_tanh, "h.*.tanh", INPUTS(back), NULL);
  back = add_dropout(b, "h.*.dropout", back, dropout);
  back = add_linear(b, "h.*.o", back, DIMS("width", "heads", "head"), NULL);
  u = add_rmsnorm(b, "h.*.post_norm", add_node(b, OP_add, "h.*.add", INPUTS(u, back), NULL));
  x = add_node(b, OP_subtract, "h.*.subtract", INPUTS(x, u), NULL);
  h = add_linear(b, "h.*.up", x, DIMS("ffn", "width"), DIMS("ffn"));
  h = add_dropout(b, "h.*.dropout.2", add_node(b, OP_gelu, "h.*.gelu", INPUTS(h), NULL), dropout);
  h = add_node(b, OP_multiply, "h.*.scaled", INPUTS(h, add_param(b, "h.*.factor", DIMS("ffn"))),
               NULL);
  x = add_linear(b, "h.*.down", h, DIMS("width", "ffn"), NULL);
  x = add_node(b, OP_add, "h.*.shifted", INPUTS(add_param(b, "h.*.shift", DIMS("width")), x), NULL);

  RegionId end = open_region(b, "end", 0, x);
  x = add_rmsnorm(b, "norm", g->regions.at[end].input);
  x = add_linear(b, "head", x, DIMS("vocab", "width"), DIMS("vocab"));
  x = add_node(b, OP_tanh, "cap", INPUTS(add_node(b, OP_affine, "cap.1", INPUTS(x), ATTRS(0.5))),
               NULL);
  x = add_node(b, OP_affine, "cap.2", INPUTS(x), ATTRS(3, -1));
  add_loss(g, add_node(b, OP_cross_entropy, "cross_entropy", INPUTS(x, targets), NULL));
}

static void build_regressor(Builder *b) {
  Graph *g = b->g;
  ValueId x = add_input(b, "x", DTYPE_F64, DIMS("batch", "seq", "width"));
  ValueId y = add_input(b, "y", DTYPE_F64, DIMS("batch", "seq", "width"));
  x = add_linear(b, "first", x, DIMS("ffn", "width"), DIMS("ffn"));
  RegionId stack = open_region(b, "h", 2, add_node(b, OP_relu, "relu", INPUTS(x), NULL));
  x = g->regions.at[stack].input;
  ValueId h = add_linear(b, "h.*.up", x, DIMS("width", "ffn"), DIMS("width"));
  h = add_linear(b, "h.*.down", h, DIMS("ffn", "width"), DIMS("ffn"));
  RegionId end = open_region(b, "end", 0, add_node(b, OP_add, "h.*.add", INPUTS(x, h), NULL));
  h = add_linear(b, "last", g->regions.at[end].input, DIMS("width", "ffn"), DIMS("width"));
  add_loss(g, add_node(b, OP_mse, "mse", INPUTS(h, y), NULL));
}

static Builder build(const Case *c, bool training) {
  Builder b = builder_sized(training, DTYPE_F64, c->kv_heads);
  b.g->dims.at[graph_dim(b.g, "positions")].size = 19;
  b.g->dims.at[graph_dim(b.g, "vocab")].real_size = 21;
  double dropout = training ? 0.2 : 0;
  if (c->whole_heads)
    b.g->dims.at[graph_dim(b.g, "heads")].axis = b.g->dims.at[graph_dim(b.g, "kv_heads")].axis =
        NULL;
  if (c->model == GPT2) build_gpt2(&b, 2, dropout);
  if (c->model == LLAMA) build_llama(&b, 2);
  if (c->model == ODD) build_odd(&b, dropout);
  if (c->model == REGRESSOR) build_regressor(&b);
  b.g->loss_count = 60;
  for (NodeId n = 0; n < b.g->nodes.count && c->window > 0; n++) {
    Node *node = graph_node(b.g, n);
    if (node->op == OP_attention) node->attrs[4] = (double)c->window, node->attrs[5] = 0.5;
    if (node->op == OP_cross_entropy) node->attrs[0] = 0.1, node->attrs[1] = 0.01;
  }
  return b;
}

static void cut(const Case *c, Graph *g) {
  CHECK(shard_degrees(g, c->tp, &g->mesh));
  g->mesh.size[MESH_CP] = c->cp;
  CHECK(shard_apply(g, c->options));
}

static void check_training(const Case *c) {
  Builder b = build(c, true), whole = build(c, true);
  CHECK(grad_derive(b.g) && grad_derive(whole.g));
  cut(c, b.g);
  int64_t group = c->group_layers > 0 ? c->group_layers : 1;
  recompute_apply(b.g, c->recompute, group);
  if (c->split) backward_split(b.g);
  Run run = run_new(whole.g, 1);
  static World world;
  world_open(&world, b.g, &run, group);
  run_step(&run, true);
  world_step(&world);
  check_same_loss(&world, &run);
  check_same_gradients(&world, &run);
  world_close(&world);
  run_free(&run);
  compile_free(b.c);
  compile_free(whole.c);
}

static void check_eval(const Case *c) {
  Builder b = build(c, false), whole = build(c, false);
  cut(c, b.g);
  Run run = run_new(whole.g, 1);
  static World world;
  world_open(&world, b.g, &run, 1);
  run_step(&run, false);
  world_step(&world);
  check_same_loss(&world, &run);
  world_close(&world);
  run_free(&run);
  compile_free(b.c);
  compile_free(whole.c);
}

#define SP                                                                                         \
  { .sequence = true }
#define AGAIN                                                                                      \
  { .sequence = true, .regather = true }
#define ULYSSES                                                                                    \
  { .context = CONTEXT_ULYSSES }
#define ALL_SP                                                                                     \
  { .sequence = true, .context = CONTEXT_ULYSSES }

static const Case cases[] = {
    {"GPT-2, tp 2", GPT2, 4, 1, 2, {0}, RECOMPUTE_NONE, 0, false, false, 0},
    {"Llama, tp 4", LLAMA, 4, 1, 4, {0}, RECOMPUTE_NONE, 0, false, false, 0},
    {"GPT-2, tp 2, sequence parallel", GPT2, 4, 1, 2, SP, RECOMPUTE_NONE, 0, false, false, 0},
    {"Llama, tp 4, sequence parallel, gathered again", LLAMA, 4, 1, 4, AGAIN, RECOMPUTE_NONE, 0,
     false, false, 0},
    {"Llama, tp 4 with 2 kv_heads", LLAMA, 2, 1, 4, {0}, RECOMPUTE_NONE, 0, false, false, 0},
    {"Llama, tp 4 with 1 kv_head, sequence parallel", LLAMA, 1, 1, 4, SP, RECOMPUTE_NONE, 0, false,
     false, 0},
    {"Llama, tp 4 with 2 kv_heads, sequence parallel", LLAMA, 2, 1, 4, SP, RECOMPUTE_NONE, 0, false,
     false, 0},
    {"GPT-2, a ring of 2", GPT2, 4, 2, 1, {0}, RECOMPUTE_NONE, 0, false, false, 0},
    {"Llama, a ring of 4", LLAMA, 4, 4, 1, {0}, RECOMPUTE_NONE, 0, false, false, 0},
    {"GPT-2, a ring of 2, tp 2, sequence parallel", GPT2, 4, 2, 2, SP, RECOMPUTE_NONE, 0, false,
     false, 0},
    {"Llama, a ring of 4, tp 4 with 2 kv_heads",
     LLAMA,
     2,
     4,
     4,
     {0},
     RECOMPUTE_NONE,
     0,
     false,
     false,
     0},
    {"Llama, a ring of 2, tp 4 with 2 kv_heads, sequence parallel", LLAMA, 2, 2, 4, SP,
     RECOMPUTE_NONE, 0, false, false, 0},
    {"GPT-2, Ulysses over 2", GPT2, 4, 2, 1, ULYSSES, RECOMPUTE_NONE, 0, false, false, 0},
    {"Llama, Ulysses over 4", LLAMA, 4, 4, 1, ULYSSES, RECOMPUTE_NONE, 0, false, false, 0},
    {"Llama, Ulysses over 2, tp 2, sequence parallel", LLAMA, 4, 2, 2, ALL_SP, RECOMPUTE_NONE, 0,
     false, false, 0},
    {"GPT-2, Ulysses over 2, tp 2, sequence parallel", GPT2, 4, 2, 2, ALL_SP, RECOMPUTE_NONE, 0,
     false, false, 0},
    {"GPT-2, a ring of 2, tp 2, recomputed",
     GPT2,
     4,
     2,
     2,
     {0},
     RECOMPUTE_BLOCK,
     0,
     false,
     false,
     0},
    {"Llama, tp 2, sequence parallel, recomputed in groups", LLAMA, 4, 1, 2, SP, RECOMPUTE_EVERY, 2,
     false, false, 0},
    {"GPT-2, tp 2, sequence parallel, parameter gradients later", GPT2, 4, 1, 2, AGAIN,
     RECOMPUTE_NONE, 0, true, false, 0},
    {"Llama, a ring of 2, tp 4 with 2 kv_heads, recomputed, parameter gradients later", LLAMA, 2, 2,
     4, SP, RECOMPUTE_BLOCK, 0, true, false, 0},
    {"odd, tp 2", ODD, 4, 1, 2, {0}, RECOMPUTE_NONE, 0, false, false, 0},
    {"odd, tp 4 with 2 kv_heads", ODD, 2, 1, 4, {0}, RECOMPUTE_BLOCK, 0, false, false, 0},
    {"odd, tp 4 with 2 kv_heads, sequence parallel", ODD, 2, 1, 4, AGAIN, RECOMPUTE_NONE, 0, true,
     false, 0},
    {"odd, tp 4 with 1 kv_head, sequence parallel", ODD, 1, 1, 4, SP, RECOMPUTE_NONE, 0, true,
     false, 0},
    {"odd, a ring of 4", ODD, 4, 4, 1, {0}, RECOMPUTE_NONE, 0, true, false, 0},
    {"odd, a ring of 2, tp 4 with 2 kv_heads, sequence parallel", ODD, 2, 2, 4, SP, RECOMPUTE_BLOCK,
     0, true, false, 0},
    {"odd, Ulysses over 2, tp 2, sequence parallel", ODD, 4, 2, 2, ALL_SP, RECOMPUTE_BLOCK, 0, true,
     false, 0},
    {"Llama, tp 4 that does not cut heads, sequence parallel", LLAMA, 4, 1, 4, AGAIN,
     RECOMPUTE_NONE, 0, true, true, 0},
    {"GPT-2, a ring of 2, tp 2 that does not cut heads, sequence parallel", GPT2, 4, 2, 2, SP,
     RECOMPUTE_NONE, 0, true, true, 0},
    {"odd, a ring of 2, tp 2 that does not cut heads, sequence parallel", ODD, 4, 2, 2, SP,
     RECOMPUTE_NONE, 0, true, true, 0},
    {"Llama, Ulysses over 2, tp 2 that does not cut heads, sequence parallel", LLAMA, 4, 2, 2,
     ALL_SP, RECOMPUTE_NONE, 0, true, true, 0},
    {"Llama with a window, tp 4 with 2 kv_heads",
     LLAMA,
     2,
     1,
     4,
     {0},
     RECOMPUTE_NONE,
     0,
     false,
     false,
     5},
    {"Llama with a window, a ring of 4", LLAMA, 4, 4, 1, {0}, RECOMPUTE_BLOCK, 0, false, false, 5},
    {"Llama with a window of 2, a ring of 2, tp 2, sequence parallel", LLAMA, 4, 2, 2, SP,
     RECOMPUTE_NONE, 0, false, false, 2},
    {"Llama with a window, Ulysses over 2", LLAMA, 4, 2, 1, ULYSSES, RECOMPUTE_NONE, 0, false,
     false, 3},
    {"regressor, tp 2", REGRESSOR, 4, 1, 2, {0}, RECOMPUTE_NONE, 0, true, false, 0},
    {"regressor, tp 2, sequence parallel", REGRESSOR, 4, 1, 2, SP, RECOMPUTE_BLOCK, 0, false, false,
     0},
    {"regressor, cp 2, tp 2, sequence parallel", REGRESSOR, 4, 2, 2, AGAIN, RECOMPUTE_NONE, 0, true,
     false, 0},
};

int main(void) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    TEST(cases[i].says) {
      check_training(&cases[i]);
      check_eval(&cases[i]);
    }
  }
  CHECK_DONE();
}

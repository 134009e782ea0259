/* The nodes that differentiation and recomputation append, one by one.
 * LINK: backward grad ops graph base */
#include "tests/unit/check.h"
#include "tests/unit/graph_builder.h"

static int32_t count_op(const Graph *g, const NodeList *list, OpKind op) {
  int32_t count = 0;
  for (int32_t i = 0; i < list->count; i++)
    count += graph_node(g, list->at[i])->op == (int32_t)op;
  return count;
}

static char *ops_text(const Graph *g, const NodeList *list) {
  char *text = arena_copy(g->compile->arena, "");
  for (int32_t i = 0; i < list->count; i++)
    text = arena_printf(g->compile->arena, "%s%s%s", text, i > 0 ? " " : "",
                        op_def(graph_node(g, list->at[i])->op)->name);
  return text;
}

/* In execution order: regions backwards. */
static void check_contributions(const Graph *g) {
  for (ParamId p = 0; p < g->params.count; p++) {
    int32_t first = 0, later = 0;
    CHECK(g->params.at[p].grad != NO_ID);
    for (RegionId r = g->regions.count - 1; r >= 0; r--)
      for (int32_t i = 0; i < g->regions.at[r].backward.count; i++) {
        const Node *n = graph_node(g, g->regions.at[r].backward.at[i]);
        for (int32_t k = 0; k < n->output_count; k++) {
          if (n->outputs[k] != g->params.at[p].grad) continue;
          CHECK(n->accumulate != ACCUMULATE_NEVER);
          if (n->accumulate == ACCUMULATE_AFTER_FIRST) CHECK_INT(later, 0);
          *(n->accumulate == ACCUMULATE_AFTER_FIRST ? &first : &later) += 1;
        }
      }
    CHECK_INT(first, 1);
    CHECK_INT(later, strcmp(g->params.at[p].name, "wte.weight") == 0);
  }
}

/* Every value that a list reads exists before: made earlier in the list, forward, or given. */
static void check_order(const Graph *g, const Region *region) {
  bool *made = ARENA_ARRAY(g->compile->arena, bool, g->values.count);
  const NodeList *lists[] = {&region->forward, &region->recompute, &region->backward};
  for (ValueId v = 0; v < g->values.count; v++)
    made[v] = graph_value(g, v)->kind == VALUE_PARAM || graph_value(g, v)->kind == VALUE_INPUT;
  if (region->input != NO_ID) made[region->input] = true;
  if (region->d_output != NO_ID) made[region->d_output] = true;
  for (int32_t l = 0; l < 3; l++)
    for (int32_t i = 0; i < lists[l]->count; i++) {
      const Node *n = graph_node(g, lists[l]->at[i]);
      CHECK_INT(n->region, region - g->regions.at);
      for (int32_t k = 0; k < n->input_count; k++)
        CHECK(made[n->inputs[k]]);
      for (int32_t k = 0; k < n->output_count; k++)
        made[n->outputs[k]] = true;
    }
  if (region->d_input != NO_ID) CHECK(made[region->d_input]);
}

static void check_graph(const Graph *g) {
  check_contributions(g);
  for (RegionId r = 0; r < g->regions.count; r++) {
    const Region *region = &g->regions.at[r];
    check_order(g, region);
    if (r + 1 < g->regions.count) CHECK_INT(region->d_output, g->regions.at[r + 1].d_input);
  }
}

static void test_gpt2(void) {
  Builder b = builder_new(true, DTYPE_F32);
  build_gpt2(&b, 3, 0.1);
  TEST("a GPT-2 block differentiates into one kernel a gradient, without copies") {
    CHECK(grad_derive(b.g));
    check_graph(b.g);
    CHECK_TEXT(ops_text(b.g, &b.g->regions.at[2].backward),
               "linear_dw linear_dx layernorm_backward");
    CHECK_TEXT(ops_text(b.g, &b.g->regions.at[1].backward),
               "dropout linear_dw linear_db linear_dx gelu_backward linear_dw linear_db linear_dx "
               "layernorm_backward add dropout linear_dw linear_db linear_dx attention_backward "
               "join linear_dw linear_db linear_dx layernorm_backward add");
    CHECK_TEXT(ops_text(b.g, &b.g->regions.at[0].backward),
               "dropout sum_to embedding_backward embedding_backward");
    CHECK_INT(b.g->regions.at[0].d_input, NO_ID);
  }
  TEST("the gradients of q, k and v are written into the gradient of qkv") {
    const NodeList *list = &b.g->regions.at[1].backward;
    for (int32_t i = 0; i < list->count; i++) {
      const Node *n = graph_node(b.g, list->at[i]);
      if (n->op != OP_attention_backward) continue;
      const Node *join = graph_node(b.g, list->at[i + 1]);
      for (int32_t k = 0; k < 3; k++) {
        CHECK_INT(graph_value(b.g, n->outputs[k])->view_of, join->outputs[0]);
        CHECK_INT(graph_value(b.g, n->outputs[k])->view_offset, 8 * k);
      }
    }
  }
  TEST("gradients keep the path: dropout draws its mask again") {
    const NodeList *list = &b.g->regions.at[1].backward;
    CHECK_TEXT(graph_node(b.g, list->at[0])->path, "h.*.dropout.2");
    CHECK_NEAR(graph_node(b.g, list->at[0])->attrs[0], 0.1, 0);
  }
  compile_free(b.c);
}

static void test_llama(void) {
  Builder b = builder_new(true, DTYPE_F32);
  build_llama(&b, 3);
  TEST("a Llama block differentiates into one kernel a gradient") {
    CHECK(grad_derive(b.g));
    check_graph(b.g);
    const NodeList *list = &b.g->regions.at[1].backward;
    CHECK_INT(count_op(b.g, list, OP_linear_dw), 7);
    CHECK_INT(count_op(b.g, list, OP_linear_dx), 7);
    CHECK_INT(count_op(b.g, list, OP_rmsnorm_backward), 2);
    CHECK_INT(count_op(b.g, list, OP_rope), 2);
    CHECK_INT(count_op(b.g, list, OP_multiply), 2);
    CHECK_INT(count_op(b.g, list, OP_add), 2 + 1 + 2); /* residuals; gate + up; q + k + v */
    CHECK_INT(list->count, 7 + 7 + 2 + 2 + 2 + 5 + 2); /* and silu, attention */
  }
  compile_free(b.c);
}

/* The gates of a node list: how often each kind of value is kept for backward. */
static void test_gates(void) {
  Builder b = builder_new(true, DTYPE_F32);
  build_llama(&b, 3);
  grad_join_gates(b.g);
  CHECK(grad_derive(b.g));
  check_graph(b.g);
  const Region *layers = &b.g->regions.at[1];
  TEST("an activation and the product that it gates are one node") {
    CHECK(strstr(ops_text(b.g, &layers->forward), "linear linear gate linear add") != NULL);
  }
  TEST("backward makes the product again before the weight gradient that reads it") {
    CHECK(strstr(ops_text(b.g, &layers->backward),
                 "linear_dx gate_backward linear_dw linear_dw linear_dx linear_dw linear_dx add") !=
          NULL);
    for (int32_t i = 0; i < layers->backward.count; i++) {
      const Node *n = graph_node(b.g, layers->backward.at[i]);
      for (int32_t k = 0; k < n->input_count; k++) {
        const NodeId made = graph_value(b.g, n->inputs[k])->producer;
        CHECK(made == NO_ID || graph_node(b.g, made)->op != OP_gate);
      }
    }
  }
  compile_free(b.c);
}

/* up -> f(up) * g(up), and other products. */
static void test_other_gates(void) {
  Builder b = builder_new(true, DTYPE_F32);
  ValueId x = add_input(&b, "x", DTYPE_F32, DIMS("batch", "seq", "width"));
  ValueId up = add_linear(&b, "up", x, DIMS("ffn", "width"), NULL);
  ValueId first = add_node(&b, OP_silu, "first", INPUTS(up), NULL);
  ValueId second = add_node(&b, OP_gelu_erf, "second", INPUTS(up), NULL);
  ValueId both = add_node(&b, OP_multiply, "both", INPUTS(first, second), NULL);
  ValueId third = add_node(&b, OP_relu, "third", INPUTS(up), NULL);
  ValueId square = add_node(&b, OP_multiply, "square", INPUTS(third, third), NULL);
  ValueId fourth = add_node(&b, OP_tanh, "fourth", INPUTS(up), NULL);
  ValueId gated = add_node(&b, OP_multiply, "gated", INPUTS(both, fourth), NULL);
  add_node(&b, OP_add, "again", INPUTS(square, fourth), NULL);
  add_node(&b, OP_add, "end", INPUTS(gated, square), NULL);
  grad_join_gates(b.g);
  TEST("of two activations that one product multiplies, one joins; none that others read") {
    CHECK_TEXT(ops_text(b.g, &b.g->regions.at[0].forward),
               "linear gelu_erf gate relu multiply tanh multiply add add");
    const Node *gate = graph_node(b.g, b.g->regions.at[0].forward.at[2]);
    CHECK(gate->inputs[0] == up && gate->inputs[1] == second && gate->outputs[0] == both);
    CHECK_NEAR(gate->attrs[0], op_gate_form(OP_silu), 0);
  }
  compile_free(b.c);
}

static int32_t forward_reads(const Graph *g, const Region *region) {
  int32_t reads = 0;
  for (int32_t i = 0; i < region->backward.count; i++) {
    const Node *n = graph_node(g, region->backward.at[i]);
    for (int32_t k = 0; k < n->input_count; k++)
      for (int32_t j = 0; j < region->forward.count; j++) {
        const Node *made = graph_node(g, region->forward.at[j]);
        for (int32_t o = 0; o < made->output_count; o++)
          reads += made->outputs[o] == n->inputs[k];
      }
  }
  return reads;
}

static void test_recompute(bool llama) {
  Builder b = builder_new(true, DTYPE_F32);
  if (llama)
    build_llama(&b, 4);
  else
    build_gpt2(&b, 4, 0.1);
  CHECK(grad_derive(b.g));
  const Region *h = &b.g->regions.at[1];
  CHECK(forward_reads(b.g, h) > 0);
  recompute_apply(b.g, RECOMPUTE_BLOCK, 1);
  h = &b.g->regions.at[1];
  TEST("backward of a recomputed block reads nothing of forward but the carried input") {
    CHECK_INT(forward_reads(b.g, h), 0);
    check_graph(b.g);
  }
  TEST("no clone is dead, each has its original's path, and what nobody reads is not cloned") {
    CHECK_TEXT(ops_text(b.g, &h->recompute),
               llama ? "rmsnorm linear linear linear rope rope attention linear add rmsnorm "
                       "linear silu linear multiply"
                     : "layernorm linear split attention linear dropout add layernorm linear gelu");
    for (int32_t i = 0; i < h->recompute.count; i++) {
      const Node *n = graph_node(b.g, h->recompute.at[i]);
      CHECK(n->clone_of != NO_ID && graph_node(b.g, n->clone_of)->op == n->op);
      CHECK_TEXT(n->path, graph_node(b.g, n->clone_of)->path);
    }
    CHECK(!h->output_recomputed);
    CHECK_INT(h->output_again, NO_ID);
  }
  TEST("regions that are no stack are not recomputed") {
    CHECK_INT(b.g->regions.at[0].recompute.count, 0);
    CHECK_INT(b.g->regions.at[2].recompute.count, 0);
  }
  compile_free(b.c);
}

static void test_recompute_light(bool llama) {
  Builder b = builder_new(true, DTYPE_F32);
  if (llama)
    build_llama(&b, 4);
  else
    build_gpt2(&b, 4, 0.1);
  CHECK(grad_derive(b.g));
  int32_t reads = forward_reads(b.g, &b.g->regions.at[1]);
  recompute_apply(b.g, RECOMPUTE_SELECTIVE, 1);
  const Region *h = &b.g->regions.at[1];
  TEST("selective: what is light, of inputs that backward reads; not a sum of a product's result") {
    CHECK_TEXT(ops_text(b.g, &h->recompute),
               llama ? "rmsnorm rmsnorm silu multiply" : "layernorm layernorm gelu");
    CHECK(forward_reads(b.g, h) > 0 && forward_reads(b.g, h) < reads);
    CHECK(!h->output_recomputed);
    check_graph(b.g);
  }
  compile_free(b.c);
}

static void test_recompute_groups(void) {
  Builder b = builder_new(true, DTYPE_F32);
  build_gpt2(&b, 4, 0.1);
  CHECK(grad_derive(b.g));
  recompute_apply(b.g, RECOMPUTE_EVERY, 2);
  const Region *h = &b.g->regions.at[1];
  TEST("in groups of layers the output is made again, too") {
    CHECK(h->output_recomputed && h->output_again != NO_ID && h->output_again != h->output);
    CHECK_INT(h->recompute.count, h->forward.count);
    check_graph(b.g);
  }
  compile_free(b.c);
}

static const char *last_diag(const Builder *b) {
  const Diags *diags = &b->c->diags;
  return diags->list.count > 0 ? diags->list.at[diags->list.count - 1].name : "none";
}

static bool has_diag(const Builder *b, const char *name) {
  for (int32_t i = 0; i < b->c->diags.list.count; i++)
    if (b->c->diags.list.at[i].name && strcmp(b->c->diags.list.at[i].name, name) == 0) return true;
  return false;
}

/* begin: x w; stack: relu(x u) + what `captured` adds; end: mse. */
typedef enum Crossing { NOTHING, CAPTURE, SHARE, SHARE_OUT, SKIP, UNUSED, UNTRAINED } Crossing;

static Builder crossing(Crossing kind) {
  Builder b = builder_new(true, DTYPE_F32);
  Graph *g = b.g;
  ValueId x = add_input(&b, "x", DTYPE_F32, DIMS("batch", "width"));
  ValueId y = add_input(&b, "y", DTYPE_F32, DIMS("batch", "width"));
  add_dim(&b, "out", 8);
  ValueId w = add_param(&b, "w", DIMS("width", "ffn"));
  ValueId first = add_node(&b, OP_linear, "w",
                           INPUTS(add_linear(&b, "up", x, DIMS("ffn", "width"), NULL), w), NULL);
  RegionId stack = open_region(&b, "blocks", 2, first);
  ValueId h = g->regions.at[stack].input;
  ValueId t = add_linear(&b, "blocks.*.up", h, DIMS("ffn", "width"), NULL);
  ValueId u = add_param(&b, "blocks.*.down.weight", DIMS("width", "ffn"));
  t = add_node(&b, OP_linear, "blocks.*.down", INPUTS(t, kind == SHARE ? w : u), NULL);
  if (kind == CAPTURE) t = add_node(&b, OP_add, "blocks.*.add", INPUTS(t, first), NULL);
  if (kind == UNUSED)
    add_node(&b, OP_gelu, "dead.2", INPUTS(add_node(&b, OP_relu, "dead", INPUTS(t), NULL)), NULL);
  if (kind == UNTRAINED) add_param(&b, "blocks.*.alone", DIMS("width"));
  RegionId end = open_region(&b, "end", 0, t);
  t = g->regions.at[end].input;
  if (kind == SKIP) t = add_node(&b, OP_add, "skip", INPUTS(t, first), NULL);
  if (kind == SHARE_OUT)
    t = add_node(&b, OP_linear, "out",
                 INPUTS(add_linear(&b, "last", t, DIMS("ffn", "width"), NULL), u), NULL);
  add_loss(g, add_node(&b, OP_mse, "mse", INPUTS(t, y), NULL));
  return b;
}

static void test_crossings(void) {
  static const struct {
    Crossing kind;
    const char *name;
  } cases[] = {{CAPTURE, "captured-in-stack"},
               {SHARE, "shared-in-stack"},
               {SHARE_OUT, "shared-in-stack"},
               {SKIP, "skips-stack"},
               {UNTRAINED, "unused-parameter"}};
  TEST("what crosses a stack's border otherwise than carried is refused by name") {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
      Builder b = crossing(cases[i].kind);
      CHECK(!grad_derive(b.g));
      CHECK(has_diag(&b, cases[i].name));
      compile_free(b.c);
    }
  }
  TEST("a result that nobody uses is dropped, with one lint for its chain") {
    Builder b = crossing(UNUSED);
    CHECK(grad_derive(b.g));
    CHECK_INT(b.c->diags.list.count, 1);
    CHECK_TEXT(last_diag(&b), "unused-value");
    CHECK_INT(b.g->regions.at[1].forward.count, 2);
    compile_free(b.c);
  }
  TEST("a loss on the carried value gives it a gradient of its own") {
    Builder b = crossing(NOTHING);
    CHECK(grad_derive(b.g));
    CHECK_TEXT(ops_text(b.g, &b.g->regions.at[2].backward), "copy");
    for (RegionId r = 0; r < 3; r++)
      check_order(b.g, &b.g->regions.at[r]);
    CHECK_INT(count_op(b.g, &b.g->regions.at[0].backward, OP_linear_dx), 1); /* x is data */
    compile_free(b.c);
  }
}

static void test_odd_gradients(void) {
  TEST("a carried value is copied before the loss destroys it") {
    Builder b = builder_new(true, DTYPE_F32);
    ValueId x = add_input(&b, "x", DTYPE_F32, DIMS("batch", "seq", "width"));
    ValueId ids = add_input(&b, "ids", DTYPE_I32, DIMS("batch", "seq"));
    ValueId a = add_linear(&b, "a", x, DIMS("vocab", "width"), NULL);
    ValueId other = add_node(&b, OP_relu, "relu", INPUTS(a), NULL);
    open_region(&b, "between", 0, other);
    ValueId logits = b.g->regions.at[1].input;
    add_loss(b.g, add_node(&b, OP_cross_entropy, "loss", INPUTS(logits, ids), NULL));
    CHECK(grad_derive(b.g));
    CHECK_TEXT(ops_text(b.g, &b.g->regions.at[1].forward), "copy cross_entropy");
    const Node *loss = maker_of(b.g, b.g->losses[0]);
    CHECK_INT(graph_value(b.g, loss->outputs[1])->view_of, loss->inputs[0]);
    CHECK_TEXT(ops_text(b.g, &b.g->regions.at[1].backward), "copy");
    compile_free(b.c);
  }
  TEST("pieces whose gradient has other readers, or none, are copied into the whole") {
    Builder b = builder_new(true, DTYPE_F32);
    ValueId x = add_input(&b, "x", DTYPE_F32, DIMS("batch", "seq", "width"));
    ValueId y = add_input(&b, "y", DTYPE_F32, DIMS("batch", "seq", "heads", "head"));
    ValueId qkv = add_linear(&b, "fc", x, DIMS("qkv", "heads", "head", "width"), NULL);
    const ValueId *part =
        maker_of(b.g, add_node(&b, OP_split, "s", INPUTS(qkv), ATTRS(2)))->outputs;
    ValueId q = part[0], k = part[1];
    ValueId sum = add_node(&b, OP_add, "add", INPUTS(q, k), NULL);
    add_loss(b.g, add_node(&b, OP_mse, "mse", INPUTS(sum, y), NULL));
    CHECK(grad_derive(b.g));
    CHECK_TEXT(ops_text(b.g, &b.g->regions.at[0].backward), "copy copy affine copy join linear_dw");
    check_order(b.g, &b.g->regions.at[0]);
    compile_free(b.c);
  }
}

int main(void) {
  test_gpt2();
  test_llama();
  test_gates();
  test_other_gates();
  test_recompute(false);
  test_recompute(true);
  test_recompute_light(false);
  test_recompute_light(true);
  test_recompute_groups();
  test_crossings();
  test_odd_gradients();
  CHECK_DONE();
}

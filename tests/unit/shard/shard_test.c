/* The parts of tensor and sequence parallelism: layouts that follow from names.
 * LINK: shard backward grad ops graph base */
#include "compiler/graph/shard/shard.h"
#include "tests/unit/check.h"
#include "tests/unit/graph_builder.h"

static char *ops_text(const Graph *g, const NodeList *list) {
  char *text = arena_copy(g->compile->arena, "");
  for (int32_t i = 0; i < list->count; i++)
    text = arena_printf(g->compile->arena, "%s%s%s", text, i > 0 ? " " : "",
                        op_def(graph_node(g, list->at[i])->op)->name);
  return text;
}

static int32_t count_op(const Graph *g, const NodeList *list, OpKind op) {
  int32_t count = 0;
  for (int32_t i = 0; i < list->count; i++)
    count += graph_node(g, list->at[i])->op == (int32_t)op;
  return count;
}

typedef struct Cut {
  bool llama;
  int64_t kv_heads, cp, tp;
  ShardOptions options;
  DType dtype;
} Cut;

static void cut_graph(const Cut *c, Builder *b) {
  if (c->llama)
    build_llama(b, 3);
  else
    build_gpt2(b, 3, 0);
  CHECK(!b->g->training || grad_derive(b->g));
  CHECK(shard_degrees(b->g, c->tp > 0 ? c->tp : 1, &b->g->mesh));
  b->g->mesh.size[MESH_CP] = c->cp;
  CHECK(shard_apply(b->g, c->options));
}

static Builder cut(Cut c) {
  Builder b = builder_sized(true, c.dtype, c.kv_heads > 0 ? c.kv_heads : 4);
  cut_graph(&c, &b);
  return b;
}

static bool is_conversion(const Node *n) {
  return (op_def(n->op)->layout & LAYOUT_CONVERTS) != 0;
}

/* Is a dim that d is a part of among v's? */
static bool has_whole_of(const Graph *g, ValueId v, DimId d) {
  while (g->dims.at[d].is_part) {
    d = g->dims.at[d].whole;
    if (value_has_dim(g, v, d)) return true;
  }
  return false;
}

static void check_node_layouts(const Graph *g, const Node *n) {
  for (int32_t k = 0; k < n->input_count; k++) {
    const Value *v = graph_value(g, n->inputs[k]);
    if (v->partial != 0)
      CHECK((op_def(n->op)->layout & (LAYOUT_LINEAR | LAYOUT_BILINEAR)) != 0 || is_conversion(n));
    for (int32_t d = 0; d < v->dim_count && !is_conversion(n); d++)
      for (int32_t j = 0; j < n->input_count; j++)
        CHECK(!has_whole_of(g, n->inputs[j], v->dims[d]));
  }
  for (int32_t k = 0; k < n->output_count; k++) {
    const Value *v = graph_value(g, n->outputs[k]);
    if (is_conversion(n) || v->kind == VALUE_LOSS) continue;
    for (int32_t d = 0; d < v->dim_count; d++)
      for (int32_t j = 0; j < n->input_count; j++)
        CHECK(!has_whole_of(g, n->inputs[j], v->dims[d]));
  }
}

/* Every node reads and makes values whose dims agree: no name is whole on one side and cut on the
 * other, nothing partial is read by an op that is not linear. */
static void check_layouts(const Graph *g) {
  for (RegionId r = 0; r < g->regions.count; r++) {
    const Region *region = &g->regions.at[r];
    const NodeList *lists[] = {&region->forward, &region->recompute, &region->backward,
                               &region->weight};
    for (int32_t l = 0; l < 4; l++)
      for (int32_t i = 0; i < lists[l]->count; i++)
        check_node_layouts(g, graph_node(g, lists[l]->at[i]));
    const ValueId carried[] = {region->output, region->d_input};
    for (int32_t i = 0; i < 2; i++)
      if (carried[i] != NO_ID) {
        CHECK_INT(graph_value(g, carried[i])->partial, 0);
        CHECK(graph_value(g, carried[i])->view_of == NO_ID);
      }
  }
}

static const Param *param_named(const Graph *g, const char *name) {
  for (ParamId p = 0; p < g->params.count; p++)
    if (strcmp(g->params.at[p].name, name) == 0) return &g->params.at[p];
  return NULL;
}

static const Param *param_must(const Graph *g, const char *name) {
  const Param *param = param_named(g, name);
  if (param == NULL) printf("no parameter %s\n", name);
  assert(param);
  return param;
}

static const Node *first_of(const Graph *g, const NodeList *list, OpKind op) {
  for (int32_t i = 0; i < list->count; i++)
    if (graph_node(g, list->at[i])->op == (int32_t)op) return graph_node(g, list->at[i]);
  return NULL;
}

static Lowered lowered(const Graph *g, const Node *n) {
  Lowered low;
  op_lower(g, n, &low);
  return low;
}

enum { TP = MESH_BIT(MESH_TP), GROUP = MESH_BIT(MESH_TP_GROUP), CP = MESH_BIT(MESH_CP) };

/* ---- tensor and sequence parallel */

static void test_tensor(void) {
  for (int32_t i = 0; i < 4; i++) {
    Builder b = cut((Cut){.llama = i % 2 != 0, .tp = i < 2 ? 2 : 4});
    const Region *block = &b.g->regions.at[1];
    TEST("without sequence parallel a block has two all-reduces forward and two backward") {
      check_layouts(b.g);
      CHECK_INT(count_op(b.g, &block->forward, OP_all_reduce), 2);
      CHECK_INT(count_op(b.g, &block->backward, OP_all_reduce), 2);
      CHECK_INT(count_op(b.g, &block->forward, OP_all_gather), 0);
      CHECK_INT(count_op(b.g, &block->backward, OP_all_gather), 0);
      CHECK_INT(count_op(b.g, &block->forward, OP_slice), 0);
      for (ParamId p = 0; p < b.g->params.count; p++)
        CHECK_INT(b.g->params.at[p].partial, 0);
    }
    compile_free(b.c);
  }
}

static void test_sequence(void) {
  for (int32_t i = 0; i < 8; i++) {
    bool llama = i % 2 != 0, regather = i / 2 % 2 != 0;
    Builder b = cut((Cut){
        .llama = llama, .tp = i < 4 ? 2 : 4, .options = {.sequence = true, .regather = regather}});
    const Region *block = &b.g->regions.at[1];
    TEST("with sequence parallel each all-reduce is an all-gather and a reduce-scatter") {
      check_layouts(b.g);
      CHECK_INT(count_op(b.g, &block->forward, OP_all_reduce), 0);
      CHECK_INT(count_op(b.g, &block->forward, OP_all_gather), 2);
      CHECK_INT(count_op(b.g, &block->forward, OP_reduce_scatter), 2);
      CHECK_INT(count_op(b.g, &block->backward, OP_reduce_scatter), 2);
      CHECK_INT(count_op(b.g, &block->backward, OP_all_gather), 2 + 2 * regather);
    }
    TEST("norm weights are summed over tp at the end: their tokens are cut") {
      const char *norm = llama ? "layers.*.input_layernorm.weight" : "h.*.ln_1.weight";
      CHECK_INT(param_must(b.g, norm)->partial, TP);
    }
    compile_free(b.c);
  }
}

static void test_sizes(void) {
  Builder b = cut((Cut){.tp = 2, .options = {.sequence = true}});
  Builder whole = cut((Cut){.tp = 1});
  TEST("a cut value holds its share: parameters by heads and ffn, the carried value by seq") {
    int64_t halves = 0;
    for (ParamId p = 0; p < b.g->params.count; p++) {
      int64_t share = whole.g->params.at[p].elements / b.g->params.at[p].elements;
      CHECK(share == 1 || share == 2);
      halves += share == 2;
    }
    CHECK(halves >= 4);
    CHECK_INT(value_elements(b.g, b.g->regions.at[1].input) * 2,
              value_elements(whole.g, whole.g->regions.at[1].input));
    CHECK_INT(value_elements(b.g, b.g->regions.at[1].d_input) * 2,
              value_elements(whole.g, whole.g->regions.at[1].d_input));
  }
  TEST("the forward block, derived") {
    CHECK_TEXT(ops_text(b.g, &b.g->regions.at[1].forward),
               "layernorm all_gather linear split attention linear reduce_scatter add add "
               "layernorm all_gather linear "
               "gelu linear reduce_scatter add add");
  }
  compile_free(b.c);
  compile_free(whole.c);
}

static void test_slice(void) {
  Builder b = cut((Cut){.tp = 4, .options = {.sequence = true}});
  TEST("a contiguous part begins at the member's number times its size") {
    /* positions are made whole; each rank adds those of its tokens */
    const Node *slice = first_of(b.g, &b.g->regions.at[0].forward, OP_slice);
    CHECK(slice != NULL);
    if (slice != NULL) {
      Lowered low = lowered(b.g, slice);
      CHECK_TEXT(low.kernel, "slice");
      CHECK_INT(low.dims[1], 16);
      CHECK_INT(low.dims[2], 4);
      CHECK_INT(low.vary_count, 2);
      CHECK_INT(low.attrs[0], 0);
      CHECK_INT(low.attrs[1], 2);
      CHECK_INT(low.varies[0].axes, TP);
      CHECK_INT(low.varies[0].stride, 4);
      CHECK_INT(low.varies[1].stride, 4);
    }
  }
  compile_free(b.c);
}

/* ---- fewer kv_heads than ranks */

static void test_shared_kv_heads(void) {
  for (int32_t i = 0; i < 4; i++) {
    int64_t kv_heads = i % 2 == 0 ? 2 : 1;
    bool sequence = i >= 2;
    Builder b =
        cut((Cut){.llama = true, .kv_heads = kv_heads, .tp = 4, .options = {.sequence = sequence}});
    const Region *block = &b.g->regions.at[1];
    uint32_t both = kv_heads > 1 ? TP | GROUP : GROUP;
    TEST("ranks that share kv_heads sum over both axes at once: still 2 + 2 a block") {
      check_layouts(b.g);
      CHECK_INT(b.g->mesh.size[MESH_TP], kv_heads);
      CHECK_INT(b.g->mesh.size[MESH_TP_GROUP], 4 / kv_heads);
      OpKind sum = sequence ? OP_reduce_scatter : OP_all_reduce;
      CHECK_INT(count_op(b.g, &block->forward, sum), 2);
      CHECK_INT(count_op(b.g, &block->backward, sum), 2);
      CHECK_INT(count_op(b.g, &block->forward, OP_all_gather), sequence ? 2 : 0);
      CHECK_INT(count_op(b.g, &block->backward, OP_all_gather), sequence ? 2 : 0);
      CHECK_INT(lowered(b.g, first_of(b.g, &block->forward, sum)).axes, both);
      CHECK_INT(lowered(b.g, first_of(b.g, &block->backward, sum)).axes, both);
    }
    TEST("k and v are whole along tp_group, their weights' gradients summands") {
      CHECK_INT(param_must(b.g, "layers.*.k_proj.weight")->partial, GROUP);
      CHECK_INT(param_must(b.g, "layers.*.v_proj.weight")->partial, GROUP);
      CHECK_INT(param_must(b.g, "layers.*.q_proj.weight")->partial, 0);
      CHECK_INT(param_must(b.g, "layers.*.k_proj.weight")->elements, 1 * 2 * 8);
      CHECK_INT(param_must(b.g, "layers.*.q_proj.weight")->elements, 2 * 2 * 8);
      Lowered low = lowered(b.g, first_of(b.g, &block->forward, OP_attention));
      CHECK_INT(low.dims[2], 2); /* heads */
      CHECK_INT(low.dims[3], 1);
      CHECK_INT(low.attrs[8], 8); /* all_heads */
      const Node *back = first_of(b.g, &block->backward, OP_attention_backward);
      CHECK_INT(graph_value(b.g, back->outputs[0])->partial, 0);
      CHECK_INT(graph_value(b.g, back->outputs[1])->partial, GROUP);
    }
    compile_free(b.c);
  }
}

/* ---- the loss */

static void test_vocabulary_loss(void) {
  for (int32_t i = 0; i < 4; i++) {
    Builder b = builder_sized(i < 2, DTYPE_F32, 4);
    b.g->dims.at[graph_dim(b.g, "vocab")].real_size = 22;
    Cut c = {.llama = i % 2 != 0, .tp = 4, .options = {.sequence = true}};
    cut_graph(&c, &b);
    const NodeList *end = &b.g->regions.at[2].forward;
    TEST("no logit is gathered: three numbers a token are") {
      check_layouts(b.g);
      CHECK_INT(count_op(b.g, end, OP_cross_entropy), 0);
      const Node *stats = first_of(b.g, end, OP_cross_entropy_stats);
      const Node *parts = first_of(b.g, end, OP_cross_entropy_parts);
      Lowered low = lowered(b.g, stats);
      CHECK_INT(low.dims[0], 32);
      CHECK_INT(low.dims[1], 6);
      CHECK_INT(low.dims[2], 22);
      CHECK_INT(low.varies[0].stride, 6);
      CHECK_INT(value_elements(b.g, parts->inputs[2]), 4 * 32 * 3);
      low = lowered(b.g, parts);
      CHECK_TEXT(low.kernel, i < 2 ? "cross_entropy_parts_train" : "cross_entropy_parts");
      CHECK_INT(low.dims[3], 4);
      for (int32_t k = 0; k < end->count; k++) {
        const Node *n = graph_node(b.g, end->at[k]);
        if (n->op == OP_all_gather)
          CHECK(!value_has_dim(b.g, n->outputs[0], graph_dim(b.g, "vocab")));
      }
      if (i < 2) CHECK_INT(graph_value(b.g, parts->outputs[1])->view_of, parts->inputs[0]);
    }
    compile_free(b.c);
  }
}

/* ---- context parallel */

static void test_ring(void) {
  for (int32_t i = 0; i < 4; i++) {
    int64_t cp = i < 2 ? 2 : 4;
    Builder b = cut((Cut){.llama = i % 2 != 0, .cp = cp});
    const Region *block = &b.g->regions.at[1];
    TEST("k and v go round, their gradients come home") {
      check_layouts(b.g);
      CHECK_INT(count_op(b.g, &block->forward, OP_attention), cp);
      CHECK_INT(count_op(b.g, &block->forward, OP_exchange), cp - 1);
      CHECK_INT(count_op(b.g, &block->forward, OP_attention_merge), cp - 1);
      CHECK_INT(count_op(b.g, &block->backward, OP_attention_backward), cp);
      CHECK_INT(count_op(b.g, &block->backward, OP_exchange), cp - 1 + cp);
      CHECK_INT(count_op(b.g, &block->forward, OP_all_gather), 0);
      CHECK_INT(count_op(b.g, &block->forward, OP_all_reduce), 0);
    }
    TEST("an exchange begins before the attention of the block that it passes on") {
      const Node *first = first_of(b.g, &block->forward, OP_exchange);
      CHECK(first < first_of(b.g, &block->forward, OP_attention));
      Lowered low = lowered(b.g, first);
      CHECK_INT(low.kind, RECORD_EXCHANGE);
      CHECK_INT(low.axes, CP);
      CHECK_INT(low.dims[0], 1);
      CHECK_INT(low.dims[3], -1);
    }
    TEST("tokens are cut from the start: inputs where they are read, gradients are summands") {
      CHECK_INT(count_op(b.g, &b.g->regions.at[0].forward, OP_slice), 1);
      CHECK_INT(count_op(b.g, &b.g->regions.at[0].backward, OP_slice), 0);
      CHECK_INT(count_op(b.g, &b.g->regions.at[2].forward, OP_slice), 1);
      CHECK_INT(value_rows(b.g, block->input), 2 * 16 / cp);
      for (ParamId p = 0; p < b.g->params.count; p++)
        CHECK_INT(b.g->params.at[p].partial, CP);
    }
    compile_free(b.c);
  }
}

static void test_ring_positions(void) {
  Builder b = cut((Cut){.cp = 4});
  const NodeList *list = &b.g->regions.at[1].forward;
  TEST("zig-zag: member m has chunks m and 2n - 1 - m") {
    Lowered low = lowered(b.g, first_of(b.g, &b.g->regions.at[0].forward, OP_slice));
    CHECK_INT(low.attrs[1], 14);
    CHECK_INT(low.varies[0].stride, 2);
    CHECK_INT(low.varies[1].stride, -2);
  }
  TEST("a block that came from the member two back is where that one's tokens are") {
    const Node *third = NULL;
    for (int32_t i = 0; i < list->count; i++) {
      const Node *n = graph_node(b.g, list->at[i]);
      if (n->op == OP_attention && n->attrs[3] == 2) third = n;
    }
    assert(third);
    Lowered low = lowered(b.g, third);
    const double *first = NULL, *second = NULL;
    for (int32_t i = 0; i < low.vary_count; i++) {
      if (low.varies[i].attr == 5) first = low.varies[i].values;
      if (low.varies[i].attr == 6) second = low.varies[i].values;
    }
    assert(first && second);
    CHECK_INT(first[0], 4); /* member 2 */
    CHECK_INT(second[0], 10);
    CHECK_INT(first[3], 2); /* member 1 */
    CHECK_INT(second[3], 12);
    CHECK_INT(low.attrs[9], 16);
  }
  compile_free(b.c);
}

static void test_ring_narrow(void) {
  Builder b = cut((Cut){.cp = 2, .tp = 2, .dtype = DTYPE_BF16});
  const Region *block = &b.g->regions.at[1];
  TEST("bf16: blocks are merged and gradients summed in f32, then rounded once") {
    check_layouts(b.g);
    CHECK_INT(count_op(b.g, &block->forward, OP_attention_merge), 2);
    CHECK_INT(count_op(b.g, &block->forward, OP_cast), 1);
    const Node *merge = first_of(b.g, &block->forward, OP_attention_merge);
    CHECK_INT(graph_value(b.g, merge->outputs[0])->dtype, DTYPE_F32);
    CHECK_INT(lowered(b.g, merge).access[0], ACCESS_WRITE);
    CHECK_INT(count_op(b.g, &block->forward, OP_all_reduce), 2);
    CHECK_INT(count_op(b.g, &block->backward, OP_all_reduce), 2);
  }
  compile_free(b.c);
}

static void test_ulysses(void) {
  for (int32_t i = 0; i < 4; i++) {
    int64_t cp = i < 2 ? 2 : 4, tp = i < 2 ? 2 : 1;
    Builder b = cut((Cut){.llama = i % 2 != 0,
                          .cp = cp,
                          .tp = tp,
                          .options = {.sequence = tp > 1, .context = CONTEXT_ULYSSES}});
    const Region *block = &b.g->regions.at[1];
    TEST("q, k, v go to heads and out comes back; the same backward") {
      check_layouts(b.g);
      CHECK_INT(count_op(b.g, &block->forward, OP_all_to_all), 4);
      CHECK_INT(count_op(b.g, &block->backward, OP_all_to_all), 4);
      CHECK_INT(count_op(b.g, &block->forward, OP_exchange), 0);
      Lowered low = lowered(b.g, first_of(b.g, &block->forward, OP_attention));
      CHECK_INT(low.dims[1], 16);
      CHECK_INT(low.dims[2], 8 / (cp * tp));
      CHECK_INT(low.dims[3], i % 2 != 0 ? 4 / (cp * tp) : 8 / (cp * tp));
      low = lowered(b.g, first_of(b.g, &block->forward, OP_all_to_all));
      CHECK_INT(low.kind, RECORD_ALL_TO_ALL);
      CHECK_INT(low.axes, CP);
      CHECK_INT(low.dims[0] * low.dims[1], 2 * 16 / cp);
      CHECK_INT(low.dims[2], 1);
      CHECK_INT(low.dims[3] * low.dims[4], 16 / (cp * tp));
    }
    compile_free(b.c);
  }
}

/* ---- after sharding */

static void test_recompute(void) {
  for (int32_t i = 0; i < 2; i++) {
    Builder b = cut((Cut){.tp = 2, .options = {.sequence = i != 0}});
    recompute_apply(b.g, RECOMPUTE_BLOCK, 1);
    const Region *block = &b.g->regions.at[1];
    TEST("a collective runs again only where what it makes is read again") {
      check_layouts(b.g);
      OpKind sum = i != 0 ? OP_reduce_scatter : OP_all_reduce;
      CHECK_INT(count_op(b.g, &block->forward, sum), 2);
      CHECK_INT(count_op(b.g, &block->recompute, sum), 1); /* not that of the block's output */
      CHECK_INT(count_op(b.g, &block->recompute, OP_all_gather), i != 0 ? 2 : 0);
    }
    compile_free(b.c);
  }
  Builder b = cut((Cut){.llama = true, .cp = 4});
  recompute_apply(b.g, RECOMPUTE_BLOCK, 1);
  TEST("a ring goes round again, each step with its own positions") {
    const NodeList *again = &b.g->regions.at[1].recompute;
    CHECK_INT(count_op(b.g, again, OP_exchange), 3);
    CHECK_INT(count_op(b.g, again, OP_attention), 4);
    int64_t steps = 0;
    for (int32_t i = 0; i < again->count; i++) {
      const Node *n = graph_node(b.g, again->at[i]);
      if (n->op == OP_attention) CHECK_INT(n->attrs[3], steps++);
    }
  }
  compile_free(b.c);
}

static void test_split(void) {
  for (int32_t i = 0; i < 2; i++) {
    Builder b = cut((Cut){.tp = 2, .options = {.sequence = i != 0, .regather = i != 0}});
    Region *block = &b.g->regions.at[1];
    int32_t before = block->backward.count;
    backward_split(b.g);
    TEST("what only makes parameter gradients may run later, with what only it reads") {
      check_layouts(b.g);
      CHECK_INT(block->backward.count + block->weight.count, before);
      CHECK_INT(count_op(b.g, &block->weight, OP_linear_dw), 4);
      CHECK_INT(count_op(b.g, &block->backward, OP_linear_dw), 0);
      CHECK_INT(count_op(b.g, &block->weight, OP_linear_db), 4);
      CHECK_INT(count_op(b.g, &block->backward, OP_linear_dx), 4);
      CHECK_INT(count_op(b.g, &block->weight, OP_all_gather), i != 0 ? 2 : 0);
      CHECK_INT(count_op(b.g, &block->backward, OP_layernorm_backward), 2);
    }
    TEST("the rest reads nothing of it") {
      for (int32_t k = 0; k < block->backward.count; k++) {
        const Node *n = graph_node(b.g, block->backward.at[k]);
        for (int32_t j = 0; j < n->input_count; j++) {
          NodeId maker = graph_value(b.g, n->inputs[j])->producer;
          for (int32_t w = 0; w < block->weight.count; w++)
            CHECK(maker != block->weight.at[w]);
        }
      }
    }
    compile_free(b.c);
  }
}

int main(void) {
  test_tensor();
  test_sequence();
  test_sizes();
  test_slice();
  test_shared_kv_heads();
  test_vocabulary_loss();
  test_ring();
  test_ring_positions();
  test_ring_narrow();
  test_ulysses();
  test_recompute();
  test_split();
  CHECK_DONE();
}

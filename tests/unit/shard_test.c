/* What tensor and sequence parallelism are made of: layouts that follow from names.   LINK: shard
 * grad ops graph base */
#include "compiler/shard/shard.h"
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

static Builder cut(bool llama, int64_t tp, ShardOptions options) {
  static const char *const names[] = {"heads", "kv_heads", "ffn", "vocab"};
  Builder b = builder_new(true, DTYPE_F32);
  for (DimId d = 0; d < b.g->dims.count; d++) {
    if (strcmp(b.g->dims.at[d].name, "qkv") != 0)
      b.g->dims.at[d].size *= 2; /* so that two divides them */
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
      if (strcmp(b.g->dims.at[d].name, names[i]) == 0) b.g->dims.at[d].axis = "tp";
  }
  if (llama)
    build_llama(&b, 3);
  else
    build_gpt2(&b, 3, 0);
  CHECK(grad_derive(b.g));
  b.g->mesh.size[MESH_TP] = tp;
  CHECK(shard_apply(b.g, options));
  return b;
}

/* Every node reads values whose dims agree: no name is whole on one side and cut on the other,
 * nothing partial is read by an op that is not linear. */
static void check_layouts(const Graph *g) {
  for (RegionId r = 0; r < g->regions.count; r++) {
    const NodeList *lists[] = {&g->regions.at[r].forward, &g->regions.at[r].backward};
    for (int32_t l = 0; l < 2; l++)
      for (int32_t i = 0; i < lists[l]->count; i++) {
        const Node *n = graph_node(g, lists[l]->at[i]);
        bool converts = n->op >= OP_all_reduce && n->op <= OP_slice;
        for (int32_t k = 0; k < n->input_count; k++) {
          const Value *v = graph_value(g, n->inputs[k]);
          if (v->partial != 0) CHECK(converts || (op_def(n->op)->layout & LAYOUT_LINEAR) != 0);
          for (int32_t d = 0; d < v->dim_count && !converts; d++)
            for (int32_t j = 0; j < n->input_count; j++) {
              const Dim *dim = &g->dims.at[v->dims[d]];
              if (dim->is_part) CHECK(!value_has_dim(g, n->inputs[j], dim->whole));
            }
        }
      }
  }
}

static const Param *param_named(const Graph *g, const char *name) {
  for (ParamId p = 0; p < g->params.count; p++)
    if (strcmp(g->params.at[p].name, name) == 0) return &g->params.at[p];
  return NULL;
}

static void test_tensor(void) {
  for (int32_t llama = 0; llama < 2; llama++) {
    Builder b = cut(llama != 0, 2, (ShardOptions){0});
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
  for (int32_t llama = 0; llama < 2; llama++) {
    for (int32_t regather = 0; regather < 2; regather++) {
      Builder b = cut(llama != 0, 2, (ShardOptions){.sequence = true, .regather = regather != 0});
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
        CHECK(param_named(b.g, norm) != NULL && param_named(b.g, norm)->partial == 1u << MESH_TP);
      }
      compile_free(b.c);
    }
  }
}

static void test_sizes(void) {
  Builder b = cut(false, 2, (ShardOptions){.sequence = true});
  Builder whole = cut(false, 1, (ShardOptions){0});
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

static void test_refusal(void) {
  Builder b = builder_new(true, DTYPE_F32);
  TEST("a degree that does not divide is refused by the name of the dimension") {
    b.g->dims.at[graph_dim(b.g, "heads")].axis = "tp";
    build_gpt2(&b, 3, 0);
    CHECK(grad_derive(b.g));
    b.g->mesh.size[MESH_TP] = 7;
    CHECK(!shard_apply(b.g, (ShardOptions){0}));
    CHECK_INT(b.c->diags.error_count, 1);
    CHECK_TEXT(b.c->diags.list.at[0].name, "heads-multiple");
  }
  compile_free(b.c);
}

int main(void) {
  test_tensor();
  test_sequence();
  test_sizes();
  test_refusal();
  CHECK_DONE();
}

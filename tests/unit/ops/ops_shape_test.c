/* Shapes that ops make, and what they refuse by name.     LINK: grad ops graph base */
#include "tests/unit/check.h"
#include "tests/unit/graph_builder.h"

static const char *dims_text(Builder *b, ValueId v) {
  return v == NO_ID ? "refused" : value_dims_text(b->g, v);
}

static const char *last_error(const Builder *b) {
  const Diags *diags = &b->c->diags;
  return diags->list.count > 0 ? diags->list.at[diags->list.count - 1].name : "none";
}

typedef struct Values {
  ValueId ids, x, q, k, small;
} Values;

static Builder begin(Values *v) {
  Builder b = builder_new(true, DTYPE_F32);
  v->ids = add_input(&b, "ids", DTYPE_I32, DIMS("batch", "seq"));
  v->x = add_input(&b, "x", DTYPE_F32, DIMS("batch", "seq", "width"));
  v->q = add_input(&b, "q", DTYPE_F32, DIMS("batch", "seq", "heads", "head"));
  v->k = add_input(&b, "k", DTYPE_F32, DIMS("batch", "seq", "kv_heads", "head"));
  v->small = add_input(&b, "small", DTYPE_F32, DIMS("seq", "width"));
  return b;
}

static void test_linear(void) {
  Values v;
  Builder b = begin(&v);
  TEST("linear maps all features of a token to new ones") {
    CHECK_TEXT(dims_text(&b, add_linear(&b, "fc", v.x, DIMS("qkv", "heads", "head", "width"),
                                        DIMS("qkv", "heads", "head"))),
               "[batch, seq, qkv, heads, head]");
    CHECK_TEXT(dims_text(&b, add_linear(&b, "proj", v.q, DIMS("width", "heads", "head"), NULL)),
               "[batch, seq, width]");
  }
  TEST("a handle is used either way round") {
    ValueId w = add_param(&b, "w", DIMS("vocab", "width"));
    ValueId logits = add_node(&b, OP_linear, "head", INPUTS(v.x, w), NULL);
    CHECK_TEXT(dims_text(&b, logits), "[batch, seq, vocab]");
    ValueId back = add_node(&b, OP_linear, "back", INPUTS(logits, w), NULL);
    CHECK_TEXT(dims_text(&b, back), "[batch, seq, width]");
    Lowered low;
    op_lower(b.g, maker_of(b.g, back), &low);
    CHECK_INT(low.dims[3], 1);
    CHECK_INT(low.dims[1], 11);
    CHECK_INT(low.dims[2], 8);
  }
  TEST("linear without common names is refused") {
    ValueId w = add_param(&b, "u", DIMS("vocab", "ffn"));
    CHECK_TEXT(dims_text(&b, add_node(&b, OP_linear, "bad", INPUTS(v.x, w), NULL)), "refused");
    CHECK_TEXT(last_error(&b), "nothing-to-contract");
    ValueId ok = add_param(&b, "s", DIMS("ffn", "width")), bias = add_param(&b, "t", DIMS("width"));
    add_node(&b, OP_linear, "bias", INPUTS(v.x, ok, bias), NULL);
    CHECK_TEXT(last_error(&b), "dimension-mismatch");
    add_node(&b, OP_linear, "ids", INPUTS(v.ids, ok), NULL);
    CHECK_TEXT(last_error(&b), "needs-numbers");
    add_node(&b, OP_gelu, "weight", INPUTS(ok), NULL);
    CHECK_TEXT(last_error(&b), "not-a-value");
  }
  compile_free(b.c);
}

static void test_embedding(void) {
  Values v;
  Builder b = begin(&v);
  TEST("embedding appends the table's features") {
    ValueId table = add_param(&b, "wte", DIMS("vocab", "width"));
    CHECK_TEXT(dims_text(&b, add_node(&b, OP_embedding, "e", INPUTS(table, v.ids), NULL)),
               "[batch, seq, width]");
    add_node(&b, OP_embedding, "e", INPUTS(table, v.x), NULL);
    CHECK_TEXT(last_error(&b), "needs-ids");
    add_node(&b, OP_embedding, "e", INPUTS(v.x, v.ids), NULL);
    CHECK_TEXT(last_error(&b), "needs-weight");
  }
  TEST("positions beyond the table are refused") {
    ValueId at = add_node(&b, OP_positions, "positions", INPUTS(NO_ID), NULL);
    CHECK_TEXT(dims_text(&b, at), "[seq]");
    ValueId enough = add_param(&b, "wpe", DIMS("positions", "width"));
    CHECK_TEXT(dims_text(&b, add_node(&b, OP_embedding, "e", INPUTS(enough, at), NULL)),
               "[seq, width]");
    ValueId few = add_param(&b, "few", DIMS("heads", "width"));
    add_node(&b, OP_embedding, "e", INPUTS(few, at), NULL);
    CHECK_TEXT(last_error(&b), "context-too-long");
  }
  compile_free(b.c);
}

static void test_attention(void) {
  Values v;
  Builder b = begin(&v);
  TEST("attention gives q's shape; statistics follow") {
    ValueId a = add_node(&b, OP_attention, "a", INPUTS(v.q, v.k, v.k), ATTRS(1));
    CHECK_TEXT(dims_text(&b, a), "[batch, seq, heads, head]");
    CHECK_INT(value_elements(b.g, maker_of(b.g, a)->outputs[1]), 2 * 5 * 4);
    CHECK_NEAR(maker_of(b.g, a)->attrs[1], 1 / sqrt(2), 1e-15);
  }
  TEST("attention refuses shapes by name") {
    add_node(&b, OP_attention, "a", INPUTS(v.q, v.k, v.q), ATTRS(1));
    CHECK_TEXT(last_error(&b), "attention-shape");
    add_node(&b, OP_attention, "a", INPUTS(v.x, v.k, v.k), ATTRS(1));
    CHECK_TEXT(last_error(&b), "attention-shape");
    add_dim(&b, "three", 3);
    ValueId k = add_input(&b, "k3", DTYPE_F32, DIMS("batch", "seq", "three", "head"));
    add_node(&b, OP_attention, "a", INPUTS(v.q, k, k), ATTRS(1));
    CHECK_TEXT(last_error(&b), "heads-multiple");
    add_node(&b, OP_attention, "a", INPUTS(v.q, v.k, v.k), ATTRS(1, 0, 1));
    CHECK_TEXT(last_error(&b), "dropout-rate");
    ValueId q = add_input(&b, "q1", DTYPE_F32, DIMS("batch", "heads", "head"));
    add_node(&b, OP_attention, "a", INPUTS(q, q, q), ATTRS(1));
    CHECK_TEXT(last_error(&b), "no-seq");
    add_node(&b, OP_attention, "a", INPUTS(v.q, q, q), ATTRS(1));
    CHECK_TEXT(last_error(&b), "attention-shape");
    add_node(&b, OP_rope, "r", INPUTS(q), ATTRS(10000));
    CHECK_TEXT(last_error(&b), "no-seq");
    add_node(&b, OP_rope, "r", INPUTS(v.x), ATTRS(10000));
    CHECK_TEXT(last_error(&b), "rope-shape");
    add_node(&b, OP_rope, "r", INPUTS(v.q), ATTRS(0));
    CHECK_TEXT(last_error(&b), "rope-base");
    add_node(&b, OP_rope, "r", INPUTS(v.q), ATTRS(10000, 0, 8, 4, 1, 8192));
    CHECK_TEXT(last_error(&b), "rope-scaling");
  }
  compile_free(b.c);
}

static void test_arithmetic(void) {
  Values v;
  Builder b = begin(&v);
  TEST("one side's names may be inside the other's") {
    CHECK_TEXT(dims_text(&b, add_node(&b, OP_add, "a", INPUTS(v.small, v.x), NULL)),
               "[batch, seq, width]");
    CHECK_TEXT(dims_text(&b, add_node(&b, OP_subtract, "a", INPUTS(v.x, v.small), NULL)),
               "[batch, seq, width]");
    add_node(&b, OP_subtract, "a", INPUTS(v.small, v.x), NULL);
    CHECK_TEXT(last_error(&b), "dimension-mismatch");
    add_node(&b, OP_multiply, "a", INPUTS(v.q, v.x), NULL);
    CHECK_TEXT(last_error(&b), "dimension-mismatch");
  }
  TEST("broadcast dims are merged where they can be") {
    Lowered low;
    ValueId sum = add_node(&b, OP_add, "a", INPUTS(v.small, v.x), NULL);
    CHECK_INT(maker_of(b.g, sum)->inputs[0], v.x);
    op_lower(b.g, maker_of(b.g, sum), &low);
    CHECK_TEXT(low.kernel, "add");
    CHECK_INT(low.dim_count, 5); /* 2; batch, seq * width; 0, 1 */
    CHECK_INT(low.dims[0], 2);
    CHECK_INT(low.dims[2], 40);
    CHECK_INT(low.dims[3], 0);
    CHECK_INT(low.dims[4], 1);
    op_lower(b.g, maker_of(b.g, add_node(&b, OP_add, "a", INPUTS(v.x, v.x), NULL)), &low);
    CHECK_INT(low.dim_count, 3);
    CHECK_INT(low.dims[1], 80);
  }
  TEST("batch and seq come first") {
    ValueId odd = add_input(&b, "odd", DTYPE_F32, DIMS("width", "batch"));
    add_node(&b, OP_relu, "a", INPUTS(odd), NULL);
    CHECK_TEXT(last_error(&b), "carried-first");
  }
  compile_free(b.c);
}

static void test_split(void) {
  Values v;
  Builder b = begin(&v);
  ValueId qkv = add_linear(&b, "fc", v.x, DIMS("qkv", "heads", "head", "width"), NULL);
  TEST("pieces are views, one after another within a token") {
    ValueId first = add_node(&b, OP_split, "s", INPUTS(qkv), ATTRS(2));
    const Node *n = maker_of(b.g, first);
    Lowered low;
    CHECK_INT(n->output_count, 3);
    CHECK_TEXT(dims_text(&b, n->outputs[2]), "[batch, seq, heads, head]");
    CHECK_INT(graph_value(b.g, n->outputs[2])->view_of, qkv);
    CHECK_INT(graph_value(b.g, n->outputs[2])->view_offset, 16);
    CHECK_INT(value_row_stride(b.g, n->outputs[2]), 24);
    op_lower(b.g, n, &low);
    CHECK(low.kernel == NULL);
  }
  TEST("a view of a view is in the value that owns the bytes") {
    ValueId piece = maker_of(b.g, add_node(&b, OP_split, "s", INPUTS(qkv), ATTRS(2)))->outputs[1];
    ValueId head = maker_of(b.g, add_node(&b, OP_split, "t", INPUTS(piece), ATTRS(2)))->outputs[3];
    CHECK_INT(graph_value(b.g, head)->view_of, qkv);
    CHECK_INT(graph_value(b.g, head)->view_offset, 8 + 3 * 2);
    CHECK_INT(value_row_stride(b.g, head), 24);
  }
  TEST("an op that reads without a stride gets one dense copy") {
    ValueId piece = maker_of(b.g, add_node(&b, OP_split, "s", INPUTS(qkv), ATTRS(2)))->outputs[1];
    int32_t before = b.g->nodes.count;
    ValueId y = add_node(&b, OP_gelu, "g", INPUTS(piece), NULL);
    add_node(&b, OP_silu, "g2", INPUTS(piece), NULL);
    CHECK_INT(b.g->nodes.count - before, 3);
    CHECK_INT(maker_of(b.g, maker_of(b.g, y)->inputs[0])->op, OP_copy);
    before = b.g->nodes.count;
    add_node(&b, OP_rope, "r", INPUTS(piece), ATTRS(10000));
    CHECK_INT(b.g->nodes.count - before, 1);
  }
  TEST("only the first feature can be split") {
    add_node(&b, OP_split, "s", INPUTS(qkv), ATTRS(3));
    CHECK_TEXT(last_error(&b), "split-first");
    add_node(&b, OP_split, "s", INPUTS(qkv), ATTRS(7));
    CHECK_TEXT(last_error(&b), "no-dimension");
    add_node(&b, OP_split, "s", INPUTS(v.x), ATTRS(2));
    CHECK_TEXT(last_error(&b), "split-many");
  }
  compile_free(b.c);
}

static void test_norms(void) {
  Values v;
  Builder b = begin(&v);
  TEST("norms and factors refuse by name") {
    ValueId w = add_param(&b, "w", DIMS("ffn"));
    add_node(&b, OP_rmsnorm, "n", INPUTS(v.x, w), ATTRS(1e-5));
    CHECK_TEXT(last_error(&b), "dimension-mismatch");
    add_node(&b, OP_layernorm, "n", INPUTS(v.x, w, w), ATTRS(1e-5));
    CHECK_TEXT(last_error(&b), "dimension-mismatch");
    ValueId of_heads = add_param(&b, "w", DIMS("heads"));
    add_node(&b, OP_rmsnorm, "n", INPUTS(v.q, of_heads), ATTRS(1e-5));
    CHECK_TEXT(last_error(&b), "dimension-mismatch"); /* rows of it are not dense */
    add_node(&b, OP_multiply, "m", INPUTS(w, w), NULL);
    CHECK_TEXT(last_error(&b), "not-a-value");
    add_node(&b, OP_multiply, "m", INPUTS(v.x, w), NULL);
    CHECK_TEXT(last_error(&b), "dimension-mismatch");
  }
  TEST("a norm over each head has a row for each token and head") {
    Lowered low;
    ValueId w = add_param(&b, "w", DIMS("head"));
    ValueId y = add_node(&b, OP_rmsnorm, "n", INPUTS(v.q, w), ATTRS(1e-5, 1));
    op_lower(b.g, maker_of(b.g, y), &low);
    CHECK_INT(low.dims[0], 2 * 5 * 4);
    CHECK_INT(low.dims[1], 2);
    CHECK_NEAR(low.attrs[1], 1, 0);
    CHECK_INT(value_elements(b.g, maker_of(b.g, y)->outputs[1]), 2 * 5 * 4);
  }
  compile_free(b.c);
}

static void test_losses(void) {
  Values v;
  Builder b = begin(&v);
  TEST("losses refuse by name") {
    add_node(&b, OP_cross_entropy, "l", INPUTS(v.q, v.ids), NULL);
    CHECK_TEXT(last_error(&b), "loss-shape");
    add_node(&b, OP_cross_entropy, "l", INPUTS(v.x, v.x), NULL);
    CHECK_TEXT(last_error(&b), "needs-ids");
    add_node(&b, OP_mse, "l", INPUTS(v.x, v.q), NULL);
    CHECK_TEXT(last_error(&b), "loss-shape");
    add_node(&b, OP_dropout, "d", INPUTS(v.x), ATTRS(1));
    CHECK_TEXT(last_error(&b), "dropout-rate");
  }
  TEST("cross entropy writes its gradient over the logits in training") {
    Lowered low;
    b.g->loss_count = 40;
    ValueId logits = add_linear(&b, "head", v.x, DIMS("vocab", "width"), NULL);
    ValueId loss = add_node(&b, OP_cross_entropy, "l", INPUTS(logits, v.ids), NULL);
    CHECK_INT(graph_value(b.g, loss)->kind, VALUE_LOSS);
    CHECK_INT(graph_value(b.g, maker_of(b.g, loss)->outputs[1])->view_of, logits);
    op_lower(b.g, maker_of(b.g, loss), &low);
    CHECK_TEXT(low.kernel, "cross_entropy_train");
    CHECK_INT(low.dim_count, 3);
    CHECK_INT(low.dims[1], 11);
    CHECK_INT(low.dims[2], 11);
    CHECK_INT(low.operand_count, 3);
    CHECK_INT(low.access[0], ACCESS_UPDATE);
    CHECK_INT(low.workspace_bytes, 80);
    CHECK_NEAR(low.attrs[0], 1.0 / 40, 0);
  }
  compile_free(b.c);
  b = builder_new(false, DTYPE_F32);
  TEST("in evaluation the loss leaves the logits alone, and attention drops nothing") {
    Lowered low;
    ValueId x = add_input(&b, "x", DTYPE_F32, DIMS("batch", "seq", "width"));
    ValueId ids = add_input(&b, "ids", DTYPE_I32, DIMS("batch", "seq"));
    ValueId q = add_input(&b, "q", DTYPE_F32, DIMS("batch", "seq", "heads", "head"));
    ValueId loss = add_node(&b, OP_cross_entropy, "l", INPUTS(x, ids), NULL);
    CHECK_INT(maker_of(b.g, loss)->output_count, 1);
    op_lower(b.g, maker_of(b.g, loss), &low);
    CHECK_TEXT(low.kernel, "cross_entropy");
    CHECK_INT(low.access[0], ACCESS_READ);
    CHECK_INT(low.attr_count, 2); /* smoothing and z */
    op_lower(b.g, maker_of(b.g, add_node(&b, OP_attention, "a", INPUTS(q, q, q), ATTRS(1, 0, 0.5))),
             &low);
    CHECK(!low.random && low.attrs[2] == 0);
  }
  compile_free(b.c);
}

int main(void) {
  test_linear();
  test_embedding();
  test_attention();
  test_arithmetic();
  test_split();
  test_norms();
  test_losses();
  CHECK_DONE();
}

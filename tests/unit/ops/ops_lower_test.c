/* Every op is complete; lowered nodes agree with the kernels.   LINK: grad ops graph base kernels
 * plan */
#include "kernels/kernel.h"
#include "tests/unit/check.h"
#include "tests/unit/graph_builder.h"

/* Ops that lower to records of communication, to other kernels, or to nothing. */
static bool has_kernel_of_its_name(int32_t op) {
  switch (op) {
  case OP_split:
  case OP_join:
  case OP_all_reduce:
  case OP_all_gather:
  case OP_reduce_scatter:
  case OP_all_to_all:
  case OP_exchange: return false;
  default: return true;
  }
}

static void test_registry(void) {
  TEST("every op has a name, a shape rule, and a kernel of its name unless it is none") {
#define OP(op_name) CHECK_TEXT(op_def(OP_##op_name)->name, #op_name);
#include "compiler/graph/ops/ops.def"
#undef OP
    for (int32_t op = 0; op < OP_COUNT; op++) {
      CHECK(op_def(op)->shape != NULL);
      bool found = kernel_find(op_def(op)->name, KERNEL_REFERENCE) != NULL;
      if (found != has_kernel_of_its_name(op)) printf("op %s\n", op_def(op)->name);
      CHECK(found == has_kernel_of_its_name(op));
    }
  }
}

/* The operand that the kernel's row lets the result take the place of. */
static int32_t in_place_of(const KernelContract *contract) {
  for (int32_t i = 0; contract != NULL && i < contract->operand_count; i++)
    if (contract->operands[i].over != 0) return 0; /* the first input, of all that may */
  return -1;
}

static void test_in_place(void) {
  TEST("an op works in place exactly where its kernel's row says that it may") {
    for (int32_t op = 0; op < OP_COUNT; op++)
      CHECK_INT(op_def(op)->in_place, in_place_of(contract_find(op_def(op)->name)));
  }
}

static Lowered lower_first(const Graph *g, OpKind op) {
  Lowered low = {0};
  for (NodeId n = 0; n < g->nodes.count; n++)
    if (graph_node(g, n)->op == (int32_t)op) {
      op_lower(g, graph_node(g, n), &low);
      return low;
    }
  return low;
}

static void test_numbers(void) {
  Builder b = builder_new(true, DTYPE_F32);
  build_llama(&b, 2);
  CHECK(grad_derive(b.g));
  TEST("scratch is what the kernels ask for: 2 threads, width 8, 2 x 5 tokens, 4 heads of 2 in "
       "groups of 2, 11 tokens in the vocabulary; lines come in sixteens") {
    CHECK_INT(lower_first(b.g, OP_linear).workspace_bytes, 16 * 8 * 4);
    CHECK_INT(lower_first(b.g, OP_linear_dx).workspace_bytes, 16 * 11 * 4);
    CHECK_INT(lower_first(b.g, OP_linear_dw).workspace_bytes, (16 + 16) * 10 * 4);
    CHECK_INT(lower_first(b.g, OP_rmsnorm_backward).workspace_bytes, 10 * 16 * 4); /* a row each */
    int64_t block = 16 * 16, panel = 48 * 16; /* of keys or queries; 48 queries */
    CHECK_INT(lower_first(b.g, OP_attention).workspace_bytes,
              2 * 4 * (3 * block + 2 * panel + 2 * 48));
    CHECK_INT(lower_first(b.g, OP_attention_backward).workspace_bytes,
              2 * 4 * (12 * block + 48 + 2 * panel + 16)); /* d_q and row terms of a group */
  }
  TEST("flops: multiply-add is two; causal attention is half the square; backward 2.5 times") {
    CHECK_INT(lower_first(b.g, OP_linear).flops, 2 * 10 * 8 * 8);
    CHECK_INT(lower_first(b.g, OP_attention).flops, 4 * 5 * 5 * 4 * 2 * 2 / 2);
    CHECK_INT(lower_first(b.g, OP_attention_backward).flops, 10 * 5 * 5 * 4 * 2 * 2 / 2);
    CHECK_INT(lower_first(b.g, OP_attention_backward).recomputed_flops, 2 * 5 * 5 * 4 * 2 * 2 / 2);
  }
  compile_free(b.c);
  b = builder_new(true, DTYPE_F32);
  build_gpt2(&b, 2, 0.1);
  CHECK(grad_derive(b.g));
  TEST("qkv and its gradient are read and written where they lie") {
    Lowered low = lower_first(b.g, OP_attention_backward);
    for (int32_t i = 5; i < 11; i++)
      CHECK_INT(low.dims[i], 24);
    CHECK(low.random);
    CHECK_INT(lower_first(b.g, OP_layernorm_backward).workspace_bytes,
              2 * 10 * 16 * 4); /* d_weight and d_bias */
  }
  TEST("a bias has a kernel of its own") {
    Lowered low = lower_first(b.g, OP_linear);
    CHECK_TEXT(low.kernel, "linear_bias");
    CHECK_INT(low.operand_count, 4);
    CHECK_INT(low.access[3], ACCESS_WRITE);
  }
  TEST("dropout numbers elements by sample") {
    Lowered low = lower_first(b.g, OP_dropout);
    const int64_t want[] = {2, 5, 1, 1, 8, 1, 5, 5, 1};
    CHECK_INT(low.dim_count, 9);
    for (int32_t i = 0; i < 9; i++)
      CHECK_INT(low.dims[i], want[i]);
    CHECK_INT(low.attr_count, 5);
    CHECK_INT((int64_t)low.attrs[3], 2);
    CHECK_INT(low.vary_count, 0);
    CHECK(low.random);
  }
  compile_free(b.c);
}

/* ---- parts: what differs between ranks */

static DimId add_part(Builder *b, DimId whole, MeshAxis axis, int64_t ranks, bool zigzag) {
  Dim part = b->g->dims.at[whole];
  part.size /= ranks;
  part.is_part = true;
  part.whole = whole;
  part.mesh = axis;
  part.zigzag = zigzag;
  return graph_add_dim(b->g, part);
}

static ValueId add_value(Builder *b, const DimId *dims, int32_t count, DType dtype) {
  return graph_value_dims(b->g, dims, count, dtype, "v");
}
#define PARTS(...)                                                                                 \
  (const DimId[]){__VA_ARGS__}, sizeof((const DimId[]){__VA_ARGS__}) / sizeof(DimId)

static Lowered lower_node(const Graph *g, OpKind op, ValueId x, ValueId second, ValueId y) {
  Lowered low;
  Node n = {.op = op, .output_count = 1, .inputs = {x, second}, .outputs = {y}, .path = "n"};
  n.input_count = (x != NO_ID) + (second != NO_ID);
  n.attrs[0] = op == OP_dropout ? 0.5 : 10000;
  n.attrs[1] = 1;
  op_lower(g, &n, &low);
  return low;
}

/* The attr of the rank with these numbers along cp, tp and tp_group. */
static int64_t attr_of(const Lowered *low, int32_t attr, int64_t cp, int64_t tp, int64_t group) {
  double value = low->attrs[attr];
  for (int32_t i = 0; i < low->vary_count; i++) {
    const LoweredVary *vary = &low->varies[i];
    if (vary->attr != attr) continue;
    int64_t member = vary->axes == MESH_BIT(MESH_CP)   ? cp
                     : vary->axes == MESH_BIT(MESH_TP) ? tp
                                                       : group;
    value += (double)member * vary->stride;
  }
  return (int64_t)value;
}

static void test_part_positions(void) {
  Builder b = builder_new(true, DTYPE_F32);
  DimId batch = graph_dim(b.g, "batch"), heads = graph_dim(b.g, "heads");
  DimId head = graph_dim(b.g, "head"), seq = graph_dim(b.g, "seq");
  b.g->dims.at[seq].size = 48;
  DimId zigzag = add_part(&b, seq, MESH_CP, 4, true);
  DimId contiguous = add_part(&b, seq, MESH_CP, 4, false);
  TEST("a whole sequence: two halves that follow each other, the same on every rank") {
    Lowered low = lower_node(b.g, OP_positions, NO_ID, NO_ID, add_value(&b, PARTS(seq), DTYPE_I32));
    CHECK_INT(low.dims[0], 48);
    CHECK_INT(low.attr_count, 2);
    CHECK_INT(attr_of(&low, 0, 3, 3, 3), 0);
    CHECK_INT(attr_of(&low, 1, 3, 3, 3), 24);
  }
  TEST("zig-zag: of eight chunks of six, member m has chunks m and 7 - m; contiguous: 12 m") {
    ValueId ids = add_value(&b, PARTS(zigzag), DTYPE_I32);
    ValueId x = add_value(&b, PARTS(batch, zigzag, heads, head), DTYPE_F32);
    ValueId z = add_value(&b, PARTS(batch, contiguous, heads, head), DTYPE_F32);
    Lowered positions = lower_node(b.g, OP_positions, NO_ID, NO_ID, ids);
    Lowered rope = lower_node(b.g, OP_rope, x, NO_ID, x);
    Lowered straight = lower_node(b.g, OP_rope, z, NO_ID, z);
    CHECK_INT(positions.dims[0], 12);
    CHECK_INT(rope.dims[1], 12);
    CHECK_INT(rope.attr_count, 8);
    CHECK(rope.attrs[0] == 10000 && rope.attrs[1] == 1);
    for (int64_t m = 0; m < 4; m++) {
      CHECK_INT(attr_of(&positions, 0, m, 0, 0), 6 * m);
      CHECK_INT(attr_of(&positions, 1, m, 0, 0), 6 * (7 - m));
      CHECK_INT(attr_of(&rope, 2, m, 0, 0), 6 * m);
      CHECK_INT(attr_of(&rope, 3, m, 0, 0), 6 * (7 - m));
      CHECK_INT(attr_of(&straight, 2, m, 0, 0), 12 * m);
      CHECK_INT(attr_of(&straight, 3, m, 0, 0), 12 * m + 6);
    }
  }
  compile_free(b.c);
}

static void test_part_embedding(void) {
  Builder b = builder_new(true, DTYPE_F32);
  DimId vocab = graph_dim(b.g, "vocab"), width = graph_dim(b.g, "width");
  b.g->dims.at[vocab].size = 24;
  DimId half = add_part(&b, vocab, MESH_TP, 2, false);
  DimId piece = add_part(&b, half, MESH_TP_GROUP, 3, false);
  TEST("a part of a part of a table: offsets along both axes add up") {
    ValueId table = add_value(&b, PARTS(piece, width), DTYPE_F32);
    ValueId ids = add_input(&b, "ids", DTYPE_I32, DIMS("batch", "seq"));
    ValueId y =
        add_value(&b, PARTS(graph_dim(b.g, "batch"), graph_dim(b.g, "seq"), width), DTYPE_F32);
    Lowered low = lower_node(b.g, OP_embedding, table, ids, y);
    Lowered back = lower_node(b.g, OP_embedding_backward, y, ids, table);
    CHECK_INT(low.dims[1], 8);
    CHECK_INT(low.dims[2], 4);
    CHECK_INT(back.dims[2], 4);
    for (int64_t tp = 0; tp < 2; tp++)
      for (int64_t group = 0; group < 3; group++) {
        CHECK_INT(attr_of(&low, 0, 0, tp, group), 12 * tp + 4 * group);
        CHECK_INT(attr_of(&back, 0, 0, tp, group), 12 * tp + 4 * group);
      }
  }
  compile_free(b.c);
}

static void check_dims(const Lowered *low, const int64_t want[9]) {
  CHECK_INT(low->dim_count, 9);
  for (int32_t i = 0; i < 9; i++)
    CHECK_INT(low->dims[i], want[i]);
}

static void test_part_dropout(void) {
  enum { TOKEN_FIRST = 1, FIRST, SECOND, PART_FIRST };
  Builder b = builder_new(true, DTYPE_F32);
  DimId batch = graph_dim(b.g, "batch"), seq = graph_dim(b.g, "seq");
  DimId heads = graph_dim(b.g, "heads"), head = graph_dim(b.g, "head");
  DimId width = graph_dim(b.g, "width"), kv = graph_dim(b.g, "kv_heads");
  b.g->dims.at[seq].size = 48;
  DimId cp = add_part(&b, seq, MESH_CP, 2, true), cp_tp = add_part(&b, cp, MESH_TP, 3, false);
  DimId tp = add_part(&b, seq, MESH_TP, 3, false);
  DimId some = add_part(&b, add_part(&b, heads, MESH_TP, 2, false), MESH_TP_GROUP, 2, false);
  TEST("tokens: tp's part of cp's two runs") {
    ValueId x = add_value(&b, PARTS(batch, cp_tp, width), DTYPE_F32);
    Lowered low = lower_node(b.g, OP_dropout, x, NO_ID, x);
    check_dims(&low, (const int64_t[]){2, 8, 1, 1, 8, 1, 24, 48, 1});
    for (int64_t m = 0; m < 6; m++) {
      CHECK_INT(attr_of(&low, TOKEN_FIRST, m / 3, m % 3, 0), 8 * (m % 3));
      CHECK_INT(attr_of(&low, FIRST, m / 3, m % 3, 0), 12 * (m / 3));
      CHECK_INT(attr_of(&low, SECOND, m / 3, m % 3, 0), 12 * (3 - m / 3));
    }
  }
  TEST("tokens: tp's part of all, and no samples") {
    ValueId x = add_value(&b, PARTS(tp, width), DTYPE_F32);
    Lowered low = lower_node(b.g, OP_dropout, x, NO_ID, x);
    check_dims(&low, (const int64_t[]){1, 16, 1, 1, 8, 0, 48, 48, 1});
    CHECK_INT(attr_of(&low, TOKEN_FIRST, 0, 2, 0), 32);
    CHECK_INT(attr_of(&low, SECOND, 0, 2, 0), 24);
  }
  TEST("features: the cut one between the others, a part of a part") {
    ValueId x = add_value(&b, PARTS(batch, cp, kv, some, head), DTYPE_F32);
    Lowered low = lower_node(b.g, OP_dropout, x, NO_ID, x);
    check_dims(&low, (const int64_t[]){2, 24, 2, 1, 2, 1, 24, 48, 4});
    CHECK_INT(attr_of(&low, PART_FIRST, 1, 1, 1), 3);
    CHECK_INT(attr_of(&low, PART_FIRST, 1, 1, 0), 2);
    CHECK_INT(attr_of(&low, TOKEN_FIRST, 1, 1, 1), 0);
  }
  TEST("a value of samples alone") {
    ValueId x = add_value(&b, PARTS(batch, width), DTYPE_F32);
    Lowered low = lower_node(b.g, OP_dropout, x, NO_ID, x);
    check_dims(&low, (const int64_t[]){2, 1, 1, 1, 8, 1, 1, 1, 1});
  }
  compile_free(b.c);
}

int main(void) {
  test_registry();
  test_in_place();
  test_numbers();
  test_part_positions();
  test_part_embedding();
  test_part_dropout();
  CHECK_DONE();
}

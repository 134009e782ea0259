/* Every op is complete; lowered nodes agree with the kernels.   LINK: grad ops graph base kernels
 * plan */
#include "kernels/cpu/workspace.h"
#include "kernels/kernel.h"
#include "tests/unit/check.h"
#include "tests/unit/graph_builder.h"

static void test_registry(void) {
  TEST("every op has a name, a shape rule, and a kernel of its name unless it is none") {
#define OP(op_name) CHECK_TEXT(op_def(OP_##op_name)->name, #op_name);
#include "compiler/ops/ops.def"
#undef OP
    for (int32_t op = 0; op < OP_COUNT; op++) {
      CHECK(op_def(op)->shape != NULL);
      bool view = op == OP_split || op == OP_join;
      CHECK(view || op > OP_copy || /* conversions between layouts are no kernels */
            kernel_find(op_def(op)->name, KERNEL_REFERENCE) != NULL);
    }
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
  TEST("scratch is what the kernels ask for") {
    CHECK_INT(lower_first(b.g, OP_linear).workspace_bytes, WORK_GEMM);
    CHECK_INT(lower_first(b.g, OP_linear_dx).workspace_bytes, WORK_GEMM);
    CHECK_INT(lower_first(b.g, OP_linear_dw).workspace_bytes, WORK_GEMM);
    CHECK_INT(lower_first(b.g, OP_rmsnorm_backward).workspace_bytes, work_norm_backward(1, 8));
    CHECK_INT(lower_first(b.g, OP_attention).workspace_bytes, work_attention(2));
    CHECK_INT(lower_first(b.g, OP_attention_backward).workspace_bytes,
              work_attention_backward(2, 2, 5, 2));
  }
  TEST("flops: multiply-add is two; causal attention is half the square; backward 2.5 times") {
    CHECK_INT(lower_first(b.g, OP_linear).flops, 2 * 10 * 8 * 8);
    CHECK_INT(lower_first(b.g, OP_attention).flops, 4 * 5 * 5 * 4 * 2 * 2 / 2);
    CHECK_INT(lower_first(b.g, OP_attention_backward).flops, 10 * 5 * 5 * 4 * 2 * 2 / 2);
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
    CHECK_INT(lower_first(b.g, OP_layernorm_backward).workspace_bytes, work_norm_backward(2, 8));
  }
  TEST("a bias has a kernel of its own") {
    Lowered low = lower_first(b.g, OP_linear);
    CHECK_TEXT(low.kernel, "linear_bias");
    CHECK_INT(low.operand_count, 4);
    CHECK_INT(low.access[3], ACCESS_WRITE);
  }
  TEST("dropout numbers elements by sample") {
    Lowered low = lower_first(b.g, OP_dropout);
    CHECK_INT(low.dims[0], 80);
    CHECK_INT(low.dims[1], 40);
    CHECK(low.random);
  }
  compile_free(b.c);
}

int main(void) {
  test_registry();
  test_numbers();
  CHECK_DONE();
}

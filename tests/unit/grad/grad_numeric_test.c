/* Derived gradients against central differences of the loss, for every parameter of small models:
 * two micro-batches, all in f64 through the reference kernels.
 * LINK: backward grad ops graph base kernels plan */
#include "tests/unit/check.h"
#include "tests/unit/graph_run.h"

enum { CHECKED_MAX = 6 }; /* elements of a tensor */

static int32_t checked;

/* Compares a few elements of every tensor of every layer. */
static void check_gradients(Run *run, double denominator) {
  Graph *g = run->g;
  const double step = 1e-5;
  run_step(run, true);
  for (ParamId p = 0; p < g->params.count; p++) {
    const Param *param = &g->params.at[p];
    for (int64_t l = 0; l < g->regions.at[param->region].repeat; l++)
      for (int64_t k = 0; k < CHECKED_MAX && k < param->elements; k++) {
        int64_t i = param->elements <= CHECKED_MAX ? k : (k * 7919 + 3 * l) % param->elements;
        double derived = run->grad[l][p][i], *at = &run->param[l][p][i], kept = *at;
        *at = kept + step;
        double above = run_step(run, false);
        *at = kept - step;
        double below = run_step(run, false);
        *at = kept;
        double numeric = (above - below) / (2 * step) / denominator;
        int32_t failures = check_failures;
        CHECK_NEAR(derived, numeric, 1e-8 + 1e-6 * fabs(numeric));
        if (check_failures > failures)
          printf("  %s layer %lld element %lld\n", param->name, (long long)l, (long long)i);
        checked++;
      }
  }
}

/* Targets with weight: the loss denominator. */
static int64_t count_targets(const Run *run, int32_t input) {
  int64_t count = 0, elements = value_elements(run->g, run->g->inputs.at[input].value);
  for (int32_t m = 0; m < RUN_MICROBATCHES; m++)
    for (int64_t i = 0; i < elements; i++)
      count += ((const int32_t *)run->input[m][input])[i] >= 0;
  return count;
}

static void check_language_model(Builder *b, RecomputeKind kind, int64_t group_layers) {
  CHECK(grad_derive(b->g));
  recompute_apply(b->g, kind, group_layers);
  Run run = run_new(b->g, group_layers);
  b->g->loss_count = count_targets(&run, 1);
  CHECK(b->g->loss_count < 20);
  check_gradients(&run, (double)b->g->loss_count);
  CHECK_NEAR(run.loss[1], (double)b->g->loss_count, 0);
  run_free(&run);
}

static void test_gpt2(double dropout, RecomputeKind kind, int64_t group_layers) {
  Builder b = builder_new(true, DTYPE_F64);
  build_gpt2(&b, 3, dropout);
  check_language_model(&b, kind, group_layers);
  compile_free(b.c);
}

static void test_llama(RecomputeKind kind, int64_t group_layers) {
  Builder b = builder_new(true, DTYPE_F64);
  build_llama(&b, 3);
  check_language_model(&b, kind, group_layers);
  compile_free(b.c);
}

static void test_regressor(RecomputeKind kind) {
  Builder b = builder_new(true, DTYPE_F64);
  Graph *g = b.g;
  add_dim(&b, "outputs", 3);
  ValueId x = add_input(&b, "x", DTYPE_F64, DIMS("batch", "width"));
  ValueId y = add_input(&b, "y", DTYPE_F64, DIMS("batch", "outputs"));
  x = add_linear(&b, "first", x, DIMS("ffn", "width"), DIMS("ffn"));
  RegionId stack = open_region(&b, "blocks", 3, add_node(&b, OP_relu, "relu", INPUTS(x), NULL));
  x = g->regions.at[stack].input;
  ValueId h = add_linear(&b, "blocks.*.up", x, DIMS("width", "ffn"), DIMS("width"));
  h = add_node(&b, OP_relu, "blocks.*.relu", INPUTS(h), NULL);
  h = add_linear(&b, "blocks.*.down", h, DIMS("ffn", "width"), DIMS("ffn"));
  RegionId end =
      open_region(&b, "end", 0, add_node(&b, OP_add, "blocks.*.add", INPUTS(x, h), NULL));
  h = add_linear(&b, "last", g->regions.at[end].input, DIMS("outputs", "ffn"), DIMS("outputs"));
  add_loss(g, add_node(&b, OP_mse, "mse", INPUTS(h, y), NULL));
  CHECK(grad_derive(g));
  recompute_apply(g, kind, 1);
  Run run = run_new(g, 1);
  g->loss_count = 4;
  check_gradients(&run, 4 * 3);
  CHECK_NEAR(run.loss[1], 12, 0);
  run_free(&run);
  compile_free(b.c);
}

/* Models with features that the others lack: broadcasts, tanh, affine, pieces with several or no
 * readers, a handle used both ways, norms over several names, a loss on a value that others read.
 */
static void build_odd(Builder *b) {
  Graph *g = b->g;
  ValueId tokens = add_input(b, "tokens", DTYPE_I32, DIMS("batch", "seq"));
  ValueId targets = add_input(b, "targets", DTYPE_I32, DIMS("batch", "seq"));
  ValueId embed = add_param(b, "embed.weight", DIMS("vocab", "width"));
  ValueId wpe = add_param(b, "wpe.weight", DIMS("positions", "width"));
  ValueId x = add_node(b, OP_embedding, "embed", INPUTS(embed, tokens), NULL);
  ValueId at = add_node(b, OP_positions, "positions", INPUTS(NO_ID), NULL);
  ValueId p = add_node(b, OP_embedding, "wpe", INPUTS(wpe, at), NULL);
  x = add_node(b, OP_subtract, "subtract", INPUTS(x, p), NULL);
  x = add_node(b, OP_multiply, "multiply", INPUTS(p, x), NULL);
  x = add_node(b, OP_affine, "affine", INPUTS(x), ATTRS(1.5, 0.1));

  RegionId stack = open_region(b, "h", 4, x);
  x = g->regions.at[stack].input;
  ValueId t = add_linear(b, "h.*.qkv", x, DIMS("qkv", "heads", "head", "width"), NULL);
  const ValueId *part = maker_of(g, add_node(b, OP_split, "h.*.s", INPUTS(t), ATTRS(2)))->outputs;
  ValueId q = part[0], k = part[1]; /* the third is not used */
  ValueId q_norm = add_param(b, "h.*.q_norm.weight", DIMS("head"));
  q = add_node(b, OP_rmsnorm, "h.*.q_norm", INPUTS(q, q_norm), ATTRS(1e-5, 1));
  q = add_node(b, OP_rope, "h.*.rope", INPUTS(q), ATTRS(100));
  ValueId a = add_node(b, OP_attention, "h.*.attention", INPUTS(q, k, k), ATTRS(0, 0.7, 0.25));
  ValueId scale = add_param(b, "h.*.ln_a.weight", DIMS("heads", "head"));
  ValueId shift = add_param(b, "h.*.ln_a.bias", DIMS("heads", "head"));
  a = add_node(b, OP_layernorm, "h.*.ln_a", INPUTS(a, scale, shift), ATTRS(1e-5));
  a = add_node(b, OP_multiply, "h.*.multiply", INPUTS(a, k), NULL);
  ValueId w = add_param(b, "h.*.w", DIMS("width", "heads", "head"));
  ValueId u = add_node(b, OP_linear, "h.*.w", INPUTS(a, w), NULL);
  ValueId back = add_node(b, OP_linear, "h.*.w.2", INPUTS(u, w), NULL);
  back = add_node(b, OP_tanh, "h.*.tanh", INPUTS(back), NULL);
  u = add_node(b, OP_add, "h.*.add",
               INPUTS(u, add_linear(b, "h.*.o", back, DIMS("width", "heads", "head"), NULL)), NULL);
  ValueId factor = add_param(b, "h.*.factor", DIMS("width"));
  u = add_node(b, OP_multiply, "h.*.scaled", INPUTS(factor, u), NULL);
  u = add_node(b, OP_multiply, "h.*.scaled.2", INPUTS(u, factor), NULL);
  u = add_node(b, OP_subtract, "h.*.shifted", INPUTS(u, add_param(b, "h.*.shift", DIMS("width"))),
               NULL);
  x = add_node(b, OP_subtract, "h.*.subtract", INPUTS(u, x), NULL);
  x = add_dropout(b, "h.*.dropout", x, 0.2);

  RegionId end = open_region(b, "end", 0, x);
  x = add_rmsnorm(b, "norm", g->regions.at[end].input);
  x = add_linear(b, "head", x, DIMS("vocab", "width"), NULL);
  x = add_node(b, OP_tanh, "cap", INPUTS(add_node(b, OP_affine, "cap.1", INPUTS(x), ATTRS(0.5))),
               NULL);
  x = add_node(b, OP_multiply, "square", INPUTS(x, x), NULL);
  x = add_node(b, OP_affine, "cap.2", INPUTS(x), ATTRS(3, -1));
  add_loss(g, add_node(b, OP_cross_entropy, "cross_entropy", INPUTS(x, targets), NULL));
}

static void test_odd(RecomputeKind kind, int64_t group_layers) {
  Builder b = builder_new(true, DTYPE_F64);
  build_odd(&b);
  check_language_model(&b, kind, group_layers);
  compile_free(b.c);
}

/* Two losses of the same logits, which each would overwrite, and one before the stack. */
static void test_sum(RecomputeKind kind) {
  Builder b = builder_new(true, DTYPE_F64);
  Graph *g = b.g;
  ValueId tokens = add_input(&b, "tokens", DTYPE_I32, DIMS("batch", "seq"));
  ValueId targets = add_input(&b, "targets", DTYPE_I32, DIMS("batch", "seq"));
  ValueId embed = add_param(&b, "embed.weight", DIMS("vocab", "width"));
  ValueId x = add_node(&b, OP_embedding, "embed", INPUTS(embed, tokens), NULL);
  ValueId early = add_linear(&b, "early", x, DIMS("vocab", "width"), NULL);
  add_loss(g, add_node(&b, OP_cross_entropy, "loss.early", INPUTS(early, targets),
                       ATTRS(0.1, 0, 0, 0, 1, 0.3)));
  RegionId stack = open_region(&b, "h", 3, x);
  x = g->regions.at[stack].input;
  ValueId h = add_node(&b, OP_silu, "h.*.silu", INPUTS(x), NULL);
  h = add_linear(&b, "h.*.up", h, DIMS("width", "width"), NULL);
  RegionId end = open_region(&b, "end", 0, add_node(&b, OP_add, "h.*.add", INPUTS(x, h), NULL));
  x = add_linear(&b, "head", g->regions.at[end].input, DIMS("vocab", "width"), NULL);
  add_loss(g, add_node(&b, OP_cross_entropy, "loss.lm", INPUTS(x, targets), NULL));
  add_loss(g, add_node(&b, OP_cross_entropy, "loss.z", INPUTS(x, targets),
                       ATTRS(0.2, 0.05, 0, 0, 1, -0.5)));
  check_language_model(&b, kind, 1);
  compile_free(b.c);
}

int main(void) {
  TEST("GPT-2: fused qkv, tied head, dropout") {
    test_gpt2(0, RECOMPUTE_NONE, 1);
    test_gpt2(0.2, RECOMPUTE_NONE, 1);
  }
  TEST("GPT-2 with dropout, recomputed: the same masks are drawn") {
    test_gpt2(0.2, RECOMPUTE_BLOCK, 1);
    test_gpt2(0.2, RECOMPUTE_EVERY, 2); /* 3 layers: the last group is shorter */
  }
  TEST("Llama: grouped queries, rope, SwiGLU") {
    test_llama(RECOMPUTE_NONE, 1);
    test_llama(RECOMPUTE_BLOCK, 1);
    test_llama(RECOMPUTE_EVERY, 3);
  }
  TEST("a regressor with relu and mse") {
    test_regressor(RECOMPUTE_NONE);
    test_regressor(RECOMPUTE_BLOCK);
  }
  TEST("broadcasts, shared handles, odd pieces") {
    test_odd(RECOMPUTE_NONE, 1);
    test_odd(RECOMPUTE_BLOCK, 1);
    test_odd(RECOMPUTE_EVERY, 2);
  }
  TEST("a weighted sum of losses, two of one value and one before the stack") {
    test_sum(RECOMPUTE_NONE);
    test_sum(RECOMPUTE_BLOCK);
  }
  CHECK(checked > 1000);
  CHECK_DONE();
}

/* Dimensions that cannot be cut are refused by name.   LINK: shard grad ops graph base
 */
#include "compiler/graph/shard/shard.h"
#include "tests/unit/check.h"
#include "tests/unit/graph_builder.h"

static int32_t count_named(const Compile *c, const char *name) {
  int32_t count = 0;
  for (int32_t i = 0; i < c->diags.list.count; i++)
    count += strcmp(c->diags.list.at[i].name, name) == 0;
  return count;
}

static void test_degrees(void) {
  Builder b = builder_sized(true, DTYPE_F32, 4);
  build_llama(&b, 3);
  JobMesh mesh = {0};
  TEST("all sizes that a degree does not divide are told at once, by name, with what would do") {
    CHECK(!shard_degrees(b.g, 5, &mesh));
    CHECK_INT(b.c->diags.error_count, 4);
    CHECK_INT(count_named(b.c, "heads-multiple"), 2);
    CHECK_INT(count_named(b.c, "degrees"), 2);
    CHECK(strstr(b.c->diags.list.at[0].message, "vocab = 24; nearest: 4 or 6") != NULL);
    CHECK_TEXT(b.c->diags.list.at[0].fix, "model.vocab_multiple = 5");
    CHECK(strstr(b.c->diags.list.at[1].message, "heads = 8; nearest: 4 or 8") != NULL);
    CHECK(strstr(b.c->diags.list.at[2].message, "kv_heads = 4 (nor is it a multiple)") != NULL);
  }
  TEST("shard_apply checks the degrees that it is given") {
    b.g->mesh.size[MESH_TP] = 7;
    CHECK(!shard_apply(b.g, (ShardOptions){0}));
  }
  compile_free(b.c);
}

static void test_tokens(void) {
  Builder b = builder_sized(true, DTYPE_F32, 2);
  build_llama(&b, 3);
  TEST("Ulysses hands out kv_heads: there must be enough") {
    b.g->mesh.size[MESH_CP] = 4;
    CHECK(!shard_apply(b.g, (ShardOptions){.context = CONTEXT_ULYSSES}));
    CHECK_INT(b.c->diags.error_count, 1);
    CHECK(strstr(b.c->diags.list.at[0].message, "kv_heads = 2") != NULL);
  }
  compile_free(b.c);

  b = builder_sized(true, DTYPE_F32, 4);
  b.g->dims.at[graph_dim(b.g, "seq")].size = 12;
  build_llama(&b, 3);
  TEST("a ring needs two chunks a member") {
    b.g->mesh.size[MESH_CP] = 4;
    CHECK(!shard_apply(b.g, (ShardOptions){0}));
    CHECK_TEXT(b.c->diags.list.at[0].name, "degrees");
  }
  compile_free(b.c);
}

static void test_token_axes(void) {
  Builder b = builder_sized(true, DTYPE_F32, 4);
  b.g->dims.at[graph_dim(b.g, "seq")].axis = NULL;
  b.g->dims.at[graph_dim(b.g, "ffn")].axis = "cp";
  build_llama(&b, 3);
  TEST("cp cuts seq and nothing else, whatever a model's axes say") {
    b.g->mesh.size[MESH_CP] = 2;
    CHECK(!shard_apply(b.g, (ShardOptions){0}));
    CHECK_INT(b.c->diags.error_count, 2);
  }
  compile_free(b.c);
}

/* One weight norms tokens that tp cuts, and positions, which every rank has. */
static void test_two_uses(void) {
  Builder b = builder_sized(true, DTYPE_F32, 4);
  ValueId tokens = add_input(&b, "tokens", DTYPE_I32, DIMS("batch", "seq"));
  ValueId targets = add_input(&b, "targets", DTYPE_I32, DIMS("batch", "seq"));
  ValueId embed = add_param(&b, "embed.weight", DIMS("vocab", "width"));
  ValueId wpe = add_param(&b, "wpe.weight", DIMS("positions", "width"));
  ValueId norm = add_param(&b, "norm.weight", DIMS("width"));
  ValueId x = add_node(&b, OP_embedding, "embed", INPUTS(embed, tokens), NULL);
  ValueId at = add_node(&b, OP_positions, "positions", INPUTS(NO_ID), NULL);
  ValueId p = add_node(&b, OP_embedding, "wpe", INPUTS(wpe, at), NULL);
  p = add_node(&b, OP_rmsnorm, "norm.2", INPUTS(p, norm), ATTRS(1e-5));
  x = add_node(&b, OP_rmsnorm, "norm", INPUTS(x, norm), ATTRS(1e-5));
  x = add_node(&b, OP_add, "add", INPUTS(x, p), NULL);
  x = add_linear(&b, "head", x, DIMS("vocab", "width"), NULL);
  add_loss(b.g, add_node(&b, OP_cross_entropy, "cross_entropy", INPUTS(x, targets), NULL));
  CHECK(grad_derive(b.g));
  TEST("gradients of one parameter that cannot be one sum are refused by its name") {
    b.g->mesh.size[MESH_TP] = 2;
    CHECK(!shard_apply(b.g, (ShardOptions){.sequence = true}));
    CHECK_INT(b.c->diags.error_count, 1);
    CHECK(strstr(b.c->diags.list.at[0].message, "norm.weight") != NULL);
  }
  compile_free(b.c);
}

int main(void) {
  test_degrees();
  test_tokens();
  test_token_axes();
  test_two_uses();
  CHECK_DONE();
}

/* Sharded and uncut graphs compute the same loss and the same gradients, element by element: every
 * rank's nodes run through the reference kernels in f64.  LINK: shard grad ops graph base kernels
 * plan */
#include "compiler/shard/shard.h"
#include "tests/unit/shard_run.h"

typedef struct Case {
  const char *says;
  bool llama;
  int64_t kv_heads, cp, tp;
  ShardOptions options;
  RecomputeKind recompute;
  int64_t group_layers;
  bool split;
} Case;

static void set_dim(Graph *g, const char *name, int64_t size, const char *axis) {
  Dim *dim = &g->dims.at[graph_dim(g, name)];
  dim->size = size;
  dim->axis = axis;
}

static Builder build(const Case *c, bool training) {
  Builder b = builder_new(training, DTYPE_F64);
  set_dim(b.g, "seq", 16, "cp");
  set_dim(b.g, "positions", 19, NULL);
  set_dim(b.g, "vocab", 24, "tp");
  b.g->dims.at[graph_dim(b.g, "vocab")].real_size = 21;
  set_dim(b.g, "heads", 8, "tp");
  set_dim(b.g, "kv_heads", c->kv_heads, "tp");
  set_dim(b.g, "ffn", 12, "tp");
  if (c->llama)
    build_llama(&b, 2);
  else
    build_gpt2(&b, 2, training ? 0.2 : 0);
  b.g->loss_count = 60;
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
  if (c->split) grad_split_weight(b.g);
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

int main(void) {
  const ShardOptions plain = {0}, sp = {.sequence = true};
  const ShardOptions again = {.sequence = true, .regather = true};
  const ShardOptions ulysses = {.context = CONTEXT_ULYSSES};
  const ShardOptions all_sp = {.sequence = true, .context = CONTEXT_ULYSSES};
  const Case cases[] = {
      {"GPT-2, tp 2", false, 4, 1, 2, plain, RECOMPUTE_NONE, 0, false},
      {"Llama, tp 4", true, 4, 1, 4, plain, RECOMPUTE_NONE, 0, false},
      {"GPT-2, tp 2, sequence parallel", false, 4, 1, 2, sp, RECOMPUTE_NONE, 0, false},
      {"Llama, tp 4, sequence parallel, gathered again", true, 4, 1, 4, again, RECOMPUTE_NONE, 0,
       false},
      {"Llama, tp 4 with 2 kv_heads", true, 2, 1, 4, plain, RECOMPUTE_NONE, 0, false},
      {"Llama, tp 4 with 1 kv_head, sequence parallel", true, 1, 1, 4, sp, RECOMPUTE_NONE, 0,
       false},
      {"Llama, tp 4 with 2 kv_heads, sequence parallel", true, 2, 1, 4, sp, RECOMPUTE_NONE, 0,
       false},
      {"GPT-2, a ring of 2", false, 4, 2, 1, plain, RECOMPUTE_NONE, 0, false},
      {"Llama, a ring of 4", true, 4, 4, 1, plain, RECOMPUTE_NONE, 0, false},
      {"GPT-2, a ring of 2, tp 2, sequence parallel", false, 4, 2, 2, sp, RECOMPUTE_NONE, 0, false},
      {"Llama, a ring of 4, tp 4 with 2 kv_heads", true, 2, 4, 4, plain, RECOMPUTE_NONE, 0, false},
      {"Llama, a ring of 2, tp 4 with 2 kv_heads, sequence parallel", true, 2, 2, 4, sp,
       RECOMPUTE_NONE, 0, false},
      {"GPT-2, Ulysses over 2", false, 4, 2, 1, ulysses, RECOMPUTE_NONE, 0, false},
      {"Llama, Ulysses over 4", true, 4, 4, 1, ulysses, RECOMPUTE_NONE, 0, false},
      {"Llama, Ulysses over 2, tp 2, sequence parallel", true, 4, 2, 2, all_sp, RECOMPUTE_NONE, 0,
       false},
      {"GPT-2, Ulysses over 2, tp 2, sequence parallel", false, 4, 2, 2, all_sp, RECOMPUTE_NONE, 0,
       false},
      {"GPT-2, a ring of 2, tp 2, recomputed", false, 4, 2, 2, plain, RECOMPUTE_BLOCK, 0, false},
      {"Llama, tp 2, sequence parallel, recomputed in groups", true, 4, 1, 2, sp, RECOMPUTE_EVERY,
       2, false},
      {"GPT-2, tp 2, sequence parallel, parameter gradients later", false, 4, 1, 2, again,
       RECOMPUTE_NONE, 0, true},
      {"Llama, a ring of 2, tp 4 with 2 kv_heads, recomputed, parameter gradients later", true, 2,
       2, 4, sp, RECOMPUTE_BLOCK, 0, true},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    TEST(cases[i].says) {
      check_training(&cases[i]);
      check_eval(&cases[i]);
    }
  }
  CHECK_DONE();
}

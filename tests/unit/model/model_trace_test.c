/* LINK: model -- traces of the library's presets against published counts; the shape of the graph.
 */
#include <stdlib.h>
#include <time.h>

#include "compiler/graph/model/model.h"
#include "compiler/graph/ops/op.h"
#include "tests/unit/check.h"

/* "specs" -> the repository's. */
static const char *in_repository(Arena *arena, const char *path) {
  return arena_printf(arena, SOURCE_FOLDER "/%s", path);
}

typedef struct Traced {
  Compile *c;
  Job *job;
  Model *model;
  Graph *g;
} Traced;

static void set_size(Traced *t, const char *name, double number) {
  ModelSize size = {.name = name, .kind = SIZE_NUMBER, .number = number};
  VEC_PUSH(t->c->arena, &t->job->sizes, size);
}

static Traced prepare(const char *name) {
  Traced t = {.c = compile_new("")};
  t.c->specs_dir = in_repository(t.c->arena, "specs");
  t.job = ARENA_NEW(t.c->arena, Job);
  t.job->model.head_text = name;
  t.job->directory = in_repository(t.c->arena, "examples");
  return t;
}

static void open_and_trace(Traced *t, int64_t microbatch, int64_t context, bool training) {
  t->model = model_open(t->c, t->job);
  if (t->model != NULL) t->g = model_trace(t->c, t->model, microbatch, context, training);
  if (t->g == NULL) diags_print(&t->c->diags, stdout, false);
}

static void finish(Traced *t) {
  model_close(t->model);
  compile_free(t->c);
}

static const Region *region_named(const Graph *g, const char *name) {
  for (int32_t i = 0; i < g->regions.count; i++)
    if (strcmp(g->regions.at[i].name, name) == 0) return &g->regions.at[i];
  return NULL;
}

static const Param *param_named(const Graph *g, const char *name) {
  for (int32_t i = 0; i < g->params.count; i++)
    if (strcmp(g->params.at[i].name, name) == 0) return &g->params.at[i];
  return NULL;
}

static const Node *node_at(const Graph *g, const char *path) {
  for (int32_t i = 0; i < g->nodes.count; i++)
    if (strcmp(g->nodes.at[i].path, path) == 0) return &g->nodes.at[i];
  return NULL;
}

static void check_presets(void) {
  static const struct {
    const char *name;
    int64_t parameters;
    int32_t block_nodes;
  } presets[] = {
      {"gpt2-124m", 124439808, 11},        {"gpt2-355m", 354823168, 11},
      {"gpt2-774m", 774030080, 11},        {"gpt2-1.5b", 1557611200, 11},
      {"gpt3-175b", 174604259328, 11},     {"llama2-7b", 6738415616, 16},
      {"llama2-70b", 68976648192, 16},     {"llama3-8b", 8030261248, 16},
      {"llama3-70b", 70553706496, 16},     {"llama3-405b", 405853388800, 16},
      {"llama3.1-8b", 8030261248, 16},     {"llama3.1-70b", 70553706496, 16},
      {"llama3.1-405b", 405853388800, 16}, {"llama3.2-1b", 1235814400, 16},
      {"llama3.2-3b", 3212749824, 16},     {"qwen2.5-0.5b", 494032768, 16},
      {"qwen2.5-1.5b", 1543714304, 16},    {"qwen2.5-3b", 3085938688, 16},
      {"qwen2.5-7b", 7615616512, 16},      {"qwen2.5-14b", 14770033664, 16},
      {"qwen2.5-32b", 32763876352, 16},    {"qwen2.5-72b", 72706203648, 16},
      {"qwen3-0.6b", 596049920, 18},       {"qwen3-1.7b", 1720574976, 18},
      {"qwen3-4b", 4022468096, 18},        {"qwen3-8b", 8190735360, 18},
      {"qwen3-14b", 14768307200, 18},      {"qwen3-32b", 32762123264, 18},
      {"mistral-7b", 7241732096, 16},      {"mistral-7b-v0.3", 7248023552, 16},
  };
  TEST("every preset has the published number of parameters, and a block is traced once")
  for (size_t i = 0; i < sizeof presets / sizeof *presets; i++) {
    Traced t = prepare(presets[i].name);
    open_and_trace(&t, 1, 1024, true);
    CHECK(t.g != NULL);
    if (t.g != NULL) {
      CHECK_INT(model_parameters(t.g), presets[i].parameters);
      CHECK_INT(t.g->regions.count, 3);
      CHECK_INT(t.g->regions.at[1].forward.count, presets[i].block_nodes);
    }
    finish(&t);
  }
}

static void check_gpt2_params(Graph *g) {
  TEST("parameters carry names, dimensions, how they begin, and whether they decay") {
    CHECK_INT(g->params.count, 16);
    const Param *c_attn = param_named(g, "h.*.attn.c_attn.weight");
    CHECK(c_attn != NULL && c_attn->decay && c_attn->region == 1);
    CHECK_TEXT(value_dims_text(g, c_attn->value), "[qkv, heads, head, width]");
    CHECK_INT(c_attn->elements, 1769472);
    CHECK(c_attn->init == INIT_NORMAL);
    CHECK_NEAR(c_attn->init_b, 0.02, 1e-15);
    CHECK_NEAR(param_named(g, "h.*.mlp.c_proj.weight")->init_b, 0.02 / sqrt(24), 1e-15);
    const Param *bias = param_named(g, "h.*.attn.c_attn.bias");
    CHECK(bias != NULL && !bias->decay && bias->init == INIT_CONSTANT && bias->init_a == 0);
    const Param *norm = param_named(g, "ln_f.weight");
    CHECK(norm != NULL && !norm->decay && norm->init == INIT_CONSTANT && norm->init_a == 1);
    CHECK_INT(norm->region, 2);
    CHECK_INT(param_named(g, "wte.weight")->region, 0);
    CHECK_INT(graph_value(g, param_named(g, "wte.weight")->value)->kind, VALUE_PARAM);
  }
}

static void check_gpt2(void) {
  Traced t = prepare("gpt2-124m");
  open_and_trace(&t, 4, 256, true);
  Graph *g = t.g;
  if (g == NULL) exit(1);
  TEST("GPT-2's regions are begin, h and end, and one value is carried") {
    CHECK_TEXT(g->regions.at[0].name, "begin");
    CHECK_TEXT(g->regions.at[1].name, "h");
    CHECK_TEXT(g->regions.at[2].name, "end");
    CHECK_INT(g->regions.at[1].repeat, 12);
    CHECK(g->regions.at[1].is_stack);
    for (int32_t i = 1; i < 3; i++) {
      CHECK_TEXT(value_dims_text(g, g->regions.at[i].input), "[batch, seq, width]");
      CHECK_TEXT(value_dims_text(g, g->regions.at[i - 1].output), "[batch, seq, width]");
      CHECK_INT(graph_value(g, g->regions.at[i].input)->region, i);
      CHECK_INT(graph_value(g, g->regions.at[i].input)->producer, NO_ID);
    }
    CHECK_INT(g->regions.at[0].input, NO_ID);
    CHECK_INT(g->regions.at[2].output, NO_ID);
    CHECK_INT(graph_value(g, g->losses[0])->region, 2);
  }
  check_gpt2_params(g);
  TEST("split makes views of the fused projection") {
    const Node *split = node_at(g, "h.*.split");
    CHECK(split != NULL && split->output_count == 3);
    const Value *v = graph_value(g, split->outputs[2]);
    CHECK_INT(v->view_of, split->inputs[0]);
    CHECK_INT(v->view_offset, 2 * 768);
    CHECK_TEXT(value_dims_text(g, split->outputs[2]), "[batch, seq, heads, head]");
  }
  TEST("dimensions have sizes and axes") {
    CHECK_INT(g->dims.at[graph_dim(g, "batch")].size, 4);
    CHECK_INT(g->dims.at[graph_dim(g, "seq")].size, 256);
    CHECK(g->dims.at[graph_dim(g, "seq")].carried && !g->dims.at[graph_dim(g, "width")].carried);
    CHECK_TEXT(g->dims.at[graph_dim(g, "heads")].axis, "tp");
    CHECK(g->dims.at[graph_dim(g, "width")].axis == NULL);
  }
  TEST("inputs have roles") {
    CHECK_INT(g->inputs.count, 2);
    CHECK_INT(g->inputs.at[0].role, INPUT_TOKENS);
    CHECK_INT(g->inputs.at[1].role, INPUT_TARGETS);
    CHECK_INT(graph_value(g, g->inputs.at[1].value)->dtype, DTYPE_I32);
  }
  TEST("nodes know their line") {
    const Node *fc = node_at(g, "h.*.mlp.c_fc");
    CHECK(fc != NULL && fc->origin.line == 14 && strstr(fc->origin.file, "gpt2.lua") != NULL);
  }
  CHECK_NEAR(model_size(t.model, "positions", 0), 1024, 0);
  CHECK_NEAR(model_size(t.model, "rungs", 7), 7, 0);
  finish(&t);
}

static void check_dropout(void) {
  TEST("dropout makes nodes in training only, and the other paths stay as they are") {
    Traced t = prepare("gpt2-124m");
    set_size(&t, "dropout", 0.1);
    open_and_trace(&t, 1, 64, true);
    CHECK(t.g != NULL);
    int32_t training = region_named(t.g, "h")->forward.count;
    CHECK(node_at(t.g, "h.*.dropout.2") != NULL);
    CHECK_NEAR(node_at(t.g, "h.*.attention")->attrs[2], 0.1, 0);
    Graph *eval = model_trace(t.c, t.model, 2, 64, false);
    CHECK(eval != NULL);
    CHECK_INT(region_named(eval, "h")->forward.count, training - 2);
    CHECK(node_at(eval, "h.*.dropout") == NULL && node_at(eval, "h.*.add.2") != NULL);
    CHECK_NEAR(node_at(eval, "h.*.attention")->attrs[2], 0, 0);
    finish(&t);
  }
}

static void check_mlp(void) {
  Traced t = prepare("./mlp.lua");
  set_size(&t, "inputs", 8);
  open_and_trace(&t, 16, 0, true);
  TEST("the regressor of the examples: by hand 99,905 parameters, columns as inputs") {
    CHECK(t.g != NULL);
    CHECK_INT(model_parameters(t.g), 8 * 64 + 64 + 3 * (64 * 256 + 256 + 256 * 64 + 64) + 64 + 1);
    CHECK_INT(t.g->inputs.at[0].role, INPUT_COLUMNS);
    CHECK_TEXT(t.g->loss_name, "mse");
    const Param *up = param_named(t.g, "blocks.*.up.weight"),
                *bias = param_named(t.g, "blocks.*.up.bias");
    CHECK(up->init == INIT_UNIFORM && bias->init == INIT_UNIFORM);
    CHECK_NEAR(up->init_a, -0.125, 1e-15);
    CHECK_NEAR(bias->init_b, 0.125, 1e-15);
    CHECK_TEXT(t.g->dims.at[graph_dim(t.g, "hidden")].axis, "tp");
  }
  finish(&t);
}

/* attrs of compiler/graph/ops/rope.c: base, sign, factor, low_freq, high_freq, original_positions
 */
static void check_rope_scaling(void) {
  static const struct {
    const char *name;
    double factor, positions;
  } presets[] = {
      {"llama2-7b", 1, 4096},       {"llama3-8b", 1, 8192},      {"llama3-70b", 1, 8192},
      {"llama3.1-8b", 8, 131072},   {"llama3.1-70b", 8, 131072}, {"llama3-405b", 8, 131072},
      {"llama3.1-405b", 8, 131072}, {"llama3.2-1b", 32, 131072}, {"llama3.2-3b", 32, 131072}};
  TEST("presets scale their rotary positions as published")
  for (size_t i = 0; i < sizeof presets / sizeof *presets; i++) {
    Traced t = prepare(presets[i].name);
    open_and_trace(&t, 1, 1024, true);
    const Node *rope = node_at(t.g, "model.layers.*.rope");
    CHECK(rope != NULL && rope->attrs[2] == presets[i].factor);
    CHECK(rope->attrs[3] == 1 && rope->attrs[4] == 4 && rope->attrs[5] == 8192);
    CHECK(model_size(t.model, "positions", 0) == presets[i].positions);
    finish(&t);
  }
}

static void check_time(void) {
  TEST("opening and tracing the largest preset takes milliseconds of a processor") {
    struct timespec from, to;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    for (int i = 0; i < 10; i++) {
      Traced t = prepare("llama3-405b");
      open_and_trace(&t, 1, 8192, true);
      CHECK(t.g != NULL && t.g->nodes.count < 64);
      finish(&t);
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    double each_ms =
        ((double)(to.tv_sec - from.tv_sec) * 1e3 + (double)(to.tv_nsec - from.tv_nsec) / 1e6) / 10;
    printf("llama3-405b: %.2f ms to open and trace\n", each_ms);
    CHECK(each_ms < 100); /* sanitizers included */
  }
}

int main(void) {
  check_presets();
  check_gpt2();
  check_dropout();
  check_mlp();
  check_rope_scaling();
  check_time();
  CHECK_DONE();
}

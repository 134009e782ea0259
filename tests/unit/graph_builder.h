/* graph_builder.h -- graphs by hand for the tests of ops and grad: a GPT-2-like, a Llama-like and a
 * plain model in three regions, as tracing makes them. */
#ifndef LOCKSTEP_TESTS_GRAPH_BUILDER_H
#define LOCKSTEP_TESTS_GRAPH_BUILDER_H

#include <assert.h>
#include <string.h>

#include "compiler/graph/backward/backward.h"
#include "compiler/graph/grad/grad.h"

typedef struct Builder {
  Compile *c;
  Graph *g;
  RegionId region;
} Builder;

/* NULL-terminated names; NO_ID-terminated values. */
#define DIMS(...)   ((const char *const[]){__VA_ARGS__, NULL})
#define INPUTS(...) ((const ValueId[]){__VA_ARGS__, NO_ID})
#define ATTRS(...)  ((const double[NODE_ATTRS_MAX]){__VA_ARGS__})

static inline void add_dim(Builder *b, const char *name, int64_t size) {
  bool carried = strcmp(name, "batch") == 0 || strcmp(name, "seq") == 0;
  graph_add_dim(b->g, (Dim){.name = name, .size = size, .carried = carried});
}

static inline RegionId open_region(Builder *b, const char *name, int64_t repeat, ValueId carried) {
  Graph *g = b->g;
  Region region = {.name = name, .repeat = repeat, .is_stack = repeat > 0, .input = NO_ID};
  if (repeat == 0) region.repeat = 1;
  region.output = region.d_output = region.d_input = region.output_again = NO_ID;
  if (carried != NO_ID) {
    g->regions.at[b->region].output = carried;
    region.input = graph_value_like(g, carried, g->compute_dtype, name);
    graph_value(g, region.input)->region = g->regions.count;
  }
  VEC_PUSH(b->c->arena, &g->regions, region);
  b->region = g->regions.count - 1;
  return b->region;
}

/* All in one dtype: f64 where numbers are compared. */
static inline Builder builder_new(bool training, DType dtype) {
  Builder b = {.c = compile_new("specs")};
  b.g = graph_new(b.c, training);
  b.g->compute_dtype = b.g->param_dtype = b.g->grad_dtype = dtype;
  b.g->threads = 2;
  add_dim(&b, "batch", 2);
  add_dim(&b, "seq", 5);
  add_dim(&b, "vocab", 11);
  add_dim(&b, "width", 8);
  add_dim(&b, "heads", 4);
  add_dim(&b, "kv_heads", 2);
  add_dim(&b, "head", 2);
  add_dim(&b, "ffn", 6);
  add_dim(&b, "qkv", 3);
  add_dim(&b, "positions", 7);
  open_region(&b, "begin", 0, NO_ID);
  return b;
}

/* Sizes that 2 and 4 ranks divide. */
static inline Builder builder_sized(bool training, DType dtype, int64_t kv_heads) {
  static const struct {
    const char *name;
    int64_t size;
    const char *axis;
  } dims[] = {{"seq", 16, "cp"},  {"positions", 16, NULL}, {"vocab", 24, "tp"},
              {"heads", 8, "tp"}, {"kv_heads", 0, "tp"},   {"ffn", 12, "tp"}};
  Builder b = builder_new(training, dtype);
  for (size_t i = 0; i < sizeof dims / sizeof *dims; i++) {
    Dim *dim = &b.g->dims.at[graph_dim(b.g, dims[i].name)];
    dim->size = dims[i].size > 0 ? dims[i].size : kv_heads;
    dim->axis = dims[i].axis;
  }
  return b;
}

static inline int32_t dims_of(Builder *b, const char *const *names, DimId *out) {
  int32_t count = 0;
  for (; names[count]; count++) {
    out[count] = graph_dim(b->g, names[count]);
    assert(out[count] != NO_ID);
  }
  return count;
}

static inline ValueId add_input(Builder *b, const char *name, DType dtype,
                                const char *const *names) {
  DimId dims[DIMS_MAX];
  int32_t count = dims_of(b, names, dims);
  ValueId v = graph_value_dims(b->g, dims, count, dtype, name);
  graph_value(b->g, v)->kind = VALUE_INPUT;
  graph_value(b->g, v)->input = b->g->inputs.count;
  VEC_PUSH(b->c->arena, &b->g->inputs, (GraphInput){name, v, INPUT_COLUMNS, 0, {0}});
  return v;
}

static inline ValueId add_param(Builder *b, const char *name, const char *const *names) {
  Param param = {.name = name, .region = b->region, .grad = NO_ID};
  param.dim_count = dims_of(b, names, param.dims);
  param.value = graph_value_dims(b->g, param.dims, param.dim_count, b->g->param_dtype, name);
  Value *value = graph_value(b->g, param.value);
  value->kind = VALUE_PARAM;
  value->param = b->g->params.count;
  value->region = b->region;
  param.elements = value_elements(b->g, param.value);
  VEC_PUSH(b->c->arena, &b->g->params, param);
  return param.value;
}

/* Output 0, or NO_ID when it was refused. */
static inline ValueId add_node(Builder *b, OpKind op, const char *path, const ValueId *inputs,
                               const double *attrs) {
  Node node = {
      .op = op, .region = b->region, .path = path, .clone_of = NO_ID, .origin = {"test", 1, 1, 1}};
  for (; inputs[node.input_count] != NO_ID; node.input_count++)
    node.inputs[node.input_count] = inputs[node.input_count];
  if (attrs) memcpy(node.attrs, attrs, sizeof node.attrs);
  NodeId id = op_append(b->g, &b->g->regions.at[b->region].forward, node);
  return id == NO_ID ? NO_ID : graph_node(b->g, id)->outputs[0];
}

static inline const Node *maker_of(const Graph *g, ValueId v) {
  return graph_node(g, graph_value(g, v)->producer);
}

static inline ValueId add_linear(Builder *b, const char *name, ValueId x, const char *const *dims,
                                 const char *const *bias) {
  ValueId w = add_param(b, arena_printf(b->c->arena, "%s.weight", name), dims);
  ValueId bias_value =
      bias ? add_param(b, arena_printf(b->c->arena, "%s.bias", name), bias) : NO_ID;
  return add_node(b, OP_linear, name, INPUTS(x, w, bias_value), NULL);
}

static inline ValueId add_layernorm(Builder *b, const char *name, ValueId x) {
  ValueId w = add_param(b, arena_printf(b->c->arena, "%s.weight", name), DIMS("width"));
  ValueId bias = add_param(b, arena_printf(b->c->arena, "%s.bias", name), DIMS("width"));
  return add_node(b, OP_layernorm, name, INPUTS(x, w, bias), ATTRS(1e-5));
}

static inline ValueId add_rmsnorm(Builder *b, const char *name, ValueId x) {
  ValueId w = add_param(b, arena_printf(b->c->arena, "%s.weight", name), DIMS("width"));
  return add_node(b, OP_rmsnorm, name, INPUTS(x, w), ATTRS(1e-5));
}

static inline ValueId add_dropout(Builder *b, const char *name, ValueId x, double rate) {
  return rate > 0 ? add_node(b, OP_dropout, name, INPUTS(x), ATTRS(rate)) : x;
}

/* The next loss of the model. */
static inline void add_loss(Graph *g, ValueId loss) {
  graph_value(g, loss)->loss = g->losses_count;
  g->losses[g->losses_count++] = loss;
}

/* Returns the loss of a GPT-2-like model: learned positions, fused qkv, biases, tied head. */
static inline void build_gpt2(Builder *b, int64_t layers, double dropout) {
  Graph *g = b->g;
  ValueId tokens = add_input(b, "tokens", DTYPE_I32, DIMS("batch", "seq"));
  ValueId targets = add_input(b, "targets", DTYPE_I32, DIMS("batch", "seq"));
  ValueId wte = add_param(b, "wte.weight", DIMS("vocab", "width"));
  ValueId wpe = add_param(b, "wpe.weight", DIMS("positions", "width"));
  ValueId x = add_node(b, OP_embedding, "wte", INPUTS(wte, tokens), NULL);
  ValueId at = add_node(b, OP_positions, "positions", INPUTS(NO_ID), NULL);
  x = add_node(b, OP_add, "add", INPUTS(x, add_node(b, OP_embedding, "wpe", INPUTS(wpe, at), NULL)),
               NULL);
  x = add_dropout(b, "dropout", x, dropout);

  RegionId stack = open_region(b, "h", layers, x);
  x = g->regions.at[stack].input;
  ValueId qkv = add_linear(b, "h.*.attn.c_attn", add_layernorm(b, "h.*.ln_1", x),
                           DIMS("qkv", "heads", "head", "width"), DIMS("qkv", "heads", "head"));
  ValueId q = add_node(b, OP_split, "h.*.split", INPUTS(qkv), ATTRS(2));
  const ValueId *part = maker_of(g, q)->outputs;
  ValueId a = add_node(b, OP_attention, "h.*.attention", INPUTS(part[0], part[1], part[2]),
                       ATTRS(1, 0, dropout));
  a = add_linear(b, "h.*.attn.c_proj", a, DIMS("width", "heads", "head"), DIMS("width"));
  x = add_node(b, OP_add, "h.*.add", INPUTS(x, add_dropout(b, "h.*.dropout", a, dropout)), NULL);
  ValueId h = add_linear(b, "h.*.mlp.c_fc", add_layernorm(b, "h.*.ln_2", x), DIMS("ffn", "width"),
                         DIMS("ffn"));
  h = add_node(b, OP_gelu, "h.*.gelu", INPUTS(h), NULL);
  h = add_linear(b, "h.*.mlp.c_proj", h, DIMS("width", "ffn"), DIMS("width"));
  x = add_node(b, OP_add, "h.*.add.2", INPUTS(x, add_dropout(b, "h.*.dropout.2", h, dropout)),
               NULL);

  RegionId end = open_region(b, "end", 0, x);
  x = add_layernorm(b, "ln_f", g->regions.at[end].input);
  x = add_node(b, OP_linear, "wte.linear", INPUTS(x, wte), NULL);
  add_loss(g, add_node(b, OP_cross_entropy, "cross_entropy", INPUTS(x, targets), NULL));
}

/* Rotary positions, grouped-query attention, SwiGLU, a head of its own. */
static inline void build_llama(Builder *b, int64_t layers) {
  Graph *g = b->g;
  ValueId tokens = add_input(b, "tokens", DTYPE_I32, DIMS("batch", "seq"));
  ValueId targets = add_input(b, "targets", DTYPE_I32, DIMS("batch", "seq"));
  ValueId embed = add_param(b, "embed_tokens.weight", DIMS("vocab", "width"));
  ValueId x = add_node(b, OP_embedding, "embed_tokens", INPUTS(embed, tokens), NULL);

  RegionId stack = open_region(b, "layers", layers, x);
  x = g->regions.at[stack].input;
  ValueId h = add_rmsnorm(b, "layers.*.input_layernorm", x);
  ValueId q = add_linear(b, "layers.*.q_proj", h, DIMS("heads", "head", "width"), NULL);
  ValueId k = add_linear(b, "layers.*.k_proj", h, DIMS("kv_heads", "head", "width"), NULL);
  ValueId v = add_linear(b, "layers.*.v_proj", h, DIMS("kv_heads", "head", "width"), NULL);
  q = add_node(b, OP_rope, "layers.*.rope", INPUTS(q), ATTRS(10000));
  k = add_node(b, OP_rope, "layers.*.rope.2", INPUTS(k), ATTRS(10000));
  ValueId a = add_node(b, OP_attention, "layers.*.attention", INPUTS(q, k, v), ATTRS(1));
  a = add_linear(b, "layers.*.o_proj", a, DIMS("width", "heads", "head"), NULL);
  x = add_node(b, OP_add, "layers.*.add", INPUTS(x, a), NULL);
  h = add_rmsnorm(b, "layers.*.post_attention_layernorm", x);
  ValueId gate = add_linear(b, "layers.*.gate_proj", h, DIMS("ffn", "width"), NULL);
  gate = add_node(b, OP_silu, "layers.*.silu", INPUTS(gate), NULL);
  ValueId up = add_linear(b, "layers.*.up_proj", h, DIMS("ffn", "width"), NULL);
  h = add_node(b, OP_multiply, "layers.*.multiply", INPUTS(gate, up), NULL);
  h = add_linear(b, "layers.*.down_proj", h, DIMS("width", "ffn"), NULL);
  x = add_node(b, OP_add, "layers.*.add.2", INPUTS(x, h), NULL);

  RegionId end = open_region(b, "end", 0, x);
  x = add_rmsnorm(b, "norm", g->regions.at[end].input);
  x = add_linear(b, "lm_head", x, DIMS("vocab", "width"), NULL);
  add_loss(g, add_node(b, OP_cross_entropy, "cross_entropy", INPUTS(x, targets), NULL));
}

#endif

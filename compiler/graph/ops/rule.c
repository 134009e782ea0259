#include "compiler/graph/ops/rule.h"

#include <assert.h>
#include <string.h>

DimList rule_dims(const Graph *g, ValueId v) {
  const Value *value = graph_value(g, v);
  DimList list = {.count = value->dim_count};
  for (int32_t i = 0; i < value->dim_count; i++)
    list.at[i] = value->dims[i];
  return list;
}

static DimList dims_that(const Graph *g, ValueId v, bool carried) {
  const Value *value = graph_value(g, v);
  DimList list = {0};
  for (int32_t i = 0; i < value->dim_count; i++)
    if (g->dims.at[value->dims[i]].carried == carried) list.at[list.count++] = value->dims[i];
  return list;
}

DimList rule_carried(const Graph *g, ValueId v) {
  return dims_that(g, v, true);
}
DimList rule_features(const Graph *g, ValueId v) {
  return dims_that(g, v, false);
}

bool rule_same_dims(const DimList *a, const DimList *b) {
  if (a->count != b->count) return false;
  for (int32_t i = 0; i < a->count; i++)
    if (a->at[i] != b->at[i]) return false;
  return true;
}

char *rule_dims_text(Graph *g, const DimList *list) {
  Arena *arena = g->compile->arena;
  char *text = arena_copy(arena, "[");
  for (int32_t i = 0; i < list->count; i++)
    text = arena_printf(arena, "%s%s%s", text, i > 0 ? ", " : "", g->dims.at[list->at[i]].name);
  return arena_printf(arena, "%s]", text);
}

int64_t rule_size(const Graph *g, const DimList *list) {
  int64_t size = 1;
  for (int32_t i = 0; i < list->count; i++)
    size *= g->dims.at[list->at[i]].size;
  return size;
}

static bool tokens_first(Graph *g, const Node *n, ValueId v) {
  const Value *value = graph_value(g, v);
  bool feature_seen = false;
  for (int32_t i = 0; i < value->dim_count; i++) {
    bool carried = g->dims.at[value->dims[i]].carried;
    if (carried && feature_seen)
      return error_at(g->compile, n->origin, "carried-first",
                      "%s: batch and seq come before the features, got %s", op_def(n->op)->name,
                      value_dims_text(g, v));
    feature_seen |= !carried;
  }
  return true;
}

bool rule_numbers(Graph *g, const Node *n, int32_t count) {
  assert(n->input_count >= count);
  for (int32_t i = 0; i < count; i++) {
    const Value *value = graph_value(g, n->inputs[i]);
    if (value->kind == VALUE_PARAM)
      return error_at(g->compile, n->origin, "not-a-value", "%s: expected a value, got weight '%s'",
                      op_def(n->op)->name, value->name);
    if (value->dtype == DTYPE_I32)
      return error_at(g->compile, n->origin, "needs-numbers", "%s: expected numbers, got ids %s",
                      op_def(n->op)->name, value_dims_text(g, n->inputs[i]));
    if (!tokens_first(g, n, n->inputs[i])) return false;
  }
  return true;
}

bool rule_ids(Graph *g, const Node *n, int32_t input) {
  if (graph_value(g, n->inputs[input])->dtype == DTYPE_I32) return true;
  return error_at(g->compile, n->origin, "needs-ids", "%s: expected ids, got numbers %s",
                  op_def(n->op)->name, value_dims_text(g, n->inputs[input]));
}

bool rule_needs_seq(Graph *g, const Node *n, ValueId v) {
  DimList carried = rule_carried(g, v);
  if (carried.count == 0 || carried.at[carried.count - 1] != graph_dim(g, "seq"))
    return error_at(g->compile, n->origin, "no-seq", "%s: %s has no 'seq' to run along",
                    op_def(n->op)->name, value_dims_text(g, v));
  if (carried.count == 2) return true;
  return error_at(g->compile, n->origin, "no-dimension",
                  "%s: %s is of positions alone, and samples have sequences: it lacks 'batch'",
                  op_def(n->op)->name, value_dims_text(g, v));
}

bool rule_size_error(Graph *g, const Node *n, DimId blamed, DimId other, const char *name,
                     const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char text[512];
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  Span at = g->dims.at[blamed].set_at;
  if (at.file == NULL) at = g->dims.at[other].set_at;
  error_at(g->compile, at.file != NULL ? at : n->origin, name, "%s", text);
  if (at.file != NULL) note_at(g->compile, n->origin, "%s is here", op_def(n->op)->name);
  return false;
}

bool rule_made(const Node *n) {
  return n->output_count > 0;
}

static const char *output_name(Graph *g, const Node *n, const char *suffix) {
  const char *path = n->path ? n->path : op_def(n->op)->name;
  return suffix ? arena_printf(g->compile->arena, "%s.%s", path, suffix) : path;
}

static ValueId take(Node *n, ValueId v) {
  assert(n->output_count < NODE_OUTPUTS_MAX);
  n->outputs[n->output_count++] = v;
  return v;
}

ValueId rule_output(Graph *g, Node *n, DimList dims, DType dtype) {
  return take(n, graph_value_dims(g, dims.at, dims.count, dtype, output_name(g, n, NULL)));
}

ValueId rule_output_like(Graph *g, Node *n, ValueId like) {
  return rule_output(g, n, rule_dims(g, like), g->compute_dtype);
}

ValueId rule_output_extra(Graph *g, Node *n, const char *suffix, int64_t elements, DType dtype) {
  return take(n, graph_value_extra(g, elements, dtype, output_name(g, n, suffix)));
}

bool rule_output_like_input(Graph *g, Node *n) {
  if (!rule_numbers(g, n, 1)) return false;
  if (!rule_made(n)) rule_output_like(g, n, n->inputs[0]);
  return true;
}

bool rule_given(Graph *g, Node *n) {
  (void)g;
  assert(rule_made(n));
  return true;
}

void rule_loss(Graph *g, Node *n, const char *name) {
  ValueId loss = rule_output_extra(g, n, "loss", 2, DTYPE_F64);
  graph_value(g, loss)->kind = VALUE_LOSS;
  n->accumulate = ACCUMULATE_AFTER_FIRST;
  (void)name;
}

bool rule_heads_fit(Graph *g, const Node *n, const DimList *q, const DimList *k) {
  if (q->count != 2 || k->count != 2 || q->at[1] != k->at[1])
    return error_at(g->compile, n->origin, "attention-shape",
                    "attention: q and k need features [heads, head] with the same last one, got %s "
                    "and %s",
                    rule_dims_text(g, q), rule_dims_text(g, k));
  const Dim *heads = &g->dims.at[q->at[0]], *kv_heads = &g->dims.at[k->at[0]];
  if (heads->size % kv_heads->size == 0) return true;
  rule_size_error(g, n, k->at[0], q->at[0], "heads-multiple",
                  "attention: %s = %lld is not a multiple of %s = %lld", heads->name,
                  (long long)heads->size, kv_heads->name, (long long)kv_heads->size);
  int64_t near = kv_heads->size < heads->size ? kv_heads->size : heads->size;
  while (heads->size % near != 0)
    near--;
  fix_last(g->compile, "%s = %lld", kv_heads->name, (long long)near);
  return false;
}

DType rule_statistics_dtype(const Graph *g) {
  return g->compute_dtype == DTYPE_F64 ? DTYPE_F64 : DTYPE_F32;
}

bool rule_norm_weight(Graph *g, const Node *n, ValueId weight) {
  DimList have = rule_dims(g, weight), of = rule_features(g, n->inputs[0]),
          last = {.count = have.count};
  for (int32_t i = 0; i < have.count && have.count <= of.count; i++)
    last.at[i] = of.at[of.count - have.count + i];
  if (have.count > 0 && have.count <= of.count && rule_same_dims(&have, &last)) return true;
  return error_at(g->compile, n->origin, "dimension-mismatch",
                  "%s: weight '%s' is %s, the value has features %s", op_def(n->op)->name,
                  graph_value(g, weight)->name, rule_dims_text(g, &have), rule_dims_text(g, &of));
}

int64_t rule_rows(const Graph *g, ValueId x, ValueId weight) {
  return value_elements(g, x) / value_elements(g, weight);
}

void rule_norm_rows(const Graph *g, ValueId x, ValueId weight, Lowered *out) {
  LOWER_DIMS(out, rule_rows(g, x, weight), value_elements(g, weight));
}

int64_t rule_samples(const Graph *g, ValueId v) {
  DimList carried = rule_carried(g, v);
  for (int32_t i = 0; i < carried.count; i++) {
    const Dim *dim = &g->dims.at[carried.at[i]];
    if (strcmp(dim->name, "batch") == 0) return dim->size;
  }
  return 0;
}

Tokens rule_tokens(const Graph *g, ValueId v) {
  DimList carried = rule_carried(g, v);
  int64_t seq = g->dims.at[carried.at[carried.count - 1]].size;
  return (Tokens){value_rows(g, v) / seq, seq};
}

void lower_dims(Lowered *out, int32_t count, const int64_t *dims) {
  assert(count <= LOWERED_DIMS_MAX);
  out->dim_count = count;
  for (int32_t i = 0; i < count; i++)
    out->dims[i] = dims[i];
}

void lower_attrs(Lowered *out, int32_t count, const double *attrs) {
  assert(count <= LOWERED_ATTRS_MAX);
  out->attr_count = count;
  for (int32_t i = 0; i < count; i++)
    out->attrs[i] = attrs[i];
}

void lower_tf32(const Graph *g, Lowered *out) {
  assert(out->attr_count < LOWERED_ATTRS_MAX);
  if (g->tf32) out->attrs[out->attr_count++] = 1;
}

DimId rule_whole_dim(const Graph *g, DimId dim) {
  while (g->dims.at[dim].is_part)
    dim = g->dims.at[dim].whole;
  return dim;
}

static void lower_vary(Lowered *out, int32_t attr, MeshAxis axis, int64_t stride) {
  assert(attr < out->attr_count && out->vary_count < LOWERED_VARIES_MAX);
  out->varies[out->vary_count++] =
      (LoweredVary){.attr = attr, .axes = MESH_BIT(axis), .stride = (double)stride};
}

void lower_first(const Graph *g, Lowered *out, int32_t attr, DimId dim, DimId of) {
  out->attrs[attr] = 0;
  while (dim != of) {
    const Dim *part = &g->dims.at[dim];
    assert(part->is_part && !part->zigzag);
    lower_vary(out, attr, part->mesh, part->size);
    dim = part->whole;
  }
}

void lower_runs(const Graph *g, Lowered *out, int32_t attr, DimId dim) {
  const Dim *part = &g->dims.at[dim];
  int64_t half = part->size / 2;
  if (part->is_part && part->zigzag) {
    const Dim *whole = &g->dims.at[part->whole];
    assert(!whole->is_part && part->size % 2 == 0);
    out->attrs[attr] = 0;
    out->attrs[attr + 1] = (double)(whole->size - half);
    lower_vary(out, attr, part->mesh, half);
    lower_vary(out, attr + 1, part->mesh, -half);
    return;
  }
  DimId whole = rule_whole_dim(g, dim);
  lower_first(g, out, attr, dim, whole);
  lower_first(g, out, attr + 1, dim, whole);
  out->attrs[attr + 1] = (double)half;
}

void lower_elements(const Graph *g, const Node *n, Lowered *out) {
  LOWER_DIMS(out, value_elements(g, n->inputs[0]));
}

ValueId rule_grad1(Grad *b, const Node *n, OpKind op, ValueId in0, ValueId in1, ValueId like) {
  ValueId out = grad_like(b, like);
  grad_append(b, n, op, (const ValueId[]){in0, in1, NO_ID}, (const ValueId[]){out, NO_ID});
  return out;
}

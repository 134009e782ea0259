/* layers.c -- the calls that own weights or look at dimensions: linear, embedding, norms,
 * attention, rope, split. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "compiler/graph/model/trace.h"
#include "compiler/job/data.h"

static int64_t dims_product(const Graph *g, const DimList *dims) {
  int64_t n = 1;
  for (int32_t i = 0; i < dims->count; i++)
    n *= g->dims.at[dims->at[i]].size;
  return n;
}

/* False, with an error reported: there would be more than DIMS_MAX names. */
static bool join(Trace *t, const DimList *a, const DimList *b, DimList *out) {
  *out = *a;
  if (a->count + b->count > DIMS_MAX) {
    trace_fault(t, "too-many-dimensions", NULL,
                "%s: %s and %s together have more than %d dimensions", t->op, dims_text(t->g, a),
                dims_text(t->g, b), DIMS_MAX);
    return false;
  }
  for (int32_t i = 0; i < b->count; i++)
    out->at[out->count++] = b->at[i];
  return true;
}

static const char *suffixed(Trace *t, const char *name, const char *suffix) {
  return arena_printf(t->g->compile->arena, "%s%s", name, suffix);
}

/* The feature dimension of x; false when it has none. */
static bool features_of(Trace *t, ValueId x, DimList *features) {
  *features = value_features_of(t->g, x);
  if (features->count > 0) return true;
  trace_fault(t, "nothing-to-contract", NULL, "%s: %s has no features", t->op,
              value_dims_text(t->g, x));
  return false;
}

/* ---- linear */

typedef struct LinearOptions {
  bool bias;
  Init init;
} LinearOptions;

static bool has_option(Trace *t, int index, const char *key) {
  if (!lua_istable(t->L, index)) return false;
  bool has = lua_getfield(t->L, index, key) != LUA_TNIL;
  lua_pop(t->L, 1);
  return has;
}

static bool output_argument(Trace *t, const char *name, ValueId x, DimList *out) {
  if (lua_isnoneornil(t->L, 3)) {
    const char *fix = arena_printf(t->g->compile->arena, "linear(\"%s\", x, \"width\")", name);
    trace_fault(t, "missing-output", fix, "linear: '%s': say which dimensions come out", name);
    return false;
  }
  if (!dims_argument(t, 3, out)) return false;
  for (int32_t i = 0; i < out->count; i++)
    if (t->g->dims.at[out->at[i]].carried) {
      trace_fault(t, "carried-weight", NULL,
                  "linear: '%s' makes features, and '%s' is a dimension of the data", name,
                  t->g->dims.at[out->at[i]].name);
      return false;
    }
  DimList carried = value_carried_of(t->g, x), whole;
  return join(t, &carried, out, &whole);
}

static int linear_named(Trace *t, ValueId x, LinearOptions options) {
  const char *name;
  DimList in, out, dims;
  if (!name_argument(t, 1, &name) || !output_argument(t, name, x, &out) ||
      !features_of(t, x, &in) || !join(t, &out, &in, &dims))
    return value_push(t, NO_ID);
  int64_t fan_in = dims_product(t->g, &in);
  ParamId w = param_make(t, suffixed(t, name, ".weight"), &dims, options.init, fan_in);
  ParamId b = NO_ID;
  if (options.bias) b = param_bias(t, suffixed(t, name, ".bias"), &out, options.init, fan_in);
  if (w == NO_ID || (options.bias && b == NO_ID)) return value_push(t, NO_ID);
  t->g->params.at[w].out_dims = out.count;
  if (b != NO_ID) t->g->params.at[b].out_dims = out.count;
  ValueId weight = t->g->params.at[w].value;
  ValueId bias = b == NO_ID ? NO_ID : t->g->params.at[b].value;
  return value_push(t, trace_append(t, OP_linear, name, INPUTS(x, weight, bias), NULL));
}

/* The dimensions of a result follow from a shared weight; if they are given too, they are checked.
 */
static bool check_said(Trace *t, const Param *w, ValueId y) {
  DimList said, made;
  if (y == NO_ID || lua_isnoneornil(t->L, 3)) return true;
  if (!dims_argument(t, 3, &said)) return false;
  made = value_features_of(t->g, y);
  if (dims_equal(&said, &made)) return true;
  trace_fault(t, "missing-output", NULL, "linear: weight '%s' makes %s, not %s", w->name,
              dims_text(t->g, &made), dims_text(t->g, &said));
  return false;
}

/* "wte.weight" -> "wte.linear", without the scope, which every path gets anyway. */
static const char *shared_path(Trace *t, const Param *w, const char *use) {
  Arena *arena = t->g->compile->arena;
  const char *name = w->name + strlen(t->in_stack ? t->scope : "");
  size_t length = strlen(name), suffix = strlen(".weight");
  bool ends = length > suffix && strcmp(name + length - suffix, ".weight") == 0;
  return arena_printf(arena, "%.*s.%s", (int)(ends ? length - suffix : length), name, use);
}

static int linear_shared(Trace *t, ValueId x, bool wants_bias) {
  ParamId p;
  if (!weight_argument(t, 1, &p)) return value_push(t, NO_ID);
  if (wants_bias)
    return trace_fault(
        t, "wrong-option", NULL,
        "linear: the bias has no name where the weight is shared: x + weight(NAME, DIMS) adds one");
  if (has_option(t, 4, "init"))
    return trace_fault(t, "wrong-option", NULL,
                       "linear: a shared weight begins as weight(name, dims, { init }) says");
  Param w = t->g->params.at[p];
  ValueId y = trace_append(t, OP_linear, shared_path(t, &w, "linear"), INPUTS(x, w.value), NULL);
  return value_push(t, check_said(t, &w, y) ? y : NO_ID);
}

int call_linear(lua_State *L) {
  static const char *const keys[] = {"bias", "init", NULL};
  Trace *t = trace_enter(L, "linear");
  LinearOptions options = {t->model->bias, t->model->init};
  bool wants_bias = false;
  ValueId x;
  if (!value_argument(t, 2, &x) || value_is_void(t, 1) || !options_argument(t, 4, keys) ||
      !option_flag(t, 4, "bias", &options.bias) || !option_flag(t, 4, "bias", &wants_bias) ||
      !option_init(t, 4, &options.init))
    return value_push(t, NO_ID);
  if (lua_type(L, 1) == LUA_TSTRING) return linear_named(t, x, options);
  return linear_shared(t, x, wants_bias);
}

/* ---- embedding */

/* A shared table already has its dimensions; if they are given too, they are checked. */
static bool check_table_dims(Trace *t, ParamId table) {
  DimList said, has = {.count = t->g->params.at[table].dim_count};
  if (lua_isnoneornil(t->L, 3)) return true;
  if (!dims_argument(t, 3, &said)) return false;
  for (int32_t i = 0; i < has.count; i++)
    has.at[i] = t->g->params.at[table].dims[i];
  if (dims_equal(&said, &has)) return true;
  trace_fault(t, "table-shape", NULL, "embedding: weight '%s' is %s, not %s",
              t->g->params.at[table].name, dims_text(t->g, &has), dims_text(t->g, &said));
  return false;
}

static bool table_argument(Trace *t, ParamId *table, const char **path) {
  DimList dims;
  const char *name;
  if (lua_type(t->L, 1) != LUA_TSTRING) {
    if (!weight_argument(t, 1, table) || !check_table_dims(t, *table)) return false;
    *path = shared_path(t, &t->g->params.at[*table], "embedding");
    return true;
  }
  if (!name_argument(t, 1, &name) || !dims_argument(t, 3, &dims)) return false;
  Init init = t->model->init; /* as torch.nn.Embedding: N(0, 1), because a table has no fan-in */
  if (init.rule == RULE_KAIMING_UNIFORM) init = (Init){RULE_NORMAL, 0, 1};
  *table = param_make(t, suffixed(t, name, ".weight"), &dims, init, 1);
  *path = name;
  return *table != NO_ID;
}

static bool check_positions(Trace *t, const Param *table, ValueId ids) {
  const Value *value = graph_value(t->g, ids);
  bool is_place = value->kind == VALUE_INPUT && t->g->inputs.at[value->input].role == INPUT_PLACES;
  if (!is_place &&
      (value->producer == NO_ID || !op_def(graph_node(t->g, value->producer)->op)->is_position))
    return true;
  int64_t rows = t->g->dims.at[table->dims[0]].size;
  const Job *job = t->model->job;
  if (rows >= (job->use == USE_SAMPLE ? job->sample.context : t->context)) return true;
  bool said = job->set[FIELD_train_context] && job->origin[FIELD_train_context].span.file != NULL;
  Span at = said ? job->origin[FIELD_train_context].span : t->at;
  error_at(t->g->compile, at, "context-too-long",
           "train.context: a sequence has %lld position%s, but '%s' has %lld row%s",
           (long long)t->context, plural(t->context), table->name, (long long)rows, plural(rows));
  fix_last(t->g->compile, "context = %lld", (long long)rows);
  if (said) note_at(t->g->compile, t->at, "the table of positions is made here");
  return false;
}

int call_embedding(lua_State *L) {
  Trace *t = trace_enter(L, "embedding");
  ValueId ids;
  ParamId p;
  const char *path = NULL;
  if (!ids_argument(t, 2, &ids) || value_is_void(t, 1) || !table_argument(t, &p, &path))
    return value_push(t, NO_ID);
  const Param *table = &t->g->params.at[p];
  if (table->dim_count < 2)
    return trace_fault(t, "table-shape", NULL, "embedding: a table is rows by features; '%s' is %s",
                       table->name, value_dims_text(t->g, table->value));
  if (!check_positions(t, table, ids)) return value_push(t, NO_ID);
  return value_push(t, trace_append(t, OP_embedding, path, INPUTS(table->value, ids), NULL));
}

/* ---- norms */

/* The index of the dimension of x with this name; -1: an error was reported. */
static int32_t dimension_argument(Trace *t, int index, ValueId x) {
  const char *name;
  DimId dim = name_argument(t, index, &name) ? dim_named(t, name) : NO_ID;
  if (dim == NO_ID) return -1;
  const Value *value = graph_value(t->g, x);
  for (int32_t i = 0; i < value->dim_count; i++)
    if (value->dims[i] == dim) return i;
  trace_fault(t, "no-dimension", NULL, "%s: %s has no dimension '%s'", t->op,
              value_dims_text(t->g, x), name);
  return -1;
}

/* Leaves of the features the one that `over` names, which is the last: rows of numbers are dense.
 */
static bool option_over(Trace *t, int index, ValueId x, DimList *features) {
  if (!has_option(t, index, "over")) return true;
  (void)lua_getfield(t->L, index, "over");
  const int32_t at = dimension_argument(t, lua_gettop(t->L), x);
  lua_pop(t->L, 1);
  if (at < 0) return false;
  const DimId last = features->at[features->count - 1], dim = graph_value(t->g, x)->dims[at];
  *features = (DimList){.count = 1, .at = {last}};
  if (dim == last) return true;
  const char *name = t->g->dims.at[last].name;
  trace_fault(t, "wrong-option", arena_printf(t->g->compile->arena, "over = \"%s\"", name),
              "%s: over is the last dimension of %s; got '%s'", t->op, value_dims_text(t->g, x),
              t->g->dims.at[dim].name);
  return false;
}

static int norm(lua_State *L, OpKind op, bool has_bias) {
  static const char *const keys[] = {"eps", "offset", "over", NULL};
  Trace *t = trace_enter(L, op_def(op)->name);
  double eps = 1e-5, offset = 0;
  const char *name;
  ValueId x, bias_value = NO_ID;
  DimList features;
  if (!value_argument(t, 2, &x) || !name_argument(t, 1, &name) || !options_argument(t, 3, keys) ||
      !option_number(t, 3, "eps", &eps) || !option_number(t, 3, "offset", &offset) ||
      !features_of(t, x, &features) || !option_over(t, 3, x, &features))
    return value_push(t, NO_ID);
  if (eps < (double)FLT_MIN) {
    trace_fault(t, "wrong-option", NULL, "%s: eps is above 0%s; got %g", t->op,
                eps > 0 ? ", and 1.2e-38 or more: fp32 knows no less" : "", eps);
    blame_number(t->model, eps);
    return 1;
  }
  if (offset != 0 && offset != 1)
    return trace_fault(t, "wrong-option", "offset = 1",
                       "%s: offset is 0, or 1 where weights are kept as differences from 1; got %g",
                       t->op, offset);
  ParamId weight = param_constant(t, suffixed(t, name, ".weight"), &features, 1 - offset);
  if (weight == NO_ID) return value_push(t, NO_ID);
  if (has_bias) {
    ParamId bias = param_constant(t, suffixed(t, name, ".bias"), &features, 0);
    if (bias == NO_ID) return value_push(t, NO_ID);
    bias_value = t->g->params.at[bias].value;
  }
  ValueId w = t->g->params.at[weight].value;
  return value_push(t, trace_append(t, op, name, INPUTS(x, w, bias_value), ATTRS(eps, offset)));
}

int call_layernorm(lua_State *L) {
  return norm(L, OP_layernorm, true);
}
int call_rmsnorm(lua_State *L) {
  return norm(L, OP_rmsnorm, false);
}

/* ---- attention, rope, split: the ops check the dimensions themselves */

static bool check_window(Trace *t, double window, bool causal) {
  const char *fix = "window = 4096, causal = true", *why = NULL;
  if (!(window >= 0 && window <= 0x1p31 && window == floor(window)))
    why = "a whole number of tokens, the last one counted, or 0 for all";
  else if (window > 0 && !causal)
    why = "for causal attention: it is the last of the tokens that a token sees";
  if (why == NULL) return true;
  trace_fault(t, "wrong-option", fix, "attention: window is %s; got %.14g", why, window);
  blame_number(t->model, window);
  return false;
}

static bool check_softcap(Trace *t, double softcap) {
  if (softcap == 0 || (softcap >= (double)FLT_MIN && softcap <= (double)FLT_MAX)) return true;
  trace_fault(t, "wrong-option", "softcap = 50",
              "attention: softcap is the limit of scores, above 0, or 0 for none; got %g", softcap);
  blame_number(t->model, softcap);
  return false;
}

/* data.documents = "apart": a token attends to tokens of the same document alone. */
static int attention_apart(Trace *t, ValueId q, ValueId k, ValueId v, const double *attrs) {
  if (attrs[0] == 0)
    return trace_fault(t, "wrong-option", "causal = true",
                       "attention: with data.documents = \"apart\" it is causal");
  ValueId begins = document_input(t, INPUT_BEGINS);
  if (begins == NO_ID) return value_push(t, NO_ID);
  return value_push(
      t, trace_append(t, OP_attention_apart, "attention", INPUTS(q, k, v, begins), attrs));
}

/* A sampled model keeps keys and values of all tokens so far. */
static int attention_cached(Trace *t, ValueId q, ValueId k, ValueId v, const double *attrs) {
  Graph *g = t->g;
  const int64_t context = t->model->job->sample.context;
  if (attrs[0] == 0)
    return trace_fault(t, "wrong-option", "causal = true",
                       "attention: a sampled model has no token after the last one: it is causal");
  ValueId places = document_input(t, INPUT_PLACES);
  if (places == NO_ID) return value_push(t, NO_ID);
  if (graph_dim(g, PLAN_CONTEXT_DIM) == NO_ID)
    (void)graph_add_dim(g, (Dim){.name = PLAN_CONTEXT_DIM, .size = context, .carried = true});
  ValueId keys = trace_append(t, OP_cache_append, "attention.keys", INPUTS(k, places), NULL);
  ValueId values = trace_append(t, OP_cache_append, "attention.values", INPUTS(v, places), NULL);
  if (keys == NO_ID || values == NO_ID) return value_push(t, NO_ID);
  return value_push(t, trace_append(t, OP_attention_cached, "attention",
                                    INPUTS(q, keys, values, places),
                                    ATTRS(attrs[1], attrs[4], attrs[5])));
}

int call_attention(lua_State *L) {
  static const char *const keys[] = {"causal", "dropout", "scale", "softcap", "window", NULL};
  Trace *t = trace_enter(L, "attention");
  ValueId q, k, v;
  bool causal = false, good = value_argument(t, 1, &q);
  good = value_argument(t, 2, &k) && good;
  good = value_argument(t, 3, &v) && good;
  double dropout = 0, scale = 0, window = 0, softcap = 0; /* scale 0: 1/sqrt(head) */
  if (!good || !options_argument(t, 4, keys) || !option_flag(t, 4, "causal", &causal) ||
      !option_number(t, 4, "dropout", &dropout) || !option_number(t, 4, "scale", &scale) ||
      !option_number(t, 4, "softcap", &softcap) || !option_number(t, 4, "window", &window) ||
      !check_window(t, window, causal) || !check_softcap(t, softcap))
    return value_push(t, NO_ID);
  if (!is_f32(scale))
    return trace_fault(t, "wrong-option", NULL,
                       "attention: scale is at least 1.2e-38 in size, as fp32 has; got %g", scale);
  if (scale == 0 && has_option(t, 4, "scale")) /* as in rope: 0 is none in the graph */
    return trace_fault(t, "wrong-option", NULL,
                       "attention: scale is not 0, by which no key differs from another; without "
                       "it, it is 1/sqrt(head)");
  const double *attrs = ATTRS(causal, scale, dropout, 0, window, softcap);
  if (t->model->job->use == USE_SAMPLE) return attention_cached(t, q, k, v, attrs);
  if (job_is_apart(t->model->job)) return attention_apart(t, q, k, v, attrs);
  return value_push(t, trace_append(t, OP_attention, "attention", INPUTS(q, k, v), attrs));
}

/* The defaults of low and high frequency are those of Llama 3.1, which introduced this scaling. */
int call_rope(lua_State *L) {
  static const char *const keys[] = {
      "base", "factor", "low_freq", "high_freq", "original_positions", NULL};
  Trace *t = trace_enter(L, "rope");
  ValueId x;
  double base = 10000, factor = 1, low = 1, high = 4, original = 0;
  if (!value_argument(t, 1, &x) || !options_argument(t, 2, keys) ||
      !option_number(t, 2, "base", &base) || !option_number(t, 2, "factor", &factor) ||
      !option_number(t, 2, "low_freq", &low) || !option_number(t, 2, "high_freq", &high) ||
      !option_number(t, 2, "original_positions", &original))
    return value_push(t, NO_ID);
  if (factor == 0) /* 0 means no scaling in the graph; in a file it is a mistake */
    return trace_fault(t, "rope-scaling", "factor = 1", "rope: factor is 1 or more; got 0");
  const double *attrs = ATTRS(base, 0, factor, low, high, original);
  if (t->model->job->use != USE_SAMPLE)
    return value_push(t, trace_append(t, OP_rope, "rope", INPUTS(x), attrs));
  ValueId places = document_input(t, INPUT_PLACES);
  if (places == NO_ID) return value_push(t, NO_ID);
  return value_push(t, trace_append(t, OP_rope_at, "rope", INPUTS(x, places), attrs));
}

int call_split(lua_State *L) {
  Trace *t = trace_enter(L, "split");
  ValueId x, part = NO_ID;
  int32_t which = value_argument(t, 1, &x) ? dimension_argument(t, 2, x) : -1;
  bool is_part = which >= 0 && graph_value(t->g, x)->view_of != NO_ID; /* parts have no parts */
  if (is_part) x = trace_append(t, OP_copy, "copy", INPUTS(x), NULL);
  if (which >= 0 && x != NO_ID) part = trace_append(t, OP_split, "split", INPUTS(x), ATTRS(which));
  if (part ==
      NO_ID) { /* void values for all parts, so that what depends on them reports nothing more */
    for (int32_t i = 0; i < NODE_OUTPUTS_MAX; i++)
      value_push(t, NO_ID);
    return NODE_OUTPUTS_MAX;
  }
  const Node *node = graph_node(t->g, graph_value(t->g, part)->producer);
  for (int32_t i = 0; i < node->output_count; i++)
    value_push(t, node->outputs[i]);
  return node->output_count;
}

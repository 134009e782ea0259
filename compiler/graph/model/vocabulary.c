/* vocabulary.c -- inputs, weights, activations, losses, and the table of all calls. */
#include <string.h>

#include "compiler/graph/model/trace.h"
#include "compiler/job/data.h"

/* ---- inputs */

/* batch comes first, and seq second if there is one: buffers hold tokens row by row. */
static bool check_input_dims(Trace *t, const DimList *dims) {
  bool good = strcmp(t->g->dims.at[dims->at[0]].name, "batch") == 0;
  for (int32_t i = 1; i < dims->count; i++)
    if (i > 1 && t->g->dims.at[dims->at[i]].carried) good = false;
  if (good) return true;
  trace_fault(t, "input-shape", NULL,
              "input: dimensions begin with \"batch\", then \"seq\" if any; got %s",
              dims_text(t->g, dims));
  return false;
}

static bool is_name_taken(Trace *t, const char *name) {
  for (int32_t i = 0; i < t->g->inputs.count; i++)
    if (strcmp(t->g->inputs.at[i].name, name) == 0) return true;
  return false;
}

/* False: an error was reported. */
static bool choose_role(Trace *t, const char *name, const DimList *dims, bool is_ids,
                        InputRole *role) {
  *role = INPUT_COLUMNS;
  if (!is_ids || dims->count != 2 || !t->g->dims.at[dims->at[1]].carried) return true;
  *role = strcmp(name, "targets") == 0 ? INPUT_TARGETS : INPUT_TOKENS;
  for (int32_t i = 0; *role == INPUT_TOKENS && i < t->g->inputs.count; i++)
    if (t->g->inputs.at[i].role == INPUT_TOKENS) {
      trace_fault(
          t, "second-tokens", "input(\"targets\", { \"batch\", \"seq\" }, \"ids\")",
          "input: '%s': '%s' already takes the tokens; the next token is the input named 'targets'",
          name, t->g->inputs.at[i].name);
      return false;
    }
  return true;
}

static int call_input(lua_State *L) {
  Trace *t = trace_enter(L, "input");
  const char *name;
  DimList dims;
  InputRole role;
  bool is_ids = lua_type(L, 3) == LUA_TSTRING && strcmp(lua_tostring(L, 3), "ids") == 0;
  if (!name_argument(t, 1, &name) || !dims_argument(t, 2, &dims)) return value_push(t, NO_ID);
  if (!is_ids && !lua_isnoneornil(L, 3))
    return trace_fault(t, "wrong-option", "\"ids\"",
                       "input: argument 3 is \"ids\" or absent; got %s", value_what(t, 3));
  if (t->in_stack)
    return trace_fault(t, "input-in-stack", NULL, "input: make '%s' outside the stack", name);
  if (t->g->inputs.count == LOWERED_OPERANDS_MAX)
    return trace_fault(t, "too-many-inputs", NULL,
                       "input: a micro-batch has at most %d; make one input of what belongs "
                       "together, with more features",
                       LOWERED_OPERANDS_MAX);
  if (is_name_taken(t, name))
    return trace_fault(t, "duplicate-input", NULL, "input: there are two named '%s'", name);
  if (!check_input_dims(t, &dims) || !choose_role(t, name, &dims, is_ids, &role))
    return value_push(t, NO_ID);
  Graph *g = t->g;
  DType dtype = is_ids ? DTYPE_I32 : g->compute_dtype;
  ValueId v = graph_value_dims(g, dims.at, dims.count, dtype, name);
  graph_value(g, v)->kind = VALUE_INPUT;
  graph_value(g, v)->input = g->inputs.count;
  VEC_PUSH(g->compile->arena, &g->inputs, (GraphInput){name, v, role, 0, t->at});
  VEC_PUSH(g->compile->arena, &t->input_places, t->at);
  return value_push(t, v);
}

ValueId document_input(Trace *t, InputRole role) {
  Graph *g = t->g;
  const char *name = role == INPUT_BEGINS ? "document_begins" : "document_places";
  for (int32_t i = 0; i < g->inputs.count; i++)
    if (g->inputs.at[i].role == role) return g->inputs.at[i].value;
  const DimId dims[] = {graph_dim(g, "batch"), graph_dim(g, "seq")};
  if (dims[0] == NO_ID || dims[1] == NO_ID) {
    trace_fault(t, "no-seq", NULL, "%s: %s needs samples of tokens", t->op,
                t->model->job->use == USE_SAMPLE ? "sample" : "data.documents = \"apart\"");
    return NO_ID;
  }
  ValueId v = graph_value_dims(g, dims, 2, DTYPE_I32, name);
  graph_value(g, v)->kind = VALUE_INPUT;
  graph_value(g, v)->input = g->inputs.count;
  VEC_PUSH(g->compile->arena, &g->inputs, (GraphInput){name, v, role, 0, t->at});
  VEC_PUSH(g->compile->arena, &t->input_places, t->at);
  return v;
}

static int call_positions(lua_State *L) {
  Trace *t = trace_enter(L, "positions");
  ValueId ids;
  if (!ids_argument(t, 1, &ids)) return value_push(t, NO_ID);
  DimId seq = graph_dim(t->g, "seq");
  if (seq == NO_ID || !value_has_dim(t->g, ids, seq))
    return trace_fault(t, "no-seq", NULL, "positions: %s has no 'seq' to count along",
                       value_dims_text(t->g, ids));
  if (job_is_apart(t->model->job) || t->model->job->use == USE_SAMPLE)
    return value_push(t, document_input(t, INPUT_PLACES));
  if (t->positions == NO_ID)
    t->positions = trace_append(t, OP_positions, "positions", INPUTS(NO_ID), NULL);
  return value_push(t, t->positions);
}

/* ---- weights */

static int call_weight(lua_State *L) {
  static const char *const options[] = {"init", NULL};
  Trace *t = trace_enter(L, "weight");
  const char *name;
  DimList dims;
  Init init = t->model->init;
  if (!name_argument(t, 1, &name) || !dims_argument(t, 2, &dims) ||
      !options_argument(t, 3, options) || !option_init(t, 3, &init))
    return value_push(t, NO_ID);
  int64_t fan_in = 1;
  for (int32_t i = 0; i < dims.count; i++) {
    const Dim *dim = &t->g->dims.at[dims.at[i]];
    if (dim->carried)
      return trace_fault(t, "carried-weight", NULL,
                         "weight: '%s' cannot have '%s': it is of the data, not of the model", name,
                         dim->name);
    if (i > 0) fan_in *= dim->size;
  }
  ParamId p = param_make(t, name, &dims, init, fan_in);
  if (p == NO_ID) return value_push(t, NO_ID);
  t->g->params.at[p].region =
      t->in_stack ? t->region : NO_ID; /* outside a stack it is known at the first use */
  return weight_push(t, p);
}

/* ---- one value in, one out */

/* The op with this call; NO_ID: none. Without a form, the first one. */
static int32_t op_called(const char *call, const char *form) {
  for (int32_t op = 0; op < OP_COUNT; op++) {
    const OpDef *def = op_def(op);
    if (def->call == NULL || strcmp(def->call, call) != 0) continue;
    if (form == NULL || (def->form != NULL && strcmp(def->form, form) == 0)) return op;
  }
  return NO_ID;
}

static bool has_forms(int32_t op) {
  return op_def(op)->form != NULL;
}

/* "tanh"|"erf" */
static const char *forms_of(Trace *t, int32_t op) {
  Arena *arena = t->g->compile->arena;
  const char *call = op_def(op)->call, *text = "";
  for (int32_t i = op; i < OP_COUNT; i++)
    if (op_def(i)->call != NULL && strcmp(op_def(i)->call, call) == 0)
      text = arena_printf(arena, "%s%s\"%s\"", text, i == op ? "" : "|", op_def(i)->form);
  return text;
}

static const char *op_usage(Trace *t, int32_t op) {
  Arena *arena = t->g->compile->arena;
  if (!has_forms(op)) return arena_printf(arena, "%s(x)", op_def(op)->call);
  return arena_printf(arena, "%s(x, %s)", op_def(op)->call, forms_of(t, op));
}

static int wrong_form(Trace *t, int32_t op) {
  const char *got = value_what(t, 2), *call = op_def(op)->call;
  const char *fix = arena_printf(t->g->compile->arena, "%s(x, \"%s\")", call, op_def(op)->form);
  return trace_fault(t, "op-form", fix, "%s: argument 2 is %s; got %s", call, forms_of(t, op), got);
}

/* The Lua function of an op; its closure holds the op's number. */
static int call_op(lua_State *L) {
  int32_t op = (int32_t)lua_tointeger(L, lua_upvalueindex(2));
  const char *call = op_def(op)->call;
  Trace *t = trace_enter(L, call);
  ValueId x;
  if (!value_argument(t, 1, &x)) return value_push(t, NO_ID);
  if (has_forms(op) && !lua_isnoneornil(L, 2)) {
    int32_t asked = lua_type(L, 2) == LUA_TSTRING ? op_called(call, lua_tostring(L, 2)) : NO_ID;
    if (asked == NO_ID) return wrong_form(t, op);
    op = asked;
  }
  return value_push(t, trace_append(t, op, call, INPUTS(x), NULL));
}

static int call_dropout(lua_State *L) {
  Trace *t = trace_enter(L, "dropout");
  ValueId x;
  if (!value_argument(t, 1, &x)) return value_push(t, NO_ID);
  if (lua_type(L, 2) != LUA_TNUMBER)
    return trace_fault(t, "dropout-rate", "dropout(x, 0.1)",
                       "dropout: argument 2 is the rate; got %s", value_what(t, 2));
  double rate = lua_tonumber(L, 2);
  if (rate == 0 || (rate > 0 && rate < 1 && !t->g->training)) return value_push(t, x);
  return value_push(t, trace_append(t, OP_dropout, "dropout", INPUTS(x), ATTRS(rate)));
}

/* ---- the table */

/* model { ... } returns its table, which the file must return. It is remembered, to tell it from
 * other tables. */
static int call_model(lua_State *L) {
  Model *model = lua_touserdata(L, lua_upvalueindex(1));
  if (!lua_istable(L, 1) || lua_gettop(L) != 1)
    return sandbox_error(L, "not-a-model", NULL, "model: write model { ... }");
  model->declared = lua_topointer(L, 1);
  model->declared_at = sandbox_where(L);
  return 1;
}

/* A call: how it is written, how many arguments it takes, and a hint about arguments that other
 * tools have and this call does not. */
typedef struct VocabularyCall {
  const char *name;
  lua_CFunction function;
  const char *usage;
  int arguments;
  const char *hint;
} VocabularyCall;

/* All calls except those named by OpDefs. */
static const VocabularyCall calls[] = {
    {"model", call_model, "model { ... }", 1, NULL},
    {"input", call_input, "input(name, dims, \"ids\")", 3, NULL},
    {"positions", call_positions, "positions(ids)", 1, "they begin with 0"},
    {"weight", call_weight, "weight(name, dims, { init })", 3, NULL},
    {"embedding", call_embedding, "embedding(name, ids, dims)", 3,
     "ids below 0 give zeros; there is no other padding"},
    {"linear", call_linear, "linear(name, x, out, { bias, init })", 4, NULL},
    {"layernorm", call_layernorm, "layernorm(name, x, { eps, over, offset })", 3, NULL},
    {"rmsnorm", call_rmsnorm, "rmsnorm(name, x, { eps, over, offset })", 3, NULL},
    {"attention", call_attention, "attention(q, k, v, { causal, ... })", 4, NULL},
    {"rope", call_rope, "rope(x, { base, factor, ... })", 2, NULL},
    {"dropout", call_dropout, "dropout(x, rate)", 2, "validation runs without it by itself"},
    {"split", call_split, "split(x, name)", 2, NULL},
    {"stack", call_stack, "stack(name, layers, x, function(x, m) ... end)", 4,
     "a block sees inputs, positions and the sizes; nothing else is handed to it"},
    {"cross_entropy", call_cross_entropy, "cross_entropy(logits, targets, { smoothing, z, name })",
     3, "it is the mean over all targets: no class weights or other reductions"},
    {"mse", call_mse, "mse(y, target, { name })", 3, "it is the mean over all elements"},
};
enum { CALL_COUNT = sizeof calls / sizeof *calls };

static VocabularyCall call_named(Trace *t, const char *name) {
  for (size_t i = 0; i < CALL_COUNT; i++)
    if (strcmp(calls[i].name, name) == 0) return calls[i];
  int32_t op = op_called(name, NULL);
  if (op == NO_ID) return (VocabularyCall){0};
  return (VocabularyCall){name, call_op, op_usage(t, op), has_forms(op) ? 2 : 1, NULL};
}

/* Arguments that Lua would drop silently: `silu(x, true)`, or all but one part of
 * gelu(split(x, "two")). */
void check_argument_count(Trace *t) {
  VocabularyCall call = call_named(t, t->op);
  int extra = call.arguments + 1;
  while (extra <= lua_gettop(t->L) && lua_isnil(t->L, extra))
    extra++;
  if (call.name == NULL || extra > lua_gettop(t->L)) return;
  const char *fix = strpbrk(call.usage, "{|") == NULL ? call.usage : NULL;
  trace_fault(t, "extra-argument", fix, "%s takes %d argument%s; argument %d is %s", call.usage,
              call.arguments, plural(call.arguments), extra, value_what(t, extra));
  if (call.hint != NULL) note_at(t->g->compile, (Span){0}, "%s", call.hint);
  lua_pop(t->L, 1); /* the void value; the call continues, and may find more mistakes */
}

static void add_call(Model *model, const char *name, lua_CFunction function, int32_t op) {
  lua_pushlightuserdata(model->L, model);
  lua_pushinteger(model->L, op);
  lua_pushcclosure(model->L, function, 2);
  sandbox_add_value(model->L, name);
}

void vocabulary_register(Model *model) {
  for (size_t i = 0; i < CALL_COUNT; i++)
    add_call(model, calls[i].name, calls[i].function, NO_ID);
  for (int32_t op = 0; op < OP_COUNT; op++) {
    const char *call = op_def(op)->call;
    if (call != NULL && op_called(call, NULL) == op) add_call(model, call, call_op, op);
  }
  values_register(model);
}

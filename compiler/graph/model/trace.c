/* trace.c -- runs forward once over symbolic values; every call appends nodes to the current
 * region.
 */
#include "compiler/graph/model/trace.h"

#include <string.h>

/* ---- calls */

static bool too_many_errors(const Trace *t) {
  return t->g->compile->diags.error_count >= TRACE_ERRORS_MAX;
}

static uint64_t hash_word(uint64_t hash, uint64_t word) {
  return (hash ^ word) * 0x9e3779b97f4a7c15u + (hash >> 31);
}

static uint64_t hash_call(Trace *t) {
  uint64_t hash = hash_word(t->called, hash_text(t->op));
  hash = hash_word(hash, (uint64_t)t->at.line << 32 | (uint32_t)t->at.column);
  for (int i = 1; i <= lua_gettop(t->L); i++) {
    double number = lua_type(t->L, i) == LUA_TNUMBER ? lua_tonumber(t->L, i) : 0;
    uint64_t word;
    memcpy(&word, &number, sizeof word);
    if (lua_type(t->L, i) == LUA_TSTRING) word = hash_text(lua_tostring(t->L, i));
    hash = hash_word(hash, word);
  }
  return hash;
}

/* forward runs once for the training graph and again for that of evaluation, and must not see
 * variables that the first run has set. */
static void check_same_calls(Trace *t) {
  Model *model = t->model;
  if (model->calls == 0) model->calls = t->called;
  if (model->calls == t->called) return;
  error_at(
      model->compile, key_place(model, model->family_path, "forward"), "forward-differs",
      "forward runs several times, and did not do the same each time: a local of the file that "
      "it changes belongs inside it");
}

Trace *trace_enter(lua_State *L, const char *op) {
  Model *model = lua_touserdata(L, lua_upvalueindex(1));
  Trace *t = model->trace;
  if (t == NULL) {
    sandbox_error(L, "outside-forward", NULL,
                  "%s: values exist only while forward runs; call it there", op);
    return NULL;
  }
  t->op = op;
  t->at = sandbox_where(L);
  if (++t->calls > TRACE_CALLS_MAX)
    sandbox_error(
        L, "limit", "stack(\"name\", n, x, function(x) ... end)",
        "forward makes more than %d calls: a Lua loop is unrolled, a stack is traced once",
        TRACE_CALLS_MAX);
  if (too_many_errors(t)) sandbox_error(L, NULL, NULL, "unwind: enough was reported");
  t->called = hash_call(t);
  check_argument_count(t);
  model->reads.count = 0;
  return t;
}

int trace_fault(Trace *t, const char *name, const char *fix, const char *format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  error_at(t->g->compile, t->at, name, "%s", text);
  if (fix != NULL) fix_last(t->g->compile, "%s", fix);
  return value_push(t, NO_ID);
}

/* ---- nodes */

const char *trace_path(Trace *t, const char *base) {
  lua_rawgeti(t->L, LUA_REGISTRYINDEX, t->taken);
  lua_pushfstring(t->L, "%s%s", t->scope, base);
  lua_pushvalue(t->L, -1);
  lua_rawget(t->L, -3);
  int32_t before = (int32_t)lua_tointeger(t->L, -1);
  lua_pop(t->L, 1);
  Arena *arena = t->g->compile->arena;
  const char *full = lua_tostring(t->L, -1);
  const char *path =
      before == 0 ? arena_copy(arena, full) : arena_printf(arena, "%s.%d", full, before + 1);
  lua_pushinteger(t->L, before + 1);
  lua_rawset(t->L, -3);
  lua_pop(t->L, 1);
  return path;
}

/* Ops check their numbers, which may come from the job. */
static void blame_attr(Trace *t, const Node *node) {
  const Diag *last = &t->g->compile->diags.list.at[t->g->compile->diags.list.count - 1];
  const AttrBlame *blame = op_def(node->op)->blames;
  for (; blame != NULL && blame->diagnostic != NULL; blame++)
    if (strcmp(last->name, blame->diagnostic) == 0)
      blame_number(t->model, node->attrs[blame->attr]);
}

ValueId trace_append(Trace *t, OpKind op, const char *path, const ValueId *inputs,
                     const double *attrs) {
  Node node = {.op = op,
               .region = t->region,
               .path = trace_path(t, path),
               .clone_of = NO_ID,
               .accumulate = ACCUMULATE_NEVER,
               .origin = t->at};
  for (; inputs[node.input_count] != NO_ID; node.input_count++)
    node.inputs[node.input_count] = inputs[node.input_count];
  for (int32_t i = 0; attrs != NULL && i < NODE_ATTRS_MAX; i++)
    node.attrs[i] = attrs[i];
  NodeId id = op_append(t->g, &t->g->regions.at[t->region].forward, node);
  if (id == NO_ID) blame_attr(t, &node);
  return id == NO_ID ? NO_ID : graph_node(t->g, id)->outputs[0];
}

/* ---- regions */

RegionId trace_open_region(Trace *t, const char *name, ValueId carried) {
  Graph *g = t->g;
  Region region = {.name = name,
                   .repeat = 1,
                   .input = NO_ID,
                   .output = NO_ID,
                   .d_output = NO_ID,
                   .d_input = NO_ID};
  VEC_PUSH(g->compile->arena, &g->regions, region);
  t->region = g->regions.count - 1;
  t->positions = NO_ID;
  if (carried == NO_ID) return t->region;
  DType dtype = graph_value(g, carried)->dtype;
  ValueId input =
      graph_value_like(g, carried, dtype, arena_printf(g->compile->arena, "%s.input", name));
  graph_value(g, input)->region = t->region;
  g->regions.at[t->region].input = input;
  return t->region;
}

/* ---- the whole model */

static void report_no_loss(Trace *t, int first, int count) {
  Model *model = t->model;
  Compile *c = model->compile;
  const char *what = count == 0 ? "nothing" : count > 1 ? "several values" : value_what(t, first);
  error_at(c, key_place(model, model->family_path, "forward"), "no-loss",
           "forward returns the loss, e.g. return cross_entropy(logits, targets); it returns %s",
           what);
  if (t->losses.count > 0) note_at(c, t->loss_at, "a loss is made here");
}

/* Runs inside sandbox_call. */
static int run_forward(lua_State *L) {
  Trace *t = lua_touserdata(L, 1);
  Model *model = t->model;
  lua_newtable(L);
  t->taken = luaL_ref(L, LUA_REGISTRYINDEX);
  int first = lua_gettop(L) + 1;
  lua_rawgeti(L, LUA_REGISTRYINDEX, model->forward);
  lua_rawgeti(L, LUA_REGISTRYINDEX, model->m);
  lua_call(L, 1, LUA_MULTRET);
  int count = lua_gettop(L) - first + 1;
  if (compile_failed(model->compile)) return 0;
  if (count == 1 && loss_is_at(t, first))
    losses_take(t, first);
  else
    report_no_loss(t, first, count);
  return 0;
}

static Graph *new_graph(Compile *c, const Model *model, bool training) {
  const Job *job = model->job;
  int32_t param = job->set[FIELD_precision_param] ? job->precision.param : job->precision.head;
  int32_t compute =
      job->set[FIELD_precision_compute] ? job->precision.compute : job->precision.head;
  Graph *g = graph_new(c, training);
  g->model_name = model->name;
  g->param_dtype = precision_dtype(param);
  g->compute_dtype = precision_dtype(compute);
  g->tf32 = compute == CHOICE_TF32;
  g->grad_dtype = precision_dtype(job->precision.grad);
  g->cache_dtype = precision_dtype(job->sample.cache);
  return g;
}

Graph *model_trace(Compile *c, Model *model, int64_t microbatch, int64_t context, bool training) {
  if (compile_failed(c)) return NULL;
  Trace trace = {.model = model,
                 .g = new_graph(c, model, training),
                 .L = model->L,
                 .microbatch = microbatch,
                 .context = context,
                 .scope = "",
                 .op = "forward",
                 .taken = LUA_NOREF,
                 .positions = NO_ID};
  model->trace_count++;
  model->trace = &trace;
  trace_open_region(&trace, "begin", NO_ID);
  lua_pushcfunction(model->L, run_forward);
  lua_pushlightuserdata(model->L, &trace);
  bool good = sandbox_call(c, model->L, 1, model->family_at);
  if (good)
    lua_pop(model->L, 1);
  else
    blame_rule(model, model->reads.at, model->reads.count);
  luaL_unref(model->L, LUA_REGISTRYINDEX, trace.taken);
  model->trace = NULL;
  good = good && !compile_failed(c) && trace_finish(&trace);
  if (good) check_same_calls(&trace);
  return good && !compile_failed(c) ? trace.g : NULL;
}

int64_t model_parameters(const Graph *g) {
  int64_t total = 0;
  for (int32_t i = 0; i < g->params.count; i++)
    total += g->params.at[i].elements * g->regions.at[g->params.at[i].region].repeat;
  return total;
}

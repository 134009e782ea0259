/* stack.c -- repeated layers: their block is traced once, in its own region. */
#include <math.h>
#include <string.h>

#include "compiler/graph/model/trace.h"

/* A value for the next region must be a whole buffer made in this one, so views and staged data are
 * copied. */
static ValueId whole_value(Trace *t, ValueId v) {
  const Value *value = graph_value(t->g, v);
  bool whole =
      value->kind == VALUE_ACTIVATION && value->view_of == NO_ID && value->producer != NO_ID;
  return whole ? v : trace_append(t, OP_copy, "copy", INPUTS(v), NULL);
}

/* If nothing was computed since the last stack, the next stack uses the empty region between. */
static bool is_untouched(const Trace *t, ValueId x) {
  const Region *region = &t->g->regions.at[t->region];
  for (int32_t i = 0; i < t->declared.count; i++)
    if (t->declared.at[i] == t->region) return false;
  return region->input == x && region->forward.count == 0;
}

/* Enters the stack's region. False: an error was reported. */
static bool enter_stack(Trace *t, const char *name, int64_t layers, ValueId x) {
  Graph *g = t->g;
  if (is_untouched(t, x)) {
    g->regions.at[t->region].name = name;
    graph_value(g, x)->name = arena_printf(g->compile->arena, "%s.*.input", name);
  } else {
    ValueId carried = whole_value(t, x);
    if (carried == NO_ID) return false;
    g->regions.at[t->region].output = carried;
    trace_open_region(t, name, carried);
    Value *input = graph_value(g, g->regions.at[t->region].input);
    input->name = arena_printf(g->compile->arena, "%s.*.input", name);
  }
  g->regions.at[t->region].is_stack = true;
  g->regions.at[t->region].repeat = layers;
  t->in_stack = true;
  t->scope = arena_printf(g->compile->arena, "%s.*.", name);
  return true;
}

static bool same_dims(const Graph *g, ValueId a, ValueId b) {
  const Value *x = graph_value(g, a), *y = graph_value(g, b);
  return x->dim_count == y->dim_count && x->dtype == y->dtype &&
         memcmp(x->dims, y->dims, sizeof(DimId) * (size_t)x->dim_count) == 0;
}

static const char *result_what(Trace *t, int index) {
  int count = lua_gettop(t->L) - index + 1;
  return count == 0 ? "nothing" : count > 1 ? "several values" : value_what(t, index);
}

/* Checks what the block returned, from `index` on the Lua stack on, and makes it the region's
 * output. */
static void take_result(Trace *t, const char *name, int index) {
  Graph *g = t->g;
  Region *region = &g->regions.at[t->region];
  const Handle *handle = luaL_testudata(t->L, index, VALUE_TYPE);
  if (value_is_void(t, index)) return;
  bool is_value = handle != NULL && handle->trace == t->model->trace_count;
  is_value = is_value && lua_gettop(t->L) == index;
  if (!is_value || !same_dims(g, handle->id, region->input)) {
    trace_fault(t, "block-shape", NULL,
                "stack '%s': a block takes %s but returns %s; it must return what it takes", name,
                value_dims_text(g, region->input),
                is_value ? value_dims_text(g, handle->id) : result_what(t, index));
  } else if (handle->id == region->input) {
    trace_fault(t, "block-shape", NULL, "stack '%s': a block returns what it took, unchanged",
                name);
  } else if (graph_value(g, handle->id)->region != t->region) {
    trace_fault(t, "block-shape", NULL, "stack '%s': a block returns %s, which it did not make",
                name, value_dims_text(g, handle->id));
  } else {
    ValueId output = whole_value(t, handle->id);
    g->regions.at[t->region].output = output;
  }
}

static bool layers_argument(Trace *t, int64_t *layers) {
  double n = lua_type(t->L, 2) == LUA_TNUMBER ? lua_tonumber(t->L, 2) : 0;
  if (n >= 1 && n <= 1e6 && n == floor(n)) {
    *layers = (int64_t)n;
    return true;
  }
  trace_fault(t, "wrong-size", NULL, "stack: argument 2 is how many layers, 1 to 1,000,000; got %s",
              value_what(t, 2));
  if (lua_type(t->L, 2) == LUA_TNUMBER) blame_number(t->model, n);
  return false;
}

static bool check_stack(Trace *t, const char *name, ValueId x) {
  Graph *g = t->g;
  for (int32_t i = 0; i < g->regions.count; i++)
    if (g->regions.at[i].is_stack && strcmp(g->regions.at[i].name, name) == 0) {
      trace_fault(t, "duplicate-parameter", NULL, "stack: there are two named '%s'", name);
      return false;
    }
  DimId batch = graph_dim(g, "batch");
  if (batch == NO_ID || !value_has_dim(g, x, batch)) {
    trace_fault(t, "block-shape", NULL, "stack '%s': what is carried has 'batch'; got %s", name,
                value_dims_text(g, x));
    return false;
  }
  return true;
}

int call_stack(lua_State *L) {
  Trace *t = trace_enter(L, "stack");
  const char *name;
  int64_t layers;
  ValueId x;
  if (t->in_stack)
    return trace_fault(t, "nested-stack", NULL,
                       "stack: a stack inside a stack; there is one level only");
  if (!name_argument(t, 1, &name) || !layers_argument(t, &layers) || !value_argument(t, 3, &x))
    return value_push(t, NO_ID);
  if (!lua_isfunction(L, 4))
    return trace_fault(t, "not-a-block", "function(x, m) ... end",
                       "stack: argument 4 is the block, a function; got %s", value_what(t, 4));
  if (!check_stack(t, name, x) || !enter_stack(t, name, layers, x)) return value_push(t, NO_ID);
  Span at = t->at;
  lua_settop(L, 4);
  value_push(t, t->g->regions.at[t->region].input);
  lua_rawgeti(L, LUA_REGISTRYINDEX, t->model->m);
  lua_call(L, 2, LUA_MULTRET);
  t->op = "stack";
  t->at = at;
  take_result(t, name, 4);
  t->in_stack = false;
  t->scope = "";
  trace_open_region(t, "between",
                    t->g->regions.at[t->region].input); /* the block returns what it takes */
  return value_push(t, t->g->regions.at[t->region].input);
}

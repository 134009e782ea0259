/* values.c -- the objects of a model file: symbolic values and weights, and arithmetic on them. */
#include <math.h>
#include <string.h>

#include "compiler/graph/model/trace.h"

/* ---- lists of dimensions */

static DimList pick_dims(const Graph *g, ValueId v, bool carried) {
  const Value *value = graph_value(g, v);
  DimList list = {0};
  for (int32_t i = 0; i < value->dim_count; i++)
    if (g->dims.at[value->dims[i]].carried == carried) list.at[list.count++] = value->dims[i];
  return list;
}

DimList value_features_of(const Graph *g, ValueId v) {
  return pick_dims(g, v, false);
}
DimList value_carried_of(const Graph *g, ValueId v) {
  return pick_dims(g, v, true);
}

bool dims_equal(const DimList *a, const DimList *b) {
  if (a->count != b->count) return false;
  for (int32_t i = 0; i < a->count; i++)
    if (a->at[i] != b->at[i]) return false;
  return true;
}

const char *dims_text(Graph *g, const DimList *dims) {
  Arena *arena = g->compile->arena;
  const char *text = "[";
  for (int32_t i = 0; i < dims->count; i++)
    text = arena_printf(arena, "%s%s%s", text, i > 0 ? ", " : "", g->dims.at[dims->at[i]].name);
  return arena_printf(arena, "%s]", text);
}

/* ---- handles */

static int push_handle(Trace *t, const char *type, int32_t id) {
  Handle *handle = lua_newuserdatauv(t->L, sizeof *handle, 0);
  *handle = (Handle){t->model->trace_count, id};
  luaL_setmetatable(t->L, type);
  return 1;
}

int value_push(Trace *t, ValueId v) {
  return push_handle(t, VALUE_TYPE, v);
}
int weight_push(Trace *t, ParamId p) {
  return push_handle(t, WEIGHT_TYPE, p);
}

bool value_is_void(Trace *t, int index) {
  const Handle *handle = luaL_testudata(t->L, index, VALUE_TYPE);
  if (handle == NULL) handle = luaL_testudata(t->L, index, WEIGHT_TYPE);
  return handle != NULL && handle->trace == t->model->trace_count && handle->id == NO_ID;
}

/* Names a table by its first key, which is enough to find it in a line. */
static const char *table_what(Trace *t, int index) {
  lua_pushvalue(t->L, index);
  lua_pushnil(t->L);
  const char *text = "the table {}";
  if (lua_next(t->L, -2) != 0) {
    bool named = lua_type(t->L, -2) == LUA_TSTRING;
    text = named ? arena_printf(t->g->compile->arena, "the table { %.40s = ... }",
                                lua_tostring(t->L, -2))
                 : "a table";
    lua_pop(t->L, 2);
  }
  lua_pop(t->L, 1);
  return text;
}

static const char *number_what(Arena *arena, double number) {
  if (isnan(number)) return "not a number (0/0)";
  if (isinf(number)) return number < 0 ? "minus infinity" : "infinity";
  return arena_printf(arena, "the number %.14g", number);
}

const char *value_what(Trace *t, int index) {
  Arena *arena = t->g->compile->arena;
  const Handle *value = luaL_testudata(t->L, index, VALUE_TYPE);
  const Handle *weight = luaL_testudata(t->L, index, WEIGHT_TYPE);
  const Handle *handle = value != NULL ? value : weight;
  if (handle != NULL && handle->trace != t->model->trace_count)
    return "one kept from an earlier run of forward";
  if (handle != NULL && handle->id == NO_ID) return "a value";
  if (loss_is_at(t, index)) return "a loss";
  if (value != NULL) return arena_printf(arena, "the value %s", value_dims_text(t->g, value->id));
  if (weight != NULL)
    return arena_printf(arena, "the weight '%s'", t->g->params.at[weight->id].name);
  switch (lua_type(t->L, index)) {
  case LUA_TSTRING: return arena_printf(arena, "the text \"%.40s\"", lua_tostring(t->L, index));
  case LUA_TNUMBER: return number_what(arena, lua_tonumber(t->L, index));
  case LUA_TBOOLEAN: return lua_toboolean(t->L, index) ? "true" : "false";
  case LUA_TTABLE: return table_what(t, index);
  case LUA_TFUNCTION: return "a function";
  default: return "nil";
  }
}

/* ---- where a value may be used */

static void note_place(Trace *t, ValueId v) {
  const Value *value = graph_value(t->g, v);
  Span at = {0};
  if (value->producer != NO_ID) at = graph_node(t->g, value->producer)->origin;
  if (value->kind == VALUE_INPUT) at = t->input_places.at[value->input];
  if (at.file != NULL) note_at(t->g->compile, at, "%s is made here", value_dims_text(t->g, v));
}

static bool refuse_crossing(Trace *t, ValueId v) {
  const Region *from = &t->g->regions.at[graph_value(t->g, v)->region];
  const char *dims = value_dims_text(t->g, v);
  if (t->in_stack)
    trace_fault(
        t, "captured-in-stack", NULL,
        "%s: %s was made outside stack '%s'; a block sees what it takes, inputs and positions",
        t->op, dims, t->g->regions.at[t->region].name);
  else if (from->is_stack)
    trace_fault(t, "captured-in-stack", NULL,
                "%s: %s belongs to one layer of stack '%s'; only what the block returns leaves it",
                t->op, dims, from->name);
  else
    trace_fault(
        t, "skips-stack", NULL,
        "%s: %s was made before a stack and is used after it; only the carried value crosses, "
        "inputs and positions too",
        t->op, dims);
  note_place(t, v);
  return false;
}

/* Positions are made anew in every region; they do not come from another one. */
static ValueId positions_here(Trace *t) {
  if (t->positions == NO_ID)
    t->positions = trace_append(t, OP_positions, "positions", INPUTS(NO_ID), NULL);
  return t->positions;
}

static bool in_reach(Trace *t, ValueId *v) {
  const Value *value = graph_value(t->g, *v);
  if (value->kind == VALUE_INPUT || value->region == t->region) return true;
  if (value->producer != NO_ID && op_def(graph_node(t->g, value->producer)->op)->is_position) {
    *v = positions_here(t);
    return *v != NO_ID;
  }
  return refuse_crossing(t, *v);
}

static bool refuse_argument(Trace *t, int index) {
  const Handle *weight = luaL_testudata(t->L, index, WEIGHT_TYPE);
  const char *fix = NULL;
  if (weight != NULL && weight->trace == t->model->trace_count)
    fix = "linear(handle, x), embedding(handle, ids) or x * handle";
  else if (lua_type(t->L, index) == LUA_TSTRING && index == 1)
    fix = arena_printf(t->g->compile->arena, "%s(x)", t->op);
  trace_fault(t, "not-a-value", fix, "%s: argument %d is a value; got %s", t->op, index,
              value_what(t, index));
  return false;
}

/* True: the argument is a loss, and that is reported. */
static bool refuse_loss(Trace *t, int index) {
  if (!loss_is_at(t, index)) return false;
  trace_fault(t, "loss-used", NULL,
              "%s: argument %d is a loss; forward returns a sum of losses, and nothing else is "
              "computed from them",
              t->op, index);
  return true;
}

/* Any value, of ids or of numbers. */
static bool any_argument(Trace *t, int index, ValueId *v) {
  const Handle *handle = luaL_testudata(t->L, index, VALUE_TYPE);
  *v = NO_ID;
  if (value_is_void(t, index)) return false;
  if (refuse_loss(t, index)) return false;
  if (handle == NULL || handle->trace != t->model->trace_count) return refuse_argument(t, index);
  *v = handle->id;
  return in_reach(t, v);
}

bool value_argument(Trace *t, int index, ValueId *v) {
  if (!any_argument(t, index, v)) return false;
  if (graph_value(t->g, *v)->dtype != DTYPE_I32) return true;
  trace_fault(t, "needs-numbers", "embedding(\"name\", ids, { \"vocab\", \"width\" })",
              "%s: argument %d is numbers; got the ids %s", t->op, index,
              value_dims_text(t->g, *v));
  return false;
}

bool ids_argument(Trace *t, int index, ValueId *v) {
  if (!any_argument(t, index, v)) return false;
  if (graph_value(t->g, *v)->dtype == DTYPE_I32) return true;
  trace_fault(t, "needs-ids", NULL,
              "%s: argument %d is ids, from input(name, dims, \"ids\"); got %s", t->op, index,
              value_what(t, index));
  return false;
}

/* ---- weights: each is owned by one region */

static bool refuse_sharing(Trace *t, const Param *param, RegionId home) {
  const Region *owner = &t->g->regions.at[home];
  if (owner->is_stack)
    trace_fault(t, "shared-in-stack", NULL,
                "%s: weight '%s' belongs to the layers of stack '%s' and is used outside them",
                t->op, param->name, owner->name);
  else
    trace_fault(t, "shared-in-stack", NULL,
                "%s: weight '%s' was made outside stack '%s'; layers do not share a weight", t->op,
                param->name, t->g->regions.at[t->region].name);
  note_at(t->g->compile, param->origin, "'%s' is made here", param->name);
  return false;
}

bool weight_argument(Trace *t, int index, ParamId *p) {
  const Handle *handle = luaL_testudata(t->L, index, WEIGHT_TYPE);
  *p = NO_ID;
  if (value_is_void(t, index)) return false;
  if (refuse_loss(t, index)) return false;
  if (handle == NULL || handle->trace != t->model->trace_count) {
    trace_fault(t, "not-a-name", NULL,
                "%s: argument 1 is the weight's name, or a handle of weight(); got %s", t->op,
                value_what(t, index));
    return false;
  }
  Param *param = &t->g->params.at[handle->id];
  RegionId home = t->declared.at[handle->id];
  bool foreign = home != t->region && (t->in_stack || t->g->regions.at[home].is_stack);
  if (foreign) return refuse_sharing(t, param, home);
  if (param->region == NO_ID) { /* it belongs to the region that uses it first */
    param->region = t->region;
    graph_value(t->g, param->value)->region = t->region;
  }
  *p = handle->id;
  return true;
}

/* ---- arithmetic */

static bool contains_all(const Graph *g, ValueId big, ValueId small) {
  const Value *value = graph_value(g, small);
  for (int32_t i = 0; i < value->dim_count; i++)
    if (!value_has_dim(g, big, value->dims[i])) return false;
  return true;
}

/* Adds to the error of the op where both sides come from. */
static void explain_merge(Trace *t, ValueId a, ValueId b) {
  Graph *g = t->g;
  DimList want = value_features_of(g, a), have = value_features_of(g, b);
  if (dims_equal(&want, &have)) /* of samples, and of positions */
    fix_last(g->compile, "(x + a) + b in place of x + (a + b), where x has batch and seq");
  else if (want.count == 1)
    fix_last(g->compile, "bring one side over first: linear(\"skip\", x, \"%s\")",
             g->dims.at[want.at[0]].name);
  note_place(t, a);
  note_place(t, b);
}

static int affine(Trace *t, ValueId x, double scale, double shift) {
  if (!isfinite(scale) || !isfinite(shift))
    return trace_fault(t, "wrong-number", NULL, "%s: the number must be finite", t->op);
  if (!is_f32(scale) || !is_f32(shift)) {
    const double number = is_f32(scale) ? shift : scale;
    return trace_fault(t, "wrong-number", NULL, "%s: %s %g is beyond fp32, which %s", t->op,
                       is_f32(scale) ? "adding" : "a factor of", number,
                       is_f32_small(number) ? "begins at 1.2e-38" : "ends at 3.4e38");
  }
  return value_push(t, trace_append(t, OP_affine, "affine", INPUTS(x), ATTRS(scale, shift)));
}

/* The index of the operand that is a number; 0: none is, or both are. */
static int number_operand(lua_State *L) {
  bool first = lua_type(L, 1) == LUA_TNUMBER, second = lua_type(L, 2) == LUA_TNUMBER;
  return first == second ? 0 : first ? 1 : 2;
}

/* A value, or a weight beside one. */
static bool operand(Trace *t, int index, ValueId *v) {
  ParamId p;
  bool is_weight = luaL_testudata(t->L, index, WEIGHT_TYPE) != NULL;
  if (!is_weight || luaL_testudata(t->L, 3 - index, VALUE_TYPE) == NULL)
    return value_argument(t, index, v);
  if (!weight_argument(t, index, &p)) return false;
  *v = t->g->params.at[p].value;
  return true;
}

static bool both_operands(Trace *t, ValueId *a, ValueId *b) {
  bool good = operand(t, 1, a);
  return operand(t, 2, b) && good;
}

static int append_merge(Trace *t, OpKind op, ValueId a, ValueId b) {
  ValueId y = trace_append(t, op, t->op, INPUTS(a, b), NULL);
  if (y == NO_ID) explain_merge(t, a, b);
  return value_push(t, y);
}

static int merge(Trace *t, OpKind op) {
  ValueId a, b;
  return both_operands(t, &a, &b) ? append_merge(t, op, a, b) : value_push(t, NO_ID);
}

/* Ops repeat their second operand over the dimensions that it lacks. If the first one lacks some,
 * a - b is computed as -b + a. */
static int merge_difference(Trace *t) {
  ValueId a, b;
  if (!both_operands(t, &a, &b)) return value_push(t, NO_ID);
  if (contains_all(t->g, a, b) || !contains_all(t->g, b, a))
    return append_merge(t, OP_subtract, a, b);
  ValueId negated = trace_append(t, OP_affine, "affine", INPUTS(b), ATTRS(-1, 0));
  return negated == NO_ID ? value_push(t, NO_ID) : append_merge(t, OP_add, negated, a);
}

static bool has_loss(Trace *t) {
  return loss_is_at(t, 1) || loss_is_at(t, 2);
}

static int value_add(lua_State *L) {
  Trace *t = trace_enter(L, "add");
  int number = number_operand(L);
  ValueId x;
  if (has_loss(t)) return loss_add(t, 1);
  if (number == 0) return merge(t, OP_add);
  if (!value_argument(t, 3 - number, &x)) return value_push(t, NO_ID);
  return affine(t, x, 1, lua_tonumber(L, number));
}

static int value_subtract(lua_State *L) {
  Trace *t = trace_enter(L, "subtract");
  int number = number_operand(L);
  ValueId x;
  if (has_loss(t)) return loss_add(t, -1);
  if (number == 0) return merge_difference(t);
  if (!value_argument(t, 3 - number, &x)) return value_push(t, NO_ID);
  double n = lua_tonumber(L, number);
  return number == 2 ? affine(t, x, 1, -n) : affine(t, x, -1, n);
}

static int value_multiply(lua_State *L) {
  Trace *t = trace_enter(L, "multiply");
  int number = number_operand(L);
  ValueId x;
  if (has_loss(t)) return loss_multiply(t);
  if (number == 0) return merge(t, OP_multiply);
  if (!value_argument(t, 3 - number, &x)) return value_push(t, NO_ID);
  return affine(t, x, lua_tonumber(L, number), 0);
}

static int value_divide(lua_State *L) {
  Trace *t = trace_enter(L, "divide");
  ValueId x;
  if (has_loss(t)) return loss_divide(t);
  if (lua_type(L, 2) != LUA_TNUMBER)
    return trace_fault(t, "no-operator", NULL, "divide: a value can be divided by a number; got %s",
                       value_what(t, 2));
  if (!value_argument(t, 1, &x)) return value_push(t, NO_ID);
  return affine(t, x, 1 / lua_tonumber(L, 2), 0);
}

static int value_negate(lua_State *L) {
  Trace *t = trace_enter(L, "negate");
  ValueId x;
  if (loss_is_at(t, 1)) return loss_scale(t, 1, -1);
  if (!value_argument(t, 1, &x)) return value_push(t, NO_ID);
  return affine(t, x, -1, 0);
}

static int value_refuse(lua_State *L) {
  Trace *t = trace_enter(L, lua_tostring(L, lua_upvalueindex(2)));
  if (value_is_void(t, 1) || value_is_void(t, 2)) return value_push(t, NO_ID);
  return trace_fault(t, "no-operator", NULL, "values have + - * and / by a number, and no '%s'",
                     t->op);
}

/* A branch on a value cannot be traced, so comparing values is an error. */
static int value_compare(lua_State *L) {
  return sandbox_error(
      L, "no-operator", NULL,
      "values have no numbers while the model is read, so they cannot be compared");
}

static int value_tostring(lua_State *L) {
  Trace *t = trace_enter(L, "tostring");
  lua_pushstring(L, value_what(t, 1));
  return 1;
}

static void add_method(Model *model, const char *event, lua_CFunction function, const char *word) {
  lua_pushlightuserdata(model->L, model);
  lua_pushstring(model->L, word);
  lua_pushcclosure(model->L, function, 2);
  lua_setfield(model->L, -2, event);
}

void values_register(Model *model) {
  static const char *const types[] = {VALUE_TYPE, WEIGHT_TYPE, LOSS_TYPE};
  static const struct {
    const char *event;
    lua_CFunction function;
    const char *word;
  } methods[] = {
      {"__add", value_add, "+"},        {"__sub", value_subtract, "-"},
      {"__mul", value_multiply, "*"},   {"__div", value_divide, "/"},
      {"__unm", value_negate, "-"},     {"__pow", value_refuse, "^"},
      {"__mod", value_refuse, "%"},     {"__idiv", value_refuse, "//"},
      {"__concat", value_refuse, ".."}, {"__len", value_refuse, "#"},
      {"__index", value_refuse, "."},   {"__newindex", value_refuse, ".x ="},
      {"__call", value_refuse, "()"},   {"__lt", value_compare, "<"},
      {"__le", value_compare, "<="},    {"__tostring", value_tostring, ""},
  };
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    luaL_newmetatable(model->L, types[i]);
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++)
      add_method(model, methods[m].event, methods[m].function, methods[m].word);
    lua_pop(model->L, 1);
  }
}

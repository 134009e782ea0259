/* params.c -- makes parameters: their names, dimensions, initial values, and whether weight decay
 * applies. */
#include <math.h>

#include "compiler/graph/model/trace.h"

/* The index of the parameter with this full name, which is made if it does not exist yet. */
static bool is_new_name(Trace *t, const char *full) {
  lua_rawgeti(t->L, LUA_REGISTRYINDEX, t->taken);
  lua_pushfstring(t->L, "parameter %s", full);
  lua_pushvalue(t->L, -1);
  lua_rawget(t->L, -3);
  bool taken = lua_isinteger(t->L, -1);
  ParamId first = taken ? (ParamId)lua_tointeger(t->L, -1) : NO_ID;
  lua_pop(t->L, 1);
  lua_pushinteger(t->L, t->g->params.count);
  if (!taken)
    lua_rawset(t->L, -3);
  else
    lua_pop(t->L, 2);
  lua_pop(t->L, 1);
  if (!taken) return true;
  trace_fault(
      t, "duplicate-parameter", NULL,
      "parameter '%s' is made twice; to share it, make it with weight() and pass the handle", full);
  note_at(t->g->compile, t->g->params.at[first].origin, "it is made here first");
  return false;
}

static void blame_dims(Trace *t, const DimList *dims) {
  int32_t sizes[DIMS_MAX], count = 0;
  for (int32_t i = 0; i < dims->count; i++) {
    const Size *size = sizes_find(t->model, t->g->dims.at[dims->at[i]].name);
    if (size != NULL) sizes[count++] = (int32_t)(size - t->model->sizes.at);
  }
  blame_sizes(t->model, sizes, count, BLAME_LARGEST);
}

/* Elements of one layer; 0: an error was reported. */
static int64_t count_elements(Trace *t, const char *full, const DimList *dims) {
  double elements = 1;
  for (int32_t i = 0; i < dims->count; i++)
    elements *= (double)t->g->dims.at[dims->at[i]].size;
  if (elements <= 0x1p50) return (int64_t)elements;
  if (t->is_too_large) return 0;
  t->is_too_large = true;
  trace_fault(t, "wrong-size", NULL, "parameter '%s' %s would have %.3g elements", full,
              dims_text(t->g, dims), elements);
  blame_dims(t, dims);
  return 0;
}

static void set_init(Param *param, Init init, int64_t fan_in) {
  double bound = fan_in > 0 ? sqrt(1.0 / (double)fan_in) : 1;
  param->init_a = init.a;
  param->init_b = init.b;
  switch (init.rule) {
  case RULE_NORMAL: param->init = INIT_NORMAL; break;
  case RULE_UNIFORM: param->init = INIT_UNIFORM; break;
  case RULE_CONSTANT: param->init = INIT_CONSTANT; break;
  case RULE_KAIMING_UNIFORM: /* torch.nn.Linear: a = sqrt(5) makes the gain 1/sqrt(3), the bound
                                1/sqrt(fan_in) */
    param->init = INIT_UNIFORM;
    param->init_a = -bound;
    param->init_b = bound;
    break;
  }
}

static ParamId make(Trace *t, const char *name, const DimList *dims, Init init, int64_t fan_in,
                    bool decay) {
  Graph *g = t->g;
  Arena *arena = g->compile->arena;
  const char *full = *t->scope ? arena_printf(arena, "%s%s", t->scope, name) : name;
  if (!is_new_name(t, full)) return NO_ID;
  int64_t elements = count_elements(t, full, dims);
  if (elements == 0) return NO_ID;
  Param param = {.name = full,
                 .region = t->region,
                 .dim_count = dims->count,
                 .elements = elements,
                 .decay = decay,
                 .value = graph_value_dims(g, dims->at, dims->count, g->compute_dtype, full),
                 .grad = NO_ID,
                 .origin = t->at};
  for (int32_t i = 0; i < dims->count; i++)
    param.dims[i] = dims->at[i];
  set_init(&param, init, fan_in);
  VEC_PUSH(arena, &g->params, param);
  VEC_PUSH(arena, &t->declared, t->region);
  ParamId id = g->params.count - 1;
  Value *value = graph_value(g, param.value);
  value->kind = VALUE_PARAM;
  value->region = t->region;
  value->param = id;
  return id;
}

ParamId param_make(Trace *t, const char *name, const DimList *dims, Init init, int64_t fan_in) {
  return make(t, name, dims, init, fan_in, dims->count >= 2);
}

/* Weight decay is for what multiplies. A bias is an offset, however many dimensions it has. */
ParamId param_bias(Trace *t, const char *name, const DimList *dims, Init init, int64_t fan_in) {
  if (init.rule != RULE_KAIMING_UNIFORM) init = (Init){.rule = RULE_CONSTANT};
  return make(t, name, dims, init, fan_in, false);
}

ParamId param_constant(Trace *t, const char *name, const DimList *dims, double value) {
  return make(t, name, dims, (Init){.rule = RULE_CONSTANT, .a = value, .b = value}, 0, false);
}

/* arguments.c -- reads what a model file passes: names, lists of dimensions, options, initialisers.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "compiler/graph/model/trace.h"

/* ---- names */

static bool is_name(const char *text, size_t length) {
  static const char *const allowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
  return length > 0 && length <= NAME_BYTES_MAX && strspn(text, allowed) == length &&
         text[0] != '.' && text[length - 1] != '.';
}

bool name_argument(Trace *t, int index, const char **name) {
  if (value_is_void(t, index)) return false;
  if (lua_type(t->L, index) != LUA_TSTRING) {
    trace_fault(t, "not-a-name", NULL, "%s: argument %d is a name, e.g. \"attn.c_proj\"; got %s",
                t->op, index, value_what(t, index));
    return false;
  }
  size_t length;
  const char *text = lua_tolstring(t->L, index, &length);
  if (!is_name(text, length)) {
    trace_fault(
        t, "not-a-name", NULL,
        "%s: '%.40s' is not a name: letters, digits, _ - and dots between, %d bytes at most", t->op,
        text, NAME_BYTES_MAX);
    return false;
  }
  *name = arena_copy(t->g->compile->arena, text);
  return true;
}

/* ---- dimensions */

static const char *axis_of(const Model *model, const char *name) {
  static const AxisRule usual[] = {{"batch", "dp"},    {"seq", "cp"}, {"heads", "tp"},
                                   {"kv_heads", "tp"}, {"ffn", "tp"}, {"vocab", "tp"}};
  for (int32_t i = 0; i < model->axes.count; i++)
    if (strcmp(model->axes.at[i].dim, name) == 0) return model->axes.at[i].axis;
  for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
    if (strcmp(usual[i].dim, name) == 0) return usual[i].axis;
  return NULL;
}

/* The size of a named dimension; 0: an error was reported. */
static int64_t size_of_dim(Trace *t, const char *name) {
  if (strcmp(name, "batch") == 0) return t->microbatch;
  if (strcmp(name, "seq") == 0) {
    if (t->context > 0) return t->context;
    trace_fault(t, "missing-context", "train = { context = 1024 }",
                "%s: 'seq' has no size: the job says no train.context", t->op);
    return 0;
  }
  const Size *size = sizes_find(t->model, name);
  if (size == NULL) {
    const char *near = sizes_nearest(t->model, name);
    const char *fix = near ? arena_printf(t->g->compile->arena, "\"%s\"", near) : NULL;
    trace_fault(t, "unknown-dimension", fix, "%s: no dimension '%.40s'%s%s%s", t->op, name,
                near ? "; did you mean '"
                     : "; dimensions are the sizes of the model, batch and seq",
                near ? near : "", near ? "'?" : "");
    return 0;
  }
  double n = size->is.number;
  if (size->is.kind == SIZE_NUMBER && n >= 1 && n <= 1e15 && n == floor(n)) return (int64_t)n;
  trace_fault(t, "wrong-size", NULL, "%s: a dimension has a whole size of 1 or more; %s = %s",
              t->op, name, sizes_text(t->model, &size->is));
  int32_t index = (int32_t)(size - t->model->sizes.at);
  blame_sizes(t->model, &index, 1, BLAME_FIRST);
  return 0;
}

/* The job's line that sets the size of a dimension. */
static Span place_of_dim(const Trace *t, const char *name) {
  const Job *job = t->model->job;
  if (strcmp(name, "batch") == 0) return job->origin[FIELD_train_microbatch].span;
  if (strcmp(name, "seq") == 0) return job->origin[FIELD_train_context].span;
  return blame_place(t->model, sizes_find(t->model, name));
}

DimId dim_named(Trace *t, const char *name) {
  DimId known = graph_dim(t->g, name);
  if (known != NO_ID) return known;
  int64_t size = size_of_dim(t, name);
  if (size == 0) return NO_ID;
  bool carried = strcmp(name, "batch") == 0 || strcmp(name, "seq") == 0;
  return graph_add_dim(t->g, (Dim){.name = arena_copy(t->g->compile->arena, name),
                                   .size = size,
                                   .axis = axis_of(t->model, name),
                                   .set_at = place_of_dim(t, name),
                                   .carried = carried});
}

static bool add_dim(Trace *t, const char *name, DimList *dims) {
  DimId d = dim_named(t, name);
  if (d == NO_ID) return false;
  for (int32_t i = 0; i < dims->count; i++)
    if (dims->at[i] == d) {
      trace_fault(t, "repeated-dimension", NULL, "%s: '%s' is twice in one list", t->op, name);
      return false;
    }
  if (dims->count == DIMS_MAX) {
    trace_fault(t, "too-many-dimensions", NULL, "%s: at most %d dimensions", t->op, DIMS_MAX);
    return false;
  }
  dims->at[dims->count++] = d;
  return true;
}

static bool dims_expected(Trace *t, int index) {
  trace_fault(t, "not-a-name", NULL,
              "%s: argument %d names dimensions, e.g. \"width\" or { \"heads\", \"head\" }; got %s",
              t->op, index, value_what(t, index));
  return false;
}

/* Options in the list of dimensions, which would be dropped silently. */
static bool has_only_items(Trace *t, int index) {
  for (lua_pushnil(t->L); lua_next(t->L, index) != 0; lua_pop(t->L, 1)) {
    if (lua_type(t->L, -2) != LUA_TSTRING) continue;
    trace_fault(t, "not-a-name", NULL,
                "%s: argument %d is a list of dimensions, and '%.40s' is none; options are a table "
                "of their own",
                t->op, index, lua_tostring(t->L, -2));
    return false;
  }
  return true;
}

bool dims_argument(Trace *t, int index, DimList *dims) {
  *dims = (DimList){0};
  if (value_is_void(t, index)) return false;
  if (lua_type(t->L, index) == LUA_TSTRING) return add_dim(t, lua_tostring(t->L, index), dims);
  if (lua_type(t->L, index) != LUA_TTABLE || lua_rawlen(t->L, index) == 0)
    return dims_expected(t, index);
  bool good = has_only_items(t, index);
  lua_Unsigned count = lua_rawlen(t->L, index);
  for (lua_Unsigned i = 1; i <= count && i <= DIMS_MAX + 1; i++) {
    lua_rawgeti(t->L, index, (lua_Integer)i);
    if (lua_type(t->L, -1) != LUA_TSTRING) return dims_expected(t, index);
    good = add_dim(t, lua_tostring(t->L, -1), dims) && good;
    lua_pop(t->L, 1);
  }
  return good;
}

/* ---- options */

static const char *joined(Arena *arena, const char *const *words) {
  const char *text = "";
  for (int32_t i = 0; words[i] != NULL; i++)
    text = arena_printf(arena, "%s%s%s", text, i > 0 ? ", " : "", words[i]);
  return text;
}

static void report_option(Trace *t, const char *key, const char *const *keys) {
  Arena *arena = t->g->compile->arena;
  int32_t count = 0;
  while (keys[count] != NULL)
    count++;
  const char *near = nearest_word(key, keys, count);
  const char *fix = near != NULL ? arena_printf(arena, "%s = ...", near) : NULL;
  trace_fault(t, "unknown-option", fix, "%s: no option '%.40s'; it has %s", t->op, key,
              joined(arena, keys));
  lua_pop(t->L, 1); /* the void value; the caller continues */
}

/* { "bias" } in place of { bias = true }; the value is on top of the stack. */
static void report_item(Trace *t, const char *const *keys) {
  trace_fault(t, "unknown-option", NULL, "%s: options are written { %s = ... }; got %s without one",
              t->op, joined(t->g->compile->arena, keys), value_what(t, lua_gettop(t->L)));
  lua_pop(t->L, 1);
}

bool options_argument(Trace *t, int index, const char *const *keys) {
  if (lua_isnoneornil(t->L, index)) return true;
  if (lua_type(t->L, index) != LUA_TTABLE) {
    bool only = keys[1] == NULL && lua_type(t->L, index) == LUA_TNUMBER;
    const char *fix = only ? arena_printf(t->g->compile->arena, "{ %s = %.14g }", keys[0],
                                          lua_tonumber(t->L, index))
                           : NULL;
    trace_fault(t, "not-options", fix, "%s: argument %d holds options, { %s = ... }; got %s", t->op,
                index, keys[0], value_what(t, index));
    return false;
  }
  bool good = true;
  for (lua_pushnil(t->L); lua_next(t->L, index) != 0; lua_pop(t->L, 1)) {
    bool named = lua_type(t->L, -2) == LUA_TSTRING, known = false;
    for (int32_t i = 0; named && keys[i] != NULL; i++)
      known = known || strcmp(keys[i], lua_tostring(t->L, -2)) == 0;
    if (!named)
      report_item(t, keys);
    else if (!known)
      report_option(t, lua_tostring(t->L, -2), keys);
    good = good && known;
  }
  return good;
}

/* Pushes options[key]. False, with nothing pushed, when it is absent. */
static bool push_option(Trace *t, int index, const char *key) {
  if (lua_type(t->L, index) != LUA_TTABLE) return false;
  lua_getfield(t->L, index, key);
  if (!lua_isnil(t->L, -1)) return true;
  lua_pop(t->L, 1);
  return false;
}

static bool wrong_option(Trace *t, const char *key, const char *expected) {
  trace_fault(t, "wrong-option", NULL, "%s: %s is %s; got %s", t->op, key, expected,
              value_what(t, lua_gettop(t->L)));
  return false;
}

bool is_f32(double number) {
  const double size = fabs(number);
  return size == 0 || (size >= (double)FLT_MIN && size <= (double)FLT_MAX); /* false of NaN, too */
}

bool is_f32_small(double number) {
  return number != 0 && fabs(number) < (double)FLT_MIN;
}

static const char *f32_range(double number) {
  return is_f32_small(number) ? "a number, 0 or at least 1.2e-38 in size, as fp32 has"
                              : "a number, -3.4e38 to 3.4e38";
}

bool option_number(Trace *t, int index, const char *key, double *number) {
  if (!push_option(t, index, key)) return true;
  if (lua_type(t->L, -1) != LUA_TNUMBER || isnan(lua_tonumber(t->L, -1)))
    return wrong_option(t, key, "a number");
  if (!is_f32(lua_tonumber(t->L, -1)) && !is_f32_small(lua_tonumber(t->L, -1)))
    return wrong_option(t, key, f32_range(lua_tonumber(t->L, -1)));
  *number = lua_tonumber(t->L, -1);
  lua_pop(t->L, 1);
  return true;
}

bool option_name(Trace *t, int index, const char *key, const char **name) {
  enum { BYTES_MAX = 32 };
  if (!push_option(t, index, key)) return true;
  size_t length = 0;
  const char *text = lua_type(t->L, -1) == LUA_TSTRING ? lua_tolstring(t->L, -1, &length) : NULL;
  if (text == NULL || length > BYTES_MAX || !is_name(text, length))
    return wrong_option(t, key, "a name: letters, digits, _ - and dots between, 32 at most");
  *name = arena_copy(t->g->compile->arena, text);
  lua_pop(t->L, 1);
  return true;
}

bool option_flag(Trace *t, int index, const char *key, bool *flag) {
  if (!push_option(t, index, key)) return true;
  if (!lua_isboolean(t->L, -1)) return wrong_option(t, key, "true or false");
  *flag = lua_toboolean(t->L, -1);
  lua_pop(t->L, 1);
  return true;
}

/* ---- initialisers */

typedef struct InitWord {
  const char *word, *keys[3]; /* the one or two numbers it takes */
  Init usual;
} InitWord;

static const InitWord init_words[] = {{"normal", {"mean", "std"}, {RULE_NORMAL, 0, 0.02}},
                                      {"uniform", {"low", "high"}, {RULE_UNIFORM, -1, 1}},
                                      {"constant", {"value"}, {RULE_CONSTANT, 0, 0}},
                                      {"kaiming_uniform", {NULL}, {RULE_KAIMING_UNIFORM, 0, 0}}};
enum { INIT_WORDS = sizeof init_words / sizeof *init_words };

/* Takes the key and value on top of the stack, as in { "normal", std = 0.02 }. NULL: accepted. */
static const char *init_field(Arena *arena, lua_State *L, const InitWord *word, Init *init) {
  if (lua_isinteger(L, -2) && lua_tointeger(L, -2) == 1) return NULL;
  const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "[2]";
  for (int32_t i = 0; word->keys[i] != NULL; i++) {
    if (strcmp(word->keys[i], key) != 0) continue;
    if (lua_type(L, -1) != LUA_TNUMBER || isnan(lua_tonumber(L, -1)))
      return arena_printf(arena, "%s is a number", key);
    if (!is_f32(lua_tonumber(L, -1)))
      return arena_printf(arena, "%s is %s", key, f32_range(lua_tonumber(L, -1)));
    *(i == 0 ? &init->a : &init->b) = lua_tonumber(L, -1);
    return NULL;
  }
  const char *all = joined(arena, word->keys);
  return arena_printf(arena, "'%s' has no '%.40s'%s%s", word->word, key, *all ? "; it has " : "",
                      all);
}

static const char *check_init(Arena *arena, const Init *init) {
  if (init->rule == RULE_NORMAL && init->b < 0)
    return arena_printf(arena, "std is 0 or more; got %g", init->b);
  if (init->rule == RULE_UNIFORM && init->a > init->b)
    return arena_printf(arena, "low is not above high; got low %g, high %g", init->a, init->b);
  return NULL;
}

const char *init_read(Model *model, lua_State *L, int index, Init *init) {
  Arena *arena = model->compile->arena;
  index = lua_absindex(L, index);
  bool is_table = lua_istable(L, index);
  if (is_table)
    lua_rawgeti(L, index, 1);
  else
    lua_pushvalue(L, index);
  const char *text = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
  const InitWord *word = NULL;
  const char *words[INIT_WORDS + 1] = {NULL}, *wrong = NULL;
  for (size_t i = 0; i < INIT_WORDS; i++) {
    words[i] = init_words[i].word;
    if (strcmp(words[i], text) == 0) word = &init_words[i];
  }
  lua_pop(L, 1);
  if (word == NULL)
    return arena_printf(arena, "it is one of %s, or e.g. { \"normal\", std = 0.02 }",
                        joined(arena, words));
  *init = word->usual;
  for (lua_pushnil(L); is_table && lua_next(L, index) != 0; lua_pop(L, 1))
    if (wrong == NULL) wrong = init_field(arena, L, word, init);
  if (!is_table) lua_pop(L, 1);
  return wrong != NULL ? wrong : check_init(arena, init);
}

bool option_init(Trace *t, int index, Init *init) {
  if (!push_option(t, index, "init")) return true;
  const char *wrong = init_read(t->model, t->L, -1, init);
  if (wrong != NULL)
    trace_fault(t, "wrong-option", NULL, "%s: init: %s; got %s", t->op, wrong,
                value_what(t, lua_gettop(t->L)));
  else
    lua_pop(t->L, 1);
  return wrong == NULL;
}

/* trace.h -- private to compiler/graph/model: an open model, its trace, and the objects that Lua
 * holds.
 *
 * Everything that a model file calls is a C function with the Model as upvalue 1. After a mistake
 * it either reports with trace_fault and returns the void value, on which nothing further is
 * reported, so that one run finds several mistakes; or it raises with sandbox_error if it cannot
 * continue. Raising is a longjmp: allocate from the arena. */
#ifndef LOCKSTEP_MODEL_TRACE_H
#define LOCKSTEP_MODEL_TRACE_H

#include <lauxlib.h>
#include <lua.h>

#include "compiler/graph/model/model.h"
#include "compiler/graph/ops/op.h"
#include "compiler/job/lua/sandbox.h"
#include "runtime/safetensors/safetensors.h"

typedef enum SizeState { SIZE_READY, SIZE_REQUIRED, SIZE_FUNCTION, SIZE_RUNNING } SizeState;
typedef struct Size {
  const char *name;
  SizeState state;
  ModelSize is; /* kind, number, text */
  int function; /* registry reference, SIZE_FUNCTION */
  bool overridden;
  bool is_read;      /* by forward */
  VEC(int32_t) from; /* sizes that its function read */
} Size;

typedef enum InitRule { RULE_NORMAL, RULE_UNIFORM, RULE_CONSTANT, RULE_KAIMING_UNIFORM } InitRule;
typedef struct Init {
  InitRule rule;
  double a, b; /* mean std; low high; value; none: the bound follows from fan-in */
} Init;

typedef struct AxisRule {
  const char *dim, *axis; /* axis NULL: never sharded */
} AxisRule;

typedef struct Trace Trace;
typedef struct HuggingFace HuggingFace;

struct Model {
  Compile *compile;
  const Job *job;
  lua_State *L;
  const char *name;        /* as the job writes it */
  const char *family_path; /* the file with the sizes and forward */
  Span family_at;          /* its model { ... } */
  VEC(Size) sizes;
  VEC(int32_t) running; /* sizes whose functions are being called, outermost first */
  VEC(int32_t) reads;   /* sizes that forward read since its last call */
  VEC(AxisRule) axes;
  bool bias;
  Init init;
  int64_t published; /* the number of parameters that the preset states; 0: none */
  Span published_at;
  /* huggingface.h: the table of the nearest model file that has one, or NULL */
  HuggingFace *huggingface;
  const char *folder, *weights; /* with config.json; with tensors; NULL: none */
  const char *config_path;
  struct json_t *config; /* config.json of one of the two */
  SafeSet set;           /* of `weights` */
  bool has_set;
  const char *saved_path; /* or a checkpoint of ours, */
  struct Manifest *saved; /* and its manifest */
  uint64_t weights_sum;
  VEC(ModelSize) config_sizes;
  int forward, m;       /* registry references */
  const void *declared; /* the table that model { ... } saw last */
  Span declared_at;
  Trace *trace; /* NULL outside model_trace */
  uint32_t trace_count;
  uint64_t calls; /* hash of those that forward made when it ran first; 0 before */
};

struct Trace {
  Model *model;
  Graph *g;
  lua_State *L;
  int64_t microbatch, context;
  RegionId region;
  bool in_stack;
  const char *scope; /* "" or "h.*." */
  const char *op;    /* the current call, for messages */
  Span at;           /* its line */
  int32_t calls;
  uint64_t called;         /* hash of them, with their places, texts and numbers */
  bool is_too_large;       /* reported for one parameter, which is enough */
  int taken;               /* registry reference: path or parameter name -> how often */
  ValueId positions;       /* of the current region, or NO_ID */
  VEC(RegionId) declared;  /* by ParamId: where weight() made it; NO_ID: an op did */
  VEC(Span) input_places;  /* by index in g->inputs */
  VEC(ValueId) answers;    /* by loss: what it compares with */
  VEC(ValueId) losses;     /* in the order of their calls */
  Span loss_at;            /* of the last call */
  int32_t losses_left_out; /* calls that sampling or predictions do not need */
  const bool *needed;      /* by ValueId: what losses need */
};

/* A value or a weight of one trace, as Lua holds it. */
typedef struct Handle {
  uint32_t trace; /* model->trace_count: a value must not outlive its trace */
  int32_t id;     /* ValueId or ParamId; NO_ID: void */
} Handle;
#define VALUE_TYPE  "value"
#define WEIGHT_TYPE "weight"
#define LOSS_TYPE   "loss" /* losses.c */

enum { TRACE_CALLS_MAX = 100000, TRACE_ERRORS_MAX = 16, NAME_BYTES_MAX = 200, READS_MAX = 64 };

/* ---- trace.c: calls, regions */
Trace *trace_enter(lua_State *L, const char *op); /* the trace; raises outside forward */
int trace_fault(Trace *t, const char *name, const char *fix, const char *format, ...)
    __attribute__((format(printf, 4, 5))); /* reports; leaves the void value; returns 1 */
/* Makes the region's input, and enters the region. */
RegionId trace_open_region(Trace *t, const char *name, ValueId carried);
const char *trace_path(Trace *t, const char *base); /* scope + base, made unique */
ValueId trace_append(Trace *t, OpKind op, const char *path, const ValueId *inputs,
                     const double *attrs); /* output 0 */
#define INPUTS(...) ((const ValueId[]){__VA_ARGS__, NO_ID})
#define ATTRS(...)  ((const double[NODE_ATTRS_MAX]){__VA_ARGS__})

/* ---- losses.c: sums of losses. Arithmetic of the current call, of which an operand is one; each
 * leaves a sum, or the void value, and returns 1 */
bool loss_is_at(Trace *t, int index);
int loss_add(Trace *t, double sign);
int loss_scale(Trace *t, int index, double factor);
int loss_multiply(Trace *t);
int loss_divide(Trace *t);
void losses_take(Trace *t, int index); /* forward returns the sum at `index` */
int call_cross_entropy(lua_State *L);
int call_mse(lua_State *L);

/* ---- sizes.c */
bool sizes_merge(Model *model, const ModelSize *settings,
                 int32_t count); /* the first setting of a name counts */
bool sizes_fill(Model *model);   /* call it inside sandbox_call */
Size *sizes_find(const Model *model, const char *name);
const char *sizes_nearest(Model *model, const char *name);
void sizes_push_table(Model *model, lua_State *L);           /* the m of forward(m) */
bool sizes_read(lua_State *L, int index, ModelSize *out);    /* number, flag or text on the stack */
const char *sizes_text(Model *model, const ModelSize *size); /* as Lua writes it */

/* ---- blame.c: moves the last error to the job's line that set one of these sizes, if one did */
typedef enum Blame { BLAME_FIRST, BLAME_LARGEST } Blame;
void blame_sizes(Model *model, const int32_t *sizes, int32_t count, Blame kind); /* by index */
void blame_rule(Model *model, const int32_t *sizes, int32_t count); /* of assert and error() */
void blame_number(Model *model, double number); /* for an argument: a size that has this number */
Span blame_place(const Model *model,
                 const Size *size); /* without a file if the job does not set it */

/* ---- values.c: handles and arithmetic */
void values_register(Model *model);
int value_push(Trace *t, ValueId v); /* NO_ID: void. Returns 1 */
int weight_push(Trace *t, ParamId p);
/* Arguments of the current call. False: one is void, or an error was reported; then return
 * value_push(t, NO_ID). */
bool value_argument(Trace *t, int index, ValueId *v); /* numbers, not ids */
/* The input of this role, which data.documents = "apart" adds to a model; made when first asked
 * for.
 */
ValueId document_input(Trace *t, InputRole role);
bool ids_argument(Trace *t, int index, ValueId *v); /* token ids, positions */
bool weight_argument(Trace *t, int index, ParamId *p);
bool value_is_void(Trace *t, int index);
const char *value_what(Trace *t, int index); /* "nil", "a number", "[batch, seq]": for messages */
DimList value_features_of(const Graph *g, ValueId v);
DimList value_carried_of(const Graph *g, ValueId v);
bool dims_equal(const DimList *a, const DimList *b);
const char *dims_text(Graph *g, const DimList *dims);

/* ---- arguments.c */
bool name_argument(Trace *t, int index, const char **name);
bool dims_argument(Trace *t, int index, DimList *dims); /* "width" or { "heads", "head" } */
DimId dim_named(Trace *t, const char *name);            /* NO_ID when reported */
bool options_argument(Trace *t, int index,
                      const char *const *keys); /* nil, or a table with these keys */
/* Kernels compute with such numbers: larger ones would be infinite there, smaller ones 0. */
bool is_f32(double number);
bool is_f32_small(double number); /* it is no such number because it is too near 0 */
bool option_number(Trace *t, int index, const char *key,
                   double *number); /* unchanged when absent */
bool option_name(Trace *t, int index, const char *key, const char **name);
bool option_flag(Trace *t, int index, const char *key, bool *flag);
bool option_init(Trace *t, int index, Init *init);
/* NULL: it is right; else what is wrong with it. */
const char *init_read(Model *model, lua_State *L, int index, Init *init);
Span key_place(Model *model, const char *path,
               const char *key); /* of `key =` in a file; only on errors */

/* ---- params.c */
ParamId param_make(Trace *t, const char *name, const DimList *dims, Init init, int64_t fan_in);
ParamId param_bias(Trace *t, const char *name, const DimList *dims, Init init, int64_t fan_in);
ParamId param_constant(Trace *t, const char *name, const DimList *dims, double value);

/* ---- vocabulary.c, layers.c, stack.c: the calls */
void vocabulary_register(Model *model);
void check_argument_count(Trace *t); /* reports arguments that the current call does not take */
int call_linear(lua_State *L);
int call_embedding(lua_State *L);
int call_layernorm(lua_State *L);
int call_rmsnorm(lua_State *L);
int call_attention(lua_State *L);
int call_rope(lua_State *L);
int call_split(lua_State *L);
int call_stack(lua_State *L);

/* ---- ids.c: fills `vocab` of the inputs. False: an error was reported */
bool trace_check_ids(Trace *t);

/* ---- finish.c: checks of the whole model */
bool trace_finish(Trace *t);

#endif

/* losses.c -- the losses of a model file, and sums of them with weights.
 *
 * A loss is not a value of the graph that other ops may read: forward returns a sum, the weight of
 * each loss becomes an attr of its node, and the slopes of the node carry it. */
#include <math.h>
#include <string.h>

#include "compiler/graph/model/loss_choice.h"
#include "compiler/graph/model/trace.h"

/* ---- what Lua holds */

/* A sum of losses. By number of a loss: true if it is a term of the sum, and its weight. */
typedef struct LossSum {
  uint32_t trace;
  bool has[LOSSES_MAX];
  double weight[LOSSES_MAX];
} LossSum;

static int push_sum(Trace *t, const LossSum *sum) {
  LossSum *made = lua_newuserdatauv(t->L, sizeof *made, 0);
  *made = *sum;
  made->trace = t->model->trace_count;
  luaL_setmetatable(t->L, LOSS_TYPE);
  return 1;
}

static const LossSum *sum_at(Trace *t, int index) {
  const LossSum *sum = luaL_testudata(t->L, index, LOSS_TYPE);
  return sum != NULL && sum->trace == t->model->trace_count ? sum : NULL;
}

bool loss_is_at(Trace *t, int index) {
  return sum_at(t, index) != NULL;
}

static int refuse_use(Trace *t, int index) {
  trace_fault(t, "loss-used", "loss + 0.1 * other",
              "%s: losses are added and multiplied by numbers; got %s", t->op,
              value_what(t, index));
  return 1;
}

/* Pushes the sum, whose weights may be too large or too small: kernels have them in fp32. */
static int push_good_sum(Trace *t, const LossSum *sum) {
  for (int32_t i = 0; i < LOSSES_MAX; i++)
    if (is_f32_small(sum->weight[i]))
      return trace_fault(t, "wrong-number", NULL,
                         "%s: the weight of a loss is 0, or at least 1.2e-38 in size, as fp32 has; "
                         "got %g",
                         t->op, sum->weight[i]);
  for (int32_t i = 0; i < LOSSES_MAX; i++)
    if (!isfinite(sum->weight[i]) || !is_f32(sum->weight[i]))
      return trace_fault(t, "wrong-number", NULL,
                         "%s: the weight of a loss is finite in fp32; got %g", t->op,
                         sum->weight[i]);
  return push_sum(t, sum);
}

int loss_add(Trace *t, double sign) {
  const LossSum *a = sum_at(t, 1), *b = sum_at(t, 2);
  if (value_is_void(t, 1) || value_is_void(t, 2)) return value_push(t, NO_ID);
  if (a == NULL || b == NULL) return refuse_use(t, a == NULL ? 1 : 2);
  LossSum sum = *a;
  for (int32_t i = 0; i < LOSSES_MAX; i++) {
    sum.has[i] |= b->has[i];
    sum.weight[i] += sign * b->weight[i];
  }
  return push_good_sum(t, &sum);
}

int loss_scale(Trace *t, int index, double factor) {
  const LossSum *a = sum_at(t, index);
  if (a == NULL) return refuse_use(t, index);
  LossSum sum = *a;
  for (int32_t i = 0; i < LOSSES_MAX; i++)
    sum.weight[i] *= factor;
  return push_good_sum(t, &sum);
}

int loss_multiply(Trace *t) {
  if (value_is_void(t, 1) || value_is_void(t, 2)) return value_push(t, NO_ID);
  const int number = lua_type(t->L, 1) == LUA_TNUMBER ? 1 : 2;
  if (lua_type(t->L, number) != LUA_TNUMBER) return refuse_use(t, sum_at(t, 1) != NULL ? 2 : 1);
  return loss_scale(t, 3 - number, lua_tonumber(t->L, number));
}

int loss_divide(Trace *t) {
  if (value_is_void(t, 1) || value_is_void(t, 2)) return value_push(t, NO_ID);
  if (lua_type(t->L, 2) != LUA_TNUMBER) return refuse_use(t, sum_at(t, 1) != NULL ? 2 : 1);
  return loss_scale(t, 1, 1 / lua_tonumber(t->L, 2));
}

/* The name of a loss by the path of its node. */
static const char *loss_name(const char *path) {
  const size_t prefix = sizeof PLAN_LOSS_PREFIX - 1;
  return strncmp(path, PLAN_LOSS_PREFIX, prefix) == 0 ? path + prefix : path;
}

static RegionId region_of(const Trace *t, int32_t i) {
  return graph_value(t->g, t->losses.at[i])->region;
}

/* Sampling uses one loss, and predictions unless --loss names another: the first one after the last
 * stack that has a loss after it. */
static int32_t main_loss(const Trace *t, const LossSum *sum) {
  int32_t found = -1;
  for (int32_t i = 0; i < t->losses.count; i++)
    if (sum->has[i] && (found < 0 || region_of(t, i) > region_of(t, found))) found = i;
  return found;
}

/* The loss that predictions are of; NO_ID, with an error reported: there is none of that name. */
static int32_t predicted_loss(const Trace *t, const LossSum *sum) {
  LossOption options[LOSSES_MAX];
  int32_t number[LOSSES_MAX], count = 0;
  LossAsk ask = {.name = t->model->job->draw.loss, .usual = -1, .verb = "predict"};
  const char *why;
  for (int32_t i = 0; i < t->losses.count; i++) {
    if (!sum->has[i]) continue;
    const Node *n = graph_node(t->g, graph_value(t->g, t->losses.at[i])->producer);
    if (i == main_loss(t, sum)) ask.usual = count;
    number[count] = i;
    options[count++] = (LossOption){loss_name(n->path), op_def(n->op)->name, true};
  }
  const int32_t chosen = loss_choose(t->g->compile->arena, options, count, &ask, &why);
  if (chosen >= 0) return number[chosen];
  error_at(t->g->compile, t->loss_at, "wrong-use", "%s", why);
  return NO_ID;
}

static void take_loss(Trace *t, int32_t i, double weight) {
  Graph *g = t->g;
  const ValueId v = t->losses.at[i];
  Node *n = graph_node(g, graph_value(g, v)->producer);
  if (g->losses_count == 0 || op_def(n->op)->ids != IDS_OF_CLASSES)
    g->loss_name = op_def(n->op)->name;
  if (g->losses_count == 0) g->answer = t->answers.at[i];
  graph_value(g, v)->loss = g->losses_count;
  g->losses[g->losses_count++] = v;
  if (weight == 1) return;
  n->attrs[LOSS_ATTR_WEIGHTED] = 1;
  n->attrs[LOSS_ATTR_WEIGHT] = weight;
}

/* Returns the logits of one token of each sample, the one after which a token is drawn. Where a
 * linear layer makes the logits, it then reads this token alone.
 *
 *   x [batch, seq, width] -> linear -> logits [batch, seq, vocab]          before
 *   x -> last_token [batch, width] -> linear -> logits [batch, vocab]      after */
static ValueId last_logits(Trace *t, ValueId logits, ValueId targets) {
  Graph *g = t->g;
  NodeList *forward = &g->regions.at[t->region].forward;
  const NodeId made = graph_value(g, logits)->producer;
  const DimId seq = graph_dim(g, "seq");
  const bool is_last = forward->count > 0 && forward->at[forward->count - 1] == made;
  if (!is_last || !op_def(graph_node(g, made)->op)->in_runs || seq == NO_ID)
    return trace_append(t, OP_last_token, "last_token", INPUTS(logits, targets), NULL);
  const ValueId x = trace_append(t, OP_last_token, "last_token",
                                 INPUTS(graph_node(g, made)->inputs[0], targets), NULL);
  if (x == NO_ID) return NO_ID;
  NodeId *end = &forward->at[forward->count - 1];
  end[-1] = *end;
  *end = made;
  graph_node(g, made)->inputs[0] = x;
  Value *value = graph_value(g, logits);
  int32_t kept = 0;
  for (int32_t i = 0; i < value->dim_count; i++)
    if (value->dims[i] != seq) value->dims[kept++] = value->dims[i];
  value->dim_count = kept;
  return logits;
}

/* Draws of the chosen loss: sampling makes no other node for a loss. */
static void draw(Trace *t, int32_t i) {
  const DrawOptions *how = &t->model->job->draw;
  const ValueId places = document_input(t, INPUT_PLACES);
  const ValueId y = last_logits(t, t->losses.at[i], t->answers.at[i]);
  if (places == NO_ID || y == NO_ID) return;
  t->losses.at[i] = trace_append(t, OP_draw, "cross_entropy", INPUTS(y, t->answers.at[i], places),
                                 ATTRS(how->temperature, (double)how->top_k, how->top_p));
  if (t->losses.at[i] != NO_ID) take_loss(t, i, 1);
}

/* The losses that forward returns become those of the graph. */
void losses_take(Trace *t, int index) {
  const LossSum *sum = sum_at(t, index);
  const int32_t use = t->model->job->use;
  const int32_t one = use == USE_PREDICT ? predicted_loss(t, sum) : main_loss(t, sum);
  const bool has_one = use == USE_SAMPLE || use == USE_PREDICT;
  for (int32_t i = 0; i < t->losses.count && use != USE_SAMPLE; i++)
    if (sum->has[i] && (!has_one || i == one)) take_loss(t, i, has_one ? 1 : sum->weight[i]);
  if (has_one) t->losses_left_out += t->losses.count - 1;
  if (use != USE_SAMPLE) return;
  t->op = "cross_entropy";
  t->at = t->loss_at;
  if (one < 0)
    error_at(t->g->compile, t->loss_at, "wrong-use",
             "mse: sample draws classes, and this model predicts numbers");
  else if (region_of(t, one) != t->region)
    error_at(t->g->compile, t->loss_at, "wrong-use",
             "cross_entropy: sample draws after the last stack, and no loss is there");
  else
    draw(t, one);
}

/* ---- the calls */

/* Ids that nothing reads are below the number of classes all the same. */
static void bound_classes(Graph *g, ValueId logits, ValueId target) {
  const Value *ids = graph_value(g, target);
  DimList classes = value_features_of(g, logits);
  if (ids->kind == VALUE_INPUT && ids->dtype == DTYPE_I32 && classes.count > 0)
    g->inputs.at[ids->input].vocab = g->dims.at[classes.at[classes.count - 1]].size;
}

/* Names of losses are keys of metrics. False, with an error reported: it is taken. */
static bool check_name(Trace *t, const char *name) {
  for (int32_t i = 0; name != NULL && i < t->losses.count; i++) {
    const Node *other = graph_node(t->g, graph_value(t->g, t->losses.at[i])->producer);
    if (strcmp(loss_name(other->path), name) != 0) continue;
    trace_fault(t, "duplicate-loss", NULL, "%s: there are two losses named '%s'", t->op, name);
    note_at(t->g->compile, other->origin, "the other is here");
    return false;
  }
  return true;
}

/* The path of its node; NULL, with an error reported: the name is taken. */
static const char *path_for(Trace *t, const char *name) {
  if (name == NULL || t->model->job->use == USE_SAMPLE) return t->op;
  if (!check_name(t, name)) return NULL;
  return arena_printf(t->g->compile->arena, PLAN_LOSS_PREFIX "%s", name);
}

/* False, with an error reported: there can be no loss here. */
static bool check_place(Trace *t, ValueId y) {
  DimId batch = graph_dim(t->g, "batch");
  if (t->in_stack)
    trace_fault(t, "block-shape", NULL, "%s: the loss comes after the stacks, not inside one",
                t->op);
  else if (t->losses.count == LOSSES_MAX)
    trace_fault(t, "too-many-losses", NULL,
                "%s: a model has at most %d losses: make one of those that compare the same dims, "
                "with more features",
                t->op, LOSSES_MAX);
  else if (batch == NO_ID || !value_has_dim(t->g, y, batch))
    trace_fault(t, "loss-shape", NULL,
                "%s: %s is the same for all samples: a loss compares values with 'batch'", t->op,
                value_dims_text(t->g, y));
  else
    return true;
  return false;
}

static int make_loss(Trace *t, OpKind op, ValueId y, ValueId target, const double *attrs,
                     const char *name) {
  Graph *g = t->g;
  LossSum sum = {0};
  const int32_t use = t->model->job->use;
  const char *path;
  if (!check_place(t, y) || (path = path_for(t, name)) == NULL) return value_push(t, NO_ID);
  t->loss_at = t->at;
  const bool predicts = use == USE_PREDICT; /* the answer is not read */
  const ValueId loss = use == USE_SAMPLE ? y
                       : predicts        ? trace_append(t, op, path, INPUTS(y), attrs)
                                         : trace_append(t, op, path, INPUTS(y, target), attrs);
  if (predicts) bound_classes(g, y, target);
  if (loss == NO_ID) return value_push(t, NO_ID);
  if (name == NULL && use != USE_SAMPLE &&
      !check_name(t, loss_name(graph_node(g, graph_value(g, loss)->producer)->path)))
    return value_push(t, NO_ID);
  sum.has[t->losses.count] = true;
  sum.weight[t->losses.count] = 1;
  VEC_PUSH(g->compile->arena, &t->losses, loss);
  VEC_PUSH(g->compile->arena, &t->answers, target);
  return push_sum(t, &sum);
}
/* False, with an error reported: the number is outside its range. */
static bool check_option(Trace *t, const char *name, double value, bool is_good,
                         const char *range) {
  if (is_good) return true;
  trace_fault(t, "wrong-option", NULL, "%s: %s is %s; got %g", t->op, name, range, value);
  blame_number(t->model, value);
  return false;
}

int call_cross_entropy(lua_State *L) {
  static const char f32_small[] = "0, or at least 1.2e-38, as fp32 has";
  static const char *const keys[] = {"smoothing", "z", "name", NULL};
  Trace *t = trace_enter(L, "cross_entropy");
  ValueId logits, targets;
  double smoothing = 0, z = 0;
  const char *name = NULL;
  bool good = value_argument(t, 1, &logits);
  if (!ids_argument(t, 2, &targets) || !good || !options_argument(t, 3, keys) ||
      !option_number(t, 3, "smoothing", &smoothing) || !option_number(t, 3, "z", &z) ||
      !option_name(t, 3, "name", &name) ||
      !check_option(t, "smoothing", smoothing, smoothing >= 0 && smoothing < 1,
                    "a share, 0 <= smoothing < 1") ||
      !check_option(t, "z", z, z >= 0 && z <= 1, "the factor of lse^2, 0 to 1, often 1e-4") ||
      !check_option(t, "smoothing", smoothing, is_f32(smoothing), f32_small) ||
      !check_option(t, "z", z, is_f32(z), f32_small))
    return value_push(t, NO_ID);
  const Job *job = t->model->job;
  if (job->use == USE_PREDICT) return make_loss(t, OP_pick, logits, targets, NULL, name);
  return make_loss(t, OP_cross_entropy, logits, targets, ATTRS(smoothing, z), name);
}

int call_mse(lua_State *L) {
  static const char *const keys[] = {"name", NULL};
  Trace *t = trace_enter(L, "mse");
  ValueId y, target;
  const char *name = NULL;
  bool good = value_argument(t, 1, &y);
  if (!value_argument(t, 2, &target) || !good || !options_argument(t, 3, keys) ||
      !option_name(t, 3, "name", &name))
    return value_push(t, NO_ID);
  t->loss_at = t->at;
  if (t->model->job->use == USE_SAMPLE) {
    t->losses_left_out++;
    return push_sum(t, &(LossSum){0});
  }
  return make_loss(t, t->model->job->use == USE_PREDICT ? OP_pick : OP_mse, y, target, NULL, name);
}

/* rows.c -- what the numbers of a record are that carries out a node: functions of the node, and
 * of how its values are cut. */
#include <string.h>

#include "compiler/prove/records/case.h"

static const char *kernel_name(const Case *c) {
  return c->contract->row->name;
}

/* ---- element by element */

static void elements(Case *c) {
  Part x = case_part(c, 0);
  case_dim(c, part_elements(c, &x));
}

static void affine(Case *c) {
  elements(c);
  case_attr(c, case_node_attr(c, 0));
  case_attr(c, case_node_attr(c, 1));
}

static void copy(Case *c) {
  enum { X_STRIDE = 2, Y_STRIDE = 3 };
  Part x = case_part(c, 0);
  case_dim(c, part_tokens(c, &x));
  case_dim(c, part_features(c, &x));
  case_dim(c, case_stride(c, 0, X_STRIDE));
  case_dim(c, case_stride(c, 1, Y_STRIDE));
}

/* Stride of a dim in a dense value; 0 where the value lacks it. */
static int64_t stride_in(Case *c, const Part *part, const PlanLayoutDim *dim) {
  for (uint32_t i = 0; i < part->count; i++) {
    if (part->dim[i].name != dim->name) continue;
    if (!dims_are_cut_alike(c, &part->dim[i], dim))
      case_wrong(c, "%.40s is cut in two ways", case_text(c, dim->name));
    return part_product(c, part, i + 1, part->count);
  }
  return 0;
}

/* The second operand's dims are among the first one's. */
static void broadcast(Case *c) {
  Part all = case_part(c, 0), part = case_part(c, 1);
  case_dim(c, all.count);
  for (uint32_t i = 0; i < all.count; i++)
    case_dim(c, dim_local(c, &all.dim[i]));
  for (uint32_t i = 0; i < all.count; i++)
    case_dim(c, stride_in(c, &part, &all.dim[i]));
  broadcast_merge(c->dims, &c->dims_count);
}

/* A bias that is added to a sum over ranks: behind it, and once. */
static void row_bias(Case *c) {
  if (c->record->operands_count < 2 || c->node->inputs_count != 3 ||
      case_operand(c, 1)->value != node_input(c, 2))
    case_wrong(c, "adds what is not the bias of the linear");
  broadcast(c);
}

/* ---- tables */

static void table(Case *c, uint32_t of, uint32_t ids) {
  Part rows = case_part(c, ids), entries = case_part(c, of);
  if (entries.count == 0) return;
  const PlanLayoutDim *first = &entries.dim[0];
  case_dim(c, part_elements(c, &rows));
  case_dim(c, part_product(c, &entries, 1, entries.count));
  case_dim(c, dim_local(c, first));
  case_attr(c, (double)dim_first(c, first, 0, first->cuts_count));
}

static void embed(Case *c) {
  table(c, 0, 1);
}
static void embed_backward(Case *c) {
  table(c, 2, 1);
}

static void attr_runs(Case *c, Runs runs) {
  case_attr(c, (double)runs.first);
  case_attr(c, (double)runs.second);
}

static void positions(Case *c) {
  Part y = case_part(c, 0);
  const PlanLayoutDim *seq = part_seq(c, &y);
  case_dim(c, dim_local(c, seq));
  attr_runs(c, dim_runs(c, seq, seq->cuts_count, 0));
}

/* ---- linear: x has the features that go in, w is the weight or its gradient */

static bool stands_at(const Part *w, uint32_t first, const Part *x, uint32_t tokens) {
  for (uint32_t i = tokens; i < x->count; i++)
    if (first + i - tokens >= w->count || w->dim[first + i - tokens].name != x->dim[i].name)
      return false;
  return true;
}

static uint32_t token_dims(const Case *c, const Part *part) {
  uint32_t count = 0;
  while (count < part->count && dim_is_token(c, &part->dim[count]))
    count++;
  return count;
}

static void product(Case *c, uint32_t x_operand, uint32_t w_operand) {
  Part x = case_part(c, x_operand), w = case_part(c, w_operand);
  uint32_t tokens = token_dims(c, &x), in = x.count - tokens;
  if (w.count < in) {
    case_wrong(c, "the weight has fewer dims than go in");
    return;
  }
  uint32_t out = w.count - in;
  bool last = stands_at(&w, out, &x, tokens), first = stands_at(&w, 0, &x, tokens);
  if (!last && !first) case_wrong(c, "the weight's dims are not those that go in");
  uint32_t at = last ? out : 0;
  for (uint32_t i = 0; i < in; i++)
    if (!dims_are_cut_alike(c, &w.dim[at + i], &x.dim[tokens + i]))
      case_wrong(c, "%.40s is cut in two ways", case_text(c, x.dim[tokens + i].name));
  case_dim(c, part_tokens(c, &x));
  case_dim(c, part_features(c, &x));
  case_dim(c, last ? part_product(c, &w, 0, out) : part_product(c, &w, in, w.count));
  case_dim(c, !last);
}

/* Where ranks hold summands, the bias is added to their sum. */
static void linear(Case *c) {
  bool biased = c->contract->id == KERNEL_linear_bias, cut = false;
  Part x = case_part(c, 0);
  for (uint32_t i = 0; i < x.count; i++)
    cut = cut || (!dim_is_token(c, &x.dim[i]) && x.dim[i].cuts_count > 0);
  if (biased != (c->node->inputs_count == 3 && !cut))
    case_wrong(c, biased ? "adds a bias that is not there, or on every rank" : "adds no bias");
  product(c, 0, 1);
}
static void linear_dx(Case *c) {
  product(c, 2, 1);
}
static void linear_dw(Case *c) {
  product(c, 0, 2);
}
static void linear_db(Case *c) {
  Part d_y = case_part(c, 0);
  case_dim(c, part_tokens(c, &d_y));
  case_dim(c, part_features(c, &d_y));
}

/* ---- norms */

static void rows_of(Case *c, uint32_t operand) {
  Part x = case_part(c, operand);
  case_dim(c, part_tokens(c, &x));
  case_dim(c, part_features(c, &x));
}

static void norm(Case *c) {
  rows_of(c, 0);
  case_attr(c, case_node_attr(c, 0));
}
static void norm_backward(Case *c) {
  rows_of(c, 1);
}

/* ---- heads */

/* batch, seq, heads, head of an operand. */
static const PlanLayoutDim *heads_of(Case *c, uint32_t operand) {
  Part x = case_part(c, operand);
  const PlanLayoutDim *seq = part_seq(c, &x);
  const PlanLayoutDim *heads = part_feature(c, &x, 0, 2), *head = part_feature(c, &x, 1, 2);
  case_dim(c, part_tokens(c, &x) / dim_local(c, seq));
  case_dim(c, dim_local(c, seq));
  case_dim(c, dim_local(c, heads));
  case_dim(c, dim_local(c, head));
  return heads;
}

static void rope(Case *c) {
  enum { X_STRIDE = 4, Y_STRIDE = 5, BASE = 0, SIGN = 1, SCALING = 2, SCALING_END = 6 };
  (void)heads_of(c, 0);
  case_dim(c, case_stride(c, 0, X_STRIDE));
  case_dim(c, case_stride(c, 1, Y_STRIDE));
  case_attr(c, case_node_attr(c, BASE));
  case_attr(c, case_node_attr(c, SIGN));
  Part x = case_part(c, 0);
  const PlanLayoutDim *seq = part_seq(c, &x);
  attr_runs(c, dim_runs(c, seq, seq->cuts_count, 0));
  for (uint32_t i = SCALING; i < SCALING_END; i++)
    case_attr(c, case_node_attr(c, i));
}

static void merge(Case *c) {
  (void)heads_of(c, 0);
}

static void draws(Case *c) {
  c->key = c->node->key;
}

/* Causal, scale and dropout are the node's; then where q's and k's tokens and heads stand. */
static void attention_numbers(Case *c, uint32_t q_operand) {
  enum { DROPOUT = 2, NODE_ATTRS = 3 };
  Part q = case_part(c, q_operand), k = case_part(c, q_operand + 1);
  const PlanLayoutDim *heads = part_feature(c, &q, 0, 2), *kv_heads = part_feature(c, &k, 0, 2);
  const PlanLayoutDim *seq = part_seq(c, &q), *k_seq = part_seq(c, &k);
  case_dim(c, part_tokens(c, &q) / dim_local(c, seq));
  case_dim(c, dim_local(c, seq));
  case_dim(c, dim_local(c, heads));
  case_dim(c, dim_local(c, kv_heads));
  case_dim(c, dim_local(c, part_feature(c, &q, 1, 2)));
  for (uint32_t i = 0; i < 3; i++)
    case_dim(c, case_stride(c, q_operand + i, c->dims_count));
  for (uint32_t i = 0; i < NODE_ATTRS; i++)
    case_attr(c, case_node_attr(c, i));
  attr_runs(c, dim_runs(c, seq, seq->cuts_count, 0));
  attr_runs(c, dim_runs(c, k_seq, k_seq->cuts_count, c->turn));
  case_attr(c, (double)dim_first(c, heads, 0, heads->cuts_count));
  case_attr(c, (double)heads->size);
  case_attr(c, (double)seq->size);
  if (case_node_attr(c, DROPOUT) > 0) draws(c);
}

static void attention(Case *c) {
  attention_numbers(c, 0);
}

static void attention_backward(Case *c) {
  enum { D_Q = 6 };
  attention_numbers(c, 1);
  for (uint32_t i = 0; i < 3; i++)
    case_dim(c, case_stride(c, D_Q + i, c->dims_count));
}

/* ---- dropout */

/* Tokens stand in runs as the ranks that divide tokens cut them; others may have cut those again.
 */
static uint32_t run_cuts(const Case *c, const PlanLayoutDim *seq) {
  uint32_t cuts = seq->cuts_count;
  while (cuts > 0 &&
         c->plan->axes[c->plan->cuts[seq->cuts_first + cuts - 1].axis].divides != DIVIDES_TOKENS)
    cuts--;
  return cuts;
}

typedef struct DropTokens {
  int64_t run, all;
  double first, run_first, run_second;
} DropTokens;

static DropTokens drop_tokens(Case *c, const Part *x) {
  const PlanLayoutDim *seq = NULL;
  for (uint32_t i = 0; i < x->count; i++)
    if (dim_is(c, &x->dim[i], "seq")) seq = &x->dim[i];
  if (seq == NULL) return (DropTokens){.run = 1, .all = 1};
  uint32_t cuts = run_cuts(c, seq);
  Runs runs = dim_runs(c, seq, cuts, 0);
  int64_t run = seq->size;
  for (uint32_t i = 0; i < cuts; i++)
    run /= axis_size(c, c->plan->cuts[seq->cuts_first + i].axis);
  return (DropTokens){run, seq->size, (double)dim_first(c, seq, cuts, seq->cuts_count),
                      (double)runs.first, (double)runs.second};
}

/* The one feature that is cut; the number of dims: none is. */
static uint32_t cut_feature(Case *c, const Part *x) {
  uint32_t cut = x->count;
  for (uint32_t i = 0; i < x->count; i++) {
    if (dim_is_token(c, &x->dim[i]) || x->dim[i].cuts_count == 0) continue;
    if (cut < x->count) case_wrong(c, "two features are cut");
    cut = i;
  }
  return cut;
}

static void dropout(Case *c) {
  Part x = case_part(c, 0);
  uint32_t tokens = token_dims(c, &x), cut = cut_feature(c, &x);
  const PlanLayoutDim *part = cut < x.count ? &x.dim[cut] : NULL;
  bool batched = tokens > 0 && dim_is(c, &x.dim[0], "batch");
  int64_t batch = batched ? dim_local(c, &x.dim[0]) : 1;
  DropTokens at = drop_tokens(c, &x);
  case_dim(c, batch);
  case_dim(c, part_tokens(c, &x) / batch);
  case_dim(c, part != NULL ? part_product(c, &x, tokens, cut) : 1);
  case_dim(c, part != NULL ? dim_local(c, part) : 1);
  case_dim(c, part_product(c, &x, part != NULL ? cut + 1 : tokens, x.count));
  case_dim(c, batched);
  case_dim(c, at.run);
  case_dim(c, at.all);
  case_dim(c, part != NULL ? part->size : 1);
  case_attr(c, case_node_attr(c, 0));
  case_attr(c, at.first);
  case_attr(c, at.run_first);
  case_attr(c, at.run_second);
  case_attr(c, part != NULL ? (double)dim_first(c, part, 0, part->cuts_count) : 0);
  draws(c);
}

/* ---- losses: the mean over all tokens of a step */

static double loss_scale(const Case *c, int64_t features) {
  const PlanJob *job = &c->plan->jobs[0];
  return 1 / ((double)job->batch_samples * (double)job->sample_tokens * (double)features);
}

static void check_trains(Case *c, bool kernel_trains) {
  if ((c->node->outputs_count > 1) != kernel_trains)
    case_wrong(c, kernel_trains ? "evaluation has no gradients" : "makes no gradient of the loss");
}

static const PlanLayoutDim *classes(Case *c) {
  Part logits = case_part(c, 0);
  const PlanLayoutDim *dim = part_feature(c, &logits, 0, 1);
  case_dim(c, part_tokens(c, &logits));
  case_dim(c, dim_local(c, dim));
  case_dim(c, dim->real_size);
  return dim;
}

static void loss(Case *c) {
  bool trains = c->contract->id == KERNEL_cross_entropy_train;
  check_trains(c, trains);
  const PlanLayoutDim *dim = classes(c);
  if (dim->cuts_count > 0) case_wrong(c, "ranks share the classes");
  if (trains) case_attr(c, loss_scale(c, 1));
}

static void loss_statistics(Case *c) {
  const PlanLayoutDim *dim = classes(c);
  case_attr(c, (double)dim_first(c, dim, 0, dim->cuts_count));
}

static void loss_parts(Case *c) {
  check_trains(c, c->contract->id == KERNEL_cross_entropy_parts_train);
  const PlanLayoutDim *dim = classes(c);
  case_dim(c, dim->size / dim_local(c, dim));
  case_attr(c, loss_scale(c, 1));
  case_attr(c, (double)dim_first(c, dim, 0, dim->cuts_count));
}

static void mse(Case *c) {
  bool trains = c->contract->id == KERNEL_mse_train;
  check_trains(c, trains);
  elements(c);
  Part all = case_value_part(c, node_input(c, 0));
  if (trains) case_attr(c, loss_scale(c, part_features(c, &all)));
}

/* ---- the table */

typedef struct Row {
  const char *op, *kernel;
  void (*rule)(Case *c);
} Row;

static const Row rows[] = {
#define ROW(op, kernel, rule) {#op, #kernel, rule},
#include "compiler/prove/records/rows.def"
};

bool rule_of_node(Case *c) {
  const char *op = case_text(c, c->node->op);
  if (strcmp(kernel_name(c), "copy") == 0 && c->record->purpose != PURPOSE_NODE) {
    copy(c);
    return true;
  }
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (strcmp(rows[i].op, op) != 0 || strcmp(rows[i].kernel, kernel_name(c)) != 0) continue;
    rows[i].rule(c);
    return true;
  }
  return false;
}

/* cross_entropy.c -- loss += sum over tokens of lse - aim + z lse^2, with lse =
 * log(sum(exp(logits))) and aim = (1 - e) logits[target] + e mean(logits), e being the smoothing.
 *
 *   d_logits = (softmax(logits) (1 + 2 z lse) - (1 - e) onehot(target) - e / classes)
 *              * weight / number of targets of the step that count
 *
 * inputs: logits [batch, seq, classes], target ids [batch, seq]; a target below 0 has weight 0.
 * attrs: smoothing, z, and the weight of every loss (op.h). Outputs: the loss (sum, number of
 * targets), which accumulates over micro-batches; in training d_logits, which replaces logits in
 * place: logits are the largest value of most models.
 *
 * Where ranks share the classes, the node is replaced: cross_entropy_stats computes what a rank's
 * own classes contribute to each token's log-sum-exp, and cross_entropy_parts reads the gathered
 * contributions; no logit leaves its rank. */
#include "compiler/graph/ops/divide.h"
#include "compiler/graph/ops/rule.h"

enum { SMOOTHING, Z };

static bool inputs_fit(Graph *g, const Node *n) {
  ValueId logits = n->inputs[0], targets = n->inputs[1];
  DimList classes = rule_features(g, logits);
  if (classes.count != 1)
    return error_at(g->compile, n->origin, "loss-shape",
                    "cross_entropy: expected one feature dimension (the classes), got %s",
                    rule_dims_text(g, &classes));
  if (graph_value(g, targets)->dtype != DTYPE_I32)
    return error_at(g->compile, n->origin, "needs-ids", "cross_entropy: targets must be ids");
  DimList tokens = rule_carried(g, logits), have = rule_dims(g, targets);
  if (!rule_same_dims(&tokens, &have))
    return error_at(g->compile, n->origin, "loss-shape",
                    "cross_entropy: logits run over %s, targets over %s",
                    rule_dims_text(g, &tokens), rule_dims_text(g, &have));
  return true;
}

static bool shape(Graph *g, Node *n) {
  if (!rule_numbers(g, n, 1) || !inputs_fit(g, n)) return false;
  if (rule_made(n)) return true;
  rule_loss(g, n, "cross_entropy");
  if (!g->training) return true;
  ValueId logits = n->inputs[0];
  ValueId d_logits = rule_output(g, n, rule_dims(g, logits), graph_value(g, logits)->dtype);
  graph_value(g, d_logits)->view_of = logits; /* dense: inputs are, see reads_views */
  return true;
}

static void backward(Grad *b, const Node *n) {
  grad_add(b, n->inputs[0], n->outputs[1]);
}

/* Classes that are not padding. */
static int64_t real_classes(const Graph *g, DimId vocab) {
  const Dim *whole = &g->dims.at[rule_whole_dim(g, vocab)];
  return whole->real_size > 0 ? whole->real_size : whole->size;
}

/* Fills in what all three kernels have in common. Returns the dim of the classes. */
static DimId lower_classes(const Graph *g, const Node *n, Lowered *out) {
  DimId vocab = rule_features(g, n->inputs[0]).at[0];
  LOWER_DIMS(out, value_rows(g, n->inputs[0]), g->dims.at[vocab].size, real_classes(g, vocab));
  return vocab;
}

/* Where targets may be missing, the kernel divides by their number. */
static double slope_of(const Graph *g, const Node *n) {
  const double weight = node_loss_weight(n);
  return g->training && g->may_lack_targets ? weight : weight / (double)g->loss_count;
}

static void lower(const Graph *g, const Node *n, Lowered *out) {
  lower_classes(g, n, out);
  LOWER_ATTRS(out, n->attrs[SMOOTHING], n->attrs[Z]);
  if (!g->training) return;
  out->kernel = "cross_entropy_train";
  LOWER_ATTRS(out, slope_of(g, n), n->attrs[SMOOTHING], n->attrs[Z]);
  out->operand_count = 3; /* d_logits has logits' bytes */
}

static void lower_stats(const Graph *g, const Node *n, Lowered *out) {
  DimId vocab = lower_classes(g, n, out);
  LOWER_ATTRS(out, 0, n->attrs[SMOOTHING]);
  lower_first(g, out, 0, vocab, rule_whole_dim(g, vocab));
}

static void lower_parts(const Graph *g, const Node *n, Lowered *out) {
  DimId vocab = lower_classes(g, n, out), whole = rule_whole_dim(g, vocab);
  out->dims[out->dim_count++] = g->dims.at[whole].size / g->dims.at[vocab].size;
  LOWER_ATTRS(out, slope_of(g, n), 0, n->attrs[SMOOTHING], n->attrs[Z]);
  lower_first(g, out, 1, vocab, whole);
  if (!g->training) return;
  out->kernel = "cross_entropy_parts_train";
  out->operand_count = 4; /* d_logits has logits' bytes */
}

const OpDef op_cross_entropy = {.name = "cross_entropy",
                                .shape = shape,
                                .backward = backward,
                                .lower = lower,
                                .in_place = -1,
                                .in_runs = true,
                                .overwrites = 1,
                                .divide = divide_cross_entropy,
                                .ids = IDS_OF_CLASSES,
                                .layout = LAYOUT_WHOLE_FEATURES};
const OpDef op_cross_entropy_stats = {.name = "cross_entropy_stats",
                                      .shape = rule_given,
                                      .lower = lower_stats,
                                      .in_place = -1,
                                      .in_runs = true};
const OpDef op_cross_entropy_parts = {.name = "cross_entropy_parts",
                                      .shape = rule_given,
                                      .lower = lower_parts,
                                      .in_place = -1,
                                      .in_runs = true,
                                      .overwrites = 1};

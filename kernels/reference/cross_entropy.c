/* cross_entropy.c -- loss = log(sum(exp(logits))) - logits[target], summed over rows whose target
 * is >= 0.
 *
 * Ranks that share the classes exchange stats: for each row the highest logit, the sum of exp(logit
 * - highest) and the target's logit, from which each rank computes the row's softmax. */
#include <assert.h>

#include "kernels/math/slope.h"
#include "kernels/reference/access.h"

/* The part of the classes that logits hold. */
typedef struct Classes {
  int64_t first, held, real; /* held: of a row of logits; real: those that are no padding */
} Classes;

typedef struct RowSoftmax {
  double highest, sum, at_target; /* sum of exp(logit - highest) */
} RowSoftmax;

static Classes classes_of(const KernelArgs *args, double first) {
  Classes c = {.first = (int64_t)first, .held = args->dim[1]};
  int64_t real = args->dim[2] - c.first;
  c.real = real < 0 ? 0 : real < c.held ? real : c.held;
  return c;
}

static bool holds(const Classes *c, int64_t target) {
  return target >= c->first && target < c->first + c->real;
}

static RowSoftmax local_softmax(Tensor logits, const Classes *c, int64_t row, int64_t target) {
  RowSoftmax s = {-INFINITY, 0, 0};
  for (int64_t k = 0; k < c->real; k++)
    s.highest = fmax(s.highest, load(logits, row * c->held + k));
  for (int64_t k = 0; k < c->real; k++)
    s.sum += exp(load(logits, row * c->held + k) - s.highest);
  if (holds(c, target)) s.at_target = load(logits, row * c->held + target - c->first);
  return s;
}

/* stats[ranks,rows,3]: of all ranks together, added in their order. */
static RowSoftmax gathered_softmax(const float *stats, int64_t ranks, int64_t rows, int64_t row) {
  RowSoftmax s = {-INFINITY, 0, 0};
  for (int64_t k = 0; k < ranks; k++)
    s.highest = fmax(s.highest, (double)stats[(k * rows + row) * 3]);
  for (int64_t k = 0; k < ranks; k++) {
    const float *of_rank = stats + (k * rows + row) * 3;
    s.sum += (double)of_rank[1] * exp((double)of_rank[0] - s.highest);
    s.at_target += (double)of_rank[2];
  }
  return s;
}

static void store_slopes(Tensor logits, const Classes *c, int64_t row, int64_t target,
                         const RowSoftmax *s, double scale) {
  double lse = s->highest + log(s->sum);
  for (int64_t k = 0; k < c->held; k++) {
    int64_t at = row * c->held + k;
    bool counted = target >= 0 && k < c->real;
    double slope = counted ? exp(load(logits, at) - lse) - (c->first + k == target) : 0;
    store(logits, at, slope * scale);
  }
}

/* Row losses are stored in `work` and added in order, so that threads can fill them in any order.
 */
static void add_rows(const KernelArgs *args, double *loss, const double *row_loss) {
  const int32_t *targets = args->operand[1];
  double sum = 0, weights = 0;
  assert(loss != NULL);
  for (int64_t r = 0; r < args->dim[0]; r++) {
    sum += row_loss[r];
    weights += targets[r] >= 0;
  }
  loss[0] = args->accumulate ? loss[0] + sum : sum;
  loss[1] = args->accumulate ? loss[1] + weights : weights;
}

/* stats: NULL where logits hold all classes. */
static void cross_entropy(const KernelArgs *args, const float *stats, double first, bool train) {
  Tensor logits = tensor(args, 0);
  const int32_t *targets = args->operand[1];
  double *row_loss = args->operand[stats ? 4 : 3];
  Classes c = classes_of(args, first);
  int64_t rows = args->dim[0];
  double scale = train ? slope_scale(args->attr[0], kernel_slot(args, 0), kernel_slot(args, 1)) : 0;
  for (int64_t r = 0; r < rows; r++) {
    assert(targets[r] < args->dim[2]);
    RowSoftmax s = {0, 1, 0};
    if (targets[r] >= 0)
      s = stats ? gathered_softmax(stats, args->dim[3], rows, r)
                : local_softmax(logits, &c, r, targets[r]);
    row_loss[r] = targets[r] >= 0 ? s.highest + log(s.sum) - s.at_target : 0;
    if (train) store_slopes(logits, &c, r, targets[r], &s, scale);
  }
  add_rows(args, args->operand[stats ? 3 : 2], row_loss);
}

void reference_cross_entropy(const KernelArgs *args) {
  cross_entropy(args, NULL, 0, false);
}
void reference_cross_entropy_train(const KernelArgs *args) {
  cross_entropy(args, NULL, 0, true);
}
void reference_cross_entropy_parts(const KernelArgs *args) {
  cross_entropy(args, args->operand[2], args->attr[1], false);
}
void reference_cross_entropy_parts_train(const KernelArgs *args) {
  cross_entropy(args, args->operand[2], args->attr[1], true);
}

/* The gradient of rows without weight is 0. */
void reference_cross_entropy_stats(const KernelArgs *args) {
  const int32_t *targets = args->operand[1];
  float *stats = args->operand[2];
  Classes c = classes_of(args, args->attr[0]);
  for (int64_t r = 0; r < args->dim[0]; r++) {
    RowSoftmax s = {0, 0, 0};
    if (targets[r] >= 0) s = local_softmax(tensor(args, 0), &c, r, targets[r]);
    stats[r * 3] = (float)s.highest;
    stats[r * 3 + 1] = (float)s.sum;
    stats[r * 3 + 2] = (float)s.at_target;
  }
}

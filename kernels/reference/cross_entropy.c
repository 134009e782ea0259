/* cross_entropy.c -- loss = lse - aim + z lse^2, summed over rows whose target is >= 0. lse is
 * log(sum(exp(logits))), aim the target's logit, or with smoothing e (1 - e) of that and e of the
 * mean over the classes.
 *
 * Ranks that share the classes exchange stats: for each row the highest logit, the sum of exp(logit
 * - highest) and aim, from which each rank computes the row's softmax. */
#include <assert.h>

#include "kernels/math/slope.h"
#include "kernels/reference/access.h"

/* The part of the classes that logits hold. */
typedef struct Classes {
  int64_t first, held, real;  /* held: of a row of logits; real: those that are no padding */
  double smoothing, share, z; /* share: of label smoothing, that of each class */
} Classes;

typedef struct RowSoftmax {
  double highest, sum, aim; /* sum of exp(logit - highest) */
} RowSoftmax;

static Classes classes_of(const KernelArgs *args, double first, double smoothing, double z) {
  Classes c = {.first = (int64_t)first, .held = args->dim[1], .smoothing = smoothing, .z = z};
  c.share = smoothing / (double)args->dim[2];
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
  if (holds(c, target))
    s.aim = (1 - c->smoothing) * load(logits, row * c->held + target - c->first);
  for (int64_t k = 0; k < c->real && c->smoothing > 0; k++)
    s.aim += c->share * load(logits, row * c->held + k);
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
    s.aim += (double)of_rank[2];
  }
  return s;
}

static void store_slopes(Tensor logits, const Classes *c, int64_t row, int64_t target,
                         const RowSoftmax *s, double scale) {
  double lse = s->highest + log(s->sum);
  for (int64_t k = 0; k < c->held; k++) {
    int64_t at = row * c->held + k;
    bool counted = target >= 0 && k < c->real;
    double onehot = (c->first + k == target) * (1 - c->smoothing) + c->share;
    double slope = counted ? exp(load(logits, at) - lse) * (1 + 2 * c->z * lse) - onehot : 0;
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

/* stats: NULL where logits hold all classes. attr: first, where there are stats, then the last two.
 */
static void cross_entropy(const KernelArgs *args, const float *stats, const double *attr,
                          bool train) {
  Tensor logits = tensor(args, 0);
  const int32_t *targets = args->operand[1];
  double *row_loss = args->operand[stats ? 4 : 3];
  Classes c =
      stats ? classes_of(args, attr[0], attr[1], attr[2]) : classes_of(args, 0, attr[0], attr[1]);
  int64_t rows = args->dim[0];
  double scale = train ? slope_scale(args->attr[0], kernel_slot(args, 0), kernel_slot(args, 1)) : 0;
  for (int64_t r = 0; r < rows; r++) {
    assert(targets[r] < args->dim[2]);
    RowSoftmax s = {0, 1, 0};
    if (targets[r] >= 0)
      s = stats ? gathered_softmax(stats, args->dim[3], rows, r)
                : local_softmax(logits, &c, r, targets[r]);
    double lse = s.highest + log(s.sum);
    row_loss[r] = targets[r] >= 0 ? lse - s.aim + c.z * lse * lse : 0;
    if (train) store_slopes(logits, &c, r, targets[r], &s, scale);
  }
  add_rows(args, args->operand[stats ? 3 : 2], row_loss);
}

void reference_cross_entropy(const KernelArgs *args) {
  cross_entropy(args, NULL, args->attr, false);
}
void reference_cross_entropy_train(const KernelArgs *args) {
  cross_entropy(args, NULL, args->attr + 1, true);
}
void reference_cross_entropy_parts(const KernelArgs *args) {
  cross_entropy(args, args->operand[2], args->attr + 1, false);
}
void reference_cross_entropy_parts_train(const KernelArgs *args) {
  cross_entropy(args, args->operand[2], args->attr + 1, true);
}

/* The gradient of rows without weight is 0. */
void reference_cross_entropy_stats(const KernelArgs *args) {
  const int32_t *targets = args->operand[1];
  float *stats = args->operand[2];
  Classes c = classes_of(args, args->attr[0], args->attr[1], 0);
  for (int64_t r = 0; r < args->dim[0]; r++) {
    RowSoftmax s = {0, 0, 0};
    if (targets[r] >= 0) s = local_softmax(tensor(args, 0), &c, r, targets[r]);
    stats[r * 3] = (float)s.highest;
    stats[r * 3 + 1] = (float)s.sum;
    stats[r * 3 + 2] = (float)s.aim;
  }
}

/* cross_entropy.c -- loss = log(sum(exp(logits))) - logits[target], summed over rows whose target
 * is >= 0. */
#include <assert.h>

#include "kernels/reference/access.h"

static double log_sum_exp(Tensor logits, int64_t row, int64_t vocab) {
  double highest = -INFINITY, sum = 0;
  for (int64_t c = 0; c < vocab; c++)
    highest = fmax(highest, load(logits, row + c));
  for (int64_t c = 0; c < vocab; c++)
    sum += exp(load(logits, row + c) - highest);
  return highest + log(sum);
}

/* Row losses meet in `work` and are added in order, so that threads could fill them in any order.
 */
static void add_rows(const KernelArgs *args, const double *row_loss) {
  const int32_t *targets = args->operand[1];
  double *loss = args->operand[2];
  double sum = 0, weights = 0;
  for (int64_t r = 0; r < args->dim[0]; r++) {
    sum += row_loss[r];
    weights += targets[r] >= 0;
  }
  loss[0] = args->accumulate ? loss[0] + sum : sum;
  loss[1] = args->accumulate ? loss[1] + weights : weights;
}

static void cross_entropy(const KernelArgs *args, bool train) {
  Tensor logits = tensor(args, 0);
  const int32_t *targets = args->operand[1];
  double *row_loss = args->operand[3];
  int64_t rows = args->dim[0], vocab = args->dim[1];
  for (int64_t r = 0; r < rows; r++) {
    int64_t row = r * vocab;
    bool counted = targets[r] >= 0;
    assert(targets[r] < vocab);
    double lse = counted ? log_sum_exp(logits, row, vocab) : 0;
    row_loss[r] = counted ? lse - load(logits, row + targets[r]) : 0;
    for (int64_t c = 0; train && c < vocab; c++) {
      double slope = counted ? exp(load(logits, row + c) - lse) - (c == targets[r]) : 0;
      store(logits, row + c, slope * args->attr[0]);
    }
  }
  add_rows(args, row_loss);
}

void reference_cross_entropy(const KernelArgs *args) {
  cross_entropy(args, false);
}
void reference_cross_entropy_train(const KernelArgs *args) {
  cross_entropy(args, true);
}

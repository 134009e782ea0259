/* lion.c -- Lion, algorithm 2 of arXiv:2302.06675: the sign of what beta1 mixes is the step, then
 * beta2 moves the moment; the decay is decoupled. */
#include "kernels/reference/update.h"

/* A NaN stays one. */
static double sign_of(double x) {
  return x > 0 ? 1 : x < 0 ? -1 : x;
}

static double lion(const Update *update, double g, double *m, double *v) {
  (void)v;
  const double beta1 = update->args->attr[0], beta2 = update->args->attr[1];
  const double step = sign_of(beta1 * *m + (1 - beta1) * g);
  *m = beta2 * *m + (1 - beta2) * g;
  return update->lr * step;
}

REFERENCE_UPDATES(lion, 1, 3)

/* sgd.c -- momentum as in torch.optim.SGD without dampening; the decay is decoupled, unlike there.
 */
#include "kernels/reference/update.h"

static double sgd(const Update *update, double g, double *m, double *v) {
  (void)v;
  *m = update->args->attr[0] * *m + g;
  return update->lr * *m;
}

REFERENCE_UPDATES(sgd, 1, 2)

/* adamw.c -- AdamW (arXiv:1711.05101) in the order of torch.optim.AdamW: decay first, eps outside
 * the root. */
#include "kernels/reference/update.h"

static double adamw(const Update *update, double g, double *m, double *v) {
  const double *attr = update->args->attr;
  const double beta1 = attr[0], beta2 = attr[1], eps = attr[2];
  *m = beta1 * *m + (1 - beta1) * g;
  *v = beta2 * *v + (1 - beta2) * g * g;
  return update->lr / update->beta1_rest * *m / (sqrt(*v) / sqrt(update->beta2_rest) + eps);
}

REFERENCE_UPDATES(adamw, 2, 4)

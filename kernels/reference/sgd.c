/* sgd.c -- momentum as in torch.optim.SGD without dampening; the decay is decoupled, unlike there.
 */
#include "kernels/reference/access.h"

static void sgd(const KernelArgs *args, Tensor truth, const Tensor *rounding) {
  const double *lr = args->control[0], *clip_scale = args->control[1];
  const int64_t *step_counts = args->control[2];
  if (*step_counts == 0) return;
  Tensor grad = tensor(args, 0), momentum = tensor(args, 2);
  for (int64_t i = 0; i < args->dim[0]; i++) {
    double m = args->attr[0] * load(momentum, i) + load(grad, i) * *clip_scale;
    store(momentum, i, m);
    store(truth, i, load(truth, i) * (1 - *lr * args->attr[1]) - *lr * m);
    if (rounding) store(*rounding, i, load(truth, i));
  }
}

void reference_sgd(const KernelArgs *args) {
  sgd(args, tensor(args, 1), NULL);
}

void reference_sgd_master(const KernelArgs *args) {
  Tensor param = tensor(args, 1);
  sgd(args, tensor(args, 3), &param);
}

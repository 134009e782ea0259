/* sgd.c -- momentum as in torch.optim.SGD without dampening; the decay is decoupled, unlike there.
 */
#include "kernels/reference/update.h"

static void sgd(const KernelArgs *args, const Truth *truth) {
  void *const *control = args->control + (truth->storage == STORED_STOCHASTIC ? 2 : 0);
  const double *lr = control[0], *clip_scale = control[1];
  const int64_t *step_counts = control[2];
  if (*step_counts == 0) return;
  Tensor grad = tensor(args, 0), momentum = tensor(args, 2);
  for (int64_t i = 0; i < args->dim[0]; i++) {
    double m = args->attr[0] * load(momentum, i) + load(grad, i) * *clip_scale;
    store(momentum, i, m);
    truth_move(truth, i, *lr * args->attr[1], *lr * m);
  }
}

REFERENCE_UPDATES(sgd, 1, 2)

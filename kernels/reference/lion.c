/* lion.c -- Lion, algorithm 2 of arXiv:2302.06675: the sign of what beta1 mixes is the step, then
 * beta2 moves the moment; the decay is decoupled. */
#include "kernels/reference/update.h"

/* A NaN stays one. */
static double sign_of(double x) {
  return x > 0 ? 1 : x < 0 ? -1 : x;
}

static void lion(const KernelArgs *args, const Truth *truth) {
  void *const *control = args->control + (truth->storage == STORED_STOCHASTIC ? 2 : 0);
  const double *lr = control[0], *clip_scale = control[1];
  const int64_t *step_counts = control[2];
  if (*step_counts == 0) return;
  Tensor grad = tensor(args, 0), m_at = tensor(args, 2);
  double beta1 = args->attr[0], beta2 = args->attr[1], decay = args->attr[2];
  for (int64_t i = 0; i < args->dim[0]; i++) {
    double g = load(grad, i) * *clip_scale, m = load(m_at, i);
    double step = sign_of(beta1 * m + (1 - beta1) * g);
    store(m_at, i, beta2 * m + (1 - beta2) * g);
    truth_move(truth, i, *lr * decay, *lr * step);
  }
}

REFERENCE_UPDATES(lion, 1, 3)

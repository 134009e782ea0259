/* adamw.c -- AdamW (arXiv:1711.05101) in the order of torch.optim.AdamW: decay first, eps outside
 * the root. */
#include "kernels/reference/update.h"

static void adamw(const KernelArgs *args, const Truth *truth) {
  const bool draws = truth->storage == STORED_STOCHASTIC; /* its row begins with the seed */
  const double *lr = args->control[draws ? 2 : 0];
  const int64_t *updates = args->control[1];
  const double *clip_scale = args->control[draws ? 3 : 2];
  const int64_t *step_counts = args->control[draws ? 4 : 3];
  if (*step_counts == 0) return;
  Tensor grad = tensor(args, 0), m_at = tensor(args, 2), v_at = tensor(args, 3);
  double beta1 = args->attr[0], beta2 = args->attr[1], eps = args->attr[2], decay = args->attr[3];
  double step_size = *lr / (1 - pow(beta1, (double)*updates));
  double root_correction = sqrt(1 - pow(beta2, (double)*updates));
  for (int64_t i = 0; i < args->dim[0]; i++) {
    double g = load(grad, i) * *clip_scale;
    double m = beta1 * load(m_at, i) + (1 - beta1) * g;
    double v = beta2 * load(v_at, i) + (1 - beta2) * g * g;
    store(m_at, i, m);
    store(v_at, i, v);
    truth_move(truth, i, *lr * decay, step_size * m / (sqrt(v) / root_correction + eps));
  }
}

REFERENCE_UPDATES(adamw, 2, 4)

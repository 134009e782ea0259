/* grad_norm.c -- the global gradient norm: squares per tensor, their sums per group of tensors,
 * then one root over all of them. */
#include "kernels/math/loss_scale.h"
#include "kernels/reference/access.h"

enum { BLOCK = 4096 };

void reference_square_sum(const KernelArgs *args) {
  Tensor x = tensor(args, 0);
  double *out = args->operand[1], *block_sum = args->operand[2], sum = 0;
  int64_t n = args->dim[0];
  for (int64_t first = 0; first < n; first += BLOCK) {
    double block = 0;
    for (int64_t i = first; i < n && i < first + BLOCK; i++)
      block += load(x, i) * load(x, i);
    block_sum[first / BLOCK] = block;
  }
  for (int64_t block = 0; block * BLOCK < n; block++)
    sum += block_sum[block];
  out[0] = sum;
}

void reference_sum(const KernelArgs *args) {
  const double *x = args->operand[0];
  double *y = args->operand[1], sum = 0;
  for (int64_t i = 0; i < args->dim[0]; i++)
    sum += x[i];
  y[0] = sum;
}

/* Clips as torch.nn.utils.clip_grad_norm_ does. Gradients are scaled, and the norm is not: what
 * multiplies gradients in updates divides by the scale, too. A step whose norm is not finite, or
 * none of whose targets counts, makes no update. */
void reference_grad_norm(const KernelArgs *args) {
  const double *partial = args->operand[0];
  double *grad_norm = args->control[0], *clip_scale = args->control[1];
  int64_t *step_counts = args->control[2];
  int64_t *updates = args->control[3];
  const double *targets = kernel_slot(args, 4), *loss_scale = kernel_slot(args, 5);
  double clip = args->attr[0], sum = 0, scale = loss_scale != NULL ? *loss_scale : 1;
  for (int64_t i = 0; i < args->dim[0]; i++)
    sum += partial[i];
  double norm = sqrt(sum) / scale;
  bool is_finite = isfinite(norm) != 0;
  *grad_norm = norm;
  *clip_scale = (is_finite && clip > 0 && norm > clip ? clip / (norm + 1e-6) : 1) / scale;
  *step_counts = is_finite && (targets == NULL || *targets > 0);
  *updates += *step_counts;
}

void reference_loss_scale(const KernelArgs *args) {
  void *const *slots = args->control;
  const LossScaleState state = {slots[1], slots[2], slots[3], slots[4], slots[5]};
  const double *norm = slots[0];
  loss_scale_step(state, !isfinite(*norm), args->attr);
}

/* adamw.c -- AdamW at the speed of memory: every operand is read and written once. */
#include <math.h>

#include "kernels/cpu/ranges.h"
#include "kernels/cpu/vec.h"

typedef struct Rates {
  float beta1, one_minus_beta1, beta2, one_minus_beta2;
  float clip, keep;                   /* keep: 1 - lr decay */
  float step_size, inverse_root, eps; /* p -= step_size m / (sqrt(v) inverse_root + eps) */
  int32_t truth;                      /* operand that holds the parameter in full */
  bool rounding;                      /* operand 1 gets the truth, rounded */
} Rates;

static void update_range(const KernelArgs *args, const void *context, int64_t first, int64_t end) {
  const Rates *r = (const Rates *)context;
  void *const *operand = args->operand;
  bool grad_bf16 = args->dtype[0] == DTYPE_BF16, param_bf16 = args->dtype[1] == DTYPE_BF16;
  bool m_bf16 = args->dtype[2] == DTYPE_BF16, v_bf16 = args->dtype[3] == DTYPE_BF16;
  bool truth_bf16 = args->dtype[r->truth] == DTYPE_BF16;
  void *truth = operand[r->truth];
  for (int64_t i = first; i < end; i += LANES) {
    int64_t n = end - i;
    Vec g = v_mul(v_get_n(operand[0], i, n, grad_bf16), v_set(r->clip));
    Vec m = v_fma(v_set(r->beta1), v_get_n(operand[2], i, n, m_bf16),
                  v_mul(v_set(r->one_minus_beta1), g));
    Vec v = v_fma(v_set(r->beta2), v_get_n(operand[3], i, n, v_bf16),
                  v_mul(v_mul(v_set(r->one_minus_beta2), g), g));
    Vec root = v_fma(v_sqrt(v), v_set(r->inverse_root), v_set(r->eps));
    Vec p = v_mul(v_get_n(truth, i, n, truth_bf16), v_set(r->keep));
    p = v_sub(p, v_div(v_mul(v_set(r->step_size), m), root));
    v_put_n(operand[2], i, n, m_bf16, m);
    v_put_n(operand[3], i, n, v_bf16, v);
    v_put_n(truth, i, n, truth_bf16, p);
    if (r->rounding) v_put_n(operand[1], i, n, param_bf16, p);
  }
}

static void update(const KernelArgs *args, int32_t truth, bool rounding) {
  const double *lr = args->control[0];
  const int64_t *updates = args->control[1];
  const double *clip_scale = args->control[2];
  const int64_t *step_counts = args->control[3];
  double beta1 = args->attr[0], beta2 = args->attr[1];
  if (*step_counts == 0) return;
  double root_correction = sqrt(1 - pow(beta2, (double)*updates));
  Rates rates = {.beta1 = (float)beta1,
                 .one_minus_beta1 = (float)(1 - beta1),
                 .beta2 = (float)beta2,
                 .one_minus_beta2 = (float)(1 - beta2),
                 .clip = (float)*clip_scale,
                 .keep = (float)(1 - *lr * args->attr[3]),
                 .step_size = (float)(*lr / (1 - pow(beta1, (double)*updates))),
                 .inverse_root = (float)(1 / root_correction),
                 .eps = (float)args->attr[2],
                 .truth = truth,
                 .rounding = rounding};
  cpu_ranges(args, args->dim[0], GRAIN_STREAM, update_range, &rates);
}

void CPU(adamw)(const KernelArgs *args) {
  if (cpu_floats(args, 4, 0))
    update(args, 1, false);
  else
    reference_adamw(args);
}

void CPU(adamw_master)(const KernelArgs *args) {
  if (cpu_floats(args, 5, 0))
    update(args, 4, true);
  else
    reference_adamw_master(args);
}

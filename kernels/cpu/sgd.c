/* sgd.c -- momentum, with decoupled decay. */
#include "kernels/cpu/ranges.h"
#include "kernels/cpu/vec.h"

typedef struct Rates {
  float momentum, clip, keep, lr; /* keep: 1 - lr decay */
  int32_t truth;
  bool rounding;
} Rates;

static void update_range(const KernelArgs *args, const void *context, int64_t first, int64_t end) {
  const Rates *r = (const Rates *)context;
  void *const *operand = args->operand;
  bool grad_bf16 = args->dtype[0] == DTYPE_BF16, param_bf16 = args->dtype[1] == DTYPE_BF16;
  bool m_bf16 = args->dtype[2] == DTYPE_BF16, truth_bf16 = args->dtype[r->truth] == DTYPE_BF16;
  void *truth = operand[r->truth];
  for (int64_t i = first; i < end; i += LANES) {
    int64_t n = end - i;
    Vec g = v_mul(v_get_n(operand[0], i, n, grad_bf16), v_set(r->clip));
    Vec m = v_fma(v_set(r->momentum), v_get_n(operand[2], i, n, m_bf16), g);
    Vec p = v_mul(v_get_n(truth, i, n, truth_bf16), v_set(r->keep));
    p = v_fma(v_set(-r->lr), m, p);
    v_put_n(operand[2], i, n, m_bf16, m);
    v_put_n(truth, i, n, truth_bf16, p);
    if (r->rounding) v_put_n(operand[1], i, n, param_bf16, p);
  }
}

static void update(const KernelArgs *args, int32_t truth, bool rounding) {
  const double *lr = args->control[0], *clip_scale = args->control[1];
  const double *found_inf = args->control[2];
  if (*found_inf > 0) return;
  Rates rates = {.momentum = (float)args->attr[0],
                 .clip = (float)*clip_scale,
                 .keep = (float)(1 - *lr * args->attr[1]),
                 .lr = (float)*lr,
                 .truth = truth,
                 .rounding = rounding};
  cpu_ranges(args, args->dim[0], GRAIN_STREAM, update_range, &rates);
}

void CPU(sgd)(const KernelArgs *args) {
  if (cpu_floats(args, 3, 0))
    update(args, 1, false);
  else
    reference_sgd(args);
}

void CPU(sgd_master)(const KernelArgs *args) {
  if (cpu_floats(args, 4, 0))
    update(args, 3, true);
  else
    reference_sgd_master(args);
}

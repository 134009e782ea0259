/* one_moment.c -- optimizers that keep one moment, with decoupled decay: sgd steps by it, lion by
 * the sign of it and the gradient (reference/sgd.c, reference/lion.c). */
#include "kernels/cpu/ranges.h"
#include "kernels/cpu/vec.h"

typedef struct Rates {
  float beta1, beta2, clip, keep, lr; /* beta1: sgd's momentum; keep: 1 - lr decay */
  int32_t truth;
  bool rounding;
} Rates;

ALWAYS_INLINE Vec sign_of(Vec x) { /* NaN stays */
  Vec zero = v_set(0.0f);
  return v_less_select(zero, x, v_set(1.0f), v_less_select(x, zero, v_set(-1.0f), x));
}

/* share a + (1 - share) b */
ALWAYS_INLINE Vec mix(float share, Vec a, Vec b) {
  return v_fma(v_set(share), a, v_mul(v_set(1 - share), b));
}

ALWAYS_INLINE void step_range(const KernelArgs *args, const Rates *r, int64_t first, int64_t end,
                              bool by_sign) {
  void *const *operand = args->operand;
  bool grad_bf16 = args->dtype[0] == DTYPE_BF16, param_bf16 = args->dtype[1] == DTYPE_BF16;
  bool m_bf16 = args->dtype[2] == DTYPE_BF16, truth_bf16 = args->dtype[r->truth] == DTYPE_BF16;
  void *truth = operand[r->truth];
  for (int64_t i = first; i < end; i += LANES) {
    int64_t n = end - i;
    Vec g = v_mul(v_get_n(operand[0], i, n, grad_bf16), v_set(r->clip));
    Vec m = v_get_n(operand[2], i, n, m_bf16);
    Vec p = v_mul(v_get_n(truth, i, n, truth_bf16), v_set(r->keep));
    Vec after = by_sign ? mix(r->beta2, m, g) : v_fma(v_set(r->beta1), m, g);
    Vec step = by_sign ? sign_of(mix(r->beta1, m, g)) : after;
    p = v_fma(v_set(-r->lr), step, p);
    v_put_n(operand[2], i, n, m_bf16, after);
    v_put_n(truth, i, n, truth_bf16, p);
    if (r->rounding) v_put_n(operand[1], i, n, param_bf16, p);
  }
}

static void sgd_range(const KernelArgs *args, const void *context, int64_t first, int64_t end) {
  step_range(args, context, first, end, false);
}

static void lion_range(const KernelArgs *args, const void *context, int64_t first, int64_t end) {
  step_range(args, context, first, end, true);
}

static void update(const KernelArgs *args, bool by_sign, int32_t truth) {
  const double *lr = args->control[0], *clip_scale = args->control[1];
  const int64_t *step_counts = args->control[2];
  if (*step_counts == 0) return;
  Rates rates = {.beta1 = (float)args->attr[0],
                 .beta2 = by_sign ? (float)args->attr[1] : 0,
                 .clip = (float)*clip_scale,
                 .keep = (float)(1 - *lr * args->attr[by_sign ? 2 : 1]),
                 .lr = (float)*lr,
                 .truth = truth,
                 .rounding = truth != 1};
  cpu_ranges(args, args->dim[0], GRAIN_STREAM, by_sign ? lion_range : sgd_range, &rates);
}

void CPU(sgd)(const KernelArgs *args) {
  if (cpu_floats(args, 3, 0))
    update(args, false, 1);
  else
    reference_sgd(args);
}

void CPU(sgd_master)(const KernelArgs *args) {
  if (cpu_floats(args, 4, 0))
    update(args, false, 3);
  else
    reference_sgd_master(args);
}

void CPU(lion)(const KernelArgs *args) {
  if (cpu_floats(args, 3, 0))
    update(args, true, 1);
  else
    reference_lion(args);
}

void CPU(lion_master)(const KernelArgs *args) {
  if (cpu_floats(args, 4, 0))
    update(args, true, 3);
  else
    reference_lion_master(args);
}

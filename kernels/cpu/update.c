/* update.c -- optimizers at the speed of memory: every operand is read and written once.
 *
 * An optimizer makes a step of the gradient and its moments; how the parameter takes it is the same
 * for all: reference/update.h says what the storages are. */
#include <math.h>

#include "kernels/cpu/philox_lanes.h"
#include "kernels/cpu/ranges.h"
#include "kernels/cpu/vec.h"
#include "kernels/init.h"
#include "kernels/math/stochastic.h"

typedef enum Kind { KIND_ADAMW, KIND_SGD, KIND_LION } Kind;
typedef enum Storage {
  STORED_PLAIN,
  STORED_MASTER,
  STORED_SPLIT,
  STORED_KAHAN,
  STORED_STOCHASTIC
} Storage;

typedef struct Rates {
  float beta1, one_minus_beta1, beta2, one_minus_beta2; /* beta1: sgd's momentum */
  float clip, lr, shrink, keep;                         /* shrink: lr decay; keep: 1 - lr decay */
  float step_size, inverse_root, eps; /* adamw: step_size m / (sqrt(v) inverse_root + eps) */
  int32_t rest;                       /* operand behind the moments: master, low, compensation */
  InitPart part;                      /* where draws are: of which elements, */
  uint64_t key, updates;              /* and of which stream and update */
} Rates;

/* Draws of the elements of a range from `first` on, `count` of them. */
enum { DRAWS_MOST = STOCHASTIC_ELEMENTS * LANES };
typedef struct Draws {
  int64_t first, count;
  uint16_t of[DRAWS_MOST];
} Draws;

/* As many as one call of Philox has of a run of elements, or padding, which keeps its zeros. */
static int64_t draw_run(const Rates *r, int64_t i, int64_t most, uint16_t *to) {
  const InitRun run = init_run(&r->part, i);
  int64_t count = min64(min64(run.length, most), DRAWS_MOST);
  if (run.padding) {
    memset(to, 0, (size_t)count * sizeof *to);
    return count;
  }
  const int64_t skipped = run.element % STOCHASTIC_ELEMENTS;
  uint64_t counter[LANES];
  uint32_t word[4][LANES];
  for (int l = 0; l < LANES; l++)
    counter[l] = (uint64_t)(run.element / STOCHASTIC_ELEMENTS + l);
  philox_lanes(r->key, r->updates, counter, word);
  count = min64(count, DRAWS_MOST - skipped);
  for (int64_t k = 0; k < count; k++) {
    const int64_t e = skipped + k, in = e % STOCHASTIC_ELEMENTS;
    to[k] = (uint16_t)(word[in / 2][e / STOCHASTIC_ELEMENTS] >> 16 * (in % 2));
  }
  return count;
}

/* The draws of elements [i, i + n), n at most LANES, of a range that ends at `end`. */
static const uint16_t *draws_at(const Rates *r, Draws *draws, int64_t i, int64_t n, int64_t end) {
  if (i < draws->first || i + n > draws->first + draws->count) {
    draws->first = i, draws->count = 0;
    while (draws->count < min64(end - i, DRAWS_MOST))
      draws->count += draw_run(r, i + draws->count, min64(end - i, DRAWS_MOST) - draws->count,
                               draws->of + draws->count);
  }
  return draws->of + (i - draws->first);
}

ALWAYS_INLINE Vec sign_of(Vec x) { /* NaN stays */
  Vec zero = v_set(0.0f);
  return v_less_select(zero, x, v_set(1.0f), v_less_select(x, zero, v_set(-1.0f), x));
}

/* share a + (1 - share) b */
ALWAYS_INLINE Vec mix(float share, Vec a, Vec b) {
  return v_fma(v_set(share), a, v_mul(v_set(1 - share), b));
}

/* The step, without the rate for all but adamw; moves the moments. */
ALWAYS_INLINE Vec step_of(const Rates *r, Kind kind, Vec g, Vec *m, Vec *v) {
  if (kind == KIND_ADAMW) {
    *m = v_fma(v_set(r->beta1), *m, v_mul(v_set(r->one_minus_beta1), g));
    *v = v_fma(v_set(r->beta2), *v, v_mul(v_mul(v_set(r->one_minus_beta2), g), g));
    Vec root = v_fma(v_sqrt(*v), v_set(r->inverse_root), v_set(r->eps));
    return v_div(v_mul(v_set(r->step_size), *m), root);
  }
  if (kind == KIND_SGD) {
    *m = v_fma(v_set(r->beta1), *m, g);
    return *m;
  }
  Vec step = sign_of(mix(r->beta1, *m, g));
  *m = mix(r->beta2, *m, g);
  return step;
}

/* (1 - shrink) p - step */
ALWAYS_INLINE Vec moved(const Rates *r, Kind kind, Vec p, Vec step) {
  p = v_mul(p, v_set(r->keep));
  return kind == KIND_ADAMW ? v_sub(p, step) : v_fma(v_set(-r->lr), step, p);
}

/* What the storage keeps of 16 elements or fewer from i on, after the step. */
ALWAYS_INLINE void take_step(const KernelArgs *args, const Rates *r, Kind kind, Storage storage,
                             int64_t i, int64_t n, Vec step, const uint16_t *draws) {
  void *param = args->operand[1], *rest = args->operand[r->rest];
  const DType param_dtype = (DType)args->dtype[1];
  if (storage == STORED_PLAIN) {
    Vec p = moved(r, kind, v_get_n(param, i, n, param_dtype), step);
    v_put_n(param, i, n, param_dtype, p);
  } else if (storage == STORED_MASTER) {
    const DType master_dtype = (DType)args->dtype[r->rest];
    Vec p = moved(r, kind, v_get_n(rest, i, n, master_dtype), step);
    v_put_n(rest, i, n, master_dtype, p);
    v_put_n(param, i, n, param_dtype, p);
  } else if (storage == STORED_SPLIT) {
    uint16_t *high = (uint16_t *)param + i;
    int16_t *low = (int16_t *)rest + i;
    v_put_split_n(high, low, n, moved(r, kind, v_get_split_n(high, low, n), step));
  } else if (storage == STORED_STOCHASTIC) {
    Vec p = moved(r, kind, v_get_n(param, i, n, DTYPE_BF16), step);
    v_put_stochastic_n((uint16_t *)param + i, n, p, draws);
  } else {
    Vec before = v_get_n(param, i, n, DTYPE_BF16), change = v_mul(before, v_set(r->shrink));
    change = kind == KIND_ADAMW ? v_add(change, step) : v_fma(v_set(r->lr), step, change);
    Vec y = v_sub(v_neg(change), v_get_n(rest, i, n, DTYPE_BF16));
    Vec after = v_to_bf16(v_add(before, y));
    v_put_n(param, i, n, DTYPE_BF16, after);
    v_put_n(rest, i, n, DTYPE_BF16, v_sub(v_sub(after, before), y));
  }
}

ALWAYS_INLINE void update_range(const KernelArgs *args, const Rates *r, Kind kind, Storage storage,
                                int64_t first, int64_t end) {
  void *const *operand = args->operand;
  const DType grad_dtype = (DType)args->dtype[0], m_dtype = (DType)args->dtype[2];
  const DType v_dtype = (DType)args->dtype[kind == KIND_ADAMW ? 3 : 2];
  Draws draws = {.count = 0};
  for (int64_t i = first; i < end; i += LANES) {
    int64_t n = end - i;
    Vec g = v_mul(v_get_n(operand[0], i, n, grad_dtype), v_set(r->clip));
    Vec m = v_get_n(operand[2], i, n, m_dtype), v = g;
    if (kind == KIND_ADAMW) v = v_get_n(operand[3], i, n, v_dtype);
    Vec step = step_of(r, kind, g, &m, &v);
    v_put_n(operand[2], i, n, m_dtype, m);
    if (kind == KIND_ADAMW) v_put_n(operand[3], i, n, v_dtype, v);
    const uint16_t *draw = NULL;
    if (storage == STORED_STOCHASTIC) draw = draws_at(r, &draws, i, min64(n, LANES), end);
    take_step(args, r, kind, storage, i, n, step, draw);
  }
}

/* ---- the numbers of a step; false: nothing is written in it */

static bool adamw_numbers(const KernelArgs *args, Rates *r, const double *lr,
                          const double *clip_scale, const int64_t *step_counts) {
  const int64_t *updates = args->control[1];
  double beta1 = args->attr[0], beta2 = args->attr[1], decay = args->attr[3];
  double root_correction = sqrt(1 - pow(beta2, (double)*updates));
  *r = (Rates){.beta1 = (float)beta1,
               .one_minus_beta1 = (float)(1 - beta1),
               .beta2 = (float)beta2,
               .one_minus_beta2 = (float)(1 - beta2),
               .clip = (float)*clip_scale,
               .shrink = (float)(*lr * decay),
               .keep = (float)(1 - *lr * decay),
               .step_size = (float)(*lr / (1 - pow(beta1, (double)*updates))),
               .inverse_root = (float)(1 / root_correction),
               .eps = (float)args->attr[2],
               .rest = 4};
  return *step_counts != 0;
}

static bool adamw_rates(const KernelArgs *args, Rates *r) {
  void *const *control = args->control;
  return adamw_numbers(args, r, control[0], control[2], control[3]);
}

static bool moment_numbers(const KernelArgs *args, void *const *control, Rates *r, double beta2,
                           double decay) {
  const double *lr = control[0], *clip_scale = control[1];
  const int64_t *step_counts = control[2];
  *r = (Rates){.beta1 = (float)args->attr[0],
               .beta2 = (float)beta2,
               .clip = (float)*clip_scale,
               .lr = (float)*lr,
               .shrink = (float)(*lr * decay),
               .keep = (float)(1 - *lr * decay),
               .rest = 3};
  return *step_counts != 0;
}

static bool sgd_rates(const KernelArgs *args, Rates *r) {
  return moment_numbers(args, args->control, r, 0, args->attr[1]);
}

static bool lion_rates(const KernelArgs *args, Rates *r) {
  return moment_numbers(args, args->control, r, args->attr[1], args->attr[2]);
}

/* Rows that draw begin with the seed and the update's number. `attr`: as in init_part_at. */
static bool drawing(const KernelArgs *args, Rates *r, int32_t attr, bool writes) {
  r->part = init_part_at(args, attr);
  r->key = stochastic_key(kernel_seed(args), args->key);
  r->updates = (uint64_t) * (const int64_t *)args->control[1];
  return writes;
}

static bool adamw_drawing(const KernelArgs *args, Rates *r) {
  void *const *control = args->control;
  return drawing(args, r, 4, adamw_numbers(args, r, control[2], control[3], control[4]));
}

static bool sgd_drawing(const KernelArgs *args, Rates *r) {
  return drawing(args, r, 2, moment_numbers(args, args->control + 2, r, 0, args->attr[1]));
}

static bool lion_drawing(const KernelArgs *args, Rates *r) {
  double beta2 = args->attr[1], decay = args->attr[2];
  return drawing(args, r, 3, moment_numbers(args, args->control + 2, r, beta2, decay));
}

/* ---- the kernels: of F64 operands, which only tests have, the reference's */

#define UPDATE(name, kind, rates, storage, operands, skip)                                         \
  static void name##_range(const KernelArgs *args, const void *context, int64_t first,             \
                           int64_t end) {                                                          \
    update_range(args, context, kind, storage, first, end);                                        \
  }                                                                                                \
  void CPU(name)(const KernelArgs *args) {                                                         \
    Rates r;                                                                                       \
    if (!cpu_floats(args, operands, skip))                                                         \
      reference_##name(args);                                                                      \
    else if (rates(args, &r))                                                                      \
      cpu_ranges(args, args->dim[0], GRAIN_STREAM, name##_range, &r);                              \
  }
#define UPDATES(name, kind, moments)                                                               \
  UPDATE(name, kind, name##_rates, STORED_PLAIN, 2 + (moments), 0)                                 \
  UPDATE(name##_master, kind, name##_rates, STORED_MASTER, 3 + (moments), 0)                       \
  UPDATE(name##_split, kind, name##_rates, STORED_SPLIT, 3 + (moments), 1u << (2 + (moments)))     \
  UPDATE(name##_kahan, kind, name##_rates, STORED_KAHAN, 3 + (moments), 0)                         \
  UPDATE(name##_stochastic, kind, name##_drawing, STORED_STOCHASTIC, 2 + (moments), 0)

UPDATES(adamw, KIND_ADAMW, 2)
UPDATES(sgd, KIND_SGD, 1)
UPDATES(lion, KIND_LION, 1)

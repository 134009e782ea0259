/* cross_entropy.c -- three passes over a row that stays in the cache: highest, sum of exponentials,
 * slopes. Ranks that share the classes make stats of the first two, and from all ranks' the third.
 */
#include <assert.h>
#include <math.h>

#include "kernels/cpu/ranges.h"
#include "kernels/cpu/vec.h"
#include "kernels/math/slope.h"

/* The part of the classes that a row of logits holds. */
typedef struct Classes {
  int64_t first, held, real;  /* real: without padding */
  double smoothing, share, z; /* share: of smoothing, each class's */
} Classes;

/* aim: the target's logit, 0 if it is not held here; with smoothing e (1 - e) of it and e of the
 * mean over the classes. */
typedef struct RowSoftmax {
  float highest, aim;
  double sum; /* of exp(logit - highest) */
} RowSoftmax;

enum { SUM_BLOCK = 4096 }; /* elements summed in f32 before they join the row's double */

static float highest_of(const void *logits, DType dtype, int64_t row, int64_t classes) {
  Vec lowest = v_set(-INFINITY), high = lowest;
  int64_t c = 0;
  for (; dtype == DTYPE_BF16 && c + 2 * LANES <= classes; c += 2 * LANES) {
    Vec even, odd;
    v_load_pairs((const uint16_t *)logits + row + c, &even, &odd);
    high = v_max(high, v_max(even, odd));
  }
  for (; c < classes; c += LANES)
    high = v_max(high, v_keep_n(v_get_n(logits, row + c, classes - c, dtype), classes - c, lowest));
  return v_largest(high);
}

static double exp_sum(const void *logits, DType dtype, int64_t row, int64_t classes,
                      float highest) {
  Vec zero = v_set(0), shift = v_set(highest);
  double total = 0;
  for (int64_t first = 0; first < classes; first += SUM_BLOCK) {
    int64_t end = min64(first + SUM_BLOCK, classes), c = first;
    Vec even = zero, odd = zero;
    for (; c + 2 * LANES <= end; c += 2 * LANES) {
      Vec a, b;
      if (dtype == DTYPE_BF16) {
        v_load_pairs((const uint16_t *)logits + row + c, &a, &b);
      } else {
        a = v_get(logits, row + c, dtype);
        b = v_get(logits, row + c + LANES, dtype);
      }
      even = v_add(even, v_exp(v_sub(a, shift)));
      odd = v_add(odd, v_exp(v_sub(b, shift)));
    }
    for (; c < end; c += LANES) {
      Vec e = v_exp(v_sub(v_get_n(logits, row + c, end - c, dtype), shift));
      even = v_add(even, v_keep_n(e, end - c, zero));
    }
    total += (double)v_sum(v_add(even, odd));
  }
  return total;
}

static double logit_sum(const void *logits, DType dtype, int64_t row, int64_t classes) {
  double total = 0;
  for (int64_t first = 0; first < classes; first += SUM_BLOCK) {
    int64_t end = min64(first + SUM_BLOCK, classes);
    Vec sum = v_set(0);
    for (int64_t c = first; c < end; c += LANES)
      sum = v_add(sum, v_get_n(logits, row + c, end - c, dtype));
    total += (double)v_sum(sum);
  }
  return total;
}

static RowSoftmax local_softmax(const KernelArgs *args, const Classes *c, int64_t r,
                                int64_t target) {
  const void *logits = args->operand[0];
  DType dtype = (DType)args->dtype[0];
  RowSoftmax s = {.highest = highest_of(logits, dtype, r * c->held, c->real)};
  s.sum = exp_sum(logits, dtype, r * c->held, c->real, s.highest);
  if (target >= c->first && target < c->first + c->real)
    s.aim = float_get(logits, r * c->held + target - c->first, dtype);
  if (c->smoothing > 0)
    s.aim = (float)((1 - c->smoothing) * (double)s.aim +
                    c->share * logit_sum(logits, dtype, r * c->held, c->real));
  return s;
}

/* stats[ranks,rows,3]: of all ranks together, added in their order. */
static RowSoftmax gathered_softmax(const KernelArgs *args, int64_t r) {
  const float *stats = (const float *)args->operand[2] + 3 * r;
  int64_t ranks = args->dim[3], stride = 3 * args->dim[0];
  RowSoftmax s = {.highest = -INFINITY};
  for (int64_t k = 0; k < ranks; k++)
    s.highest = fmaxf(s.highest, stats[k * stride]);
  for (int64_t k = 0; k < ranks; k++) {
    const float *of_rank = stats + k * stride;
    s.sum += (double)of_rank[1] * exp((double)of_rank[0] - (double)s.highest);
    s.aim += of_rank[2];
  }
  return s;
}

/* The slope of lse + z lse^2 in lse. */
static double lse_slope(const Classes *c, const RowSoftmax *s) {
  return 1 + 2 * c->z * ((double)s->highest + log(s->sum));
}

/* logits = (exp(logits - lse) lse_slope - the slope of aim) * scale, as exp(logits - highest) *
 * (lse_slope scale / sum) and so on. */
static void slopes(const KernelArgs *args, const Classes *c, int64_t row, int64_t target,
                   const RowSoftmax *s) {
  void *logits = args->operand[0];
  DType dtype = (DType)args->dtype[0];
  double scale = slope_scale(args->attr[0], kernel_slot(args, 0), kernel_slot(args, 1));
  const double of_lse = lse_slope(c, s);
  Vec shift = v_set(s->highest), factor = v_set((float)(of_lse * scale / s->sum));
  Vec minus = v_set((float)(-c->share * scale));
  int64_t k = 0, real = c->real, mine = target - c->first;
  bool held = mine >= 0 && mine < real;
  float at_target = held ? float_get(logits, row + mine, dtype) : 0;
  for (; dtype == DTYPE_BF16 && k + 2 * LANES <= real; k += 2 * LANES) {
    uint16_t *at_k = (uint16_t *)logits + row + k;
    Vec even, odd;
    v_load_pairs(at_k, &even, &odd);
    even = v_fma(v_exp(v_sub(even, shift)), factor, minus);
    odd = v_fma(v_exp(v_sub(odd, shift)), factor, minus);
    v_store_pairs(at_k, even, odd);
  }
  for (; k < real; k += LANES) {
    Vec x = v_get_n(logits, row + k, real - k, dtype);
    v_put_n(logits, row + k, real - k, dtype, v_fma(v_exp(v_sub(x, shift)), factor, minus));
  }
  memset(at_mut(logits, row + real, dtype), 0, (size_t)((c->held - real) * float_bytes(dtype)));
  if (!held) return;
  double p = exp((double)at_target - (double)s->highest) / s->sum;
  float_put(logits, row + mine, dtype,
            (float)((p * of_lse - (1 - c->smoothing) - c->share) * scale));
}

/* The rows of one kernel, and its results. */
typedef struct RowLoss {
  Classes classes;
  bool parts, train;
  double *row_loss;
} RowLoss;

/* attr: smoothing and z. */
static Classes classes_of(const KernelArgs *args, double first, const double *attr) {
  Classes c = {.first = (int64_t)first, .held = args->dim[1], .smoothing = attr[0], .z = attr[1]};
  c.share = c.smoothing / (double)args->dim[2];
  c.real = max64(0, min64(c.held, args->dim[2] - c.first));
  return c;
}

static void row_range(const KernelArgs *args, const void *context, int64_t first, int64_t end) {
  const RowLoss *l = (const RowLoss *)context;
  const Classes *c = &l->classes;
  DType dtype = (DType)args->dtype[0];
  const int32_t *targets = (const int32_t *)args->operand[1];
  for (int64_t r = first; r < end; r++) {
    int64_t row = r * c->held;
    assert(targets[r] < args->dim[2]);
    if (targets[r] < 0) {
      l->row_loss[r] = 0;
      if (l->train)
        memset(at_mut(args->operand[0], row, dtype), 0, (size_t)(c->held * float_bytes(dtype)));
      continue;
    }
    RowSoftmax s = l->parts ? gathered_softmax(args, r) : local_softmax(args, c, r, targets[r]);
    double lse = (double)s.highest + log(s.sum);
    l->row_loss[r] = lse - (double)s.aim + c->z * lse * lse;
    if (l->train) slopes(args, c, row, targets[r], &s);
  }
}

static void cross_entropy(const KernelArgs *args, bool parts, bool train) {
  const int32_t *targets = (const int32_t *)args->operand[1];
  double *loss = (double *)args->operand[parts ? 3 : 2], sum = 0, weights = 0;
  const double *attr = args->attr + (parts ? 2 : train ? 1 : 0);
  RowLoss l = {classes_of(args, parts ? args->attr[1] : 0, attr), parts, train,
               (double *)args->operand[parts ? 4 : 3]};
  cpu_ranges(args, args->dim[0], grain_rows(args->dim[1]), row_range, &l);
  for (int64_t r = 0; r < args->dim[0]; r++) {
    sum += l.row_loss[r];
    weights += targets[r] >= 0;
  }
  loss[0] = args->accumulate ? loss[0] + sum : sum;
  loss[1] = args->accumulate ? loss[1] + weights : weights;
}

void CPU(cross_entropy)(const KernelArgs *args) {
  if (cpu_floats(args, 1, 0))
    cross_entropy(args, false, false);
  else
    reference_cross_entropy(args);
}

void CPU(cross_entropy_train)(const KernelArgs *args) {
  if (cpu_floats(args, 1, 0))
    cross_entropy(args, false, true);
  else
    reference_cross_entropy_train(args);
}

void CPU(cross_entropy_parts)(const KernelArgs *args) {
  if (cpu_floats(args, 1, 0))
    cross_entropy(args, true, false);
  else
    reference_cross_entropy_parts(args);
}

void CPU(cross_entropy_parts_train)(const KernelArgs *args) {
  if (cpu_floats(args, 1, 0))
    cross_entropy(args, true, true);
  else
    reference_cross_entropy_parts_train(args);
}

static void stats_range(const KernelArgs *args, const void *context, int64_t first, int64_t end) {
  const int32_t *targets = (const int32_t *)args->operand[1];
  float *stats = (float *)args->operand[2];
  for (int64_t r = first; r < end; r++) {
    RowSoftmax s = {0}; /* rows without weight have none either */
    if (targets[r] >= 0) s = local_softmax(args, (const Classes *)context, r, targets[r]);
    stats[3 * r] = s.highest;
    stats[3 * r + 1] = (float)s.sum;
    stats[3 * r + 2] = s.aim;
  }
}

void CPU(cross_entropy_stats)(const KernelArgs *args) {
  Classes c = classes_of(args, args->attr[0], (const double[]){args->attr[1], 0});
  if (cpu_floats(args, 1, 0))
    cpu_ranges(args, args->dim[0], grain_rows(args->dim[1]), stats_range, &c);
  else
    reference_cross_entropy_stats(args);
}

/* cross_entropy.c -- three passes over a row that stays in the cache: highest, sum of exponentials,
 * slopes. */
#include <assert.h>
#include <math.h>

#include "kernels/cpu/ranges.h"
#include "kernels/cpu/vec.h"

enum { SUM_BLOCK = 4096 }; /* elements summed in f32 before they join the row's double */

static float highest_of(const void *logits, bool bf16, int64_t row, int64_t vocab) {
  Vec lowest = v_set(-INFINITY), high = lowest;
  int64_t c = 0;
  for (; bf16 && c + 2 * LANES <= vocab; c += 2 * LANES) {
    Vec even, odd;
    v_load_pairs((const uint16_t *)logits + row + c, &even, &odd);
    high = v_max(high, v_max(even, odd));
  }
  for (; c < vocab; c += LANES)
    high = v_max(high, v_keep_n(v_get_n(logits, row + c, vocab - c, bf16), vocab - c, lowest));
  return v_largest(high);
}

static double exp_sum(const void *logits, bool bf16, int64_t row, int64_t vocab, float highest) {
  Vec zero = v_set(0), shift = v_set(highest);
  double total = 0;
  for (int64_t first = 0; first < vocab; first += SUM_BLOCK) {
    int64_t end = min64(first + SUM_BLOCK, vocab), c = first;
    Vec even = zero, odd = zero;
    for (; c + 2 * LANES <= end; c += 2 * LANES) {
      Vec a, b;
      if (bf16) {
        v_load_pairs((const uint16_t *)logits + row + c, &a, &b);
      } else {
        a = v_get(logits, row + c, false);
        b = v_get(logits, row + c + LANES, false);
      }
      even = v_add(even, v_exp(v_sub(a, shift)));
      odd = v_add(odd, v_exp(v_sub(b, shift)));
    }
    for (; c < end; c += LANES) {
      Vec e = v_exp(v_sub(v_get_n(logits, row + c, end - c, bf16), shift));
      even = v_add(even, v_keep_n(e, end - c, zero));
    }
    total += (double)v_sum(v_add(even, odd));
  }
  return total;
}

/* logits = (exp(logits - lse) - onehot) * scale, as exp(logits - highest) * (scale / sum). */
static void slopes(const KernelArgs *args, int64_t row, int32_t target, float highest, double sum) {
  void *logits = args->operand[0];
  bool bf16 = args->dtype[0] == DTYPE_BF16;
  int64_t vocab = args->dim[1];
  double scale = args->attr[0];
  Vec shift = v_set(highest), factor = v_set((float)(scale / sum));
  float at_target = float_get(logits, row + target, bf16);
  int64_t c = 0;
  for (; bf16 && c + 2 * LANES <= vocab; c += 2 * LANES) {
    uint16_t *at_c = (uint16_t *)logits + row + c;
    Vec even, odd;
    v_load_pairs(at_c, &even, &odd);
    even = v_mul(v_exp(v_sub(even, shift)), factor);
    odd = v_mul(v_exp(v_sub(odd, shift)), factor);
    v_store_pairs(at_c, even, odd);
  }
  for (; c < vocab; c += LANES) {
    Vec x = v_get_n(logits, row + c, vocab - c, bf16);
    v_put_n(logits, row + c, vocab - c, bf16, v_mul(v_exp(v_sub(x, shift)), factor));
  }
  double p = exp((double)at_target - (double)highest) / sum;
  float_put(logits, row + target, bf16, (float)((p - 1) * scale));
}

static void row_range(const KernelArgs *args, const void *context, int64_t first, int64_t end) {
  bool train = *(const bool *)context, bf16 = args->dtype[0] == DTYPE_BF16;
  const int32_t *targets = (const int32_t *)args->operand[1];
  double *row_loss = (double *)args->operand[3];
  int64_t vocab = args->dim[1];
  for (int64_t r = first; r < end; r++) {
    int64_t row = r * vocab;
    assert(targets[r] < vocab);
    if (targets[r] < 0) {
      row_loss[r] = 0;
      if (train)
        memset(at_mut(args->operand[0], row, bf16), 0, (size_t)(vocab * float_bytes(bf16)));
      continue;
    }
    float highest = highest_of(args->operand[0], bf16, row, vocab);
    double sum = exp_sum(args->operand[0], bf16, row, vocab, highest);
    float at_target = float_get(args->operand[0], row + targets[r], bf16);
    row_loss[r] = (double)highest + log(sum) - (double)at_target;
    if (train) slopes(args, row, targets[r], highest, sum);
  }
}

static void cross_entropy(const KernelArgs *args, bool train) {
  const int32_t *targets = (const int32_t *)args->operand[1];
  double *loss = (double *)args->operand[2], sum = 0, weights = 0;
  const double *row_loss = (const double *)args->operand[3];
  cpu_ranges(args, args->dim[0], grain_rows(args->dim[1]), row_range, &train);
  for (int64_t r = 0; r < args->dim[0]; r++) {
    sum += row_loss[r];
    weights += targets[r] >= 0;
  }
  loss[0] = args->accumulate ? loss[0] + sum : sum;
  loss[1] = args->accumulate ? loss[1] + weights : weights;
}

void CPU(cross_entropy)(const KernelArgs *args) {
  if (cpu_floats(args, 1, 0))
    cross_entropy(args, false);
  else
    reference_cross_entropy(args);
}

void CPU(cross_entropy_train)(const KernelArgs *args) {
  if (cpu_floats(args, 1, 0))
    cross_entropy(args, true);
  else
    reference_cross_entropy_train(args);
}

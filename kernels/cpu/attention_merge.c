/* attention_merge.c -- attention over two sets of keys from attention over each, a row of one head
 * at a time. Rows that saw none of the keys that are added are not touched. */
#include <math.h>

#include "kernels/cpu/ranges.h"
#include "kernels/cpu/vec.h"

/* The factors of both sides of a row. */
typedef struct Weights {
  float old, added;
} Weights;

ALWAYS_INLINE void merge_head(const KernelArgs *args, int64_t first, Weights w) {
  DType dtype = (DType)args->dtype[0], added_dtype = (DType)args->dtype[2];
  int64_t head = args->dim[3];
  Vec old = v_set(w.old), added = v_set(w.added);
  for (int64_t d = 0; d < head; d += LANES) {
    int64_t n = head - d;
    Vec x = v_mul(added, v_get_n(args->operand[2], first + d, n, added_dtype));
    if (w.old > 0) x = v_fma(old, v_get_n(args->operand[0], first + d, n, dtype), x);
    v_put_n(args->operand[0], first + d, n, dtype, x);
  }
}

static void merge_row(const KernelArgs *args, int64_t first, int64_t row) {
  float *lse = (float *)args->operand[1] + row, lse1 = ((const float *)args->operand[3])[row];
  if (!args->accumulate) {
    *lse = lse1;
    merge_head(args, first, (Weights){0, 1});
    return;
  }
  if (lse1 == -INFINITY) return;
  float highest = *lse > lse1 ? *lse : lse1;
  float old = expf(*lse - highest), added = expf(lse1 - highest), sum = old + added;
  merge_head(args, first, (Weights){old / sum, added / sum});
  *lse = highest + logf(sum);
}

static void merge_tokens(const KernelArgs *args, const void *context, int64_t first, int64_t end) {
  int64_t seq = args->dim[1], heads = args->dim[2], head = args->dim[3];
  (void)context;
  for (int64_t token = first; token < end; token++)
    for (int64_t h = 0; h < heads; h++)
      merge_row(args, (token * heads + h) * head, (token / seq * heads + h) * seq + token % seq);
}

void CPU(attention_merge)(const KernelArgs *args) {
  if (!cpu_floats(args, 4, 0) || args->dtype[1] != DTYPE_F32 || args->dtype[3] != DTYPE_F32) {
    reference_attention_merge(args);
    return;
  }
  int64_t tokens = args->dim[0] * args->dim[1], width = args->dim[2] * args->dim[3];
  cpu_ranges(args, tokens, grain_rows(width), merge_tokens, NULL);
}

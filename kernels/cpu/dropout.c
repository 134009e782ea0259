/* dropout.c -- the reference's mask, sixteen Philox blocks (64 elements) at a time. */
#include "kernels/cpu/philox_lanes.h"
#include "kernels/cpu/ranges.h"

typedef struct Drop {
  uint64_t key;
  uint32_t threshold;
  int64_t element0; /* number of x[0] in the global batch */
  float scale;
} Drop;

static void drop_range(const KernelArgs *args, const void *context, int64_t first, int64_t end) {
  const Drop *d = (const Drop *)context;
  bool x_bf16 = args->dtype[0] == DTYPE_BF16, y_bf16 = args->dtype[1] == DTYPE_BF16;
  int64_t head = (d->element0 + first) % 4; /* elements of the first block that precede x[first] */
  float keep[PHILOX_ELEMENTS];
  for (int64_t i = first - head; i < end; i += PHILOX_ELEMENTS) {
    philox_keep_factors(d->key, (uint64_t)args->control->step, (uint64_t)(d->element0 + i),
                        d->threshold, d->scale, keep);
    int64_t from = max64(i, first), stop = min64(i + PHILOX_ELEMENTS, end);
    for (int64_t k = from; k < stop; k += LANES) {
      int64_t n = stop - k;
      Vec x = v_get_n(args->operand[0], k, n, x_bf16);
      Vec factor = v_get_n(keep, k - i, n, false);
      v_put_n(args->operand[1], k, n, y_bf16, v_keep_product(x, factor));
    }
  }
}

void CPU(dropout)(const KernelArgs *args) {
  if (!cpu_floats(args, 2, 0)) {
    reference_dropout(args);
    return;
  }
  Drop d = {.key = philox_mix(args->control->seed, args->key),
            .threshold = philox_threshold(args->attr[0]),
            .element0 = args->sample_first * args->dim[1],
            .scale = (float)(1 / (1 - args->attr[0]))};
  cpu_ranges(args, args->dim[0], GRAIN_ELEMENTS, drop_range, &d);
}

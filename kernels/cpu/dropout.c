/* dropout.c -- the reference's mask, sixteen Philox blocks (64 elements) at a time. */
#include "kernels/math/dropout.h"

#include "kernels/cpu/philox_lanes.h"
#include "kernels/cpu/ranges.h"

typedef struct Drop {
  uint64_t key;
  uint32_t threshold;
  float scale;
  int64_t piece; /* elements of x whose elements of the mask are consecutive */
  DropoutShape shape;
} Drop;

/* x[first] has the mask's `element`; the others follow. */
static void drop_piece(const KernelArgs *args, const Drop *d, int64_t first, int64_t end,
                       int64_t element) {
  DType x_dtype = (DType)args->dtype[0], y_dtype = (DType)args->dtype[1];
  int64_t head = element % 4; /* elements of the first block that precede x[first] */
  float keep[PHILOX_ELEMENTS];
  for (int64_t i = first - head; i < end; i += PHILOX_ELEMENTS) {
    philox_keep_factors(d->key, (uint64_t)kernel_step(args), (uint64_t)(element + (i - first)),
                        d->threshold, d->scale, keep);
    int64_t from = max64(i, first), stop = min64(i + PHILOX_ELEMENTS, end);
    for (int64_t k = from; k < stop; k += LANES) {
      int64_t n = stop - k;
      Vec x = v_get_n(args->operand[0], k, n, x_dtype);
      Vec factor = v_get_n(keep, k - i, n, DTYPE_F32);
      v_put_n(args->operand[1], k, n, y_dtype, v_keep_product(x, factor));
    }
  }
}

static void drop_range(const KernelArgs *args, const void *context, int64_t first, int64_t end) {
  const Drop *d = (const Drop *)context;
  while (first < end) {
    int64_t stop = min64(end, first + d->piece - first % d->piece);
    drop_piece(args, d, first, stop, dropout_element(&d->shape, first));
    first = stop;
  }
}

void CPU(dropout)(const KernelArgs *args) {
  if (!cpu_floats(args, 2, 0)) {
    reference_dropout(args);
    return;
  }
  Drop d = {.key = philox_mix(kernel_seed(args), args->key),
            .threshold = philox_threshold(args->attr[0]),
            .scale = (float)(1 / (1 - args->attr[0])),
            .shape = dropout_shape(args)};
  const DropoutShape *s = &d.shape;
  d.shape.sample_first = *args->sample_first;
  d.piece = dropout_piece(s);
  cpu_ranges(args, s->batch * s->seq * s->outer * s->part * s->inner, GRAIN_ELEMENTS, drop_range,
             &d);
}

/* rope.c -- the angles of a few positions are computed once and used by every sample and head. */
#include "kernels/math/rope.h"

#include <math.h>

#include "kernels/cpu/ranges.h"
#include "kernels/cpu/vec.h"
#include "kernels/runs.h"

enum { HALF_MAX = 256, POSITIONS = 8 };

/* y = x turned by the angles, for one head of one token; x may be y. */
ALWAYS_INLINE void turn(const KernelArgs *args, int64_t from, int64_t to, int64_t half,
                        const float *cosine, const float *sine) {
  DType x_dtype = (DType)args->dtype[0], y_dtype = (DType)args->dtype[1];
  for (int64_t j = 0; j < half; j += LANES) {
    int64_t n = half - j;
    Vec low = v_get_n(args->operand[0], from + j, n, x_dtype);
    Vec high = v_get_n(args->operand[0], from + half + j, n, x_dtype);
    Vec c = v_load(cosine + j), s = v_load(sine + j);
    v_put_n(args->operand[1], to + j, n, y_dtype, v_sub(v_mul(low, c), v_mul(high, s)));
    v_put_n(args->operand[1], to + half + j, n, y_dtype, v_fma(high, c, v_mul(low, s)));
  }
}

static void position_range(const KernelArgs *args, const void *context, int64_t first,
                           int64_t end) {
  const int64_t *dim = args->dim;
  int64_t batch = dim[0], seq = dim[1], heads = dim[2], head = dim[3], half = head / 2;
  double frequency[HALF_MAX];
  float cosine[HALF_MAX + LANES], sine[HALF_MAX + LANES];
  Runs runs = {seq, (int64_t)args->attr[ROPE_FIRST], (int64_t)args->attr[ROPE_SECOND]};
  (void)context;
  for (int64_t j = 0; j < half; j++)
    frequency[j] = rope_frequency(args->attr, args->dim[3], j);
  for (int64_t s = first; s < end; s++) {
    double position = (double)runs_position(runs, s);
    for (int64_t j = 0; j < half; j++) {
      double angle = position * frequency[j];
      cosine[j] = (float)cos(angle);
      sine[j] = (float)(args->attr[ROPE_SIGN] * sin(angle));
    }
    for (int64_t j = half; j < half + LANES; j++)
      cosine[j] = sine[j] = 0;
    for (int64_t b = 0; b < batch; b++) {
      int64_t token = b * seq + s;
      for (int64_t h = 0; h < heads; h++)
        turn(args, token * dim[4] + h * head, token * dim[5] + h * head, half, cosine, sine);
    }
  }
}

void CPU(rope)(const KernelArgs *args) {
  if (cpu_floats(args, 2, 0) && args->dim[3] <= 2 * HALF_MAX)
    cpu_ranges(args, args->dim[1], POSITIONS, position_range, NULL);
  else
    reference_rope(args);
}

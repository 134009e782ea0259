/* rope.c -- the angles of a few positions are computed once and used by every sample and head. */
#include "kernels/math/rope.h"

#include <math.h>

#include "kernels/cpu/ranges.h"
#include "kernels/cpu/vec.h"
#include "kernels/runs.h"

enum { HALF_MAX = 256, POSITIONS = 8 };

/* y = x turned by the angles, for one head of one token; x may be y, which is operand `out`. */
ALWAYS_INLINE void turn(const KernelArgs *args, int32_t out, int64_t from, int64_t to, int64_t half,
                        const float *cosine, const float *sine) {
  DType x_dtype = (DType)args->dtype[0], y_dtype = (DType)args->dtype[out];
  for (int64_t j = 0; j < half; j += LANES) {
    int64_t n = half - j;
    Vec low = v_get_n(args->operand[0], from + j, n, x_dtype);
    Vec high = v_get_n(args->operand[0], from + half + j, n, x_dtype);
    Vec c = v_load(cosine + j), s = v_load(sine + j);
    v_put_n(args->operand[out], to + j, n, y_dtype, v_sub(v_mul(low, c), v_mul(high, s)));
    v_put_n(args->operand[out], to + half + j, n, y_dtype, v_fma(high, c, v_mul(low, s)));
  }
}

typedef struct Angles {
  double frequency[HALF_MAX];
  float cosine[HALF_MAX + LANES], sine[HALF_MAX + LANES];
} Angles;

static void find_frequencies(Angles *a, const double *attr, int64_t head) {
  for (int64_t j = 0; j < head / 2; j++)
    a->frequency[j] = rope_frequency(attr, head, j);
}

static void turn_to(Angles *a, double position, double sign, int64_t half) {
  for (int64_t j = 0; j < half; j++) {
    double angle = position * a->frequency[j];
    a->cosine[j] = (float)cos(angle);
    a->sine[j] = (float)(sign * sin(angle));
  }
  for (int64_t j = half; j < half + LANES; j++)
    a->cosine[j] = a->sine[j] = 0;
}

static void position_range(const KernelArgs *args, const void *context, int64_t first,
                           int64_t end) {
  const int64_t *dim = args->dim;
  int64_t batch = dim[0], seq = dim[1], heads = dim[2], head = dim[3], half = head / 2;
  Angles a;
  Runs runs = {seq, (int64_t)args->attr[ROPE_FIRST], (int64_t)args->attr[ROPE_SECOND]};
  (void)context;
  find_frequencies(&a, args->attr, head);
  for (int64_t s = first; s < end; s++) {
    turn_to(&a, (double)runs_position(runs, s), args->attr[ROPE_SIGN], half);
    for (int64_t b = 0; b < batch; b++) {
      int64_t token = b * seq + s;
      for (int64_t h = 0; h < heads; h++)
        turn(args, 1, token * dim[4] + h * head, token * dim[5] + h * head, half, a.cosine, a.sine);
    }
  }
}

void CPU(rope)(const KernelArgs *args) {
  if (cpu_floats(args, 2, 0) && args->dim[3] <= 2 * HALF_MAX)
    cpu_ranges(args, args->dim[1], POSITIONS, position_range, NULL);
  else
    reference_rope(args);
}

/* Tokens of a sample follow each other, and those of one pass are few. */
static void token_range(const KernelArgs *args, const void *context, int64_t first, int64_t end) {
  const int64_t *dim = args->dim, head = dim[3], half = head / 2;
  const int32_t *places = args->operand[1];
  double attr[ROPE_ATTRS];
  Angles a;
  (void)context;
  rope_attrs_at(args->attr, attr);
  find_frequencies(&a, attr, head);
  for (int64_t token = first; token < end; token++) {
    turn_to(&a, places[token] < 0 ? 0 : (double)places[token], attr[ROPE_SIGN], half);
    for (int64_t h = 0; h < dim[2]; h++)
      turn(args, 2, token * dim[4] + h * head, token * dim[5] + h * head, half, a.cosine, a.sine);
  }
}

void CPU(rope_at)(const KernelArgs *args) {
  if (cpu_floats(args, 3, 1u << 1) && args->dim[3] <= 2 * HALF_MAX)
    cpu_ranges(args, args->dim[0] * args->dim[1], POSITIONS, token_range, NULL);
  else
    reference_rope_at(args);
}

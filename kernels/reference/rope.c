/* rope.c -- rotary positions (arXiv:2104.09864), rotate-half: element j turns with element j +
 * head/2. */
#include "kernels/math/rope.h"

#include "kernels/reference/access.h"
#include "kernels/runs.h"

void reference_rope(const KernelArgs *args) {
  Tensor x = tensor(args, 0), y = tensor(args, 1);
  const int64_t *dim = args->dim;
  int64_t batch = dim[0], seq = dim[1], heads = dim[2], head = dim[3];
  int64_t x_stride = dim[4], y_stride = dim[5], half = head / 2;
  double sign = args->attr[ROPE_SIGN];
  Runs runs = {seq, (int64_t)args->attr[ROPE_FIRST], (int64_t)args->attr[ROPE_SECOND]};
  for (int64_t s = 0; s < seq; s++)
    for (int64_t j = 0; j < half; j++) {
      double angle = (double)runs_position(runs, s) * rope_frequency(args->attr, head, j);
      double cosine = cos(angle), sine = sign * sin(angle);
      for (int64_t b = 0; b < batch; b++)
        for (int64_t h = 0; h < heads; h++) {
          int64_t from = (b * seq + s) * x_stride + h * head + j;
          int64_t to = (b * seq + s) * y_stride + h * head + j;
          double low = load(x, from), high = load(x, from + half);
          store(y, to, low * cosine - high * sine);
          store(y, to + half, high * cosine + low * sine);
        }
    }
}

void reference_rope_at(const KernelArgs *args) {
  Tensor x = tensor(args, 0), y = tensor(args, 2);
  const int32_t *places = args->operand[1];
  const int64_t *dim = args->dim, heads = dim[2], head = dim[3], half = head / 2;
  double attr[ROPE_ATTRS];
  rope_attrs_at(args->attr, attr);
  for (int64_t token = 0; token < dim[0] * dim[1]; token++)
    for (int64_t i = 0; i < heads * half; i++) {
      const int64_t h = i / half, j = i % half;
      const double place = places[token] < 0 ? 0 : places[token];
      const double angle = place * rope_frequency(attr, head, j);
      const double cosine = cos(angle), sine = attr[ROPE_SIGN] * sin(angle);
      const int64_t from = token * dim[4] + h * head + j, to = token * dim[5] + h * head + j;
      const double low = load(x, from), high = load(x, from + half);
      store(y, to, low * cosine - high * sine);
      store(y, to + half, high * cosine + low * sine);
    }
}

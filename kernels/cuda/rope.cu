/* rope.cu -- a thread turns one pair of every head of a token, HEADS_AT_ONCE of them under way. */
#include "kernels/cuda/cuda.h"
extern "C" {
#include "kernels/math/rope.h"
#include "kernels/runs.h"
}

struct Rope {
  int64_t tokens, heads, head, x_stride, y_stride;
  Runs runs;
  const int32_t *places; /* NULL: positions are those of runs */
  double attr[KERNEL_ATTRS_MAX];
};

static __device__ double position_of(const Rope &rope, int64_t token) {
  if (rope.places == NULL) return (double)runs_position(rope.runs, token % rope.runs.seq);
  return rope.places[token] < 0 ? 0 : (double)rope.places[token];
}

enum { HEADS_AT_ONCE = 4 };

template <class X, class Y> __global__ void turn(const X *x, Y *y, Rope rope) {
  int64_t half = rope.head / 2;
  for (EACH_ELEMENT(i, rope.tokens * half)) {
    int64_t token = i / half, j = i % half;
    double angle = position_of(rope, token) * rope_frequency(rope.attr, rope.head, j);
    float cosine = (float)cos(angle), sine = (float)(rope.attr[ROPE_SIGN] * sin(angle));
    const X *from = x + token * rope.x_stride + j;
    Y *to = y + token * rope.y_stride + j;
    for (int64_t first = 0; first < rope.heads; first += HEADS_AT_ONCE) {
      float low[HEADS_AT_ONCE] = {}, high[HEADS_AT_ONCE] = {};
#pragma unroll
      for (int h = 0; h < HEADS_AT_ONCE; h++)
        if (first + h < rope.heads) {
          low[h] = to_float(from[(first + h) * rope.head]);
          high[h] = to_float(from[(first + h) * rope.head + half]);
        }
#pragma unroll
      for (int h = 0; h < HEADS_AT_ONCE; h++)
        if (first + h < rope.heads) {
          put(to + (first + h) * rope.head, low[h] * cosine - high[h] * sine);
          put(to + (first + h) * rope.head + half, high[h] * cosine + low[h] * sine);
        }
    }
  }
}

/* y is operand `out`. */
static KernelStatus turn_all(const KernelArgs *args, const Rope &rope, int out, const char **why) {
  return with_floats(args->dtype[0], args->dtype[out], why, [=](auto from, auto to) {
    typedef decltype(from) X;
    typedef decltype(to) Y;
    Launch run(args, why, "rope");
    run.flat(rope.tokens * (rope.head / 2), turn<X, Y>, (const X *)args->operand[0],
             (Y *)args->operand[out], rope);
    return run.status;
  });
}

CUDA_KERNEL(rope) {
  const int64_t *dim = args->dim;
  Rope rope = {dim[0] * dim[1], dim[2], dim[3], dim[4], dim[5], {0, 0, 0}, NULL, {0}};
  memcpy(rope.attr, args->attr, ROPE_ATTRS * sizeof *rope.attr);
  rope.runs.seq = dim[1];
  rope.runs.first = (int64_t)args->attr[ROPE_FIRST];
  rope.runs.second = (int64_t)args->attr[ROPE_SECOND];
  return turn_all(args, rope, 1, why);
}

CUDA_KERNEL(rope_at) {
  const int64_t *dim = args->dim;
  Rope rope = {dim[0] * dim[1],
               dim[2],
               dim[3],
               dim[4],
               dim[5],
               {0, 0, 0},
               (const int32_t *)args->operand[1],
               {0}};
  rope_attrs_at(args->attr, rope.attr);
  return turn_all(args, rope, 2, why);
}

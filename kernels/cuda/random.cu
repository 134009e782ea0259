/* random.cu -- dropout and initial values: numbers that are a function of what they are for. */
#include "kernels/cuda/cuda.h"
extern "C" {
#include "kernels/dropout.h"
#include "kernels/init.h"
#include "kernels/philox.h"
}

template <class T>
__global__ void drop(const T *x, T *y, int64_t n, DropoutShape shape, const uint64_t *seed,
                     const int64_t *step, uint64_t record_key, uint32_t threshold, float scale) {
  uint64_t key = philox_mix(*seed, record_key);
  for (EACH_ELEMENT(i, n)) {
    bool keep = philox_keep(key, *step, dropout_element(&shape, i), threshold);
    put(y + i, keep ? to_float(x[i]) * scale : 0);
  }
}

CUDA_KERNEL(dropout) {
  DropoutShape shape = dropout_shape(args);
  shape.sample_first = *args->sample_first;
  return with_float(args->dtype[0], why, [=](auto number) {
    typedef decltype(number) T;
    int64_t n = shape.batch * shape.seq * shape.outer * shape.part * shape.inner;
    Launch run(args, why, "dropout");
    run.flat(n, drop<T>, (const T *)args->operand[0], (T *)args->operand[1], n, shape,
             (const uint64_t *)args->control[0], (const int64_t *)args->control[1], args->key,
             philox_threshold(args->attr[0]), (float)(1 / (1 - args->attr[0])));
    return run.status;
  });
}

struct Normal {
  static __device__ double value(const uint32_t word[4], int64_t lane, double mean, double std) {
    double normal[4];
    philox_normal4(word, normal);
    return mean + std * normal[lane];
  }
};

struct Uniform {
  static __device__ double value(const uint32_t word[4], int64_t lane, double low, double high) {
    return low + (high - low) * philox_uniform(word[lane]);
  }
};

template <class Draw, class T>
__global__ void draw(T *out, InitPart part, const uint64_t *seed, uint64_t record_key, double a,
                     double b) {
  uint64_t key = philox_mix(*seed, record_key);
  for (EACH_ELEMENT(i, part.n)) {
    InitRun run = init_run(&part, i);
    uint32_t word[4];
    philox4(key, 0, (uint64_t)run.element / 4, word);
    put(out + i, run.padding ? 0 : (float)Draw::value(word, run.element % 4, a, b));
  }
}

template <class Draw>
static KernelStatus run_draw(const KernelArgs *args, const char **why, const char *name) {
  return with_float(args->dtype[0], why, [=](auto number) {
    typedef decltype(number) T;
    Launch run(args, why, name);
    run.flat(args->dim[0], draw<Draw, T>, (T *)args->operand[0], init_part(args),
             (const uint64_t *)args->control[0], args->key, args->attr[0], args->attr[1]);
    return run.status;
  });
}

CUDA_KERNEL(init_normal) {
  return run_draw<Normal>(args, why, "init_normal");
}
CUDA_KERNEL(init_uniform) {
  return run_draw<Uniform>(args, why, "init_uniform");
}

template <class T> __global__ void fill(T *out, InitPart part, float value) {
  for (EACH_ELEMENT(i, part.n))
    put(out + i, init_run(&part, i).padding ? 0 : value);
}

__global__ void fill_f64(double *out, InitPart part, double value) {
  for (EACH_ELEMENT(i, part.n))
    out[i] = init_run(&part, i).padding ? 0 : value;
}

CUDA_KERNEL(init_constant) {
  if (args->dtype[0] == DTYPE_F64) { /* partial sums of the norm */
    Launch run(args, why, "init_constant");
    run.flat(args->dim[0], fill_f64, (double *)args->operand[0], init_part(args), args->attr[0]);
    return run.status;
  }
  return with_float(args->dtype[0], why, [=](auto number) {
    typedef decltype(number) T;
    Launch run(args, why, "init_constant");
    run.flat(args->dim[0], fill<T>, (T *)args->operand[0], init_part(args), (float)args->attr[0]);
    return run.status;
  });
}

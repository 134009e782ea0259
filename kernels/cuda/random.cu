/* random.cu -- dropout and initial values: numbers that are a function of what they are for. */
#include "kernels/cuda/vectors.h"
extern "C" {
#include "kernels/init.h"
#include "kernels/math/dropout.h"
#include "kernels/math/philox.h"
}

enum { WORDS = 4 }; /* of random bits, made at once */

/* A vector of WORDS neighbours or more has whole runs of words. */
template <class T, int V>
__global__ void drop(const T *x, T *y, int64_t n, DropoutShape shape, const uint64_t *seed,
                     const int64_t *step, uint64_t record_key, uint32_t threshold, float scale) {
  const uint64_t key = philox_mix(*seed, record_key), number = (uint64_t)*step;
  for (EACH_ELEMENT(i, n / V)) {
    const uint64_t element = (uint64_t)dropout_element(&shape, i * V);
    float value[V];
    uint32_t word[V < WORDS ? WORDS : V];
    load_vector<V>(x + i * V, value);
#pragma unroll
    for (int first = 0; first < V; first += WORDS)
      philox4(key, number, element / WORDS + first / WORDS, word + first);
#pragma unroll
    for (int v = 0; v < V; v++) {
      bool keep = (V < WORDS ? word[element % WORDS] : word[v]) >= threshold;
      value[v] = keep ? value[v] * scale : 0;
    }
    store_vector<V>(y + i * V, value);
  }
}

/* Neighbours of x are neighbours in the mask, and vectors of them begin with word 0. */
static bool drops_vectors(const DropoutShape &s, int64_t count) {
  const int64_t piece = s.part * s.inner, all = s.all_parts * s.inner;
  return piece % count == 0 && all % WORDS == 0 && s.part_first * s.inner % WORDS == 0;
}

CUDA_KERNEL(dropout) {
  DropoutShape shape = dropout_shape(args);
  shape.sample_first = *args->sample_first;
  return with_float(args->dtype[0], why, [=](auto number) {
    typedef decltype(number) T;
    int64_t n = shape.batch * shape.seq * shape.outer * shape.part * shape.inner;
    const T *x = (const T *)args->operand[0];
    T *y = (T *)args->operand[1];
    bool in_vectors =
        is_aligned(x) && is_aligned(y) && drops_vectors(shape, VECTOR_BYTES / (int64_t)sizeof(T));
    Launch run(args, why, "dropout");
    with_vectors<sizeof(T)>(in_vectors, [&](auto count) {
      constexpr int V = decltype(count)::VALUE;
      run.flat(n / V, drop<T, V>, x, y, n, shape, (const uint64_t *)args->control[0],
               (const int64_t *)args->control[1], args->key, philox_threshold(args->attr[0]),
               (float)(1 / (1 - args->attr[0])));
    });
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

template <class T> __global__ void fill_plain(T *out, InitPart part, double value) {
  for (EACH_ELEMENT(i, part.n))
    out[i] = init_run(&part, i).padding ? T() : (T)value;
}

template <class T> static KernelStatus run_fill_plain(const KernelArgs *args, const char **why) {
  Launch run(args, why, "init_constant");
  run.flat(args->dim[0], fill_plain<T>, (T *)args->operand[0], init_part(args), args->attr[0]);
  return run.status;
}

CUDA_KERNEL(init_constant) {
  switch (args->dtype[0]) {
  case DTYPE_F64: return run_fill_plain<double>(args, why);  /* partial sums of the norm */
  case DTYPE_I16: return run_fill_plain<int16_t>(args, why); /* low halves */
  case DTYPE_U8: return run_fill_plain<uint8_t>(args, why);  /* codes */
  default: break;
  }
  return with_float(args->dtype[0], why, [=](auto number) {
    typedef decltype(number) T;
    Launch run(args, why, "init_constant");
    run.flat(args->dim[0], fill<T>, (T *)args->operand[0], init_part(args), (float)args->attr[0]);
    return run.status;
  });
}

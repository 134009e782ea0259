/* arithmetic.cu -- a op b with b broadcast, the sum that undoes a broadcast, and scale * x + shift.
 */
#include "kernels/cuda/columns.h"

enum { AXES_MAX = 8 };

/* By value in a kernel's arguments. */
struct Broadcast {
  int64_t axes, count; /* count: elements of the larger tensor */
  int64_t size[AXES_MAX], stride[AXES_MAX];
};

static bool broadcast_of(const KernelArgs *args, Broadcast *b, const char **why) {
  *why = "kernels for GPUs take at most 8 axes";
  b->axes = args->dim[0];
  b->count = 1;
  if (b->axes > AXES_MAX) return false;
  for (int64_t axis = 0; axis < b->axes; axis++) {
    b->size[axis] = args->dim[1 + axis];
    b->stride[axis] = args->dim[1 + b->axes + axis];
    b->count *= b->size[axis];
  }
  return true;
}

/* Where in the smaller tensor element i of the larger one finds its partner. */
static __device__ int64_t partner(const Broadcast &b, int64_t i) {
  int64_t at = 0;
  for (int64_t axis = b.axes - 1; axis >= 0; axis--) {
    at += i % b.size[axis] * b.stride[axis];
    i /= b.size[axis];
  }
  return at;
}

/* The operation is an argument of the kernel, not of its template: memory bounds it and all threads
 * take the same branch, but three kernels for each of 27 mixes of dtypes take long to compile. */
enum Operation { OPERATION_ADD, OPERATION_SUBTRACT, OPERATION_MULTIPLY };

static __device__ float operate(Operation operation, float a, float b) {
  return operation == OPERATION_ADD ? a + b : operation == OPERATION_SUBTRACT ? a - b : a * b;
}

/* How many elements the smaller tensor has if it is dense and all of it is repeated, as a bias or a
 * table of positions is; else 0. */
static int64_t period_of(const Broadcast &b) {
  int64_t elements = 1;
  bool is_repeated = false;
  for (int64_t axis = b.axes - 1; axis >= 0; axis--) {
    if (b.size[axis] == 1) continue;
    is_repeated = is_repeated || b.stride[axis] == 0;
    if (b.stride[axis] != (is_repeated ? 0 : elements)) return 0;
    if (!is_repeated) elements *= b.size[axis];
  }
  return elements;
}

template <class A, class B, class Y, int V>
__global__ void combine_vectors(Operation operation, const A *a, const B *b, Y *y, int64_t n,
                                int64_t period) {
  each_vector<V>(n, [=](int64_t i, auto count) {
    constexpr int W = decltype(count)::VALUE;
    float value[W], other[W];
    load_vector<W>(a + i, value);
    load_vector<W>(b + (period == n ? i : i % period), other);
#pragma unroll
    for (int v = 0; v < W; v++)
      value[v] = operate(operation, value[v], other[v]);
    store_vector<W>(y + i, value);
  });
}

template <class A, class B, class Y>
__global__ void combine(Operation operation, const A *a, const B *b, Y *y, Broadcast shape) {
  for (EACH_ELEMENT(i, shape.count))
    put(y + i, operate(operation, to_float(a[i]), to_float(b[partner(shape, i)])));
}

template <class A, class B, class Y>
static void issue_combine(Launch &run, Operation operation, const A *a, const B *b, Y *y,
                          const Broadcast &shape) {
  constexpr size_t larger = sizeof(A) > sizeof(B) ? sizeof(A) : sizeof(B);
  constexpr size_t largest = sizeof(Y) > larger ? sizeof(Y) : larger;
  const int64_t n = shape.count, period = period_of(shape);
  const bool in_vectors = is_aligned(a) && is_aligned(b) && is_aligned(y) &&
                          (period == n || period % (VECTOR_BYTES / (int64_t)largest) == 0);
  if (period == 0) {
    run.flat(n, combine<A, B, Y>, operation, a, b, y, shape);
    return;
  }
  with_vectors<largest>(in_vectors, [&](auto count) {
    constexpr int V = decltype(count)::VALUE;
    run.vectors<V>(n, combine_vectors<A, B, Y, V>, operation, a, b, y, n, period);
  });
}

static KernelStatus run_combine(const KernelArgs *args, const char **why, Operation operation,
                                const char *name) {
  Broadcast shape;
  if (!broadcast_of(args, &shape, why)) return KERNEL_REFUSED;
  return with_floats(args->dtype[0], args->dtype[1], why, [=](auto first, auto second) {
    typedef decltype(first) A;
    typedef decltype(second) B;
    return with_float(args->dtype[2], why, [=](auto third) {
      typedef decltype(third) Y;
      Launch run(args, why, name);
      issue_combine(run, operation, (const A *)args->operand[0], (const B *)args->operand[1],
                       (Y *)args->operand[2], shape);
      return run.status;
    });
  });
}

CUDA_KERNEL(add) {
  return run_combine(args, why, OPERATION_ADD, "add");
}
CUDA_KERNEL(subtract) {
  return run_combine(args, why, OPERATION_SUBTRACT, "subtract");
}
CUDA_KERNEL(multiply) {
  return run_combine(args, why, OPERATION_MULTIPLY, "multiply");
}

/* Element number `i` of the axes that are kept (or summed), in order, as an index into x. */
static __device__ int64_t x_index(const Broadcast &b, bool kept, int64_t i) {
  int64_t at = 0, x_stride = 1;
  for (int64_t axis = b.axes - 1; axis >= 0; axis--) {
    if ((b.stride[axis] != 0) == kept) {
      at += i % b.size[axis] * x_stride;
      i /= b.size[axis];
    }
    x_stride *= b.size[axis];
  }
  return at;
}

enum { REPEATS_AT_ONCE = 8 };

/* Where all of y is repeated in x. */
template <class T, class Y, int V>
__global__ void sum_repeats(const T *x, Y *y, int64_t period, int64_t repeats, bool accumulate) {
  each_vector<V>(period, [=](int64_t i, auto count) {
    constexpr int W = decltype(count)::VALUE;
    float sum[W] = {};
    for (int64_t first = 0; first < repeats; first += REPEATS_AT_ONCE) {
      Vector<T, W> vector[REPEATS_AT_ONCE] = {};
#pragma unroll
      for (int k = 0; k < REPEATS_AT_ONCE; k++)
        if (first + k < repeats) vector[k] = *(const Vector<T, W> *)(x + (first + k) * period + i);
#pragma unroll
      for (int k = 0; k < REPEATS_AT_ONCE; k++)
#pragma unroll
        for (int v = 0; v < W; v++)
          sum[v] += to_float(vector[k].at[v]);
    }
    float before[W] = {};
    if (accumulate) load_vector<W>(y + i, before);
#pragma unroll
    for (int v = 0; v < W; v++)
      sum[v] += before[v];
    store_vector<W>(y + i, sum);
  });
}

/* Few elements that are repeated often: blocks share the repetitions. */
template <class T, class Y>
static void issue_repeats(Launch &run, const T *x, Y *y, int64_t period, int64_t repeats,
                          bool accumulate) {
  enum { FEW = 32 * 1024, OFTEN = 128 };
  constexpr size_t larger = sizeof(T) > sizeof(Y) ? sizeof(T) : sizeof(Y);
  const bool in_vectors =
      is_aligned(x) && is_aligned(y) && period % (VECTOR_BYTES / (int64_t)larger) == 0;
  if (period < FEW && repeats >= OFTEN) {
    sum_columns(run, x, y, repeats, period, accumulate, nullptr);
    return;
  }
  with_vectors<larger>(in_vectors, [&](auto count) {
    constexpr int V = decltype(count)::VALUE;
    run.vectors<V>(period, sum_repeats<T, Y, V>, x, y, period, repeats, accumulate);
  });
}

/* A thread for each element of y: neighbours read neighbours where the last axis is kept. */
template <class T, class Y>
__global__ void sum_each(const T *x, Y *y, Broadcast b, int64_t kept_count, int64_t summed_count,
                         bool accumulate) {
  for (EACH_ELEMENT(kept, kept_count)) {
    int64_t from = x_index(b, true, kept);
    float sum = 0;
    for (int64_t i = 0; i < summed_count; i++)
      sum += to_float(x[from + x_index(b, false, i)]);
    put_or_add(y + partner(b, from), sum, accumulate);
  }
}

/* One block for each element of y; used where y has few elements. */
template <class T, class Y>
__global__ void sum_rows(const T *x, Y *y, Broadcast b, int64_t summed_count, bool accumulate) {
  int64_t from = x_index(b, true, blockIdx.x);
  float sum = 0;
  for (int64_t i = threadIdx.x; i < summed_count; i += blockDim.x)
    sum += to_float(x[from + x_index(b, false, i)]);
  sum = block_sum(sum);
  if (threadIdx.x == 0) put_or_add(y + partner(b, from), sum, accumulate);
}

CUDA_KERNEL(sum_to) {
  enum { FEW = 4096, STRIP_LEAST = 8 };
  Broadcast shape;
  if (!broadcast_of(args, &shape, why)) return KERNEL_REFUSED;
  int64_t kept = 1, summed = 1;
  for (int64_t axis = 0; axis < shape.axes; axis++)
    *(shape.stride[axis] != 0 ? &kept : &summed) *= shape.size[axis];
  return with_floats(args->dtype[0], args->dtype[1], why, [=](auto number, auto sum) {
    typedef decltype(number) T;
    typedef decltype(sum) Y;
    const T *x = (const T *)args->operand[0];
    Y *y = (Y *)args->operand[1];
    const bool adds = args->accumulate;
    Launch run(args, why, "sum_to");
    if (kept >= STRIP_LEAST && period_of(shape) == kept)
      issue_repeats(run, x, y, kept, summed, adds);
    else if (kept < FEW && summed > ROW_THREADS)
      run.blocks(dim3((unsigned)kept), ROW_THREADS, sum_rows<T, Y>, x, y, shape, summed, adds);
    else
      run.flat(kept, sum_each<T, Y>, x, y, shape, kept, summed, adds);
    return run.status;
  });
}

template <class T, int V>
__global__ void scale_shift(const T *x, T *y, int64_t n, float scale, float shift) {
  each_vector<V>(n, [=](int64_t i, auto count) {
    constexpr int W = decltype(count)::VALUE;
    float value[W];
    load_vector<W>(x + i, value);
#pragma unroll
    for (int v = 0; v < W; v++)
      value[v] = scale * value[v] + shift;
    store_vector<W>(y + i, value);
  });
}

CUDA_KERNEL(affine) {
  return with_float(args->dtype[0], why, [=](auto number) {
    typedef decltype(number) T;
    const T *x = (const T *)args->operand[0];
    T *y = (T *)args->operand[1];
    Launch run(args, why, "affine");
    with_vectors<sizeof(T)>(is_aligned(x) && is_aligned(y), [&](auto count) {
      constexpr int V = decltype(count)::VALUE;
      run.vectors<V>(args->dim[0], scale_shift<T, V>, x, y, args->dim[0], (float)args->attr[0],
                     (float)args->attr[1]);
    });
    return run.status;
  });
}

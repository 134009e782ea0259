/* copy.cu -- numbers moved, and rounded to another dtype. */
#include "kernels/cuda/vectors.h"
extern "C" {
#include "kernels/runs.h"
}

template <class X, class Y, int V> __global__ void convert(const X *x, Y *y, int64_t n) {
  each_vector<V>(n, [=](int64_t i, auto count) {
    constexpr int W = decltype(count)::VALUE;
    float value[W];
    load_vector<W>(x + i, value);
    store_vector<W>(y + i, value);
  });
}

CUDA_KERNEL(cast) {
  return with_floats(args->dtype[0], args->dtype[1], why, [=](auto from, auto to) {
    typedef decltype(from) X;
    typedef decltype(to) Y;
    const X *x = (const X *)args->operand[0];
    Y *y = (Y *)args->operand[1];
    constexpr size_t LARGER = sizeof(X) > sizeof(Y) ? sizeof(X) : sizeof(Y);
    Launch run(args, why, "cast");
    with_vectors<LARGER>(is_aligned(x) && is_aligned(y), [&](auto count) {
      constexpr int V = decltype(count)::VALUE;
      run.vectors<V>(args->dim[0], convert<X, Y, V>, x, y, args->dim[0]);
    });
    return run.status;
  });
}

/* 16 bytes that are moved as they are. */
struct alignas(16) Wide {
  uint64_t at[2];
};

/* Calls `body` with an integer of the size of `dtype`. */
template <class Body> static KernelStatus with_size(uint32_t dtype, const char **why, Body body) {
  switch (dtype_bytes((DType)dtype)) {
  case 2: return body(uint16_t());
  case 4: return body(uint32_t());
  case 8: return body(uint64_t());
  }
  *why = "its dtype has another size";
  return KERNEL_REFUSED;
}

/* Calls `body` with what is moved at once and its number of elements: 16 bytes where both tensors
 * begin at such a multiple and all of `counts` are multiples; else one. */
template <class Body>
static KernelStatus with_moved(const KernelArgs *args, const int64_t *counts, int64_t count,
                               const char **why, Body body) {
  const int64_t each = VECTOR_BYTES / (int64_t)dtype_bytes((DType)args->dtype[0]);
  bool is_wide = is_aligned(args->operand[0]) && is_aligned(args->operand[1]);
  for (int64_t i = 0; i < count; i++)
    is_wide = is_wide && counts[i] % each == 0;
  if (is_wide) return body(Wide(), each);
  return with_size(args->dtype[0], why, [=](auto number) { return body(number, (int64_t)1); });
}

template <class T>
__global__ void copy_rows(const T *x, T *y, int64_t n, int64_t cols, int64_t x_stride,
                          int64_t y_stride) {
  for (EACH_ELEMENT(i, n))
    y[i / cols * y_stride + i % cols] = x[i / cols * x_stride + i % cols];
}

CUDA_KERNEL(copy) {
  const int64_t *dim = args->dim;
  const int64_t counts[] = {dim[1], dim[2], dim[3]};
  return with_moved(args, counts, 3, why, [=](auto moved, int64_t each) {
    typedef decltype(moved) T;
    const int64_t cols = dim[1] / each;
    Launch run(args, why, "copy");
    run.flat(dim[0] * cols, copy_rows<T>, (const T *)args->operand[0], (T *)args->operand[1],
             dim[0] * cols, cols, dim[2] / each, dim[3] / each);
    return run.status;
  });
}

template <class T>
__global__ void take_part(const T *x, T *y, int64_t n, int64_t whole, int64_t inner, Runs runs) {
  for (EACH_ELEMENT(i, n)) {
    int64_t row = i / inner;
    int64_t from = row / runs.seq * whole + runs_position(runs, row % runs.seq);
    y[i] = x[from * inner + i % inner];
  }
}

CUDA_KERNEL(slice) {
  int64_t outer = args->dim[0], whole = args->dim[1], part = args->dim[2], inner = args->dim[3];
  Runs runs = {part, (int64_t)args->attr[0], (int64_t)args->attr[1]};
  return with_moved(args, &inner, 1, why, [=](auto moved, int64_t each) {
    typedef decltype(moved) T;
    const int64_t n = outer * part * (inner / each);
    Launch run(args, why, "slice");
    run.flat(n, take_part<T>, (const T *)args->operand[0], (T *)args->operand[1], n, whole,
             inner / each, runs);
    return run.status;
  });
}

/* The pieces of one pair: `times` pieces of `elements` for each member. */
struct Pieces {
  int64_t members, share; /* share: elements of a member in all pairs */
  int64_t times, elements;
  int64_t whole_first, member_first; /* where the pair begins, in the whole and in a member */
};

template <class T> __global__ void move_pieces(const T *x, T *y, Pieces p, bool gathers) {
  for (EACH_ELEMENT(i, p.times * p.members * p.elements)) {
    int64_t piece = i / p.elements, member = piece % p.members, time = piece / p.members;
    int64_t gathered = member * p.share + p.member_first + time * p.elements + i % p.elements;
    int64_t whole = p.whole_first + i;
    y[gathers ? gathered : whole] = x[gathers ? whole : gathered];
  }
}

static KernelStatus run_pieces(const KernelArgs *args, const char **why, const char *name,
                               bool gathers) {
  const int64_t *dim = args->dim;
  int64_t counts[KERNEL_DIMS_MAX] = {0};
  for (int64_t k = 0; k < dim[1]; k++)
    counts[k] = dim[3 + 2 * k];
  return with_moved(args, counts, dim[1], why, [=](auto moved, int64_t each) {
    typedef decltype(moved) T;
    Launch run(args, why, name);
    Pieces p = {dim[0], 0, 0, 0, 0, 0};
    for (int64_t k = 0; k < dim[1]; k++)
      p.share += dim[2 + 2 * k] * dim[3 + 2 * k] / each;
    for (int64_t k = 0; k < dim[1]; k++) {
      p.times = dim[2 + 2 * k];
      p.elements = dim[3 + 2 * k] / each;
      run.flat(p.times * p.members * p.elements, move_pieces<T>, (const T *)args->operand[0],
               (T *)args->operand[1], p, gathers);
      p.whole_first += p.times * p.members * p.elements;
      p.member_first += p.times * p.elements;
    }
    return run.status;
  });
}

CUDA_KERNEL(gather_pieces) {
  return run_pieces(args, why, "gather_pieces", true);
}
CUDA_KERNEL(scatter_pieces) {
  return run_pieces(args, why, "scatter_pieces", false);
}

/* activation.cu -- element by element; see reference/activation.c for the formulas. */
#include "kernels/cuda/vectors.h"

struct Gelu {
  static __device__ float inner(float x) {
    return tanhf(0.79788456080286535588f * (x + 0.044715f * x * x * x));
  }
  static __device__ float value(float x) { return 0.5f * x * (1 + inner(x)); }
  static __device__ float slope(float x) {
    float t = inner(x), inner_slope = 0.79788456080286535588f * (1 + 3 * 0.044715f * x * x);
    return 0.5f * (1 + t) + 0.5f * x * (1 - t * t) * inner_slope;
  }
};

struct GeluErf {
  static __device__ float below(float x) { return 0.5f * erfcf(-0.70710678118654752440f * x); }
  static __device__ float value(float x) { return x * below(x); }
  static __device__ float slope(float x) {
    return below(x) + x * 0.39894228040143267794f * expf(-0.5f * x * x);
  }
};

struct Silu {
  static __device__ float value(float x) { return x / (1 + expf(-x)); }
  static __device__ float slope(float x) {
    float sigmoid = 1 / (1 + expf(-x));
    return sigmoid * (1 + x * (1 - sigmoid));
  }
};

struct Relu { /* a NaN stays one */
  static __device__ float value(float x) { return x < 0 ? 0 : x; }
  static __device__ float slope(float x) { return x > 0 ? 1.0f : 0.0f; }
};

struct Tanh {
  static __device__ float value(float x) { return tanhf(x); }
  static __device__ float slope(float x) {
    float t = tanhf(x);
    return 1 - t * t;
  }
};

template <class F, class T, int V> __global__ void forward(const T *x, T *y, int64_t n) {
  each_vector<V>(n, [=](int64_t i, auto count) {
    constexpr int W = decltype(count)::VALUE;
    float value[W];
    load_vector<W>(x + i, value);
#pragma unroll
    for (int v = 0; v < W; v++)
      value[v] = F::value(value[v]);
    store_vector<W>(y + i, value);
  });
}

template <class F, class T, int V>
__global__ void backward(const T *d_y, const T *x, T *d_x, int64_t n) {
  each_vector<V>(n, [=](int64_t i, auto count) {
    constexpr int W = decltype(count)::VALUE;
    float slope[W], value[W];
    load_vector<W>(d_y + i, slope);
    load_vector<W>(x + i, value);
#pragma unroll
    for (int v = 0; v < W; v++)
      slope[v] *= F::slope(value[v]);
    store_vector<W>(d_x + i, slope);
  });
}

template <class F>
static KernelStatus run_forward(const KernelArgs *args, const char **why, const char *name) {
  return with_float(args->dtype[0], why, [=](auto number) {
    typedef decltype(number) T;
    const T *x = (const T *)args->operand[0];
    T *y = (T *)args->operand[1];
    Launch run(args, why, name);
    with_vectors<sizeof(T)>(is_aligned(x) && is_aligned(y), [&](auto count) {
      constexpr int V = decltype(count)::VALUE;
      run.vectors<V>(args->dim[0], forward<F, T, V>, x, y, args->dim[0]);
    });
    return run.status;
  });
}

template <class F>
static KernelStatus run_backward(const KernelArgs *args, const char **why, const char *name) {
  return with_float(args->dtype[0], why, [=](auto number) {
    typedef decltype(number) T;
    const T *d_y = (const T *)args->operand[0], *x = (const T *)args->operand[1];
    T *d_x = (T *)args->operand[2];
    Launch run(args, why, name);
    with_vectors<sizeof(T)>(is_aligned(d_y) && is_aligned(x) && is_aligned(d_x), [&](auto count) {
      constexpr int V = decltype(count)::VALUE;
      run.vectors<V>(args->dim[0], backward<F, T, V>, d_y, x, d_x, args->dim[0]);
    });
    return run.status;
  });
}

CUDA_KERNEL(gelu) {
  return run_forward<Gelu>(args, why, "gelu");
}
CUDA_KERNEL(gelu_erf) {
  return run_forward<GeluErf>(args, why, "gelu_erf");
}
CUDA_KERNEL(silu) {
  return run_forward<Silu>(args, why, "silu");
}
CUDA_KERNEL(relu) {
  return run_forward<Relu>(args, why, "relu");
}
CUDA_KERNEL(tanh) {
  return run_forward<Tanh>(args, why, "tanh");
}
CUDA_KERNEL(gelu_backward) {
  return run_backward<Gelu>(args, why, "gelu_backward");
}
CUDA_KERNEL(gelu_erf_backward) {
  return run_backward<GeluErf>(args, why, "gelu_erf_backward");
}
CUDA_KERNEL(silu_backward) {
  return run_backward<Silu>(args, why, "silu_backward");
}
CUDA_KERNEL(relu_backward) {
  return run_backward<Relu>(args, why, "relu_backward");
}
CUDA_KERNEL(tanh_backward) {
  return run_backward<Tanh>(args, why, "tanh_backward");
}

/* ---- a gate: an activation times another value, in one pass. Results are bitwise those of the
 * two: the value between is rounded as it is in memory. ---- */

/* The operands of a fused pair; `between` is NULL where the second writes over it. */
template <class T> struct Gate {
  const T *a, *b, *x; /* x: backward alone */
  T *between, *y;
  int64_t n;

  bool is_in_vectors() const {
    return is_aligned(a) && is_aligned(b) && is_aligned(x) && is_aligned(between) && is_aligned(y);
  }
};

/* between = F(a), y = between * b */
template <class F, class T, int V> __global__ void gate(Gate<T> g) {
  each_vector<V>(g.n, [=](int64_t i, auto count) {
    constexpr int W = decltype(count)::VALUE;
    float value[W], other[W];
    load_vector<W>(g.a + i, value);
    load_vector<W>(g.b + i, other);
#pragma unroll
    for (int v = 0; v < W; v++)
      value[v] = rounded<T>(F::value(value[v]));
    if (g.between != nullptr) store_vector<W>(g.between + i, value);
#pragma unroll
    for (int v = 0; v < W; v++)
      value[v] *= other[v];
    store_vector<W>(g.y + i, value);
  });
}

/* between = a * b, y = between times the slope of F at x */
template <class F, class T, int V> __global__ void gate_backward(Gate<T> g) {
  each_vector<V>(g.n, [=](int64_t i, auto count) {
    constexpr int W = decltype(count)::VALUE;
    float slope[W], other[W], value[W];
    load_vector<W>(g.a + i, slope);
    load_vector<W>(g.b + i, other);
    load_vector<W>(g.x + i, value);
#pragma unroll
    for (int v = 0; v < W; v++)
      slope[v] = rounded<T>(slope[v] * other[v]);
    if (g.between != nullptr) store_vector<W>(g.between + i, slope);
#pragma unroll
    for (int v = 0; v < W; v++)
      slope[v] *= F::slope(value[v]);
    store_vector<W>(g.y + i, slope);
  });
}

/* The activation's operands are x, y; those of the product a, b, y. */
template <class F>
static KernelStatus run_gate(const KernelFused *, const KernelArgs *activation,
                             const KernelArgs *product, const char **why) {
  void *const *f = activation->operand, *const *m = product->operand;
  const int other = m[0] == f[1] ? 1 : 0;
  if (m[1 - other] != f[1] || m[other] == f[1]) {
    KernelStatus ended = run_forward<F>(activation, why, "gate");
    return ended == KERNEL_DONE ? cuda_multiply(product, why) : ended;
  }
  return with_float(activation->dtype[0], why, [=](auto number) {
    typedef decltype(number) T;
    const Gate<T> g = {(const T *)f[0], (const T *)m[other],
                       nullptr,         m[2] == f[1] ? nullptr : (T *)f[1],
                       (T *)m[2],       activation->dim[0]};
    Launch run(activation, why, "gate");
    with_vectors<sizeof(T)>(g.is_in_vectors(), [&](auto count) {
      constexpr int V = decltype(count)::VALUE;
      run.vectors<V>(g.n, gate<F, T, V>, g);
    });
    return run.status;
  });
}

/* The product's operands are a, b, y; those of the slope d_y, x, d_x. */
template <class F>
static KernelStatus run_gate_backward(const KernelFused *, const KernelArgs *product,
                                      const KernelArgs *slope, const char **why) {
  void *const *m = product->operand, *const *f = slope->operand;
  if (m[2] != f[0] || m[2] == f[1]) {
    KernelStatus ended = cuda_multiply(product, why);
    return ended == KERNEL_DONE ? run_backward<F>(slope, why, "gate_backward") : ended;
  }
  return with_float(slope->dtype[0], why, [=](auto number) {
    typedef decltype(number) T;
    const Gate<T> g = {(const T *)m[0], (const T *)m[1],
                       (const T *)f[1], f[2] == m[2] ? nullptr : (T *)m[2],
                       (T *)f[2],       slope->dim[0]};
    Launch run(slope, why, "gate_backward");
    with_vectors<sizeof(T)>(g.is_in_vectors(), [&](auto count) {
      constexpr int V = decltype(count)::VALUE;
      run.vectors<V>(g.n, gate_backward<F, T, V>, g);
    });
    return run.status;
  });
}

CUDA_FUSION(silu) {
  (void)kernel, (void)why;
  if (second->id == KERNEL_multiply && combines_all(&use[1], use[0].dim[0], use[0].dtype[0]))
    fused->run = run_gate<Silu>;
  return KERNEL_DONE;
}

CUDA_FUSION(gelu_erf) {
  (void)kernel, (void)why;
  if (second->id == KERNEL_multiply && combines_all(&use[1], use[0].dim[0], use[0].dtype[0]))
    fused->run = run_gate<GeluErf>;
  return KERNEL_DONE;
}

CUDA_FUSION(multiply) {
  (void)kernel, (void)why;
  if (!combines_all(&use[0], use[1].dim[0], use[1].dtype[0])) return KERNEL_DONE;
  if (second->id == KERNEL_silu_backward) fused->run = run_gate_backward<Silu>;
  if (second->id == KERNEL_gelu_backward) fused->run = run_gate_backward<Gelu>;
  if (second->id == KERNEL_gelu_erf_backward) fused->run = run_gate_backward<GeluErf>;
  return KERNEL_DONE;
}

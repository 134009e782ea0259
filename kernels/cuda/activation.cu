/* activation.cu -- activations and gates, element by element; see reference/activation.c for the
 * formulas. */
#include "kernels/cuda/columns.h"
extern "C" {
#include "kernels/contract/gate.h"
}

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

/* ---- the gradient of a bias in the pass that makes the rows that it sums, so that they are not
 * read again. Results are bitwise those of the two kernels: what is summed is rounded as it is in
 * memory, in the order of linear_db. ---- */

/* Rows of d_x, which are made from those of d_y and x, and written. */
template <class F, class T_> struct SlopeRows {
  typedef T_ T;
  static constexpr int AT_ONCE = 2; /* of four, ptxas spills registers */
  static constexpr bool WRITES = true;
  template <int V> struct Loaded { Vector<T, V> d_y, x; };
  const T *d_y, *x;
  T *d_x;

  template <int V> __device__ void load(int64_t at, Loaded<V> *to) const {
    to->d_y = *(const Vector<T, V> *)(d_y + at);
    to->x = *(const Vector<T, V> *)(x + at);
  }
  template <int V> __device__ void numbers(int64_t at, const Loaded<V> &loaded, float *to) const {
#pragma unroll
    for (int v = 0; v < V; v++)
      to[v] = to_float(loaded.d_y.at[v]) * F::slope(to_float(loaded.x.at[v]));
    store_vector<V>(d_x + at, to);
#pragma unroll
    for (int v = 0; v < V; v++)
      to[v] = rounded<T>(to[v]);
  }
};

template <class F, class T, class G>
static KernelStatus issue_summed(const KernelArgs *slope, const KernelArgs *sum, const char **why) {
  constexpr int V = VECTOR_BYTES / (int)sizeof(T);
  typedef SlopeRows<F, T> Rows;
  void *const *at = slope->operand;
  const int64_t rows = sum->dim[0], width = sum->dim[1];
  const ColumnSums<Rows, G> sums = {{(const T *)at[0], (const T *)at[1], (T *)at[2]},
                                    (G *)sum->operand[1],
                                    rows,
                                    width,
                                    rows,
                                    sum->accumulate};
  Launch run(slope, why, "activation_backward_db");
  issue_strips<Rows, G, V, WORK_COLUMN_STRIP / VECTOR_BYTES>(run, sums, (float *)sum->operand[2]);
  return run.status;
}

/* True if the sum is that of the rows which the slope writes, in whole vectors, with scratch. */
static bool sums_vectors(const KernelArgs *slope, const KernelArgs *sum) {
  const int64_t element = dtype_bytes((DType)slope->dtype[2]);
  return sum->operand[0] == slope->operand[2] && sum->operand_count > 2 &&
         sum->dim[1] * element % VECTOR_BYTES == 0 && is_aligned(slope->operand[0]) &&
         is_aligned(slope->operand[1]) && is_aligned(slope->operand[2]);
}

template <class F>
static KernelStatus run_summed(const KernelFused *fused, const KernelArgs *args, const char **why) {
  const KernelArgs *slope = &args[0], *sum = &args[1];
  if (!sums_vectors(slope, sum)) {
    KernelStatus ended = run_backward<F>(slope, why, "activation_backward");
    return ended == KERNEL_DONE ? cuda_linear_db(sum, why) : ended;
  }
  (void)fused;
  return with_float(slope->dtype[0], why, [=](auto number) {
    typedef decltype(number) T;
    return sum->dtype[1] == DTYPE_F32 ? issue_summed<F, T, float>(slope, sum, why)
                                      : issue_summed<F, T, T>(slope, sum, why);
  });
}

/* The sum is of all elements, in f32 or their own type. */
template <class F>
static KernelStatus fuse_summed(const Kernel *const *kernel, const KernelUse *use, int32_t count,
                                KernelFused *fused) {
  const uint32_t dtype = use[0].dtype[2];
  const bool is_sum = count == 2 && kernel[1]->id == KERNEL_linear_db &&
                      use[1].dim[0] * use[1].dim[1] == use[0].dim[0] && use[1].dtype[0] == dtype;
  if (is_sum && (use[1].dtype[1] == DTYPE_F32 || use[1].dtype[1] == dtype))
    fused->run = run_summed<F>;
  return KERNEL_DONE;
}

#define FUSE_SUMMED(name, F)                                                                       \
  CUDA_FUSION(name) {                                                                              \
    (void)why;                                                                                     \
    return fuse_summed<F>(kernel, use, count, fused);                                              \
  }
FUSE_SUMMED(gelu_backward, Gelu)
FUSE_SUMMED(gelu_erf_backward, GeluErf)
FUSE_SUMMED(silu_backward, Silu)
FUSE_SUMMED(relu_backward, Relu)
FUSE_SUMMED(tanh_backward, Tanh)

/* ---- gates: an activation times another value, in one pass. Results are bitwise those of the two
 * kernels: the intermediate value is rounded as if it were stored in memory. ---- */

template <class F, class T, int V> __global__ void gate(const T *a, const T *b, T *y, int64_t n) {
  each_vector<V>(n, [=](int64_t i, auto count) {
    constexpr int W = decltype(count)::VALUE;
    float value[W], other[W];
    load_vector<W>(a + i, value);
    load_vector<W>(b + i, other);
#pragma unroll
    for (int v = 0; v < W; v++)
      value[v] = rounded<T>(F::value(value[v])) * other[v];
    store_vector<W>(y + i, value);
  });
}

/* The operands of gate_backward. */
template <class T> struct GateBackward {
  const T *d_y, *a, *b;
  T *d_a, *d_b, *y;
  int64_t n;

  bool is_in_vectors() const {
    return is_aligned(d_y) && is_aligned(a) && is_aligned(b) && is_aligned(d_a) &&
           is_aligned(d_b) && is_aligned(y);
  }
};

/* Reads three values an element and writes three: all that backward needs of a gate. */
template <class F, class T, int V> __global__ void gate_backward(GateBackward<T> g) {
  each_vector<V>(g.n, [=](int64_t i, auto count) {
    constexpr int W = decltype(count)::VALUE;
    float slope[W], x[W], other[W], value[W];
    load_vector<W>(g.d_y + i, slope);
    load_vector<W>(g.a + i, x);
    load_vector<W>(g.b + i, other);
#pragma unroll
    for (int v = 0; v < W; v++) {
      value[v] = rounded<T>(F::value(x[v]));
      x[v] = rounded<T>(slope[v] * other[v]) * F::slope(x[v]);
      slope[v] *= value[v];
      value[v] *= other[v];
    }
    store_vector<W>(g.d_a + i, x);
    store_vector<W>(g.d_b + i, slope);
    store_vector<W>(g.y + i, value);
  });
}

/* Calls `run` with the activation that attr `form` numbers. */
template <class Run> static KernelStatus with_form(const KernelArgs *args, Run run) {
  switch ((GateForm)args->attr[0]) {
  case GATE_GELU: return run(Gelu());
  case GATE_GELU_ERF: return run(GeluErf());
  case GATE_SILU: return run(Silu());
  case GATE_RELU: return run(Relu());
  case GATE_TANH:
  case GATE_COUNT: break;
  }
  return run(Tanh());
}

CUDA_KERNEL(gate) {
  return with_float(args->dtype[0], why, [=](auto number) {
    typedef decltype(number) T;
    const T *a = (const T *)args->operand[0], *b = (const T *)args->operand[1];
    T *y = (T *)args->operand[2];
    return with_form(args, [=](auto form) {
      typedef decltype(form) F;
      Launch run(args, why, "gate");
      with_vectors<sizeof(T)>(is_aligned(a) && is_aligned(b) && is_aligned(y), [&](auto count) {
        constexpr int V = decltype(count)::VALUE;
        run.vectors<V>(args->dim[0], gate<F, T, V>, a, b, y, args->dim[0]);
      });
      return run.status;
    });
  });
}

CUDA_KERNEL(gate_backward) {
  return with_float(args->dtype[0], why, [=](auto number) {
    typedef decltype(number) T;
    void *const *at = args->operand;
    const GateBackward<T> g = {(const T *)at[0], (const T *)at[1], (const T *)at[2], (T *)at[3],
                               (T *)at[4],       (T *)at[5],       args->dim[0]};
    return with_form(args, [=](auto form) {
      typedef decltype(form) F;
      Launch run(args, why, "gate_backward");
      with_vectors<sizeof(T)>(g.is_in_vectors(), [&](auto count) {
        constexpr int V = decltype(count)::VALUE;
        run.vectors<V>(g.n, gate_backward<F, T, V>, g);
      });
      return run.status;
    });
  });
}

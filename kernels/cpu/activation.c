/* activation.c -- gelu in both forms, silu, relu, tanh and their slopes, and gates, sixteen at a
 * time.
 *
 * gelu's tanh form is x * sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3), which keeps its relative
 * accuracy where 1 + tanh would cancel. */
#include "kernels/contract/gate.h"
#include "kernels/cpu/ranges.h"
#include "kernels/cpu/vec.h"

#define GELU_2U_1 1.5957691216057308f   /* 2 sqrt(2/pi) */
#define GELU_2U_3 0.071354816272600251f /* 2 sqrt(2/pi) 0.044715 */

ALWAYS_INLINE Vec gelu_sigmoid(Vec x) {
  Vec square = v_mul(x, x);
  return v_sigmoid(v_mul(x, v_fma(square, v_set(GELU_2U_3), v_set(GELU_2U_1))));
}

ALWAYS_INLINE Vec gelu_value(Vec x) {
  return v_mul(x, gelu_sigmoid(x));
}

/* s + x s (1 - s) (2u)' */
ALWAYS_INLINE Vec gelu_slope(Vec x) {
  Vec s = gelu_sigmoid(x), one = v_set(1.0f);
  Vec inner = v_fma(v_mul(x, x), v_set(3.0f * GELU_2U_3), v_set(GELU_2U_1));
  return v_fma(v_mul(v_mul(x, inner), s), v_sub(one, s), s);
}

/* e^(-x^2 / 2), which is the slope's other half, and the share of a standard normal below x: e t
 * P(t) beyond |x|, t = 1 / (1 + 0.4 |x| / sqrt(2)). P fits erfc(z) e^(z^2) / 2t, z = |x| / sqrt(2),
 * within 4e-9 over 0 < t <= 1 (Chebyshev interpolation), so the tail keeps its relative accuracy.
 */
ALWAYS_INLINE Vec normal_below(Vec x, Vec e) {
  static const float fit[] = {-0.0149347148643f, 0.0719227239032f,  -0.121526019185f,
                              0.0734084523191f,  -0.0269021711275f, 0.0435632307551f,
                              0.0590466038691f,  0.0859454764949f,  0.103800339529f,
                              0.112838159411f,   0.112837915724f};
  Vec one = v_set(1.0f), t = v_div(one, v_fma(v_abs(x), v_set(0.28284271247f), one));
  Vec p = v_set(fit[0]);
  for (size_t i = 1; i < sizeof fit / sizeof *fit; i++)
    p = v_fma(p, t, v_set(fit[i]));
  Vec tail = v_mul(v_mul(p, t), e);
  return v_less_select(x, v_set(0.0f), tail, v_sub(one, tail));
}

ALWAYS_INLINE Vec normal_fall(Vec x) {
  return v_exp(v_mul(v_set(-0.5f), v_mul(x, x)));
}

ALWAYS_INLINE Vec gelu_erf_value(Vec x) {
  return v_mul(x, normal_below(x, normal_fall(x)));
}

ALWAYS_INLINE Vec gelu_erf_slope(Vec x) {
  Vec e = normal_fall(x);
  return v_fma(v_mul(x, v_set(0.39894228040143268f)), e, normal_below(x, e));
}

ALWAYS_INLINE Vec silu_value(Vec x) {
  return v_mul(x, v_sigmoid(x));
}

ALWAYS_INLINE Vec silu_slope(Vec x) {
  Vec s = v_sigmoid(x), one = v_set(1.0f);
  return v_fma(v_mul(x, s), v_sub(one, s), s);
}

ALWAYS_INLINE Vec relu_value(Vec x) {
  return v_max(v_set(0.0f), x); /* NaN stays */
}

ALWAYS_INLINE Vec relu_slope(Vec x) {
  return v_less_select(v_set(0.0f), x, v_set(1.0f), v_set(0.0f));
}

ALWAYS_INLINE Vec tanh_value(Vec x) {
  return v_tanh(x);
}

/* 1 - tanh^2 = 4e / (1 + e)^2 with e = exp(-2|x|): nothing cancels. */
ALWAYS_INLINE Vec tanh_slope(Vec x) {
  Vec e = v_exp(v_mul(v_set(-2.0f), v_abs(x))), root = v_add(v_set(1.0f), e);
  return v_div(v_mul(v_set(4.0f), e), v_mul(root, root));
}

/* Where everything is bf16, elements are handled as even and odd ones, which is quicker than
 * widening. */
#define ACTIVATION(name)                                                                           \
  static void name##_range(const KernelArgs *args, const void *context, int64_t first,             \
                           int64_t end) {                                                          \
    const void *x = args->operand[0];                                                              \
    void *y = args->operand[1];                                                                    \
    DType x_dtype = (DType)args->dtype[0], y_dtype = (DType)args->dtype[1];                        \
    int64_t i = first;                                                                             \
    (void)context;                                                                                 \
    for (; x_dtype == DTYPE_BF16 && y_dtype == DTYPE_BF16 && i + 2 * LANES <= end;                 \
         i += 2 * LANES) {                                                                         \
      Vec even, odd;                                                                               \
      v_load_pairs((const uint16_t *)x + i, &even, &odd);                                          \
      v_store_pairs((uint16_t *)y + i, name##_value(even), name##_value(odd));                     \
    }                                                                                              \
    for (; i < end; i += LANES)                                                                    \
      v_put_n(y, i, end - i, y_dtype, name##_value(v_get_n(x, i, end - i, x_dtype)));              \
  }                                                                                                \
  void CPU(name)(const KernelArgs *args) {                                                         \
    if (cpu_floats(args, 2, 0))                                                                    \
      cpu_ranges(args, args->dim[0], GRAIN_ELEMENTS, name##_range, NULL);                          \
    else                                                                                           \
      reference_##name(args);                                                                      \
  }                                                                                                \
  static void name##_backward_range(const KernelArgs *args, const void *context, int64_t first,    \
                                    int64_t end) {                                                 \
    const void *d_y = args->operand[0], *x = args->operand[1];                                     \
    void *d_x = args->operand[2];                                                                  \
    DType d_y_dtype = (DType)args->dtype[0], x_dtype = (DType)args->dtype[1];                      \
    DType d_x_dtype = (DType)args->dtype[2];                                                       \
    bool all_bf16 = d_y_dtype == DTYPE_BF16 && x_dtype == DTYPE_BF16 && d_x_dtype == DTYPE_BF16;   \
    int64_t i = first;                                                                             \
    (void)context;                                                                                 \
    for (; all_bf16 && i + 2 * LANES <= end; i += 2 * LANES) {                                     \
      Vec even, odd, d_even, d_odd;                                                                \
      v_load_pairs((const uint16_t *)x + i, &even, &odd);                                          \
      v_load_pairs((const uint16_t *)d_y + i, &d_even, &d_odd);                                    \
      even = v_mul(d_even, name##_slope(even));                                                    \
      odd = v_mul(d_odd, name##_slope(odd));                                                       \
      v_store_pairs((uint16_t *)d_x + i, even, odd);                                               \
    }                                                                                              \
    for (; i < end; i += LANES) {                                                                  \
      Vec slope = name##_slope(v_get_n(x, i, end - i, x_dtype));                                   \
      v_put_n(d_x, i, end - i, d_x_dtype, v_mul(v_get_n(d_y, i, end - i, d_y_dtype), slope));      \
    }                                                                                              \
  }                                                                                                \
  void CPU(name##_backward)(const KernelArgs *args) {                                              \
    if (cpu_floats(args, 3, 0))                                                                    \
      cpu_ranges(args, args->dim[0], GRAIN_ELEMENTS, name##_backward_range, NULL);                 \
    else                                                                                           \
      reference_##name##_backward(args);                                                           \
  }

ACTIVATION(gelu)
ACTIVATION(gelu_erf)
ACTIVATION(silu)
ACTIVATION(relu)
ACTIVATION(tanh)

/* ---- gates: an activation times another value */

/* As it is read from memory. */
ALWAYS_INLINE Vec as_stored(Vec value, DType dtype) {
  float kept[LANES]; /* of any dtype */
  if (dtype == DTYPE_F32) return value;
  v_put_n(kept, 0, LANES, dtype, value);
  return v_get_n(kept, 0, LANES, dtype);
}

typedef struct GateVec {
  Vec d_a, d_b, y;
} GateVec;

ALWAYS_INLINE Vec gate_value(GateForm form, Vec a) {
  switch (form) {
  case GATE_GELU: return gelu_value(a);
  case GATE_GELU_ERF: return gelu_erf_value(a);
  case GATE_SILU: return silu_value(a);
  case GATE_RELU: return relu_value(a);
  case GATE_TANH:
  case GATE_COUNT: break;
  }
  return tanh_value(a);
}

ALWAYS_INLINE Vec gate_slope(GateForm form, Vec a) {
  switch (form) {
  case GATE_GELU: return gelu_slope(a);
  case GATE_GELU_ERF: return gelu_erf_slope(a);
  case GATE_SILU: return silu_slope(a);
  case GATE_RELU: return relu_slope(a);
  case GATE_TANH:
  case GATE_COUNT: break;
  }
  return tanh_slope(a);
}

ALWAYS_INLINE Vec gate_forward(GateForm form, DType dtype, Vec a, Vec b) {
  return v_mul(as_stored(gate_value(form, a), dtype), b);
}

ALWAYS_INLINE GateVec gate_gradients(GateForm form, DType dtype, Vec d_y, Vec a, Vec b) {
  const Vec value = as_stored(gate_value(form, a), dtype);
  return (GateVec){v_mul(as_stored(v_mul(d_y, b), dtype), gate_slope(form, a)), v_mul(d_y, value),
                   v_mul(value, b)};
}

ALWAYS_INLINE void gate_run(const KernelArgs *args, GateForm form, DType dtype, int64_t i,
                            int64_t end) {
  void *const *at = args->operand;
  for (; dtype == DTYPE_BF16 && i + 2 * LANES <= end; i += 2 * LANES) {
    Vec even, odd, b_even, b_odd;
    v_load_pairs((const uint16_t *)at[0] + i, &even, &odd);
    v_load_pairs((const uint16_t *)at[1] + i, &b_even, &b_odd);
    v_store_pairs((uint16_t *)at[2] + i, gate_forward(form, dtype, even, b_even),
                  gate_forward(form, dtype, odd, b_odd));
  }
  for (; i < end; i += LANES) {
    const Vec a = v_get_n(at[0], i, end - i, dtype), b = v_get_n(at[1], i, end - i, dtype);
    v_put_n(at[2], i, end - i, dtype, gate_forward(form, dtype, a, b));
  }
}

ALWAYS_INLINE void gate_backward_run(const KernelArgs *args, GateForm form, DType dtype, int64_t i,
                                     int64_t end) {
  void *const *at = args->operand;
  for (; dtype == DTYPE_BF16 && i + 2 * LANES <= end; i += 2 * LANES) {
    Vec d_even, d_odd, even, odd, b_even, b_odd;
    v_load_pairs((const uint16_t *)at[0] + i, &d_even, &d_odd);
    v_load_pairs((const uint16_t *)at[1] + i, &even, &odd);
    v_load_pairs((const uint16_t *)at[2] + i, &b_even, &b_odd);
    const GateVec e = gate_gradients(form, dtype, d_even, even, b_even);
    const GateVec o = gate_gradients(form, dtype, d_odd, odd, b_odd);
    v_store_pairs((uint16_t *)at[3] + i, e.d_a, o.d_a);
    v_store_pairs((uint16_t *)at[4] + i, e.d_b, o.d_b);
    v_store_pairs((uint16_t *)at[5] + i, e.y, o.y);
  }
  for (; i < end; i += LANES) {
    const GateVec g =
        gate_gradients(form, dtype, v_get_n(at[0], i, end - i, dtype),
                       v_get_n(at[1], i, end - i, dtype), v_get_n(at[2], i, end - i, dtype));
    v_put_n(at[3], i, end - i, dtype, g.d_a);
    v_put_n(at[4], i, end - i, dtype, g.d_b);
    v_put_n(at[5], i, end - i, dtype, g.y);
  }
}

/* A loop for each form, and in it one for each dtype. */
#define GATE_LOOP(run, form)                                                                       \
  case form:                                                                                       \
    if (dtype == DTYPE_BF16)                                                                       \
      run(args, form, DTYPE_BF16, first, end);                                                     \
    else if (dtype == DTYPE_F16)                                                                   \
      run(args, form, DTYPE_F16, first, end);                                                      \
    else                                                                                           \
      run(args, form, DTYPE_F32, first, end);                                                      \
    break;

#define GATE(name, run, operands)                                                                  \
  static void name##_range(const KernelArgs *args, const void *context, int64_t first,             \
                           int64_t end) {                                                          \
    const DType dtype = (DType)args->dtype[0];                                                     \
    (void)context;                                                                                 \
    switch ((GateForm)args->attr[0]) {                                                             \
      GATE_LOOP(run, GATE_GELU)                                                                    \
      GATE_LOOP(run, GATE_GELU_ERF)                                                                \
      GATE_LOOP(run, GATE_SILU)                                                                    \
      GATE_LOOP(run, GATE_RELU)                                                                    \
      GATE_LOOP(run, GATE_TANH)                                                                    \
    case GATE_COUNT: break;                                                                        \
    }                                                                                              \
  }                                                                                                \
  void CPU(name)(const KernelArgs *args) {                                                         \
    if (cpu_floats(args, operands, 0))                                                             \
      cpu_ranges(args, args->dim[0], GRAIN_ELEMENTS, name##_range, NULL);                          \
    else                                                                                           \
      reference_##name(args);                                                                      \
  }

GATE(gate, gate_run, 3)
GATE(gate_backward, gate_backward_run, 6)

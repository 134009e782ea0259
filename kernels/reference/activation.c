/* activation.c -- gelu in both forms (arXiv:1606.08415), silu (arXiv:1702.03118), relu, tanh; and
 * gates, which multiply one of them by another value (arXiv:2002.05202). */
#include "kernels/contract/gate.h"
#include "kernels/reference/access.h"

static const double SQRT_2_OVER_PI = 0.79788456080286535588, SQRT_1_2 = 0.70710678118654752440;
static const double NORMAL_AT_0 = 0.39894228040143267794; /* 1 / sqrt(2 pi) */

/* The share of a standard normal that lies below x; erfc, for 1 + erf cancels far below 0. */
static double normal_below(double x) {
  return 0.5 * erfc(-x * SQRT_1_2);
}

static double value_at(GateForm form, double x) {
  switch (form) {
  case GATE_GELU: return 0.5 * x * (1 + tanh(SQRT_2_OVER_PI * (x + 0.044715 * x * x * x)));
  case GATE_GELU_ERF: return x * normal_below(x);
  case GATE_SILU: return x / (1 + exp(-x));
  case GATE_RELU: return x < 0 ? 0 : x; /* a NaN stays one */
  case GATE_TANH: return tanh(x);
  case GATE_COUNT: break;
  }
  return NAN;
}

static double slope_at(GateForm form, double x) {
  switch (form) {
  case GATE_GELU: {
    double t = tanh(SQRT_2_OVER_PI * (x + 0.044715 * x * x * x));
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * SQRT_2_OVER_PI * (1 + 3 * 0.044715 * x * x);
  }
  case GATE_GELU_ERF: return normal_below(x) + x * NORMAL_AT_0 * exp(-0.5 * x * x);
  case GATE_SILU: {
    double sigmoid = 1 / (1 + exp(-x));
    return sigmoid * (1 + x * (1 - sigmoid));
  }
  case GATE_RELU: return x > 0 ? 1 : 0;
  case GATE_TANH: return 1 - tanh(x) * tanh(x);
  case GATE_COUNT: break;
  }
  return NAN;
}

static void forward(const KernelArgs *args, GateForm form) {
  Tensor x = tensor(args, 0), y = tensor(args, 1);
  for (int64_t i = 0; i < args->dim[0]; i++)
    store(y, i, value_at(form, load(x, i)));
}

static void backward(const KernelArgs *args, GateForm form) {
  Tensor d_y = tensor(args, 0), x = tensor(args, 1), d_x = tensor(args, 2);
  for (int64_t i = 0; i < args->dim[0]; i++)
    store(d_x, i, load(d_y, i) * slope_at(form, load(x, i)));
}

void reference_gelu(const KernelArgs *args) {
  forward(args, GATE_GELU);
}
void reference_gelu_erf(const KernelArgs *args) {
  forward(args, GATE_GELU_ERF);
}
void reference_silu(const KernelArgs *args) {
  forward(args, GATE_SILU);
}
void reference_relu(const KernelArgs *args) {
  forward(args, GATE_RELU);
}
void reference_tanh(const KernelArgs *args) {
  forward(args, GATE_TANH);
}
void reference_gelu_backward(const KernelArgs *args) {
  backward(args, GATE_GELU);
}
void reference_gelu_erf_backward(const KernelArgs *args) {
  backward(args, GATE_GELU_ERF);
}
void reference_silu_backward(const KernelArgs *args) {
  backward(args, GATE_SILU);
}
void reference_relu_backward(const KernelArgs *args) {
  backward(args, GATE_RELU);
}
void reference_tanh_backward(const KernelArgs *args) {
  backward(args, GATE_TANH);
}

/* The value after it has been stored in the tensor's dtype and read back. */
static double as_stored(Tensor like, double value) {
  double kept = 0; /* of any dtype */
  const Tensor one = {&kept, like.dtype};
  store(one, 0, value);
  return load(one, 0);
}

void reference_gate(const KernelArgs *args) {
  const GateForm form = (GateForm)args->attr[0];
  Tensor a = tensor(args, 0), b = tensor(args, 1), y = tensor(args, 2);
  for (int64_t i = 0; i < args->dim[0]; i++)
    store(y, i, as_stored(y, value_at(form, load(a, i))) * load(b, i));
}

void reference_gate_backward(const KernelArgs *args) {
  const GateForm form = (GateForm)args->attr[0];
  Tensor d_y = tensor(args, 0), a = tensor(args, 1), b = tensor(args, 2);
  Tensor d_a = tensor(args, 3), d_b = tensor(args, 4), y = tensor(args, 5);
  for (int64_t i = 0; i < args->dim[0]; i++) {
    const double slope = load(d_y, i), x = load(a, i), other = load(b, i);
    const double value = as_stored(y, value_at(form, x));
    store(d_a, i, as_stored(d_a, slope * other) * slope_at(form, x));
    store(d_b, i, slope * value);
    store(y, i, value * other);
  }
}

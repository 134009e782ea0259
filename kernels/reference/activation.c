/* activation.c -- gelu in both forms (arXiv:1606.08415), silu (arXiv:1702.03118), relu, tanh. */
#include "kernels/reference/access.h"

typedef enum Activation { GELU, GELU_ERF, SILU, RELU, TANH } Activation;

static const double SQRT_2_OVER_PI = 0.79788456080286535588, SQRT_1_2 = 0.70710678118654752440;
static const double NORMAL_AT_0 = 0.39894228040143267794; /* 1 / sqrt(2 pi) */

/* The share of a standard normal that lies below x; erfc, for 1 + erf cancels far below 0. */
static double normal_below(double x) {
  return 0.5 * erfc(-x * SQRT_1_2);
}

static double value_at(Activation kind, double x) {
  switch (kind) {
  case GELU: return 0.5 * x * (1 + tanh(SQRT_2_OVER_PI * (x + 0.044715 * x * x * x)));
  case GELU_ERF: return x * normal_below(x);
  case SILU: return x / (1 + exp(-x));
  case RELU: return x < 0 ? 0 : x; /* a NaN stays one */
  case TANH: return tanh(x);
  }
  return NAN;
}

static double slope_at(Activation kind, double x) {
  switch (kind) {
  case GELU: {
    double t = tanh(SQRT_2_OVER_PI * (x + 0.044715 * x * x * x));
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * SQRT_2_OVER_PI * (1 + 3 * 0.044715 * x * x);
  }
  case GELU_ERF: return normal_below(x) + x * NORMAL_AT_0 * exp(-0.5 * x * x);
  case SILU: {
    double sigmoid = 1 / (1 + exp(-x));
    return sigmoid * (1 + x * (1 - sigmoid));
  }
  case RELU: return x > 0 ? 1 : 0;
  case TANH: return 1 - tanh(x) * tanh(x);
  }
  return NAN;
}

static void forward(const KernelArgs *args, Activation kind) {
  Tensor x = tensor(args, 0), y = tensor(args, 1);
  for (int64_t i = 0; i < args->dim[0]; i++)
    store(y, i, value_at(kind, load(x, i)));
}

static void backward(const KernelArgs *args, Activation kind) {
  Tensor d_y = tensor(args, 0), x = tensor(args, 1), d_x = tensor(args, 2);
  for (int64_t i = 0; i < args->dim[0]; i++)
    store(d_x, i, load(d_y, i) * slope_at(kind, load(x, i)));
}

void reference_gelu(const KernelArgs *args) {
  forward(args, GELU);
}
void reference_gelu_erf(const KernelArgs *args) {
  forward(args, GELU_ERF);
}
void reference_silu(const KernelArgs *args) {
  forward(args, SILU);
}
void reference_relu(const KernelArgs *args) {
  forward(args, RELU);
}
void reference_tanh(const KernelArgs *args) {
  forward(args, TANH);
}
void reference_gelu_backward(const KernelArgs *args) {
  backward(args, GELU);
}
void reference_gelu_erf_backward(const KernelArgs *args) {
  backward(args, GELU_ERF);
}
void reference_silu_backward(const KernelArgs *args) {
  backward(args, SILU);
}
void reference_relu_backward(const KernelArgs *args) {
  backward(args, RELU);
}
void reference_tanh_backward(const KernelArgs *args) {
  backward(args, TANH);
}

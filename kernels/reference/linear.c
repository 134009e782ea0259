/* linear.c -- y = x w^T + bias, w[out,in]; transposed: w[in,out] and y = x w + bias. */
#include "kernels/reference/access.h"

typedef struct Sizes {
  int64_t rows, in, out;
  bool transposed, tf32;
} Sizes;

static Sizes sizes_of(const KernelArgs *args) {
  return (Sizes){args->dim[0], args->dim[1], args->dim[2], args->dim[3] != 0, args->tf32};
}

static int64_t weight_index(Sizes s, int64_t o, int64_t i) {
  return s.transposed ? i * s.out + o : o * s.in + i;
}

static Strided weights_to(Sizes s, Tensor w, int64_t o) {
  return (Strided){w, weight_index(s, o, 0), s.transposed ? s.out : 1};
}

static Strided weights_from(Sizes s, Tensor w, int64_t i) {
  return (Strided){w, weight_index(s, 0, i), s.transposed ? 1 : s.in};
}

static void forward(Sizes s, Tensor x, Tensor w, const Tensor *bias, Tensor y) {
  for (int64_t r = 0; r < s.rows; r++)
    for (int64_t o = 0; o < s.out; o++) {
      const Strided row = {x, r * s.in, 1};
      store(y, r * s.out + o,
            dot(bias ? load(*bias, o) : 0, row, weights_to(s, w, o), s.in, s.tf32));
    }
}

void reference_linear(const KernelArgs *args) {
  forward(sizes_of(args), tensor(args, 0), tensor(args, 1), NULL, tensor(args, 2));
}

void reference_linear_bias(const KernelArgs *args) {
  Tensor bias = tensor(args, 2);
  forward(sizes_of(args), tensor(args, 0), tensor(args, 1), &bias, tensor(args, 3));
}

void reference_linear_dx(const KernelArgs *args) {
  Tensor d_y = tensor(args, 0), w = tensor(args, 1), d_x = tensor(args, 2);
  Sizes s = sizes_of(args);
  for (int64_t r = 0; r < s.rows; r++)
    for (int64_t i = 0; i < s.in; i++) {
      const Strided row = {d_y, r * s.out, 1};
      store(d_x, r * s.in + i, dot(0, row, weights_from(s, w, i), s.out, s.tf32));
    }
}

void reference_linear_dw(const KernelArgs *args) {
  Tensor x = tensor(args, 0), d_y = tensor(args, 1), d_w = tensor(args, 2);
  Sizes s = sizes_of(args);
  for (int64_t o = 0; o < s.out; o++)
    for (int64_t i = 0; i < s.in; i++) {
      const double sum = dot(0, (Strided){d_y, o, s.out}, (Strided){x, i, s.in}, s.rows, s.tf32);
      store_or_add(d_w, weight_index(s, o, i), sum, args->accumulate);
    }
}

void reference_linear_db(const KernelArgs *args) {
  Tensor d_y = tensor(args, 0), d_bias = tensor(args, 1);
  int64_t rows = args->dim[0], out = args->dim[1];
  for (int64_t o = 0; o < out; o++) {
    double sum = 0;
    for (int64_t r = 0; r < rows; r++)
      sum += load(d_y, r * out + o);
    store_or_add(d_bias, o, sum, args->accumulate);
  }
}

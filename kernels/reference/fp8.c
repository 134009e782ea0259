/* fp8.c -- numbers of eight bits with scales, and linear layers of them. Scales are those of equal
 * blocks of a matrix: one block, runs of a row or a column, or squares. */
#include "kernels/math/fp8.h"

#include "kernels/reference/access.h"

/* A matrix of codes: its rows, how many blocks there are down and across. */
typedef struct Coded {
  Tensor codes, scale;
  int64_t rows, cols, row_blocks, col_blocks;
} Coded;

static Coded coded(const KernelArgs *args, int32_t operand, int64_t rows, int64_t cols,
                   int32_t blocks) {
  return (Coded){tensor(args, operand), tensor(args, operand + 1), rows, cols,
                 args->dim[blocks],     args->dim[blocks + 1]};
}

static int64_t scale_at(const Coded *x, int64_t row, int64_t col) {
  return row / (x->rows / x->row_blocks) * x->col_blocks + col / (x->cols / x->col_blocks);
}

/* Numbers of a matrix from (row, col) on: along a row, or down a column. */
typedef struct Numbers {
  const Coded *of;
  int64_t row, col;
  bool down;
} Numbers;

/* Numbers [begin, end) in doubles. Scales are looked up once a block. */
static void numbers(Numbers x, int64_t begin, int64_t end, double *to) {
  const Coded *of = x.of;
  const Strided codes = {of->codes, x.row * of->cols + x.col, x.down ? of->cols : 1};
  const int64_t block = x.down ? of->rows / of->row_blocks : of->cols / of->col_blocks;
  factors(codes, begin, end, false, to);
  for (int64_t i = begin; i < end;) {
    const int64_t row = x.down ? x.row + i : x.row, col = x.down ? x.col : x.col + i;
    const int64_t next = i - (x.down ? row : col) % block + block;
    const double scale = load(of->scale, scale_at(of, row, col));
    for (; i < end && i < next; i++)
      to[i - begin] *= scale;
  }
}

/* sum + a[0] b[0] + ... + a[n - 1] b[n - 1], in this order. */
static double dot_numbers(double sum, Numbers a, Numbers b, int64_t n) {
  for (int64_t begin = 0; begin < n; begin += CHUNK) {
    const int64_t end = n - begin < CHUNK ? n : begin + CHUNK;
    double x[CHUNK], y[CHUNK];
    numbers(a, begin, end, x);
    numbers(b, begin, end, y);
    for (int64_t i = 0; i < end - begin; i++)
      sum += x[i] * y[i];
  }
  return sum;
}

void reference_quantise(const KernelArgs *args) {
  Tensor x = tensor(args, 0);
  Coded y = coded(args, 1, args->dim[0], args->dim[1], 2);
  const int is_e5m2 = y.codes.dtype == DTYPE_E5M2;
  if (y.rows * y.cols == 0) return;
  const int64_t rows = y.rows / y.row_blocks, cols = y.cols / y.col_blocks;
  for (int64_t b = 0; b < y.row_blocks * y.col_blocks; b++) {
    const int64_t row0 = b / y.col_blocks * rows, col0 = b % y.col_blocks * cols;
    uint32_t highest = 0;
    for (int64_t i = 0; i < rows * cols; i++) {
      const int64_t at = (row0 + i / cols) * y.cols + col0 + i % cols;
      const uint32_t bits = fp8_bits((float)load(x, at)) & 0x7fffffffu;
      if (bits > highest) highest = bits;
    }
    for (int64_t i = 0; i < rows * cols; i++) {
      const int64_t at = (row0 + i / cols) * y.cols + col0 + i % cols;
      ((uint8_t *)y.codes.at)[at] = fp8_code((float)load(x, at), highest, is_e5m2);
    }
    ((float *)y.scale.at)[b] = fp8_scale(highest, is_e5m2);
  }
}

typedef struct Sizes {
  int64_t rows, in, out;
  bool transposed;
} Sizes;

static Sizes sizes_of(const KernelArgs *args) {
  return (Sizes){args->dim[0], args->dim[1], args->dim[2], args->dim[3] != 0};
}

static Coded weight(const KernelArgs *args, Sizes s) {
  return coded(args, 2, s.transposed ? s.in : s.out, s.transposed ? s.out : s.in, 6);
}

/* The weights of output o, and those of input i. */
static Numbers weights_to(const Coded *w, Sizes s, int64_t o) {
  return s.transposed ? (Numbers){w, 0, o, true} : (Numbers){w, o, 0, false};
}

static Numbers weights_from(const Coded *w, Sizes s, int64_t i) {
  return s.transposed ? (Numbers){w, i, 0, false} : (Numbers){w, 0, i, true};
}

static void forward(const KernelArgs *args, const Tensor *bias, Tensor y) {
  const Sizes s = sizes_of(args);
  const Coded x = coded(args, 0, s.rows, s.in, 4), w = weight(args, s);
  for (int64_t r = 0; r < s.rows; r++)
    for (int64_t o = 0; o < s.out; o++) {
      const Numbers row = {&x, r, 0, false};
      store(y, r * s.out + o,
            dot_numbers(bias ? load(*bias, o) : 0, row, weights_to(&w, s, o), s.in));
    }
}

void reference_linear_fp8(const KernelArgs *args) {
  forward(args, NULL, tensor(args, 4));
}

void reference_linear_fp8_bias(const KernelArgs *args) {
  const Tensor bias = tensor(args, 4);
  forward(args, &bias, tensor(args, 5));
}

void reference_linear_fp8_dx(const KernelArgs *args) {
  const Sizes s = sizes_of(args);
  const Coded d_y = coded(args, 0, s.rows, s.out, 4), w = weight(args, s);
  const Tensor d_x = tensor(args, 4);
  for (int64_t r = 0; r < s.rows; r++)
    for (int64_t i = 0; i < s.in; i++) {
      const Numbers row = {&d_y, r, 0, false};
      store(d_x, r * s.in + i, dot_numbers(0, row, weights_from(&w, s, i), s.out));
    }
}

void reference_linear_fp8_dw(const KernelArgs *args) {
  const Sizes s = sizes_of(args);
  const Coded x = coded(args, 0, s.rows, s.in, 4), d_y = coded(args, 2, s.rows, s.out, 6);
  const Tensor d_w = tensor(args, 4);
  for (int64_t o = 0; o < s.out; o++)
    for (int64_t i = 0; i < s.in; i++) {
      const double sum =
          dot_numbers(0, (Numbers){&d_y, 0, o, true}, (Numbers){&x, 0, i, true}, s.rows);
      store_or_add(d_w, s.transposed ? i * s.out + o : o * s.in + i, sum, args->accumulate);
    }
}

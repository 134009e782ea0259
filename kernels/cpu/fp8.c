/* fp8.c -- codes and scales of numbers; linear layers of codes, as products of the bf16 numbers
 * that they stand for, which are exact (kernels/math/fp8.h). */
#include "kernels/math/fp8.h"

#include "kernels/cpu/gemm.h"
#include "kernels/cpu/ranges.h"
#include "kernels/math/floats.h"

/* A matrix in equal blocks, one scale each. */
typedef struct Blocks {
  int64_t rows, cols, row_blocks, col_blocks;
} Blocks;

static int64_t block_rows(const Blocks *b) {
  return b->rows / b->row_blocks;
}

static int64_t block_cols(const Blocks *b) {
  return b->cols / b->col_blocks;
}

/* ---- quantise */

typedef struct Quantise {
  const void *x;
  DType dtype;
  bool e5m2;
  uint8_t *codes;
  float *scale;
  uint32_t *highest; /* of each range of one whole block */
  Blocks blocks;
} Quantise;

/* Compares bits without their sign: a NaN is higher than infinity, and that than all numbers. */
ALWAYS_INLINE uint32_t highest_as(const Quantise *q, int64_t first, int64_t count, DType dtype) {
  uint32_t highest = 0;
  for (int64_t i = first; i < first + count; i++) {
    uint32_t bits = fp8_bits(float_get(q->x, i, dtype)) & 0x7fffffffu;
    highest = bits > highest ? bits : highest;
  }
  return highest;
}

static uint32_t highest_of(const Quantise *q, int64_t first, int64_t count) {
  return q->dtype == DTYPE_BF16  ? highest_as(q, first, count, DTYPE_BF16)
         : q->dtype == DTYPE_F16 ? highest_as(q, first, count, DTYPE_F16)
                                 : highest_as(q, first, count, DTYPE_F32);
}

ALWAYS_INLINE void encode_as(const Quantise *q, int64_t first, int64_t count, uint32_t highest,
                             DType dtype, int is_e5m2) {
  const float s = fp8_power(fp8_exponent(highest, is_e5m2));
  for (int64_t i = first; i < first + count; i++)
    q->codes[i] = fp8_from_float(float_get(q->x, i, dtype) * s, is_e5m2);
}

ALWAYS_INLINE void encode_from(const Quantise *q, int64_t first, int64_t count, uint32_t highest,
                               DType dtype) {
  if (q->e5m2)
    encode_as(q, first, count, highest, dtype, 1);
  else
    encode_as(q, first, count, highest, dtype, 0);
}

static void encode(const Quantise *q, int64_t first, int64_t count, uint32_t highest) {
  if (highest >= 0x7f800000u)
    memset(q->codes + first, 0x7f, (size_t)count);
  else if (q->dtype == DTYPE_BF16)
    encode_from(q, first, count, highest, DTYPE_BF16);
  else if (q->dtype == DTYPE_F16)
    encode_from(q, first, count, highest, DTYPE_F16);
  else
    encode_from(q, first, count, highest, DTYPE_F32);
}

static void highest_range(const KernelArgs *args, const void *context, int64_t first, int64_t end) {
  const Quantise *q = (const Quantise *)context;
  (void)args;
  q->highest[first / WORK_SUM_BLOCK] = highest_of(q, first, end - first);
}

static void encode_range(const KernelArgs *args, const void *context, int64_t first, int64_t end) {
  const Quantise *q = (const Quantise *)context;
  (void)args;
  encode(q, first, end - first, q->highest[0]);
}

static void quantise_whole(const KernelArgs *args, const Quantise *q) {
  const int64_t n = q->blocks.rows * q->blocks.cols;
  cpu_ranges(args, n, WORK_SUM_BLOCK, highest_range, q);
  for (int64_t i = 1; i < ceil_div(n, WORK_SUM_BLOCK); i++)
    if (q->highest[i] > q->highest[0]) q->highest[0] = q->highest[i];
  cpu_ranges(args, n, GRAIN_ELEMENTS, encode_range, q);
  q->scale[0] = fp8_scale(q->highest[0], q->e5m2);
}

/* A row of blocks. */
static void quantise_band(void *context, int64_t band, int32_t worker) {
  const Quantise *q = (const Quantise *)context;
  const Blocks *b = &q->blocks;
  const int64_t rows = block_rows(b), cols = block_cols(b), first = band * rows * b->cols;
  (void)worker;
  for (int64_t k = 0; k < b->col_blocks; k++) {
    uint32_t highest = 0;
    for (int64_t r = 0; r < rows; r++) {
      uint32_t row = highest_of(q, first + r * b->cols + k * cols, cols);
      highest = row > highest ? row : highest;
    }
    for (int64_t r = 0; r < rows; r++)
      encode(q, first + r * b->cols + k * cols, cols, highest);
    q->scale[band * b->col_blocks + k] = fp8_scale(highest, q->e5m2);
  }
}

void CPU(quantise)(const KernelArgs *args) {
  const int64_t *dim = args->dim;
  if (!cpu_floats(args, 1, 0)) {
    reference_quantise(args);
    return;
  }
  Quantise q = {.x = args->operand[0],
                .dtype = (DType)args->dtype[0],
                .e5m2 = args->dtype[1] == DTYPE_E5M2,
                .codes = args->operand[1],
                .scale = args->operand[2],
                .highest = args->operand[3],
                .blocks = {dim[0], dim[1], dim[2], dim[3]}};
  if (dim[0] * dim[1] == 0) return;
  if (dim[2] * dim[3] == 1)
    quantise_whole(args, &q);
  else
    threads_run(args->threads, dim[2], quantise_band, &q);
}

/* ---- products */

/* Codes and scales of an operand, and where their numbers go. */
typedef struct Decode {
  const uint8_t *codes;
  const float *scale;
  bool e5m2;
  Blocks blocks;
  uint16_t *to;
} Decode;

ALWAYS_INLINE void decode_as(const Decode *d, int64_t first, int64_t count, float scale,
                             int is_e5m2) {
  for (int64_t i = first; i < first + count; i++)
    d->to[i] = (uint16_t)(fp8_bits(fp8_to_float(d->codes[i], is_e5m2) * scale) >> 16);
}

static void decode_row(void *context, int64_t row, int32_t worker) {
  const Decode *d = (const Decode *)context;
  const Blocks *b = &d->blocks;
  const int64_t cols = block_cols(b), first = row * b->cols;
  const float *scale = d->scale + row / block_rows(b) * b->col_blocks;
  (void)worker;
  for (int64_t k = 0; k < b->col_blocks; k++)
    if (d->e5m2)
      decode_as(d, first + k * cols, cols, scale[k], 1);
    else
      decode_as(d, first + k * cols, cols, scale[k], 0);
}

typedef struct Coded {
  int32_t operand, blocks; /* the codes; the dim that has the number of blocks down */
  int64_t rows, cols;
} Coded;

/* Decodes both matrices into the scratch and multiplies. False: the scratch is too small. */
static bool run(const KernelArgs *args, const Coded coded[2], Gemm g, int32_t out, int32_t work) {
  char *to = args->operand[work];
  int64_t room = args->bytes[work];
  Factor *factor[] = {&g.a, &g.b};
  for (int i = 0; i < 2; i++) {
    const Coded *c = &coded[i];
    const int64_t bytes = decoded_bytes(c->rows * c->cols);
    Decode d = {args->operand[c->operand],
                args->operand[c->operand + 1],
                args->dtype[c->operand] == DTYPE_E5M2,
                {c->rows, c->cols, args->dim[c->blocks], args->dim[c->blocks + 1]},
                (uint16_t *)to};
    if (bytes > room) return false;
    if (bytes > 0) threads_run(args->threads, c->rows, decode_row, &d);
    factor[i]->data = to;
    factor[i]->dtype = DTYPE_BF16;
    to += bytes, room -= bytes;
  }
  g.c = args->operand[out];
  g.c_dtype = (DType)args->dtype[out];
  g.work = to;
  g.work_bytes = room;
  g.threads = args->threads;
  return CPU(gemm)(&g);
}

typedef struct Sizes {
  int64_t rows, in, out;
  bool transposed;
} Sizes;

static Sizes sizes_of(const KernelArgs *args) {
  return (Sizes){args->dim[0], args->dim[1], args->dim[2], args->dim[3] != 0};
}

/* True if the fast kernel applies: it needs its workspace. */
static bool is_ours(const KernelArgs *args, int32_t first, int32_t work) {
  return cpu_floats(args, work, (1u << first) - 1) && cpu_scratch_bytes(args, work) > 0;
}

/* Element (line, k) of a matrix stored [lines,k], or [k,lines] when `flipped`. */
static Factor factor(int64_t lines, int64_t k, bool flipped) {
  return (Factor){.line_stride = flipped ? 1 : k, .k_stride = flipped ? lines : 1};
}

static Coded weight(Sizes s) {
  return (Coded){2, 6, s.transposed ? s.in : s.out, s.transposed ? s.out : s.in};
}

static bool forward(const KernelArgs *args, const void *bias, int32_t out) {
  const Sizes s = sizes_of(args);
  const Coded coded[] = {{0, 4, s.rows, s.in}, weight(s)};
  Gemm g = {.m = s.rows,
            .n = s.out,
            .k = s.in,
            .a = factor(s.rows, s.in, false),
            .b = factor(s.out, s.in, s.transposed),
            .bias = bias,
            .bias_dtype = (DType)args->dtype[4]};
  return is_ours(args, 4, out + 1) && run(args, coded, g, out, out + 1);
}

void CPU(linear_fp8)(const KernelArgs *args) {
  if (!forward(args, NULL, 4)) reference_linear_fp8(args);
}

void CPU(linear_fp8_bias)(const KernelArgs *args) {
  if (!forward(args, args->operand[4], 5)) reference_linear_fp8_bias(args);
}

void CPU(linear_fp8_dx)(const KernelArgs *args) {
  const Sizes s = sizes_of(args);
  const Coded coded[] = {{0, 4, s.rows, s.out}, weight(s)};
  Gemm g = {.m = s.rows,
            .n = s.in,
            .k = s.out,
            .a = factor(s.rows, s.out, false),
            .b = factor(s.in, s.out, !s.transposed)};
  if (!is_ours(args, 4, 5) || !run(args, coded, g, 4, 5)) reference_linear_fp8_dx(args);
}

void CPU(linear_fp8_dw)(const KernelArgs *args) {
  const Sizes s = sizes_of(args);
  const Coded x = {0, 4, s.rows, s.in}, d_y = {2, 6, s.rows, s.out};
  const Coded coded[] = {s.transposed ? x : d_y, s.transposed ? d_y : x};
  Gemm g = {.m = s.transposed ? s.in : s.out,
            .n = s.transposed ? s.out : s.in,
            .k = s.rows,
            .a = factor(s.transposed ? s.in : s.out, s.rows, true),
            .b = factor(s.transposed ? s.out : s.in, s.rows, true),
            .accumulate = args->accumulate,
            .read_late = true};
  if (!is_ours(args, 4, 5) || !run(args, coded, g, 4, 5)) reference_linear_fp8_dw(args);
}

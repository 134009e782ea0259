/* norm.c -- layernorm and rmsnorm: a row is read from memory once and then from the cache.
 *
 * Backward keeps column sums (d_weight, and of layernorm d_bias) per block of rows, in the
 * workspace; the number of blocks is fixed, so the sums do not depend on the threads. */
#include <math.h>

#include "kernels/contract/blocks.h"
#include "kernels/cpu/fused.h"
#include "kernels/cpu/ranges.h"
#include "kernels/cpu/vec.h"

CpuFused CPU(add_layernorm), CPU(add_rmsnorm);

typedef struct Shape Shape;
typedef void ForwardRow(const KernelArgs *args, const Shape *s, int64_t r);
/* Adds to the column sums of the row's block. */
typedef void BackwardRow(const KernelArgs *args, const Shape *s, int64_t r, float *sums);

struct Shape {
  DType x_dtype, weight_dtype, bias_dtype, y_dtype, d_y_dtype, d_x_dtype;
  int64_t width, rows, block_rows;
  int64_t padded;        /* width of one column sum */
  int32_t sums;          /* column sums of a block: d_weight, and of layernorm d_bias */
  float offset;          /* added to the weight */
  const KernelArgs *add; /* forward: makes each row of x first; or NULL */
  ForwardRow *forward;
  BackwardRow *backward;
};

/* ---- forward */

static void layer_row(const KernelArgs *args, const Shape *s, int64_t r) {
  const void *x = args->operand[0], *weight = args->operand[1], *bias = args->operand[2];
  float *stats = (float *)args->operand[4];
  int64_t row = r * s->width, width = s->width;
  Vec zero = v_set(0), sum = zero, square = zero, offset = v_set(s->offset);
  for (int64_t c = 0; c < width; c += LANES)
    sum = v_add(sum, v_get_n(x, row + c, width - c, s->x_dtype));
  float mean = v_sum(sum) / (float)width;
  Vec center = v_set(mean);
  for (int64_t c = 0; c < width; c += LANES) {
    Vec d = v_sub(v_get_n(x, row + c, width - c, s->x_dtype), center);
    d = v_keep_n(d, width - c, zero);
    square = v_fma(d, d, square);
  }
  float rstd = 1 / sqrtf(v_sum(square) / (float)width + (float)args->attr[0]);
  Vec scale = v_set(rstd);
  for (int64_t c = 0; c < width; c += LANES) {
    int64_t n = width - c;
    Vec d = v_mul(v_sub(v_get_n(x, row + c, n, s->x_dtype), center), scale);
    v_put_n(args->operand[3], row + c, n, s->y_dtype,
            v_fma(d, v_add(v_get_n(weight, c, n, s->weight_dtype), offset),
                  v_get_n(bias, c, n, s->bias_dtype)));
  }
  stats[2 * r] = mean;
  stats[2 * r + 1] = rstd;
}

static void rms_row(const KernelArgs *args, const Shape *s, int64_t r) {
  const void *x = args->operand[0], *weight = args->operand[1];
  int64_t row = r * s->width, width = s->width;
  Vec offset = v_set(s->offset), square = v_set(0);
  for (int64_t c = 0; c < width; c += LANES) {
    Vec value = v_get_n(x, row + c, width - c, s->x_dtype);
    square = v_fma(value, value, square);
  }
  float rstd = 1 / sqrtf(v_sum(square) / (float)width + (float)args->attr[0]);
  for (int64_t c = 0; c < width; c += LANES) {
    int64_t n = width - c;
    Vec value = v_mul(v_get_n(x, row + c, n, s->x_dtype), v_set(rstd));
    v_put_n(args->operand[2], row + c, n, s->y_dtype,
            v_mul(value, v_add(v_get_n(weight, c, n, s->weight_dtype), offset)));
  }
  ((float *)args->operand[3])[r] = rstd;
}

static void forward_rows(const KernelArgs *args, const void *context, int64_t first, int64_t end) {
  const Shape *s = (const Shape *)context;
  for (int64_t r = first; r < end; r++) {
    if (s->add) CPU(add_elements)(s->add, r * s->width, (r + 1) * s->width);
    s->forward(args, s, r);
  }
}

/* `y`: the operand with the result, after which the statistics come. False, and nothing is done:
 * the fast path does not know these dtypes. */
static bool forward(const KernelArgs *args, const KernelArgs *add, ForwardRow *row, int32_t y) {
  if (!cpu_floats(args, y + 1, 0) || args->dtype[y + 1] != DTYPE_F32) return false;
  Shape s = {.x_dtype = (DType)args->dtype[0],
             .weight_dtype = (DType)args->dtype[1],
             .bias_dtype = (DType)args->dtype[2],
             .y_dtype = (DType)args->dtype[y],
             .width = args->dim[1],
             .offset = (float)args->attr[1],
             .add = add,
             .forward = row};
  cpu_ranges(args, args->dim[0], grain_rows(s.width), forward_rows, &s);
  return true;
}

void CPU(layernorm)(const KernelArgs *args) {
  if (!forward(args, NULL, layer_row, 3)) reference_layernorm(args);
}

void CPU(rmsnorm)(const KernelArgs *args) {
  if (!forward(args, NULL, rms_row, 2)) reference_rmsnorm(args);
}

bool CPU(add_layernorm)(const KernelArgs *add, const KernelArgs *norm) {
  return CPU(adds_all)(add, norm->dim[0] * norm->dim[1]) && forward(norm, add, layer_row, 3);
}

bool CPU(add_rmsnorm)(const KernelArgs *add, const KernelArgs *norm) {
  return CPU(adds_all)(add, norm->dim[0] * norm->dim[1]) && forward(norm, add, rms_row, 2);
}

/* ---- backward: operands d_y, x, weight, statistics, d_x, the column sums, workspace */

/* With n = (x - mean) rstd and g = d_y (weight + offset): d_x = rstd (g - mean(g) - n mean(g n));
 * adds d_y n and d_y to the block's column sums. */
static void layer_backward_row(const KernelArgs *args, const Shape *s, int64_t r, float *d_weight) {
  float *d_bias = d_weight + s->padded;
  const void *d_y = args->operand[0], *x = args->operand[1], *weight = args->operand[2];
  const float *stats = (const float *)args->operand[3];
  int64_t row = r * s->width, width = s->width;
  Vec mean = v_set(stats[2 * r]), rstd = v_set(stats[2 * r + 1]);
  Vec sum_g = v_set(0), sum_gn = sum_g, offset = v_set(s->offset);
  for (int64_t c = 0; c < width; c += LANES) {
    int64_t k = width - c;
    Vec d = v_get_n(d_y, row + c, k, s->d_y_dtype);
    Vec n = v_mul(v_sub(v_get_n(x, row + c, k, s->x_dtype), mean), rstd);
    Vec g = v_mul(d, v_add(v_get_n(weight, c, k, s->weight_dtype), offset));
    sum_g = v_add(sum_g, g);
    sum_gn = v_fma(g, n, sum_gn);
    v_store(d_weight + c, v_fma(d, n, v_load(d_weight + c)));
    v_store(d_bias + c, v_add(d, v_load(d_bias + c)));
  }
  Vec mean_g = v_set(v_sum(sum_g) / (float)width), mean_gn = v_set(v_sum(sum_gn) / (float)width);
  for (int64_t c = 0; c < width; c += LANES) {
    int64_t k = width - c;
    Vec n = v_mul(v_sub(v_get_n(x, row + c, k, s->x_dtype), mean), rstd);
    Vec g = v_mul(v_get_n(d_y, row + c, k, s->d_y_dtype),
                  v_add(v_get_n(weight, c, k, s->weight_dtype), offset));
    Vec rest = v_sub(v_sub(g, mean_g), v_mul(n, mean_gn));
    v_put_n(args->operand[4], row + c, k, s->d_x_dtype, v_mul(rstd, rest));
  }
}

/* With n = x rstd and g = d_y (weight + offset): d_x = rstd (g - n mean(g n)); d_weight gets d_y n.
 */
static void rms_backward_row(const KernelArgs *args, const Shape *s, int64_t r, float *d_weight) {
  const void *d_y = args->operand[0], *x = args->operand[1], *weight = args->operand[2];
  int64_t row = r * s->width, width = s->width;
  Vec rstd = v_set(((const float *)args->operand[3])[r]), sum_gn = v_set(0);
  Vec offset = v_set(s->offset);
  for (int64_t c = 0; c < width; c += LANES) {
    int64_t k = width - c;
    Vec d = v_get_n(d_y, row + c, k, s->d_y_dtype);
    Vec n = v_mul(v_get_n(x, row + c, k, s->x_dtype), rstd);
    Vec g = v_mul(d, v_add(v_get_n(weight, c, k, s->weight_dtype), offset));
    sum_gn = v_fma(g, n, sum_gn);
    v_store(d_weight + c, v_fma(d, n, v_load(d_weight + c)));
  }
  Vec mean_gn = v_set(v_sum(sum_gn) / (float)width);
  for (int64_t c = 0; c < width; c += LANES) {
    int64_t k = width - c;
    Vec n = v_mul(v_get_n(x, row + c, k, s->x_dtype), rstd);
    Vec g = v_mul(v_get_n(d_y, row + c, k, s->d_y_dtype),
                  v_add(v_get_n(weight, c, k, s->weight_dtype), offset));
    v_put_n(args->operand[4], row + c, k, s->d_x_dtype, v_mul(rstd, v_sub(g, v_mul(n, mean_gn))));
  }
}

/* Task i is block i: its sums are at work[i][sums][padded width]. */
static void backward_rows(const KernelArgs *args, const void *context, int64_t first, int64_t end) {
  const Shape *s = (const Shape *)context;
  int64_t block = s->sums * s->padded;
  float *sums = (float *)args->operand[5 + s->sums] + first / s->block_rows * block;
  memset(sums, 0, (size_t)block * sizeof *sums);
  for (int64_t r = first; r < end; r++)
    s->backward(args, s, r, sums);
}

static void add_blocks(const KernelArgs *args, const void *context, int64_t first, int64_t end) {
  const Shape *s = (const Shape *)context;
  int64_t blocks = ceil_div(s->rows, s->block_rows);
  const float *sums = (const float *)args->operand[5 + s->sums];
  for (int32_t which = 0; which < s->sums; which++) {
    void *out = args->operand[5 + which];
    DType dtype = (DType)args->dtype[5 + which];
    for (int64_t c = first; c < end; c += LANES) {
      Vec sum = args->accumulate ? v_get_n(out, c, end - c, dtype) : v_set(0);
      Vec added = v_set(0);
      for (int64_t b = 0; b < blocks; b++)
        added = v_add(added, v_load(sums + (s->sums * b + which) * s->padded + c));
      v_put_n(out, c, end - c, dtype, v_add(sum, added));
    }
  }
}

/* False, and nothing is done: the fast path does not know these dtypes, or the workspace is small.
 */
static bool backward(const KernelArgs *args, BackwardRow *row, int32_t sums) {
  int64_t rows = args->dim[0], width = args->dim[1];
  if (!cpu_floats(args, 5 + sums, 0) || args->dtype[3] != DTYPE_F32 ||
      cpu_scratch_bytes(args, 5 + sums) < norm_work_bytes(rows, width, sums))
    return false;
  Shape s = {.d_y_dtype = (DType)args->dtype[0],
             .x_dtype = (DType)args->dtype[1],
             .weight_dtype = (DType)args->dtype[2],
             .d_x_dtype = (DType)args->dtype[4],
             .width = width,
             .offset = (float)args->attr[0],
             .rows = rows,
             .block_rows = norm_block_rows(rows),
             .padded = ceil_div(width, LANES) * LANES,
             .sums = sums,
             .backward = row};
  cpu_ranges(args, rows, s.block_rows, backward_rows, &s);
  cpu_ranges(args, width, GRAIN_COLUMNS, add_blocks, &s);
  return true;
}

void CPU(layernorm_backward)(const KernelArgs *args) {
  if (!backward(args, layer_backward_row, 2)) reference_layernorm_backward(args);
}

void CPU(rmsnorm_backward)(const KernelArgs *args) {
  if (!backward(args, rms_backward_row, 1)) reference_rmsnorm_backward(args);
}

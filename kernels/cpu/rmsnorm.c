/* rmsnorm.c -- layernorm.c without mean and bias. */
#include <math.h>

#include "kernels/contract/blocks.h"
#include "kernels/cpu/fused.h"
#include "kernels/cpu/ranges.h"
#include "kernels/cpu/vec.h"

CpuFused CPU(add_rmsnorm);

typedef struct Shape {
  DType x_dtype, weight_dtype, y_dtype, d_y_dtype, d_x_dtype;
  int64_t width, rows, block_rows;
  float offset;          /* added to the weight */
  const KernelArgs *add; /* forward: makes each row of x first; or NULL */
} Shape;

static void forward_rows(const KernelArgs *args, const void *context, int64_t first, int64_t end) {
  const Shape *s = (const Shape *)context;
  const void *x = args->operand[0], *weight = args->operand[1];
  int64_t width = s->width;
  Vec offset = v_set(s->offset);
  for (int64_t r = first; r < end; r++) {
    int64_t row = r * width;
    if (s->add) CPU(add_elements)(s->add, row, row + width);
    Vec square = v_set(0);
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
}

/* False, and nothing is done: the fast path does not know these dtypes. */
static bool forward(const KernelArgs *args, const KernelArgs *add) {
  if (!cpu_floats(args, 3, 0) || args->dtype[3] != DTYPE_F32) return false;
  Shape s = {.x_dtype = (DType)args->dtype[0],
             .weight_dtype = (DType)args->dtype[1],
             .y_dtype = (DType)args->dtype[2],
             .width = args->dim[1],
             .offset = (float)args->attr[1],
             .add = add};
  cpu_ranges(args, args->dim[0], grain_rows(s.width), forward_rows, &s);
  return true;
}

void CPU(rmsnorm)(const KernelArgs *args) {
  if (!forward(args, NULL)) reference_rmsnorm(args);
}

bool CPU(add_rmsnorm)(const KernelArgs *add, const KernelArgs *norm) {
  return CPU(adds_all)(add, norm->dim[0] * norm->dim[1]) && forward(norm, add);
}

/* With n = x rstd and g = d_y (weight + offset): d_x = rstd (g - n mean(g n)); d_weight gets d_y n.
 */
static void backward_row(const KernelArgs *args, const Shape *s, int64_t r, float *d_weight) {
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

static void backward_rows(const KernelArgs *args, const void *context, int64_t first, int64_t end) {
  const Shape *s = (const Shape *)context;
  int64_t padded = ceil_div(s->width, LANES) * LANES;
  float *sums = (float *)args->operand[6] + first / s->block_rows * padded;
  memset(sums, 0, (size_t)padded * sizeof *sums);
  for (int64_t r = first; r < end; r++)
    backward_row(args, s, r, sums);
}

static void add_blocks(const KernelArgs *args, const void *context, int64_t first, int64_t end) {
  const Shape *s = (const Shape *)context;
  int64_t padded = ceil_div(s->width, LANES) * LANES;
  int64_t blocks = ceil_div(s->rows, s->block_rows);
  const float *sums = (const float *)args->operand[6];
  void *out = args->operand[5];
  DType dtype = (DType)args->dtype[5];
  for (int64_t c = first; c < end; c += LANES) {
    Vec sum = args->accumulate ? v_get_n(out, c, end - c, dtype) : v_set(0);
    Vec added = v_set(0);
    for (int64_t b = 0; b < blocks; b++)
      added = v_add(added, v_load(sums + b * padded + c));
    v_put_n(out, c, end - c, dtype, v_add(sum, added));
  }
}

void CPU(rmsnorm_backward)(const KernelArgs *args) {
  int64_t rows = args->dim[0], width = args->dim[1];
  if (!cpu_floats(args, 6, 0) || args->dtype[3] != DTYPE_F32 ||
      cpu_scratch_bytes(args, 6) < norm_work_bytes(rows, width, 1)) {
    reference_rmsnorm_backward(args);
    return;
  }
  Shape s = {.d_y_dtype = (DType)args->dtype[0],
             .x_dtype = (DType)args->dtype[1],
             .weight_dtype = (DType)args->dtype[2],
             .d_x_dtype = (DType)args->dtype[4],
             .width = width,
             .offset = (float)args->attr[0],
             .rows = rows,
             .block_rows = norm_block_rows(rows)};
  cpu_ranges(args, rows, s.block_rows, backward_rows, &s);
  cpu_ranges(args, width, GRAIN_COLUMNS, add_blocks, &s);
}

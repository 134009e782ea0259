/* linear_rows.c -- y = x w' + bias for a few rows of x: every weight is read once, where it lies.
 * A product of many rows packs the weights first, which costs as much as reading them three times.
 * Each result is a sum in its own order, whatever other rows and columns there are. */
#include "kernels/cpu/linear_rows.h"

#include "kernels/cpu/gemm.h"
#include "kernels/cpu/ranges.h"
#include "kernels/cpu/vec.h"

enum { COLUMNS = 4, TASK_BYTES = 1 << 17 };

typedef struct Rows {
  const void *x, *w, *bias;
  void *y;
  DType x_dtype, w_dtype, bias_dtype, y_dtype;
  int64_t rows, in, out;
  bool tf32; /* factors are rounded */
} Rows;

ALWAYS_INLINE float bias_at(const Rows *r, int64_t column) {
  return r->bias == NULL ? 0 : v_sum(v_get_n(r->bias, column, 1, r->bias_dtype));
}

ALWAYS_INLINE Vec factor_at(const void *from, int64_t at, int64_t count, DType dtype, bool tf32) {
  const Vec x = count < LANES ? v_get_n(from, at, count, dtype) : v_get(from, at, dtype);
  return tf32 ? v_tf32(x) : x;
}

/* The weights that the next columns will read at this place. A weight's row is often too short for
 * the processor to fetch ahead by itself: it has just found the stream when the row ends. */
ALWAYS_INLINE void fetch_next(const Rows *r, int64_t weight, DType dtype) {
  enum { LINE_BYTES = 64 };
  const char *next = at(r->w, weight + COLUMNS * r->in, dtype);
  for (int64_t i = 0; i < 2 * LANES * dtype_bytes(dtype); i += LINE_BYTES)
    __builtin_prefetch(next + i, 0, 2);
}

/* `count` columns of one row, at most COLUMNS. */
ALWAYS_INLINE void columns(const Rows *r, int64_t row, int64_t column, int count, DType x_dtype,
                           DType w_dtype, bool tf32) {
  const int64_t in = r->in, from = row * in;
  Vec sum[COLUMNS][2];
  int64_t k = 0;
  for (int c = 0; c < count; c++)
    sum[c][0] = sum[c][1] = v_set(0);
  for (; k + 2 * LANES <= in; k += 2 * LANES) {
    const Vec x0 = factor_at(r->x, from + k, LANES, x_dtype, tf32);
    const Vec x1 = factor_at(r->x, from + k + LANES, LANES, x_dtype, tf32);
    for (int c = 0; c < count; c++) {
      const int64_t weight = (column + c) * in + k;
      if (row == 0) fetch_next(r, weight, w_dtype);
      sum[c][0] = v_fma(x0, factor_at(r->w, weight, LANES, w_dtype, tf32), sum[c][0]);
      sum[c][1] = v_fma(x1, factor_at(r->w, weight + LANES, LANES, w_dtype, tf32), sum[c][1]);
    }
  }
  for (; k < in; k += LANES) {
    const Vec x = factor_at(r->x, from + k, in - k, x_dtype, tf32);
    for (int c = 0; c < count; c++)
      sum[c][0] =
          v_fma(x, factor_at(r->w, (column + c) * in + k, in - k, w_dtype, tf32), sum[c][0]);
  }
  for (int c = 0; c < count; c++)
    v_put_n(r->y, row * r->out + column + c, 1, r->y_dtype,
            v_set(v_sum(v_add(sum[c][0], sum[c][1])) + bias_at(r, column + c)));
}

ALWAYS_INLINE void column_range(const Rows *r, int64_t first, int64_t end, DType x_dtype,
                                DType w_dtype, bool tf32) {
  for (int64_t column = first; column < end; column += COLUMNS)
    for (int64_t row = 0; row < r->rows; row++)
      if (column + COLUMNS <= end)
        columns(r, row, column, COLUMNS, x_dtype, w_dtype, tf32);
      else
        columns(r, row, column, (int)(end - column), x_dtype, w_dtype, tf32);
}

static void range(const KernelArgs *args, const void *context, int64_t first, int64_t end) {
  const Rows *r = context;
  (void)args;
  if (r->x_dtype == DTYPE_F32 && r->w_dtype == DTYPE_F32 && !r->tf32)
    column_range(r, first, end, DTYPE_F32, DTYPE_F32, false);
  else if (r->x_dtype == DTYPE_BF16 && r->w_dtype == DTYPE_BF16)
    column_range(r, first, end, DTYPE_BF16, DTYPE_BF16, false);
  else
    column_range(r, first, end, r->x_dtype, r->w_dtype, r->tf32);
}

bool CPU(linear_rows)(const KernelArgs *args, int32_t bias, int32_t out) {
  const int64_t *dim = args->dim;
  const Rows r = {.x = args->operand[0],
                  .w = args->operand[1],
                  .bias = bias < 0 ? NULL : args->operand[bias],
                  .y = args->operand[out],
                  .x_dtype = (DType)args->dtype[0],
                  .w_dtype = (DType)args->dtype[1],
                  .bias_dtype = bias < 0 ? DTYPE_F32 : (DType)args->dtype[bias],
                  .y_dtype = (DType)args->dtype[out],
                  .rows = dim[0],
                  .in = dim[1],
                  .out = dim[2],
                  .tf32 = args->tf32};
  if (r.rows > LINEAR_ROWS_MOST || r.in * r.out * dtype_bytes(r.w_dtype) < LINEAR_ROWS_BYTES ||
      dim[3] != 0 || !cpu_floats(args, out + 1, 0))
    return false;
  if (r.x_dtype == DTYPE_BF16 && r.w_dtype == DTYPE_BF16 && gemm_kind(true, false).tiles)
    return false; /* by tiles all products of bf16 have one order of sums */
  const int64_t bytes = max64(1, r.in * dtype_bytes(r.w_dtype));
  const int64_t grain = max64(COLUMNS, TASK_BYTES / bytes / COLUMNS * COLUMNS);
  cpu_ranges(args, r.out, grain, range, &r);
  return true;
}

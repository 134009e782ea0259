/* linear.c -- y = x . w^T and its three gradients: one GEMM each, with the factors' strides. */
#include "kernels/cpu/columns.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/linear_rows.h"

/* Element (line, k) of an operand stored [lines,k], or [k,lines] when `flipped`. */
static Factor factor(const KernelArgs *args, int32_t operand, int64_t lines, int64_t k,
                     bool flipped) {
  return (Factor){.data = args->operand[operand],
                  .line_stride = flipped ? 1 : k,
                  .k_stride = flipped ? lines : 1,
                  .dtype = (DType)args->dtype[operand]};
}

/* False: the reference computes other dtypes, and products with too little scratch. */
static bool run(const KernelArgs *args, Gemm g, int32_t out, int32_t work) {
  if (!cpu_floats(args, work, 0)) return false;
  g.c = args->operand[out];
  g.c_dtype = (DType)args->dtype[out];
  g.work_bytes = cpu_scratch_bytes(args, work);
  g.work = g.work_bytes > 0 ? args->operand[work] : NULL;
  g.threads = args->threads;
  g.tf32 = args->tf32;
  return CPU(gemm)(&g);
}

void CPU(linear)(const KernelArgs *args) {
  int64_t rows = args->dim[0], in = args->dim[1], out = args->dim[2];
  Gemm g = {.m = rows,
            .n = out,
            .k = in,
            .a = factor(args, 0, rows, in, false),
            .b = factor(args, 1, out, in, args->dim[3])};
  if (!CPU(linear_rows)(args, -1, 2) && !run(args, g, 2, 3)) reference_linear(args);
}

void CPU(linear_bias)(const KernelArgs *args) {
  int64_t rows = args->dim[0], in = args->dim[1], out = args->dim[2];
  Gemm g = {.m = rows,
            .n = out,
            .k = in,
            .a = factor(args, 0, rows, in, false),
            .b = factor(args, 1, out, in, args->dim[3]),
            .bias = args->operand[2],
            .bias_dtype = (DType)args->dtype[2]};
  if (!CPU(linear_rows)(args, 2, 3) && !run(args, g, 3, 4)) reference_linear_bias(args);
}

/* d_x[rows,in] = d_y[rows,out] . w: the sum runs over out. */
void CPU(linear_dx)(const KernelArgs *args) {
  int64_t rows = args->dim[0], in = args->dim[1], out = args->dim[2];
  Gemm g = {.m = rows,
            .n = in,
            .k = out,
            .a = factor(args, 0, rows, out, false),
            .b = factor(args, 1, in, out, !args->dim[3])};
  if (!run(args, g, 2, 3)) reference_linear_dx(args);
}

/* d_w[out,in] = d_y^T . x, or d_w[in,out] = x^T . d_y: the sum runs over rows. */
void CPU(linear_dw)(const KernelArgs *args) {
  int64_t rows = args->dim[0], in = args->dim[1], out = args->dim[2];
  bool transposed = args->dim[3] != 0;
  Factor x = factor(args, 0, in, rows, true), d_y = factor(args, 1, out, rows, true);
  Gemm g = {.m = transposed ? in : out,
            .n = transposed ? out : in,
            .k = rows,
            .a = transposed ? x : d_y,
            .b = transposed ? d_y : x,
            .accumulate = args->accumulate,
            .read_late = true};
  if (!run(args, g, 2, 3)) reference_linear_dw(args);
}

void CPU(linear_db)(const KernelArgs *args) {
  if (!cpu_floats(args, 2, 0)) {
    reference_linear_db(args);
    return;
  }
  CPU(column_sums)
  (args, (Columns){.x = args->operand[0],
                   .x_dtype = (DType)args->dtype[0],
                   .y = args->operand[1],
                   .y_dtype = (DType)args->dtype[1],
                   .accumulate = args->accumulate,
                   .rows = args->dim[0],
                   .width = args->dim[1]});
}

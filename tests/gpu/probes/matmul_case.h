/* matmul_case.h -- the linear layers of the two models as matmul problems; no CUDA in here.
 *
 * Arrays are row-major: x[tokens, in], w[out, in], y[tokens, out]. cuBLASLt is column-major, where
 * the same bytes are the transposes. So y = x.w^T is asked for as y^T = w.x^T, and so on:
 *
 *   pass              row-major                     m    n       k       A        B
 *   forward           y  = x . w^T                  out  tokens  in      w, T     x, N
 *   input gradient    d_x = d_y . w                 in   tokens  out     w, N     d_y, N
 *   weight gradient   d_w = d_y^T . x               in   out     tokens  x, N     d_y, T
 */
#ifndef GPU_MATMUL_CASE_H
#define GPU_MATMUL_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/gpu/common/numeric.h"

typedef enum { PASS_FORWARD, PASS_INPUT_GRADIENT, PASS_WEIGHT_GRADIENT } MatmulPass;

typedef enum {
  EPILOGUE_NONE,
  EPILOGUE_BIAS,          /* forward: y + bias */
  EPILOGUE_GELU_AUX_BIAS, /* forward: gelu(y + bias), and y + bias kept as aux */
  EPILOGUE_DGELU,         /* input gradient: d_x * gelu'(aux) */
  EPILOGUE_DGELU_BGRAD,   /* the same, and its sum over tokens */
  EPILOGUE_BGRAD,         /* weight gradient: also the sum of d_y over tokens */
} MatmulEpilogue;

typedef enum { COMPUTE_BF16, COMPUTE_FP32, COMPUTE_TF32 } MatmulCompute;

typedef struct {
  const char *layer;
  int64_t tokens, in, out;
  MatmulPass pass;
  MatmulEpilogue epilogue;
  MatmulCompute compute; /* bf16: bf16 inputs, fp32 sums */
  NumberType result;     /* of the output, the bias and the bias gradient */
  bool accumulate;       /* result += instead of = */
} MatmulCase;

/* The request to cuBLASLt: op(A)[m,k] . op(B)[k,n], all column-major. */
typedef struct {
  int64_t m, n, k;
  bool transpose_a, transpose_b;
  int64_t a_rows, a_columns, b_rows, b_columns; /* as stored; the leading dimension is the rows */
  bool weight_is_a; /* else A is x. B is x in the forward pass and d_y in the other two. */
} MatmulProblem;

extern const MatmulCase MATMUL_CASES[];
extern const int MATMUL_CASE_COUNT;

MatmulProblem matmul_problem(const MatmulCase *matmul);
double matmul_flops(const MatmulCase *matmul);
NumberType matmul_input_type(const MatmulCase *matmul);

/* "gpt2 fc1 forward bf16 gelu_aux_bias" */
void matmul_name(const MatmulCase *matmul, char *name, size_t size_bytes);

/* The inputs, as patterns; scaled so that a forward result has a variance near 1. */
typedef struct {
  Pattern x, weight, d_y, bias, aux, initial;
} MatmulData;

MatmulData matmul_data(const MatmulCase *matmul);

/* Element [row, column] of the row-major result, in fp64, before any epilogue.
 * `magnitude` is the sum of the absolute products: the scale of its rounding error. */
double matmul_reference(const MatmulCase *matmul, const MatmulData *data, int64_t row,
                        int64_t column, double *magnitude);

#endif

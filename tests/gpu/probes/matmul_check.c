#include "tests/gpu/probes/matmul_check.h"

#include <math.h>

enum { SMALL = 65536, SAMPLES = 64 };

static int64_t result_rows(const MatmulCase *matmul) {
  return matmul->pass == PASS_WEIGHT_GRADIENT ? matmul->out : matmul->tokens;
}

static int64_t result_columns(const MatmulCase *matmul) {
  return matmul->pass == PASS_FORWARD ? matmul->out : matmul->in;
}

/* How far rounding alone may move an element: half a unit in the last place of the result (2^-9 of
 * it in bf16; doubled here), the sums in fp32 over products that are exact in bf16, or rounded to
 * 10 bits each in tf32. A fused GELU is an approximation of its own: 2^-10 more. */
static double tolerance(const MatmulCase *matmul, double reference, double magnitude) {
  double sum = matmul->compute == COMPUTE_TF32 ? 0x1p-10 : 0x1p-16;
  double rounding = matmul->result == TYPE_BF16 ? 0x1p-8 : 0x1p-20;
  bool fused = matmul->epilogue == EPILOGUE_GELU_AUX_BIAS || matmul->epilogue == EPILOGUE_DGELU ||
               matmul->epilogue == EPILOGUE_DGELU_BGRAD;
  return rounding * fabs(reference) + 1.2 * sum * magnitude + (fused ? 0x1p-10 : 0.0);
}

typedef struct {
  double result, aux, magnitude;
  double product_rounded; /* how far the result moves when the product is rounded before it */
} Expected;

static Expected expect(const MatmulCase *matmul, const MatmulData *data, int64_t row,
                       int64_t column) {
  Expected expected = {0};
  double sum = matmul_reference(matmul, data, row, column, &expected.magnitude);
  bool rounds = matmul->result == TYPE_BF16 && matmul->epilogue != EPILOGUE_NONE &&
                matmul->epilogue != EPILOGUE_BGRAD;
  expected.product_rounded = rounds ? 0x1p-8 * fabs(sum) : 0.0;
  int64_t index = row * result_columns(matmul) + column;
  if (matmul->accumulate) sum += pattern_at(&data->initial, index);
  switch (matmul->epilogue) {
  case EPILOGUE_BIAS:
  case EPILOGUE_GELU_AUX_BIAS: expected.aux = sum + pattern_at(&data->bias, column); break;
  case EPILOGUE_DGELU:
  case EPILOGUE_DGELU_BGRAD: {
    /* The difference to the erf GELU is below the tolerance; the probe asks which one it is. */
    double slope = gelu_tanh_derivative(pattern_at(&data->aux, index));
    expected.result = sum * slope;
    expected.product_rounded *= fabs(slope);
    expected.magnitude *= fabs(slope) + 0x1p-6; /* the slope itself carries an error near 2^-10 */
    return expected;
  }
  case EPILOGUE_NONE:
  case EPILOGUE_BGRAD: expected.result = sum; return expected;
  }
  expected.result = matmul->epilogue == EPILOGUE_BIAS ? expected.aux : gelu_tanh(expected.aux);
  return expected;
}

typedef struct {
  Difference *difference;
  int64_t *rounded_twice;
} Verdict;

static void compare(Verdict verdict, double got, double want, double tolerance, double more) {
  double error = fabs(got - want);
  if (error > tolerance && error <= tolerance + more) ++*verdict.rounded_twice;
  difference_add(verdict.difference, got, want, tolerance + more);
}

static bool check_element(const MatmulCase *matmul, const MatmulData *data,
                          const MatmulOutput *output, int64_t index, Verdict verdict) {
  int64_t columns = result_columns(matmul);
  Expected expected = expect(matmul, data, index / columns, index % columns);
  double got = 0.0;
  TRY(output->read(output->result, matmul->result, index, &got));
  /* GELU's slope is at most 1.13. */
  double more = 1.13 * expected.product_rounded;
  compare(verdict, got, expected.result, tolerance(matmul, expected.result, expected.magnitude),
          more);
  if (matmul->epilogue != EPILOGUE_GELU_AUX_BIAS) return true;
  TRY(output->read(output->aux, matmul->result, index, &got));
  compare(verdict, got, expected.aux, tolerance(matmul, expected.aux, expected.magnitude),
          expected.product_rounded);
  return true;
}

/* Bias gradients: DGELU_BGRAD sums the result over tokens, BGRAD sums d_y. */
static bool check_bias_gradient(const MatmulCase *matmul, const MatmulData *data,
                                const MatmulOutput *output, Difference *difference) {
  bool of_result = matmul->epilogue == EPILOGUE_DGELU_BGRAD;
  int64_t columns = of_result ? matmul->in : matmul->out;
  for (int64_t column = 0; column < columns; column++) {
    double sum = 0.0, magnitude = 0.0, got = 0.0;
    for (int64_t row = 0; row < matmul->tokens; row++) {
      double value = 0.0, terms = 0.0;
      if (of_result) {
        Expected expected = expect(matmul, data, row, column);
        value = expected.result;
        terms = expected.magnitude;
      } else {
        value = pattern_at(&data->d_y, row * matmul->out + column);
      }
      sum += value;
      magnitude += fabs(value) + terms;
    }
    TRY(output->read(output->bias, matmul->result, column, &got));
    /* The sum may be taken over values already rounded to the result's type. */
    double terms_rounding = matmul->result == TYPE_BF16 ? 0x1p-9 : 0x1p-16;
    difference_add(difference, got, sum, 0x1p-8 * fabs(sum) + terms_rounding * magnitude);
  }
  return true;
}

bool matmul_check(const MatmulCase *matmul, const MatmulOutput *output, Difference *difference,
                  int64_t *rounded_twice) {
  MatmulData data = matmul_data(matmul);
  int64_t count = result_rows(matmul) * result_columns(matmul);
  bool small = count <= SMALL;
  *difference = (Difference){0};
  *rounded_twice = 0;
  for (int64_t i = 0; i < (small ? count : SAMPLES); i++) {
    /* A prime stride scatters the samples over rows and columns alike. */
    int64_t index = small ? i : (i * 7368787 + 12345) % count;
    TRY(check_element(matmul, &data, output, index, (Verdict){difference, rounded_twice}));
  }
  bool has_gradient =
      matmul->epilogue == EPILOGUE_BGRAD || matmul->epilogue == EPILOGUE_DGELU_BGRAD;
  if (small && has_gradient) TRY(check_bias_gradient(matmul, &data, output, difference));
  if (difference->outside > 0)
    FAIL("%lld of %lld elements differ from fp64 by more than rounding (largest error %.3g)",
         (long long)difference->outside, (long long)difference->count, difference->max_error);
  return true;
}

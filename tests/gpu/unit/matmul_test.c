/* The column-major problems handed to cuBLASLt are the row-major products they claim to be, and the
 * check accepts a right result and rejects a wrong one. A host matmul plays the device. */
#include <stdlib.h>

#include "tests/gpu/common/probe.h"
#include "tests/gpu/probes/matmul_case.h"
#include "tests/gpu/probes/matmul_check.h"
#include "tests/unit/check.h"

enum { TOKENS = 24, IN = 16, OUT = 20, LARGEST = 24 * 20 };

typedef struct {
  float x[LARGEST], weight[LARGEST], d_y[LARGEST], result[LARGEST], aux[LARGEST], bias[OUT + IN];
} Arrays;

/* op(A)[i, l] of a column-major array whose leading dimension is its rows. */
static double at(const float *array, int64_t rows, bool transpose, int64_t i, int64_t l) {
  return (double)(transpose ? array[l + i * rows] : array[i + l * rows]);
}

/* Does what cublasLtMatmul does with the problem, epilogues included, in fp64 and rounded once. */
static void run_on_host(const MatmulCase *matmul, Arrays *arrays) {
  MatmulProblem p = matmul_problem(matmul);
  const float *a = p.weight_is_a ? arrays->weight : arrays->x;
  const float *b = matmul->pass == PASS_FORWARD ? arrays->x : arrays->d_y;
  if (matmul->epilogue == EPILOGUE_DGELU_BGRAD) memset(arrays->bias, 0, sizeof arrays->bias);
  for (int64_t column = 0; column < p.n; column++)
    for (int64_t row = 0; row < p.m; row++) {
      float *result = &arrays->result[row + column * p.m], *aux = &arrays->aux[row + column * p.m];
      double sum = matmul->accumulate ? (double)*result : 0.0;
      for (int64_t l = 0; l < p.k; l++)
        sum += at(a, p.a_rows, p.transpose_a, row, l) * at(b, p.b_rows, p.transpose_b, l, column);
      if (matmul->epilogue == EPILOGUE_BIAS || matmul->epilogue == EPILOGUE_GELU_AUX_BIAS)
        sum += (double)arrays->bias[row];
      if (matmul->epilogue == EPILOGUE_GELU_AUX_BIAS) {
        *aux = (float)sum;
        sum = gelu_tanh(sum);
      }
      if (matmul->epilogue == EPILOGUE_DGELU || matmul->epilogue == EPILOGUE_DGELU_BGRAD)
        sum *= gelu_tanh_derivative((double)*aux);
      *result = (float)sum;
      if (matmul->epilogue == EPILOGUE_DGELU_BGRAD) arrays->bias[row] += (float)sum;
    }
  for (int64_t n = 0; matmul->epilogue == EPILOGUE_BGRAD && n < p.n; n++) {
    double sum = 0.0; /* op(B) is k x n: summed over k, as BGRADB does */
    for (int64_t l = 0; l < p.k; l++)
      sum += at(b, p.b_rows, p.transpose_b, l, n);
    arrays->bias[n] = (float)sum;
  }
}

static bool read_host(const void *array, NumberType type, int64_t index, double *value) {
  *value = number_at(type, array, index);
  return true;
}

static bool check_on_host(const MatmulCase *matmul, bool spoil) {
  static Arrays arrays;
  MatmulData data = matmul_data(matmul);
  pattern_write(&data.x, arrays.x, TOKENS * IN);
  pattern_write(&data.weight, arrays.weight, OUT * IN);
  pattern_write(&data.d_y, arrays.d_y, TOKENS * OUT);
  pattern_write(&data.initial, arrays.result, LARGEST);
  pattern_write(&data.aux, arrays.aux, LARGEST);
  pattern_write(&data.bias, arrays.bias, OUT + IN);
  run_on_host(matmul, &arrays);
  if (spoil) arrays.result[17] += 0.01f;
  MatmulOutput output = {read_host, arrays.result, arrays.aux, arrays.bias};
  Difference difference;
  int64_t rounded_twice = 0;
  bool good = matmul_check(matmul, &output, &difference, &rounded_twice);
  CHECK_INT(rounded_twice, 0);
  return good;
}

/* A product of 1.25 in bf16 steps of 2^-7 and a bias near its negative, as some algorithms add it:
 * once to the sum, once to the rounded sum. */
static void test_rounded_before(void) {
  static Arrays arrays;
  MatmulCase matmul = {"small",       TOKENS,       IN,        OUT,  PASS_FORWARD,
                       EPILOGUE_BIAS, COMPUTE_BF16, TYPE_BF16, false};
  MatmulData data = matmul_data(&matmul);
  MatmulOutput output = {read_host, arrays.result, arrays.aux, arrays.bias};
  for (int before = 0; before < 2; before++) {
    for (int64_t i = 0; i < (int64_t)TOKENS * OUT; i++) {
      double magnitude = 0.0, sum = matmul_reference(&matmul, &data, i / OUT, i % OUT, &magnitude);
      if (before) {
        number_put(TYPE_BF16, arrays.aux, 0, sum);
        sum = number_at(TYPE_BF16, arrays.aux, 0);
      }
      number_put(TYPE_BF16, arrays.result, i, sum + pattern_at(&data.bias, i % OUT));
    }
    Difference difference;
    int64_t rounded_twice = -1;
    CHECK(matmul_check(&matmul, &output, &difference, &rounded_twice));
    CHECK(before ? rounded_twice > 0 : rounded_twice == 0);
  }
}

static void test_every_kind(void) {
  for (int i = 0; i < MATMUL_CASE_COUNT; i++) {
    MatmulCase matmul = MATMUL_CASES[i];
    char name[160];
    matmul.tokens = TOKENS;
    matmul.in = IN;
    matmul.out = OUT;
    matmul.compute = COMPUTE_FP32; /* exact enough that only a wrong formula can fail */
    matmul.result = TYPE_FP32;
    matmul_name(&matmul, name, sizeof name);
    TEST(name) {
      CHECK(check_on_host(&matmul, false));
      CHECK(!check_on_host(&matmul, true));
    }
  }
}

int main(void) {
  test_every_kind();
  TEST("a product that is rounded before the bias is told from one that is not")
  test_rounded_before();
  TEST("names tell the cases of the table apart") {
    for (int i = 0; i < MATMUL_CASE_COUNT; i++)
      for (int j = 0; j < i; j++) {
        char one[160], other[160];
        matmul_name(&MATMUL_CASES[i], one, sizeof one);
        matmul_name(&MATMUL_CASES[j], other, sizeof other);
        CHECK(strcmp(one, other) != 0);
      }
  }
  TEST("flops of the fc1 layer of GPT-2 at 65536 tokens") {
    const MatmulCase fc1 = {.tokens = 65536, .in = 768, .out = 3072};
    CHECK_NEAR(matmul_flops(&fc1), 309237645312.0, 0.0);
  }
  CHECK_DONE();
}

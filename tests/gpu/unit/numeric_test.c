/* Patterns, differences and medians against their definitions. */
#include "tests/gpu/common/numeric.h"
#include "tests/unit/check.h"

static void test_pattern(void) {
  TEST("what is written is what is read back") {
    for (int type = TYPE_BF16; type <= TYPE_FP32; type++) {
      Pattern pattern = {(NumberType)type, 7, 2.0f};
      float data[64];
      pattern_write(&pattern, data, 64);
      for (int64_t i = 0; i < 64; i++)
        CHECK_NEAR(number_at((NumberType)type, data, i), pattern_at(&pattern, i), 0.0);
    }
  }
  TEST("it is uniform over its range and has its period") {
    Pattern pattern = {TYPE_FP32, 3, 1.5f};
    double sum = 0.0, square = 0.0, low = 0.0, high = 0.0;
    enum { COUNT = 100000 };
    for (int64_t i = 0; i < COUNT; i++) {
      double value = pattern_at(&pattern, i);
      sum += value;
      square += value * value;
      low = fmin(low, value);
      high = fmax(high, value);
    }
    CHECK_NEAR(sum / COUNT, 0.0, 4 * 1.5 / sqrt(3.0 * COUNT)); /* 4 standard errors */
    CHECK_NEAR(square / COUNT, 0.75, 0.01);
    CHECK(low >= -1.5 && low < -1.49 && high < 1.5 && high > 1.49);
    CHECK_NEAR(pattern_at(&pattern, 5), pattern_at(&pattern, 5 + PATTERN_PERIOD), 0.0);
    CHECK(pattern_at(&pattern, 5) != pattern_at(&pattern, 6));
  }
}

static void test_gelu(void) {
  TEST("derivatives agree with central differences") {
    for (double x = -6.0; x <= 6.0; x += 0.37) {
      double step = 1e-5;
      double tanh_slope = (gelu_tanh(x + step) - gelu_tanh(x - step)) / (2 * step);
      double erf_slope = (gelu_erf(x + step) - gelu_erf(x - step)) / (2 * step);
      CHECK_NEAR(gelu_tanh_derivative(x), tanh_slope, 1e-9);
      CHECK_NEAR(gelu_erf_derivative(x), erf_slope, 1e-9);
    }
  }
  TEST("the two differ where the probe looks, by more than bf16 rounds") {
    double apart = fabs(gelu_tanh(-3.0) - gelu_erf(-3.0));
    CHECK(apart > 4 * fabs(gelu_erf(-3.0)) * 0x1p-9);
    CHECK(apart < 1e-3);
  }
}

static void test_difference(void) {
  TEST("errors beyond the tolerance and NaN are outside") {
    Difference difference = {0};
    difference_add(&difference, 1.0, 1.0, 0.0);
    difference_add(&difference, 1.1, 1.0, 0.2);
    CHECK_INT(difference.outside, 0);
    difference_add(&difference, 1.5, 1.0, 0.2);
    difference_add(&difference, (double)NAN, 1.0, 0.2);
    CHECK_INT(difference.outside, 2);
    CHECK_INT(difference.count, 4);
    CHECK(isnan(difference_relative_rms(&difference)));
  }
  TEST("the relative root mean square is |error| / |reference|") {
    Difference difference = {0};
    difference_add(&difference, 3.3, 3.0, 1.0);
    difference_add(&difference, -4.4, -4.0, 1.0);
    CHECK_NEAR(difference_relative_rms(&difference), 0.1, 1e-12);
  }
}

int main(void) {
  test_pattern();
  test_gelu();
  test_difference();
  TEST("medians of odd and even counts") {
    double odd[] = {5, 1, 3}, even[] = {4, 1, 3, 2};
    CHECK_NEAR(median(odd, 3), 3, 0);
    CHECK_NEAR(median(even, 4), 2.5, 0);
  }
  CHECK_DONE();
}

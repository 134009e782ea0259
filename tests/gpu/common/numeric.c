#include "tests/gpu/common/numeric.h"

#include <math.h>
#include <stdlib.h>

#include "kernels/math/bf16.h"

size_t number_size_bytes(NumberType type) {
  return type == TYPE_BF16 ? 2 : 4;
}

/* The finaliser of splitmix64 (Steele, Lea, Flood, OOPSLA 2014): every input bit reaches every
 * output bit, so consecutive indices give unrelated values. */
static uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

static float pattern_float(const Pattern *pattern, int64_t index) {
  uint64_t hash = mix(((uint64_t)pattern->seed << 32) ^ (uint64_t)(index % PATTERN_PERIOD));
  float unit = (float)(hash >> 40) * (1.0f / 8388608.0f) - 1.0f; /* 24 bits -> [-1, 1) */
  return unit * pattern->scale;
}

double pattern_at(const Pattern *pattern, int64_t index) {
  float value = pattern_float(pattern, index);
  return pattern->type == TYPE_BF16 ? (double)bf16_to_float(bf16_from_float(value)) : (double)value;
}

void pattern_write(const Pattern *pattern, void *out, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    number_put(pattern->type, out, i, (double)pattern_float(pattern, i));
}

double number_at(NumberType type, const void *data, int64_t index) {
  if (type == TYPE_BF16) return (double)bf16_to_float(((const uint16_t *)data)[index]);
  return (double)((const float *)data)[index];
}

void number_put(NumberType type, void *data, int64_t index, double value) {
  if (type == TYPE_BF16) {
    ((uint16_t *)data)[index] = bf16_from_float((float)value);
  } else {
    ((float *)data)[index] = (float)value;
  }
}

static const double SQRT_2_OVER_PI = 0.79788456080286535588;
static const double GELU_CUBIC = 0.044715;

double gelu_tanh(double x) {
  return 0.5 * x * (1.0 + tanh(SQRT_2_OVER_PI * (x + GELU_CUBIC * x * x * x)));
}

double gelu_tanh_derivative(double x) {
  double t = tanh(SQRT_2_OVER_PI * (x + GELU_CUBIC * x * x * x));
  double inner = SQRT_2_OVER_PI * (1.0 + 3.0 * GELU_CUBIC * x * x);
  return 0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * inner;
}

double gelu_erf(double x) {
  return 0.5 * x * (1.0 + erf(x * 0.70710678118654752440));
}

double gelu_erf_derivative(double x) {
  double density = exp(-0.5 * x * x) * 0.39894228040143267794; /* 1 / sqrt(2 pi) */
  return 0.5 * (1.0 + erf(x * 0.70710678118654752440)) + x * density;
}

void difference_add(Difference *difference, double got, double reference, double tolerance) {
  double error = fabs(got - reference);
  difference->count++;
  if (!(error <= tolerance)) difference->outside++; /* a NaN is outside too */
  if (!(error <= difference->max_error)) difference->max_error = error;
  if (fabs(reference) > difference->max_reference) difference->max_reference = fabs(reference);
  difference->sum_error2 += error * error;
  difference->sum_reference2 += reference * reference;
}

double difference_relative_rms(const Difference *difference) {
  if (difference->sum_reference2 <= 0.0) return sqrt(difference->sum_error2);
  return sqrt(difference->sum_error2 / difference->sum_reference2);
}

static int compare_doubles(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

double median(double *values, int count) {
  qsort(values, (size_t)count, sizeof *values, compare_doubles);
  int middle = count / 2;
  return count % 2 ? values[middle] : 0.5 * (values[middle - 1] + values[middle]);
}

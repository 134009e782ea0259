/* numeric.h -- the reference side of every check, in fp64 and on the host.
 *
 * Inputs are a pattern: a pure function of seed and index. The device holds the pattern, the
 * reference asks for any element of it, so a check of 64 elements of a 2 GB result needs no copy
 * of its inputs. Random data, not zeros: a matmul of zeros runs faster than a real one.
 */
#ifndef GPU_NUMERIC_H
#define GPU_NUMERIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum { TYPE_BF16, TYPE_FP32 } NumberType;

size_t number_size_bytes(NumberType type);

/* Uniform in [-scale, scale), rounded to `type`. Element i of the data equals element
 * i % PATTERN_PERIOD; the period is prime, so that no row of a matrix repeats its neighbour. */
typedef struct {
  NumberType type;
  uint32_t seed;
  float scale;
} Pattern;

enum { PATTERN_PERIOD = 1048573 };

double pattern_at(const Pattern *pattern, int64_t index);

/* Writes the first `count` elements in the pattern's own type. */
void pattern_write(const Pattern *pattern, void *out, int64_t count);

/* Reads or writes element `index` of an array of `type`. */
double number_at(NumberType type, const void *data, int64_t index);
void number_put(NumberType type, void *data, int64_t index, double value);

/* The two GELUs in use (Hendrycks & Gimpel, arXiv:1606.08415) and the derivative of the first. */
double gelu_tanh(double x);
double gelu_erf(double x);
double gelu_tanh_derivative(double x);
double gelu_erf_derivative(double x);

/* How far a result is from its reference. */
typedef struct {
  int64_t count;
  double max_error;
  double max_reference;
  double sum_error2;
  double sum_reference2;
  int64_t outside; /* elements whose error exceeded the tolerance given with them */
} Difference;

void difference_add(Difference *difference, double got, double reference, double tolerance);
double difference_relative_rms(const Difference *difference); /* |got - ref|_2 / |ref|_2 */

/* Middle value; mean of the two middle ones for an even count. Sorts `values`. count >= 1. */
double median(double *values, int count);

#endif

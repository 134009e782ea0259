/* norm.c -- layernorm: y = (x - mean) / std * (weight + offset) + bias (arXiv:1607.06450), where
 * the variance is the biased one; rmsnorm: y = x / sqrt(mean(x^2) + eps) * (weight + offset)
 * (arXiv:1910.07467). */
#include "kernels/reference/access.h"

void reference_layernorm(const KernelArgs *args) {
  Tensor x = tensor(args, 0), weight = tensor(args, 1), bias = tensor(args, 2);
  Tensor y = tensor(args, 3), stats = tensor(args, 4);
  int64_t rows = args->dim[0], width = args->dim[1];
  double offset = args->attr[1];
  for (int64_t r = 0; r < rows; r++) {
    int64_t row = r * width;
    double mean = 0, variance = 0;
    for (int64_t c = 0; c < width; c++)
      mean += load(x, row + c);
    mean /= (double)width;
    for (int64_t c = 0; c < width; c++)
      variance += (load(x, row + c) - mean) * (load(x, row + c) - mean);
    double rstd = 1 / sqrt(variance / (double)width + args->attr[0]);
    for (int64_t c = 0; c < width; c++)
      store(y, row + c,
            (load(x, row + c) - mean) * rstd * (load(weight, c) + offset) + load(bias, c));
    store(stats, 2 * r, mean);
    store(stats, 2 * r + 1, rstd);
  }
}

/* With n = (x - mean) rstd and g = d_y (weight + offset): d_x = rstd (g - mean(g) - n mean(g n)).
 */
void reference_layernorm_backward(const KernelArgs *args) {
  Tensor d_y = tensor(args, 0), x = tensor(args, 1), weight = tensor(args, 2);
  Tensor stats = tensor(args, 3), d_x = tensor(args, 4);
  Tensor d_weight = tensor(args, 5), d_bias = tensor(args, 6);
  int64_t rows = args->dim[0], width = args->dim[1];
  double offset = args->attr[0];
  for (int64_t c = 0; c < width; c++) {
    double weight_sum = 0, bias_sum = 0;
    for (int64_t r = 0; r < rows; r++) {
      double n = (load(x, r * width + c) - load(stats, 2 * r)) * load(stats, 2 * r + 1);
      weight_sum += load(d_y, r * width + c) * n;
      bias_sum += load(d_y, r * width + c);
    }
    store_or_add(d_weight, c, weight_sum, args->accumulate);
    store_or_add(d_bias, c, bias_sum, args->accumulate);
  }
  for (int64_t r = 0; r < rows; r++) {
    int64_t row = r * width;
    double mean = load(stats, 2 * r), rstd = load(stats, 2 * r + 1);
    double mean_g = 0, mean_gn = 0;
    for (int64_t c = 0; c < width; c++) {
      double g = load(d_y, row + c) * (load(weight, c) + offset);
      mean_g += g;
      mean_gn += g * (load(x, row + c) - mean) * rstd;
    }
    mean_g /= (double)width;
    mean_gn /= (double)width;
    for (int64_t c = 0; c < width; c++) {
      double g = load(d_y, row + c) * (load(weight, c) + offset);
      double n = (load(x, row + c) - mean) * rstd;
      store(d_x, row + c, rstd * (g - mean_g - n * mean_gn));
    }
  }
}

void reference_rmsnorm(const KernelArgs *args) {
  Tensor x = tensor(args, 0), weight = tensor(args, 1), y = tensor(args, 2), rstd = tensor(args, 3);
  int64_t rows = args->dim[0], width = args->dim[1];
  double offset = args->attr[1];
  for (int64_t r = 0; r < rows; r++) {
    int64_t row = r * width;
    double square = 0;
    for (int64_t c = 0; c < width; c++)
      square += load(x, row + c) * load(x, row + c);
    double scale = 1 / sqrt(square / (double)width + args->attr[0]);
    for (int64_t c = 0; c < width; c++)
      store(y, row + c, load(x, row + c) * scale * (load(weight, c) + offset));
    store(rstd, r, scale);
  }
}

/* With n = x rstd and g = d_y (weight + offset): d_x = rstd (g - n mean(g n)). */
void reference_rmsnorm_backward(const KernelArgs *args) {
  Tensor d_y = tensor(args, 0), x = tensor(args, 1), weight = tensor(args, 2);
  Tensor rstd = tensor(args, 3), d_x = tensor(args, 4), d_weight = tensor(args, 5);
  int64_t rows = args->dim[0], width = args->dim[1];
  double offset = args->attr[0];
  for (int64_t c = 0; c < width; c++) {
    double sum = 0;
    for (int64_t r = 0; r < rows; r++)
      sum += load(d_y, r * width + c) * load(x, r * width + c) * load(rstd, r);
    store_or_add(d_weight, c, sum, args->accumulate);
  }
  for (int64_t r = 0; r < rows; r++) {
    int64_t row = r * width;
    double scale = load(rstd, r), mean_gn = 0;
    for (int64_t c = 0; c < width; c++)
      mean_gn += load(d_y, row + c) * (load(weight, c) + offset) * load(x, row + c) * scale;
    mean_gn /= (double)width;
    for (int64_t c = 0; c < width; c++) {
      double g = load(d_y, row + c) * (load(weight, c) + offset);
      store(d_x, row + c, scale * (g - load(x, row + c) * scale * mean_gn));
    }
  }
}

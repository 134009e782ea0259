/* rmsnorm.c -- y = x / sqrt(mean(x^2) + eps) * (weight + offset) (arXiv:1910.07467). */
#include "kernels/reference/access.h"

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

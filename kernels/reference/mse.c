/* mse.c -- the sum of squared differences and its gradient. */
#include "kernels/math/mse.h"

#include "kernels/math/slope.h"
#include "kernels/reference/access.h"

enum { BLOCK = 4096 };

static void mse(const KernelArgs *args, int64_t n, const Tensor *d_y, double *block_sum) {
  Tensor y = tensor(args, 0), target = tensor(args, 1);
  double *loss = args->operand[2], sum = 0;
  double scale = d_y ? slope_scale(args->attr[0], NULL, kernel_slot(args, 0)) : 0;
  for (int64_t first = 0; first < n; first += BLOCK) {
    double block = 0;
    for (int64_t i = first; i < n && i < first + BLOCK; i++) {
      double difference = load(y, i) - load(target, i);
      block += difference * difference;
      if (d_y) store(*d_y, i, 2 * difference * scale);
    }
    block_sum[first / BLOCK] = block;
  }
  for (int64_t block = 0; block * BLOCK < n; block++)
    sum += block_sum[block];
  loss[0] = args->accumulate ? loss[0] + sum : sum;
  loss[1] = args->accumulate ? loss[1] + (double)n : (double)n;
}

void reference_mse(const KernelArgs *args) {
  mse(args, mse_counted(args->dim[0], args->control[0], args->control[1]), NULL, args->operand[3]);
}

void reference_mse_train(const KernelArgs *args) {
  Tensor d_y = tensor(args, 3);
  mse(args, args->dim[0], &d_y, args->operand[4]);
}

/* grad_norm.c -- sums of squares in double: sixteen running sums per block, blocks added in order.
 */
#include "kernels/cpu/ranges.h"
#include "kernels/cpu/vec.h"

enum { BLOCK = 4096, TASK_BLOCKS = 16 };

static void square_blocks(const KernelArgs *args, const void *context, int64_t first, int64_t end) {
  double *block_sum = (double *)args->operand[2];
  DType dtype = (DType)args->dtype[0];
  (void)context;
  for (; first < end; first += BLOCK) {
    int64_t stop = min64(first + BLOCK, end);
    VecDouble sum = vd_zero();
    for (int64_t i = first; i < stop; i += LANES) {
      Vec x = v_get_n(args->operand[0], i, stop - i, dtype);
      sum = vd_add_product(sum, x, x);
    }
    block_sum[first / BLOCK] = vd_sum(sum);
  }
}

void CPU(square_sum)(const KernelArgs *args) {
  int64_t n = args->dim[0], blocks = ceil_div(n, BLOCK);
  if (!cpu_floats(args, 1, 0) || args->bytes[2] < 8 * blocks) {
    reference_square_sum(args);
    return;
  }
  cpu_ranges(args, n, TASK_BLOCKS * BLOCK, square_blocks, NULL);
  const double *block_sum = (const double *)args->operand[2];
  double sum = 0;
  for (int64_t i = 0; i < blocks; i++)
    sum += block_sum[i];
  *(double *)args->operand[1] = sum;
}

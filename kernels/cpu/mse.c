/* mse.c -- squared differences in double, blocks added in order; the gradient in the same pass. */
#include "kernels/math/mse.h"

#include "kernels/cpu/ranges.h"
#include "kernels/cpu/vec.h"
#include "kernels/math/slope.h"

enum { BLOCK = 4096, TASK_BLOCKS = 4 };

typedef struct Mse {
  int64_t n; /* elements that count */
  void *d_y; /* or NULL */
  DType d_y_dtype;
  double *block_sum;
  float twice_scale;
} Mse;

static void mse_blocks(const KernelArgs *args, const void *context, int64_t first, int64_t end) {
  const Mse *t = (const Mse *)context;
  DType y_dtype = (DType)args->dtype[0], target_dtype = (DType)args->dtype[1];
  for (; first < end; first += BLOCK) {
    int64_t stop = min64(first + BLOCK, end);
    VecDouble sum = vd_zero();
    for (int64_t i = first; i < stop; i += LANES) {
      int64_t n = stop - i;
      Vec difference = v_sub(v_get_n(args->operand[0], i, n, y_dtype),
                             v_get_n(args->operand[1], i, n, target_dtype));
      sum = vd_add_product(sum, difference, difference);
      if (t->d_y) v_put_n(t->d_y, i, n, t->d_y_dtype, v_mul(difference, v_set(t->twice_scale)));
    }
    t->block_sum[first / BLOCK] = vd_sum(sum);
  }
}

static void mse(const KernelArgs *args, const Mse *t) {
  int64_t n = t->n;
  double *loss = (double *)args->operand[2], sum = 0;
  cpu_ranges(args, n, TASK_BLOCKS * BLOCK, mse_blocks, t);
  for (int64_t i = 0; i * BLOCK < n; i++)
    sum += t->block_sum[i];
  loss[0] = args->accumulate ? loss[0] + sum : sum;
  loss[1] = args->accumulate ? loss[1] + (double)n : (double)n;
}

void CPU(mse)(const KernelArgs *args) {
  if (cpu_floats(args, 2, 0))
    mse(args, &(Mse){.n = mse_counted(args->dim[0], args->control[0], args->control[1]),
                     .block_sum = (double *)args->operand[3]});
  else
    reference_mse(args);
}

void CPU(mse_train)(const KernelArgs *args) {
  if (cpu_floats(args, 4, 1u << 2))
    mse(args,
        &(Mse){.n = args->dim[0],
               .d_y = args->operand[3],
               .d_y_dtype = (DType)args->dtype[3],
               .block_sum = (double *)args->operand[4],
               .twice_scale = (float)(2 * slope_scale(args->attr[0], NULL, kernel_slot(args, 0)))});
  else
    reference_mse_train(args);
}

/* init.h -- which element of the whole tensor stands where in a rank's part of it. */
#ifndef LOCKSTEP_KERNELS_INIT_H
#define LOCKSTEP_KERNELS_INIT_H

#include "kernels/kernel.h"

/* `length` elements of out, from some i on: padding (0), or elements of the tensor that follow one
 * another. */
typedef struct InitRun {
  bool padding;
  int64_t element, length;
} InitRun;

static inline InitRun init_run(const KernelArgs *args, int64_t i) {
  int64_t n = args->dim[0], elements = args->dim[1], inner = args->dim[2], stride = args->dim[3];
  int64_t all_elements = args->dim[4], f = (int64_t)args->attr[2] + i;
  if (f >= elements) return (InitRun){true, 0, n - i};
  int64_t length = inner - f % inner, left = elements - f;
  if (length > left) length = left;
  if (length > n - i) length = n - i;
  int64_t element = f / inner * stride + (int64_t)args->attr[3] + f % inner;
  int64_t real = all_elements - element;
  if (real <= 0) return (InitRun){true, 0, length};
  return (InitRun){false, element, length < real ? length : real};
}

#endif

/* copy.c -- cast rounds to another dtype; copy moves bytes between views. */
#include <assert.h>

#include "kernels/reference/access.h"

void reference_cast(const KernelArgs *args) {
  Tensor x = tensor(args, 0), y = tensor(args, 1);
  for (int64_t i = 0; i < args->dim[0]; i++)
    store(y, i, load(x, i));
}

void reference_copy(const KernelArgs *args) {
  assert(args->dtype[0] == args->dtype[1]);
  const char *x = args->operand[0];
  char *y = args->operand[1];
  int64_t rows = args->dim[0], cols = args->dim[1];
  int64_t bytes = dtype_bytes((DType)args->dtype[0]);
  for (int64_t r = 0; r < rows; r++)
    memmove(y + r * args->dim[3] * bytes, x + r * args->dim[2] * bytes, (size_t)(cols * bytes));
}

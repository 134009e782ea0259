/* embedding.c -- y[r] = table[ids[r]]. An id below 0 is padding: a row of zeros, and no gradient.
 */
#include "kernels/reference/access.h"

void reference_embedding(const KernelArgs *args) {
  Tensor table = tensor(args, 0), y = tensor(args, 2);
  const int32_t *ids = args->operand[1];
  int64_t rows = args->dim[0], width = args->dim[1];
  for (int64_t r = 0; r < rows; r++)
    for (int64_t c = 0; c < width; c++)
      store(y, r * width + c, ids[r] < 0 ? 0 : load(table, ids[r] * width + c));
}

static bool seen_before(const int32_t *ids, int64_t row) {
  for (int64_t r = 0; r < row; r++)
    if (ids[r] == ids[row]) return true;
  return false;
}

/* Each id is summed at its first row, over all its rows in order: one rounding per element. */
void reference_embedding_backward(const KernelArgs *args) {
  Tensor d_y = tensor(args, 0), d_table = tensor(args, 2);
  const int32_t *ids = args->operand[1];
  int64_t rows = args->dim[0], width = args->dim[1], vocab = args->dim[2];
  if (!args->accumulate)
    memset(d_table.at, 0, (size_t)(vocab * width * dtype_bytes(d_table.dtype)));
  for (int64_t first = 0; first < rows; first++) {
    if (ids[first] < 0 || seen_before(ids, first)) continue;
    for (int64_t c = 0; c < width; c++) {
      double sum = 0;
      for (int64_t r = first; r < rows; r++)
        if (ids[r] == ids[first]) sum += load(d_y, r * width + c);
      store_or_add(d_table, ids[first] * width + c, sum, true);
    }
  }
}

void reference_positions(const KernelArgs *args) {
  Tensor y = tensor(args, 0);
  for (int64_t i = 0; i < args->dim[0]; i++)
    store(y, i, args->attr[0] + (double)i);
}

/* embedding.c -- y[r] = table[ids[r] - first]. Ids below 0 are padding, ids beyond the table
 * another rank's: rows of zeros, and no gradient. */
#include "kernels/reference/access.h"
#include "kernels/runs.h"

static bool has_row(const KernelArgs *args, int32_t id) {
  int64_t row = id - (int64_t)args->attr[0];
  return row >= 0 && row < args->dim[2];
}

void reference_embedding(const KernelArgs *args) {
  Tensor table = tensor(args, 0), y = tensor(args, 2);
  const int32_t *ids = args->operand[1];
  int64_t rows = args->dim[0], width = args->dim[1], first = (int64_t)args->attr[0];
  for (int64_t r = 0; r < rows; r++)
    for (int64_t c = 0; c < width; c++)
      store(y, r * width + c,
            has_row(args, ids[r]) ? load(table, (ids[r] - first) * width + c) : 0);
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
    if (!has_row(args, ids[first]) || seen_before(ids, first)) continue;
    for (int64_t c = 0; c < width; c++) {
      double sum = 0;
      for (int64_t r = first; r < rows; r++)
        if (ids[r] == ids[first]) sum += load(d_y, r * width + c);
      store_or_add(d_table, (ids[first] - (int64_t)args->attr[0]) * width + c, sum, true);
    }
  }
}

void reference_positions(const KernelArgs *args) {
  Tensor y = tensor(args, 0);
  Runs runs = {args->dim[0], (int64_t)args->attr[0], (int64_t)args->attr[1]};
  for (int64_t i = 0; i < args->dim[0]; i++)
    store(y, i, (double)runs_position(runs, i));
}

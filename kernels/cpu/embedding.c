/* embedding.c -- rows of the table; backward adds every row's gradient in the order of the rows.
 *
 * Backward gives each task a strip of columns (f32 tables), so no two tasks write one element and
 * every element is summed in one order. A bf16 table must round once per element: there each id is
 * summed at its first row, as in the reference. */
#include <string.h>

#include "kernels/cpu/ranges.h"
#include "kernels/cpu/vec.h"

enum { STRIP = 64, FIRST_ROWS = 32, CHUNK = 256 };

/* The row of the table held here; -1: padding (below 0, so below `first`), or another rank's. */
ALWAYS_INLINE int64_t row_of(const KernelArgs *args, int32_t id) {
  int64_t row = id - (int64_t)args->attr[0];
  return row >= 0 && row < args->dim[2] ? row : -1;
}

static void gather_rows(const KernelArgs *args, const void *context, int64_t first, int64_t end) {
  DType table_dtype = (DType)args->dtype[0], y_dtype = (DType)args->dtype[2];
  const int32_t *ids = (const int32_t *)args->operand[1];
  int64_t width = args->dim[1];
  (void)context;
  for (int64_t r = first; r < end; r++) {
    void *y = at_mut(args->operand[2], r * width, y_dtype);
    int64_t from = row_of(args, ids[r]);
    const void *row = at(args->operand[0], max64(from, 0) * width, table_dtype);
    if (from < 0)
      memset(y, 0, (size_t)(width * float_bytes(y_dtype)));
    else if (table_dtype == y_dtype)
      memcpy(y, row, (size_t)(width * float_bytes(y_dtype)));
    else
      for (int64_t c = 0; c < width; c += LANES)
        v_put_n(y, c, width - c, y_dtype, v_get_n(row, c, width - c, table_dtype));
  }
}

void CPU(embedding)(const KernelArgs *args) {
  if (cpu_floats(args, 3, 1u << 1))
    cpu_ranges(args, args->dim[0], grain_rows(args->dim[1]), gather_rows, NULL);
  else
    reference_embedding(args);
}

static void zero_range(const KernelArgs *args, const void *context, int64_t first, int64_t end) {
  DType dtype = (DType)args->dtype[2];
  (void)context;
  memset(at_mut(args->operand[2], first, dtype), 0, (size_t)((end - first) * float_bytes(dtype)));
}

static void add_strip(const KernelArgs *args, const void *context, int64_t first, int64_t end) {
  DType dtype = (DType)args->dtype[0];
  const int32_t *ids = (const int32_t *)args->operand[1];
  int64_t width = args->dim[1];
  (void)context;
  for (int64_t r = 0; r < args->dim[0]; r++) {
    int64_t row = row_of(args, ids[r]);
    if (row < 0) continue;
    float *table = (float *)args->operand[2] + row * width;
    for (int64_t c = first; c < end; c += LANES) {
      int64_t n = end - c;
      Vec d = v_get_n(args->operand[0], r * width + c, n, dtype);
      v_put_n(table, c, n, DTYPE_F32, v_add(v_get_n(table, c, n, DTYPE_F32), d));
    }
  }
}

static bool seen_before(const int32_t *ids, int64_t row) {
  int32_t seen = 0;
  for (int64_t r = 0; r < row; r++)
    seen |= ids[r] == ids[row];
  return seen != 0;
}

/* All rows from `first` on that have its id, columns [c, c + n). */
static void add_id(const KernelArgs *args, int64_t first, int64_t c, int64_t n) {
  DType d_y_dtype = (DType)args->dtype[0], table_dtype = (DType)args->dtype[2];
  const int32_t *ids = (const int32_t *)args->operand[1];
  int64_t width = args->dim[1];
  float sum[CHUNK] = {0};
  for (int64_t r = first; r < args->dim[0]; r++) {
    if (ids[r] != ids[first]) continue;
    for (int64_t i = 0; i < n; i += LANES) {
      Vec d = v_get_n(args->operand[0], r * width + c + i, n - i, d_y_dtype);
      v_store(sum + i, v_add(v_load(sum + i), d));
    }
  }
  int64_t to = row_of(args, ids[first]) * width + c;
  for (int64_t i = 0; i < n; i += LANES) {
    Vec old = v_get_n(args->operand[2], to + i, n - i, table_dtype);
    v_put_n(args->operand[2], to + i, n - i, table_dtype, v_add(old, v_load(sum + i)));
  }
}

static void add_first_rows(const KernelArgs *args, const void *context, int64_t first,
                           int64_t end) {
  const int32_t *ids = (const int32_t *)args->operand[1];
  int64_t width = args->dim[1];
  (void)context;
  for (int64_t r = first; r < end; r++) {
    if (row_of(args, ids[r]) < 0 || seen_before(ids, r)) continue;
    for (int64_t c = 0; c < width; c += CHUNK)
      add_id(args, r, c, min64(CHUNK, width - c));
  }
}

void CPU(embedding_backward)(const KernelArgs *args) {
  if (!cpu_floats(args, 3, 1u << 1)) {
    reference_embedding_backward(args);
    return;
  }
  int64_t rows = args->dim[0], width = args->dim[1], vocab = args->dim[2];
  if (!args->accumulate) cpu_ranges(args, vocab * width, GRAIN_STREAM, zero_range, NULL);
  if (args->dtype[2] == DTYPE_F32)
    cpu_ranges(args, width, STRIP, add_strip, NULL);
  else
    cpu_ranges(args, rows, FIRST_ROWS, add_first_rows, NULL);
}

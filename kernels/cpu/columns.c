/* columns.c -- see columns.h. */
#include "kernels/cpu/columns.h"

#include "kernels/cpu/ranges.h"
#include "kernels/cpu/vec.h"

enum {
  STRIP = 4 * LANES, /* columns summed side by side */
  BLOCK_ROWS = 128   /* partial sums keep the rounding error of long columns low */
};

static void whole_strip(const Columns *c, int64_t column) {
  Vec total[4] = {v_set(0), v_set(0), v_set(0), v_set(0)};
  for (int64_t block = 0; block < c->rows; block += BLOCK_ROWS) {
    Vec sum[4] = {v_set(0), v_set(0), v_set(0), v_set(0)};
    int64_t end = min64(block + BLOCK_ROWS, c->rows);
    for (int64_t r = block; r < end; r++) {
      UNROLL for (int j = 0; j < 4; j++) sum[j] =
          v_add(sum[j], v_get(c->x, r * c->width + column + j * LANES, c->x_dtype));
    }
    UNROLL for (int j = 0; j < 4; j++) total[j] = v_add(total[j], sum[j]);
  }
  UNROLL for (int j = 0; j < 4; j++) {
    int64_t at = column + j * LANES;
    if (c->accumulate) total[j] = v_add(v_get(c->y, at, c->y_dtype), total[j]);
    v_put(c->y, at, c->y_dtype, total[j]);
  }
}

static void part_strip(const Columns *c, int64_t column, int64_t n) {
  Vec total = v_set(0);
  for (int64_t block = 0; block < c->rows; block += BLOCK_ROWS) {
    Vec sum = v_set(0);
    int64_t end = min64(block + BLOCK_ROWS, c->rows);
    for (int64_t r = block; r < end; r++)
      sum = v_add(sum, v_get_n(c->x, r * c->width + column, n, c->x_dtype));
    total = v_add(total, sum);
  }
  if (c->accumulate) total = v_add(v_get_n(c->y, column, n, c->y_dtype), total);
  v_put_n(c->y, column, n, c->y_dtype, total);
}

static void strip_range(const KernelArgs *args, const void *context, int64_t first, int64_t end) {
  const Columns *c = (const Columns *)context;
  (void)args;
  if (end - first == STRIP) {
    whole_strip(c, first);
    return;
  }
  for (int64_t column = first; column < end; column += LANES)
    part_strip(c, column, min64(LANES, end - column));
}

void CPU(column_sums)(const KernelArgs *args, Columns columns) {
  cpu_ranges(args, columns.width, STRIP, strip_range, &columns);
}

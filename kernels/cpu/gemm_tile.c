/* gemm_tile.c -- panels and the inner kernel of products by tiles. See tile.h.
 *
 * Sixteen lines by sixteen units (32 elements of k) are one register and one block of 1 KiB. Of a,
 * a block has the lines down and the units across; of b the other way round, as tdpbf16ps takes
 * them. The blocks of sixteen lines follow each other along k, then come the next sixteen. */
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/tile.h"

enum { BLOCK = TILE_SIDE * TILE_SIDE };

/* Lines whose elements stand side by side: a copy. */
static void copy_block(const Factor *x, int64_t line, int64_t lines, int64_t k0, int64_t k,
                       float *to) {
  size_t bytes = (size_t)min64(2 * k, 4 * TILE_SIDE);
  for (int64_t i = 0; i < TILE_SIDE; i++, to += TILE_SIDE) {
    if (i >= lines || bytes < 4 * TILE_SIDE) memset(to, 0, 4 * TILE_SIDE);
    if (i < lines) memcpy(to, at(x->data, (line + i) * x->line_stride + k0, true), bytes);
  }
}

/* Else they are packed as b is, and turned. */
static void turn_block(const Factor *x, int64_t line, int64_t lines, int64_t k0, int64_t k,
                       float *to) {
  float units[BLOCK] __attribute__((aligned(64)));
  Vec r[TILE_SIDE];
  if (k < 2 * TILE_SIDE) memset(units, 0, sizeof units);
  CPU(gemm_pack)
  (x, line, min64(lines, TILE_SIDE), k0, min64(k, 2 * TILE_SIDE), true,
   pack_column_panel(units, TILE_SIDE));
  for (int i = 0; i < TILE_SIDE; i++)
    r[i] = v_load(units + i * TILE_SIDE);
  v_transpose16(r);
  for (int i = 0; i < TILE_SIDE; i++)
    v_store(to + i * TILE_SIDE, r[i]);
}

void CPU(gemm_pack_tile_rows)(const Factor *x, int64_t line, int64_t lines, int64_t k0, int64_t k,
                              float *to) {
  int64_t group = ceil_div(k, 2 * TILE_SIDE) * BLOCK;
  for (int64_t u = 0; u < k; u += 2 * TILE_SIDE, to += BLOCK)
    for (int64_t i = 0; i < lines; i += TILE_SIDE) {
      float *block = to + i / TILE_SIDE * group;
      if (x->k_stride == 1)
        copy_block(x, line + i, lines - i, k0 + u, k - u, block);
      else
        turn_block(x, line + i, lines - i, k0 + u, k - u, block);
    }
}

void CPU(gemm_pack_tile_columns)(const Factor *x, int64_t line, int64_t lines, int64_t k0,
                                 int64_t k, float *to) {
  int64_t units = ceil_div(k, 2), group = ceil_div(units, TILE_SIDE) * BLOCK;
  CPU(gemm_pack)(x, line, lines, k0, k, true, (PackTarget){to, TILE_SIDE, group, 0});
  for (int64_t i = 0; i < lines; i += TILE_SIDE, to += group)
    memset(to + units * TILE_SIDE, 0, (size_t)(group - units * TILE_SIDE) * sizeof *to);
}

/* Four sums in registers 0 to 3; two blocks of a in 4 and 5, two of b in 6 and 7: every block that
 * is loaded is used twice. The second row or column of blocks may be missing. */
ALWAYS_INLINE void multiply(TileFile *file, const TileTask *t) {
  const float *a = t->a, *b = t->b;
  enum { ROW = 4 * TILE_SIDE, OUT = 4 * TILE_PANEL };
  TILE_ZERO(file, 0);
  TILE_ZERO(file, 1);
  TILE_ZERO(file, 2);
  TILE_ZERO(file, 3);
  for (int64_t u = 0; u < t->units; u += TILE_SIDE, a += BLOCK, b += BLOCK) {
    TILE_LOAD(file, 4, a, ROW);
    TILE_LOAD(file, 6, b, ROW);
    TILE_DOT(file, 0, 4, 6);
    if (t->columns > TILE_SIDE) {
      TILE_LOAD(file, 7, b + t->units * TILE_SIDE, ROW);
      TILE_DOT(file, 1, 4, 7);
    }
    if (t->rows > TILE_SIDE) {
      TILE_LOAD(file, 5, a + t->units * TILE_SIDE, ROW);
      TILE_DOT(file, 2, 5, 6);
      if (t->columns > TILE_SIDE) TILE_DOT(file, 3, 5, 7);
    }
  }
  TILE_STORE(file, 0, t->sums, OUT);
  TILE_STORE(file, 1, t->sums + TILE_SIDE, OUT);
  TILE_STORE(file, 2, t->sums + TILE_SIDE * TILE_PANEL, OUT);
  TILE_STORE(file, 3, t->sums + TILE_SIDE * TILE_PANEL + TILE_SIDE, OUT);
}

void CPU(gemm_tiles)(const TileTask *task, bool emulated) {
  TileFile file;
  if (emulated)
    multiply(&file, task);
  else
    multiply(NULL, task);
}

void CPU(gemm_tiles_begin)(bool emulated) {
  if (!emulated) tiles_begin();
}

void CPU(gemm_tiles_end)(bool emulated) {
  if (!emulated) tiles_end();
}

/* gemm_tile.c -- panels, and the inner kernel of products by tiles. See tile.h.
 *
 * Sixteen lines by sixteen units (32 elements of k) are one register. Of a, it is a block of 1 KiB
 * with the lines down and the units across: the blocks of sixteen lines follow each other along k,
 * then come the next sixteen. Of b, it is a square of the panel, whose rows are units: as tdpbf16ps
 * takes it. */
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/tile.h"

enum { BLOCK = TILE_SIDE * TILE_SIDE };

/* Lines whose elements are adjacent: a copy. */
static void copy_block(const Factor *x, int64_t line, int64_t lines, int64_t k0, int64_t k,
                       float *to) {
  size_t bytes = (size_t)min64(2 * k, 4 * TILE_SIDE);
  for (int64_t i = 0; i < TILE_SIDE; i++, to += TILE_SIDE) {
    if (i >= lines || bytes < 4 * TILE_SIDE) memset(to, 0, 4 * TILE_SIDE);
    if (i < lines) memcpy(to, at(x->data, (line + i) * x->line_stride + k0, DTYPE_BF16), bytes);
  }
}

/* Else they are copied as b is, and transposed. */
static void turn_block(const Factor *x, int64_t line, int64_t lines, int64_t k0, int64_t k,
                       float *to) {
  float units[BLOCK] __attribute__((aligned(64)));
  Vec r[TILE_SIDE];
  if (k < 2 * TILE_SIDE) memset(units, 0, sizeof units);
  CPU(gemm_fill_panels)
  (x, line, min64(lines, TILE_SIDE), k0, min64(k, 2 * TILE_SIDE), true,
   (PanelTarget){units, TILE_SIDE, 0, 0});
  for (int i = 0; i < TILE_SIDE; i++)
    r[i] = v_load(units + i * TILE_SIDE);
  v_transpose16(r);
  for (int i = 0; i < TILE_SIDE; i++)
    v_store(to + i * TILE_SIDE, r[i]);
}

/* n is a multiple of 16. */
static void round_units(float *units, int64_t n) {
  for (int64_t i = 0; i < n; i += LANES)
    v_store(units + i, v_tf32(v_load(units + i)));
}

void CPU(gemm_fill_row_panels)(GemmKind kind, const Factor *x, int64_t line, int64_t lines,
                               int64_t k0, int64_t k, float *to) {
  int64_t units = gemm_units(kind, k);
  if (!kind.tiles) {
    CPU(gemm_fill_panels)
    (x, line, lines, k0, k, kind.pairs,
     (PanelTarget){to, PANEL_ROWS, LANES * units, PANEL_ROWS * units});
    if (kind.tf32) round_units(to, whole_sixteens(lines) * units);
    return;
  }
  for (int64_t u = 0; u < k; u += 2 * TILE_SIDE, to += BLOCK)
    for (int64_t i = 0; i < lines; i += TILE_SIDE) {
      float *block = to + i * units;
      if (x->k_stride == 1)
        copy_block(x, line + i, lines - i, k0 + u, k - u, block);
      else
        turn_block(x, line + i, lines - i, k0 + u, k - u, block);
    }
}

void CPU(gemm_fill_column_panels)(GemmKind kind, const Factor *x, int64_t line, int64_t columns,
                                  int64_t k0, int64_t k, float *to) {
  int64_t width = ceil_div(columns, LANES) * LANES, units = kind.pairs ? ceil_div(k, 2) : k;
  CPU(gemm_fill_panels)(x, line, columns, k0, k, kind.pairs, (PanelTarget){to, width, LANES, 0});
  if (kind.tf32) round_units(to, width * units);
  int64_t missing = gemm_units(kind, k) - units;
  if (missing > 0) memset(to + units * width, 0, (size_t)(missing * width) * sizeof *to);
}

/* One or two sixteens of rows, and of columns. */
typedef struct TileTask {
  const char *a;         /* the first sixteen rows, */
  int64_t a_next;        /* and the second this many bytes further on */
  int64_t a_row, a_tile; /* bytes from row to row, and from sixteen units to the next */
  const float *b;
  int64_t b_row; /* from one unit of the panel to the next */
  int64_t units;
  bool two_rows, two_columns, add;
  float *sums;
} TileTask;

/* Four sums in registers 0 to 3; two blocks of a in 4 and 5, two of b in 6 and 7: every block that
 * is loaded is used twice. */
ALWAYS_INLINE void multiply(TileFile *file, const TileTask *t) {
  const char *a = t->a;
  const float *b = t->b;
  const size_t a_row = (size_t)t->a_row, b_row = sizeof *b * (size_t)t->b_row;
  const size_t sums_row = sizeof *t->sums * PANEL_COLUMNS;
  float *second = t->sums + TILE_SIDE * PANEL_COLUMNS;
  TILE_ZERO(file, 0);
  TILE_ZERO(file, 1);
  TILE_ZERO(file, 2);
  TILE_ZERO(file, 3);
  if (t->add) {
    TILE_LOAD(file, 0, t->sums, sums_row);
    if (t->two_columns) TILE_LOAD(file, 1, t->sums + TILE_SIDE, sums_row);
    if (t->two_rows) TILE_LOAD(file, 2, second, sums_row);
    if (t->two_rows && t->two_columns) TILE_LOAD(file, 3, second + TILE_SIDE, sums_row);
  }
  for (int64_t u = 0; u < t->units; u += TILE_SIDE, a += t->a_tile, b += TILE_SIDE * t->b_row) {
    TILE_LOAD(file, 4, a, a_row);
    TILE_LOAD(file, 6, b, b_row);
    TILE_DOT(file, 0, 4, 6);
    if (t->two_columns) {
      TILE_LOAD(file, 7, b + TILE_SIDE, b_row);
      TILE_DOT(file, 1, 4, 7);
    }
    if (t->two_rows) {
      TILE_LOAD(file, 5, a + t->a_next, a_row);
      TILE_DOT(file, 2, 5, 6);
      if (t->two_columns) TILE_DOT(file, 3, 5, 7);
    }
  }
  TILE_STORE(file, 0, t->sums, sums_row);
  if (t->two_columns) TILE_STORE(file, 1, t->sums + TILE_SIDE, sums_row);
  if (t->two_rows) TILE_STORE(file, 2, second, sums_row);
  if (t->two_rows && t->two_columns) TILE_STORE(file, 3, second + TILE_SIDE, sums_row);
}

/* Without registers the processor stops here, so the emulation does, too. */
static _Thread_local bool has_emulated;

/* Panels of 48 columns are multiplied as 32 and 16. */
void CPU(gemm_tiles)(const PanelTask *t, bool emulated) {
  bool in_panels = t->row_bytes == 0;
  int64_t a_row = in_panels ? UNIT_BYTES * TILE_SIDE : t->row_bytes;
  int64_t a_tile = in_panels ? TILE_BYTES : UNIT_BYTES * TILE_SIDE;
  int64_t a_next = TILE_SIDE * (in_panels ? t->depth * UNIT_BYTES : t->row_bytes);
  TileTask task = {.a = (const char *)t->a + t->row * (a_next / TILE_SIDE) +
                        t->first / TILE_SIDE * a_tile,
                   .a_next = a_next,
                   .a_row = a_row,
                   .a_tile = a_tile,
                   .b_row = t->columns,
                   .units = t->end - t->first,
                   .two_rows = t->rows > TILE_SIDE,
                   .add = t->add};
  TileFile file;
  if (emulated && !has_emulated) __builtin_trap();
  for (int64_t column = 0; column < t->columns; column += 2 * TILE_SIDE) {
    task.b = t->b + t->first * t->columns + column;
    task.sums = t->sums + column;
    task.two_columns = t->columns - column > TILE_SIDE;
    if (emulated)
      multiply(&file, &task);
    else
      multiply(NULL, &task);
  }
}

void CPU(gemm_begin)(GemmKind kind) {
  has_emulated = kind.emulated;
  if (kind.tiles && !kind.emulated) tiles_begin();
}

void CPU(gemm_end)(GemmKind kind) {
  has_emulated = false;
  if (kind.tiles && !kind.emulated) tiles_end();
}

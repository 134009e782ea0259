/* gemm.h -- c[m,n] = a[m,k] . b[k,n], for the linear kernels.
 *
 * Method: both factors are packed into panels (Goto and van de Geijn: Anatomy of High-Performance
 * Matrix Multiplication; TOMS 34(3), 2008) of 8 rows of a and 48 columns of b. One step of the
 * inner kernel consumes a 4-byte unit of every row and column: one f32, or two consecutive k of
 * bf16. Which variant multiplies bf16 is chosen once per process (kernels/product.h): pairs by dot
 * products; pairs by tiles, with panels of 32 rows and 32 columns (gemm_tile.c); or bf16 is widened
 * while it is packed.
 *
 * Every element of c is summed in one order, whatever the number of threads. */
#ifndef LOCKSTEP_KERNELS_CPU_GEMM_H
#define LOCKSTEP_KERNELS_CPU_GEMM_H

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/vec.h"
#include "kernels/product.h"

enum {
  PANEL_ROWS = 8,     /* of a */
  PANEL_COLUMNS = 48, /* of b; the last panel has 16, 32 or 48 */
  TILE = PANEL_ROWS * PANEL_COLUMNS
};

/* A factor seen as lines (rows of a, columns of b) along k; one of the strides is 1. */
typedef struct Factor {
  const void *data;
  int64_t line_stride, k_stride; /* in elements */
  bool bf16;
} Factor;

typedef struct Gemm {
  int64_t m, n, k;
  Factor a, b;
  void *c; /* [m,n], dense; may not alias a, b */
  bool c_bf16;
  bool accumulate;  /* c += */
  const void *bias; /* [n] or NULL */
  bool bias_bf16;
  void *work;
  int64_t work_bytes; /* >= WORK_GEMM_LEAST */
  Threads *threads;
} Gemm;

void CPU(gemm)(const Gemm *g);

/* Where packed units go: unit u of the i-th group of sixteen lines to to + i * group + u * stride,
 * sixteen of them; or, with `half`, eight there and eight at `half` further on. */
typedef struct PackTarget {
  float *to;
  int64_t stride, group, half;
} PackTarget;

/* Packs lines line .. line+lines-1, elements k0 .. k0+k-1. Lines missing from the last group are
 * packed as zeros. */
void CPU(gemm_pack)(const Factor *x, int64_t line, int64_t lines, int64_t k0, int64_t k, bool pairs,
                    PackTarget target);

/* Panels of 8 rows, `units` deep; one panel of up to 48 columns. */
static inline PackTarget pack_row_panels(float *to, int64_t units) {
  return (PackTarget){to, PANEL_ROWS, LANES * units, PANEL_ROWS * units};
}
static inline PackTarget pack_column_panel(float *to, int64_t columns) {
  return (PackTarget){to, (columns + LANES - 1) / LANES * LANES, LANES, 0};
}

/* tile[8,48] = sum over `units` of panels a[units,8] and b[units,16*vectors]. Tile rows are 48
 * apart. */
typedef void GemmMicro(const float *a, const float *b, int64_t units, float *tile);

/* The inner kernel for panels of 16 * vectors columns. */
GemmMicro *CPU(gemm_micro)(bool pairs, int64_t vectors);

/* Whether bf16 is multiplied in pairs by dot products. Never below AVX-512. */
static inline bool gemm_has_pairs(void) {
  return product_choice()->bf16 == PRODUCT_AVX512_BF16;
}

/* ---- by tiles (gemm_tile.c); panels of whole registers, zeros where lines or k are missing ----
 */

enum { TILE_UNITS = 16, TILE_PANEL = 32 /* rows, and columns */ };

/* Packs lines line .. line+lines-1 of bf16, elements k0 .. k0+k-1, to sixteen lines times
 * `ceil(k/32) * 16` units a group: as rows of a, as columns of b. */
void CPU(gemm_pack_tile_rows)(const Factor *x, int64_t line, int64_t lines, int64_t k0, int64_t k,
                              float *to);
void CPU(gemm_pack_tile_columns)(const Factor *x, int64_t line, int64_t lines, int64_t k0,
                                 int64_t k, float *to);

/* sums[32,32] = a . b over `units`, a multiple of 16. Beyond `rows` or `columns` of up to 16 sums
 * are 0 and the second group is not read. */
typedef struct TileTask {
  const float *a, *b; /* packed */
  int64_t units, rows, columns;
  float *sums;
} TileTask;
void CPU(gemm_tiles)(const TileTask *task, bool emulated);

/* Around a thread's products: the processor's registers are taken, and given back. */
void CPU(gemm_tiles_begin)(bool emulated);
void CPU(gemm_tiles_end)(bool emulated);

#endif

/* gemm.h -- c[m,n] = a[m,k] . b[k,n], for the linear kernels.
 *
 * Method: both factors are copied into panels (Goto and van de Geijn: Anatomy of High-Performance
 * Matrix Multiplication; TOMS 34(3), 2008) of 8 rows of a and 48 columns of b. One step of the
 * inner kernel consumes a 4-byte unit of every row and column: one f32, or two consecutive k of
 * bf16. Rows of a whose layout the inner kernel can read are not copied: eight or sixteen streams
 * are read as fast as one. Which variant multiplies bf16 is chosen once per process
 * (kernels/product.h): pairs by dot products; pairs by tiles, with panels of 32 rows and 32 columns
 * (gemm_tile.c); or bf16 is widened while it is copied.
 *
 * Every element of c is summed in one order, whatever the number of threads. */
#ifndef LOCKSTEP_KERNELS_CPU_GEMM_H
#define LOCKSTEP_KERNELS_CPU_GEMM_H

#include "kernels/contract/blocks.h"
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/vec.h"
#include "kernels/product.h"

enum { UNIT_BYTES = 4 };

/* A factor seen as lines (rows of a, columns of b) along k; one of the strides is 1. */
typedef struct Factor {
  const void *data;
  int64_t line_stride, k_stride; /* in elements */
  DType dtype;
} Factor;

typedef struct Gemm {
  int64_t m, n, k;
  Factor a, b;
  void *c; /* [m,n], dense; may not alias a, b */
  DType c_dtype;
  bool accumulate;  /* c += */
  bool read_late;   /* c is next read after it has left the caches: streaming stores */
  bool tf32;        /* f32 factors are rounded */
  const void *bias; /* [n] or NULL */
  DType bias_dtype;
  void *work;
  int64_t work_bytes; /* those of its product_blocks, or more */
  Threads *threads;
} Gemm;

/* False, and nothing is done: the scratch is too small. */
bool CPU(gemm)(const Gemm *g);

/* Places of the units of a panel: unit u of the i-th group of sixteen lines to to + i * group + u *
 * stride, sixteen of them; or, with `half`, eight there and eight at `half` further on. */
typedef struct PanelTarget {
  float *to;
  int64_t stride, group, half;
} PanelTarget;

/* Copies lines line .. line+lines-1, elements k0 .. k0+k-1. Lines missing from the last group are
 * filled with zeros. */
void CPU(gemm_fill_panels)(const Factor *x, int64_t line, int64_t lines, int64_t k0, int64_t k,
                           bool pairs, PanelTarget target);

/* ---- panels, of whichever kind the variant multiplies -----------------------------------------
 */

/* The kind for factors that are all bf16, or not. Pairs never below AVX-512, but in tiles. */
static inline GemmKind gemm_kind(bool all_bf16, bool tf32) {
  Product product = all_bf16 ? product_choice()->bf16 : product_choice()->f32;
  bool emulated = product == PRODUCT_AMX_EMULATED;
  bool tiles = product == PRODUCT_AMX_BF16 || emulated;
  return (GemmKind){.pairs = tiles || product == PRODUCT_AVX512_BF16,
                    .tiles = tiles,
                    .emulated = emulated,
                    .tf32 = tf32 && !all_bf16};
}

/* Rows of c that are computed at once. */
static inline int64_t gemm_rows(GemmKind kind) {
  return kind.tiles ? ROWS_MAX : PANEL_ROWS;
}

/* Lines line .. line+lines-1 of x, elements k0 .. k0+k-1, as row panels of a. Row i, a multiple of
 * 16, begins at to + i * gemm_units(kind, k). Missing lines and elements are 0. */
void CPU(gemm_fill_row_panels)(GemmKind kind, const Factor *x, int64_t line, int64_t lines,
                               int64_t k0, int64_t k, float *to);

/* The same lines as one panel of columns, 1 to 48, rounded up to whole sixteens: unit u of all of
 * them begins at to + u * columns. */
void CPU(gemm_fill_column_panels)(GemmKind kind, const Factor *x, int64_t line, int64_t columns,
                                  int64_t k0, int64_t k, float *to);

/* Some panels of a by one panel of b. */
typedef struct PanelTask {
  const float *a;    /* row panels, `depth` units deep */
  int64_t row_bytes; /* 0; or rows of a are read where they are, this far apart: whole panels */
  int64_t depth, row, rows; /* row: a multiple of gemm_rows; rows: those from it on, any number */
  const float *b;
  int64_t columns;    /* a multiple of 16 */
  int64_t first, end; /* units that are summed over; by tiles, multiples of 16 */
  bool add;           /* sums begin with the present content of `sums`; only with tiles */
  float *sums;        /* [rows,columns] with room for whole panels, rows 48 apart */
} PanelTask;

/* How far the rows of a panel of a are apart, and its units. In bytes. */
typedef struct Apart {
  int64_t row, unit;
} Apart;

/* sums[8,48] = a . b over `units`; the panel of b has 16 * vectors columns. */
typedef void GemmMicro(const char *a, Apart apart, const float *b, int64_t units, float *sums);
GemmMicro *CPU(gemm_micro)(bool pairs, int64_t vectors);

/* The same by tiles, for up to 32 rows. */
void CPU(gemm_tiles)(const PanelTask *t, bool emulated);

/* sums = a . b, or += with `add`: with the same bits as if it were one sum. Rows of the last panel
 * that are missing come out as 0, or are not written. */
static inline void gemm_panel(GemmKind kind, const PanelTask *t) {
  if (kind.tiles) {
    PanelTask part = *t;
    for (; part.rows > 0; part.rows -= ROWS_MAX, part.row += ROWS_MAX) {
      CPU(gemm_tiles)(&part, kind.emulated);
      part.sums += ROWS_MAX * PANEL_COLUMNS;
    }
    return;
  }
  GemmMicro *micro = CPU(gemm_micro)(kind.pairs, t->columns / LANES);
  bool in_panels = t->row_bytes == 0;
  Apart apart =
      in_panels ? (Apart){UNIT_BYTES, PANEL_ROWS * UNIT_BYTES} : (Apart){t->row_bytes, UNIT_BYTES};
  int64_t row_bytes = in_panels ? t->depth * UNIT_BYTES : t->row_bytes;
  const char *a = (const char *)t->a + t->row * row_bytes + t->first * apart.unit;
  const float *b = t->b + t->first * t->columns;
  for (int64_t i = 0; i < t->rows; i += PANEL_ROWS)
    micro(a + i * row_bytes, apart, b, t->end - t->first, t->sums + i * PANEL_COLUMNS);
}

/* Around a thread's products by tiles: the processor's registers are taken, and given back. */
void CPU(gemm_begin)(GemmKind kind);
void CPU(gemm_end)(GemmKind kind);

#endif

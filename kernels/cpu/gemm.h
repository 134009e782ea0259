/* gemm.h -- c[m,n] = a[m,k] . b[k,n], for the linear kernels.
 *
 * Method: both factors are packed into panels (Goto and van de Geijn: Anatomy of High-Performance
 * Matrix Multiplication; TOMS 34(3), 2008) of 8 rows of a and 48 columns of b. One step of the
 * inner kernel consumes a 4-byte unit of every row and column: one f32, or two consecutive k of
 * bf16 where the machine multiplies bf16 pairs. Otherwise bf16 is widened while it is packed.
 *
 * Every element of c is summed in one order, whatever the number of threads. */
#ifndef LOCKSTEP_KERNELS_CPU_GEMM_H
#define LOCKSTEP_KERNELS_CPU_GEMM_H

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/vec.h"

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

/* Packs `lines` <= 16 lines from `line`, k elements from k0, as units: the sixteen lines' unit u
 * goes to low + u * stride, or, with `high`, lines 0 to 7 to low and lines 8 to 15 to high. Missing
 * lines are packed as zeros. */
typedef struct PackTarget {
  float *low, *high;
  int64_t stride;
} PackTarget;

void CPU(gemm_pack)(const Factor *x, int64_t line, int64_t lines, int64_t k0, int64_t k, bool pairs,
                    PackTarget to);

/* tile[8,48] = sum over `units` of panels a[units,8] and b[units,16*vectors]. Tile rows are 48
 * apart. */
typedef void GemmMicro(const float *a, const float *b, int64_t units, float *tile);

/* The inner kernel for panels of 16 * vectors columns. */
GemmMicro *CPU(gemm_micro)(bool pairs, int64_t vectors);

/* Whether this machine multiplies pairs of bf16. */
bool CPU(gemm_has_pairs)(void);

#endif

/* blocks.h -- how much the fast kernels of processors copy into panels at once, by shape: the one
 * place for workspace.c, which sizes their scratch, and for the kernels that fill it.
 *
 * The variant of the product is chosen when a run begins, not when a plan is made, so a plan gives
 * as much as any variant needs (product_bytes, and attention's dims rounded up to whole tiles). */
#ifndef LOCKSTEP_KERNELS_BLOCKS_H
#define LOCKSTEP_KERNELS_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

enum {
  PANEL_ROWS = 8,     /* of a */
  PANEL_COLUMNS = 48, /* of b; the last panel has 16, 32 or 48 */
  TILE_LINES = 16,
  TILE_UNITS = 16,
  ROWS_MAX = 2 * TILE_LINES /* of c, computed at once by tiles */
};

/* How a product is multiplied. */
typedef struct GemmKind {
  bool pairs;           /* a unit is two bf16 of a line, else one f32 */
  bool tiles, emulated; /* pairs multiplied in tile registers (kernels/cpu/tile.h) */
  bool tf32;            /* f32 factors are rounded to tf32 when they are copied */
} GemmKind;

static inline int64_t whole_sixteens(int64_t n) {
  return (n + 15) / 16 * 16;
}

/* 4-byte units that k elements of a line take in a panel: whole registers of them. */
static inline int64_t gemm_units(GemmKind kind, int64_t k) {
  int64_t units = kind.pairs ? (k + 1) / 2 : k;
  return kind.tiles ? (units + TILE_UNITS - 1) / TILE_UNITS * TILE_UNITS : units;
}

/* The number of columns computed at once: as many as there are registers for accumulators. */
static inline int64_t gemm_columns(GemmKind kind) {
  return kind.tiles ? 2 * TILE_LINES : PANEL_COLUMNS;
}

/* ---- products: c[m,n] = a[m,k] . b[k,n] */

/* The largest block and its parts of the scratch: panels of a, then of b, then sums. */
typedef struct ProductBlocks {
  int64_t rows, columns; /* of c: whole sixteens */
  int64_t units;         /* of k */
  bool copies_rows;      /* a takes room */
  bool sums;             /* k is split into several blocks, and c cannot hold their sums */
} ProductBlocks;

typedef struct ProductShape {
  int64_t m, n, k;
  bool rows_stand;   /* a's elements are adjacent along k */
  bool factors_bf16; /* a and b */
  bool narrow;       /* c has 2 bytes an element */
  bool converts;     /* a and b are rounded to tf32, or widened from fp16, when they are copied */
} ProductShape;

/* True if a is read where it is: each row consists of whole units, one after another (for tiles of
 * whole registers of units), and there are enough rows for one panel. */
bool product_reads_rows(GemmKind kind, const ProductShape *shape);

/* The blocks of large products take at most 16 MiB. */
ProductBlocks product_blocks(GemmKind kind, const ProductShape *shape);
int64_t product_blocks_bytes(const ProductBlocks *blocks);

/* The most that a variant needs. */
int64_t product_bytes(const ProductShape *shape);

/* Codes of fp8 as bf16 numbers, in whole lines of the cache. */
static inline int64_t decoded_bytes(int64_t codes) {
  return (2 * codes + 63) / 64 * 64;
}

/* ---- attention: offsets of a thread's blocks in its part of the scratch, in floats */

enum {
  HEAD_MAX = 128,
  KEY_BLOCK = 128,
  QUERY_PANEL = PANEL_COLUMNS,
  FORWARD_PANELS = 6, /* of queries, at once */
  BACKWARD_PANELS = 3,
  BACKWARD_QUERIES = BACKWARD_PANELS * QUERY_PANEL
};

/* The blocks of one task of the forward pass: queries of one head. */
typedef struct ForwardBlocks {
  int64_t count; /* per head */
  int64_t panels;
  int64_t q, out, k, v, scores, paired, highest, sum;
  int64_t thread_bytes;
  int64_t threads; /* the most threads that get work */
} ForwardBlocks;

typedef struct BackwardBlocks {
  int64_t slope_row; /* from key to key */
  int64_t k, v, k_flipped, d_k, d_v, q, d_out, q_flipped, d_out_flipped;
  int64_t p, d_s, panel_units, last_key;
  int64_t d_q, delta;           /* of the first of a group's heads, */
  int64_t d_q_next, delta_next; /* and from one head to the next */
  int64_t thread_bytes;
  int64_t threads;
} BackwardBlocks;

/* `dims` as in kernels.def. */
ForwardBlocks forward_blocks(const int64_t *dims, bool bf16, int64_t threads);
BackwardBlocks backward_blocks(const int64_t *dims, int64_t threads);

/* ---- the backward of norms */

/* The number of blocks of rows with separate column sums, and the rows of each. */
int64_t norm_block_rows(int64_t rows);

/* `vectors` gradients of weights. */
int64_t norm_work_bytes(int64_t rows, int64_t width, int64_t vectors);

#endif

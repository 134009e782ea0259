#include "kernels/contract/blocks.h"

#include "kernels/contract/workspace.h"

enum {
  BLOCK_UNITS = 1024, /* of k, copied into panels at once */
  BLOCK_ROWS = 1024   /* of a, copied at once */
};

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* In pairs a row of an odd number of elements ends in half a unit, in tiles one may end in part of
 * a register; what is widened or rounded is copied. */
bool product_reads_rows(GemmKind kind, const ProductShape *shape) {
  bool has_units = kind.tiles   ? shape->k % (2 * TILE_UNITS) == 0
                   : kind.pairs ? shape->k % 2 == 0
                                : !shape->factors_bf16 && !shape->converts;
  return shape->rows_stand && has_units && shape->m >= (kind.tiles ? TILE_LINES : PANEL_ROWS);
}

/* The number of rows is halved until a few panels of columns fit beside them. */
ProductBlocks product_blocks(GemmKind kind, const ProductShape *shape) {
  int64_t all_units = gemm_units(kind, shape->k), units = least(all_units, BLOCK_UNITS);
  int64_t room = WORK_PRODUCT_MOST / 4, panel = gemm_columns(kind), columns;
  int64_t rows = least(BLOCK_ROWS, whole_sixteens(shape->m));
  bool sums = units < all_units && shape->narrow, copies = !product_reads_rows(kind, shape);
  for (;;) {
    columns = (room - (copies ? rows * units : 0)) / (units + (sums ? rows : 0)) / panel * panel;
    if (columns >= least(4 * panel, whole_sixteens(shape->n)) || rows == TILE_LINES) break;
    rows = whole_sixteens(rows / 2);
  }
  return (ProductBlocks){rows, least(columns, whole_sixteens(shape->n)), units, copies, sums};
}

int64_t product_blocks_bytes(const ProductBlocks *b) {
  int64_t a = b->copies_rows ? b->rows * b->units : 0;
  return 4 * (a + b->columns * b->units + (b->sums ? b->rows * b->columns : 0));
}

/* bf16 may be widened, or multiplied in pairs or in tiles. */
int64_t product_bytes(const ProductShape *shape) {
  static const GemmKind kinds[] = {
      {.pairs = false}, {.pairs = true}, {.pairs = true, .tiles = true}};
  int64_t bytes = 0;
  if (shape->m <= 0 || shape->n <= 0 || shape->k <= 0) return 0;
  for (int i = 0; i < (shape->factors_bf16 ? 3 : 1); i++) {
    ProductBlocks blocks = product_blocks(kinds[i], shape);
    bytes = most(bytes, product_blocks_bytes(&blocks));
  }
  return bytes;
}

/* ---- attention */

static int64_t panels_of(int64_t queries) {
  return (queries + QUERY_PANEL - 1) / QUERY_PANEL;
}

/* Gives the next `count` floats. */
static int64_t take(int64_t *end, int64_t count) {
  int64_t at = *end;
  *end += whole_sixteens(count);
  return at;
}

/* No variant needs more units than whole sixteens of elements. Only the last panel of queries is
 * narrower than 48. */
ForwardBlocks forward_blocks(const int64_t *dims, bool bf16, int64_t threads) {
  int64_t batch = dims[0], seq = dims[1], heads = dims[2], head = whole_sixteens(dims[4]);
  int64_t panels = panels_of(seq), end = 0;
  ForwardBlocks b = {.count = (panels + FORWARD_PANELS - 1) / FORWARD_PANELS};
  if (b.count == 0) return b;
  b.panels = (panels + b.count - 1) / b.count;
  b.count = (panels + b.panels - 1) / b.panels;
  int64_t keys = whole_sixteens(least(seq, KEY_BLOCK));
  b.q = take(&end, least(b.panels * QUERY_PANEL, whole_sixteens(seq)) * head);
  b.out = take(&end, b.panels * QUERY_PANEL * head);
  b.k = take(&end, keys * head);
  b.v = take(&end, keys * head);
  b.scores = take(&end, keys * QUERY_PANEL);
  b.paired = take(&end, bf16 ? whole_sixteens((keys + 1) / 2) * QUERY_PANEL : 0);
  b.highest = take(&end, b.panels * QUERY_PANEL);
  b.sum = take(&end, b.panels * QUERY_PANEL);
  b.thread_bytes = 4 * end;
  b.threads = least(threads, batch * heads * b.count);
  return b;
}

BackwardBlocks backward_blocks(const int64_t *dims, int64_t threads) {
  int64_t batch = dims[0], seq = dims[1], kv_heads = dims[3], head = whole_sixteens(dims[4]);
  int64_t keys = whole_sixteens(least(seq, KEY_BLOCK)), end = 0;
  int64_t queries = least(BACKWARD_QUERIES, whole_sixteens(seq));
  BackwardBlocks b = {.slope_row = queries};
  if (kv_heads == 0) return b;
  int64_t group = dims[2] / kv_heads;
  b.d_q_next = panels_of(seq) * QUERY_PANEL * head;
  b.delta_next = seq;
  b.k = take(&end, keys * head);
  b.v = take(&end, keys * head);
  b.k_flipped = take(&end, keys * head);
  b.d_k = take(&end, keys * head);
  b.d_v = take(&end, keys * head);
  b.q = take(&end, queries * head);
  b.d_out = take(&end, queries * head);
  b.q_flipped = take(&end, queries * head);
  b.d_out_flipped = take(&end, queries * head);
  b.p = take(&end, keys * queries);
  b.d_s = take(&end, keys * queries);
  b.panel_units = take(&end, keys * queries);
  b.last_key = take(&end, QUERY_PANEL);
  b.d_q = take(&end, group * b.d_q_next);
  b.delta = take(&end, group * b.delta_next);
  b.thread_bytes = 4 * end;
  b.threads = least(threads, batch * kv_heads);
  return b;
}

/* ---- norms */

int64_t norm_block_rows(int64_t rows) {
  return most(1, (rows + WORK_NORM_BLOCKS - 1) / WORK_NORM_BLOCKS);
}

int64_t norm_work_bytes(int64_t rows, int64_t width, int64_t vectors) {
  int64_t block = norm_block_rows(rows);
  return (rows + block - 1) / block * vectors * whole_sixteens(width) * 4;
}

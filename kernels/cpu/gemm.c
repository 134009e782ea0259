/* gemm.c -- blocks, tasks and results of the matrix product. See gemm.h. */
#include "kernels/cpu/gemm.h"

#include "kernels/cpu/workspace.h"

enum {
  GROUP = 16,     /* rows are padded to whole groups: two panels of a */
  PACK_ROWS = 64, /* of a, packed by one task: whole cache lines where rows stand side by side */
  BLOCK_UNITS = 1024,  /* of k, packed at once */
  BLOCK_ROWS = 1024,   /* of a, packed at once */
  TASK_ROWS = 96,      /* their packed block stays in the second-level cache */
  TASK_COLUMNS = 288,  /* of b: six panels, or nine of tiles */
  TASKS_PER_THREAD = 6 /* enough to even out */
};

/* One block [m0, m0 + rows) x [n0, n0 + columns) x [k0, k0 + depth) of the product. */
typedef struct Block {
  const Gemm *g;
  bool pairs, tiles, emulated;
  bool first, last; /* along k */
  int64_t panel_rows, panel_columns;
  int64_t m0, rows, n0, columns, k0, depth, units;
  int64_t task_rows, task_columns, column_tasks;
  bool pack_b;
  float *a, *b; /* packed */
  float *sums;  /* [rows,columns] over the k before, where c cannot hold them; or NULL */
} Block;

static void pack_a(const Block *t, int64_t line, int64_t lines) {
  float *to = t->a + line * t->units;
  if (t->tiles)
    CPU(gemm_pack_tile_rows)(&t->g->a, t->m0 + line, lines, t->k0, t->depth, to);
  else
    CPU(gemm_pack)
  (&t->g->a, t->m0 + line, lines, t->k0, t->depth, t->pairs, pack_row_panels(to, t->units));
}

static void pack_b(const Block *t, int64_t first, int64_t columns) {
  float *to = t->b + first * t->units;
  if (t->tiles)
    CPU(gemm_pack_tile_columns)(&t->g->b, t->n0 + first, columns, t->k0, t->depth, to);
  else
    CPU(gemm_pack)
  (&t->g->b, t->n0 + first, columns, t->k0, t->depth, t->pairs, pack_column_panel(to, columns));
}

static void pack_task(void *context, int64_t task, int32_t worker) {
  const Block *t = context;
  (void)worker;
  int64_t row_tasks = ceil_div(t->rows, PACK_ROWS);
  if (task < row_tasks) {
    int64_t line = task * PACK_ROWS;
    pack_a(t, line, min64(PACK_ROWS, t->rows - line));
    return;
  }
  int64_t first = (task - row_tasks) * t->panel_columns;
  pack_b(t, first, min64(t->panel_columns, t->columns - first));
}

/* Adds what else belongs to the tile's elements and writes them where they go. */
static void finish_tile(const Block *t, const float *tile, int64_t row, int64_t column) {
  const Gemm *g = t->g;
  int64_t rows = min64(t->panel_rows, t->rows - row);
  int64_t columns = min64(t->panel_columns, t->columns - column);
  bool to_sums = t->sums && !t->last, from_sums = t->sums && !t->first;
  bool add = g->accumulate ? (t->sums ? t->last : true) : (t->sums ? false : !t->first);
  for (int64_t i = 0; i < rows; i++) {
    int64_t c = (t->m0 + row + i) * g->n + t->n0 + column;
    float *sums = t->sums ? t->sums + (row + i) * t->columns + column : NULL;
    for (int64_t j = 0; j < columns; j += LANES) {
      int64_t n = min64(LANES, columns - j);
      Vec x = v_load(tile + i * t->panel_columns + j);
      if (from_sums) x = v_add(v_get_n(sums, j, n, false), x);
      if (to_sums) {
        v_put_n(sums, j, n, false, x);
        continue;
      }
      if (t->last && g->bias) x = v_add(x, v_get_n(g->bias, t->n0 + column + j, n, g->bias_bf16));
      if (add) x = v_add(v_get_n(g->c, c + j, n, g->c_bf16), x);
      v_put_n(g->c, c + j, n, g->c_bf16, x);
    }
  }
}

_Static_assert(TILE <= TILE_PANEL * TILE_PANEL, "either kind of tile has room");

static void multiply_panels(const Block *t, int64_t row, int64_t column, float *tile) {
  const float *a = t->a + row * t->units, *b = t->b + column * t->units;
  int64_t columns = min64(t->panel_columns, t->columns - column);
  if (t->tiles) {
    int64_t rows = min64(t->panel_rows, t->rows - row);
    CPU(gemm_tiles)(&(TileTask){a, b, t->units, rows, columns, tile}, t->emulated);
  } else {
    CPU(gemm_micro)(t->pairs, ceil_div(columns, LANES))(a, b, t->units, tile);
  }
}

static void multiply_task(void *context, int64_t task, int32_t worker) {
  const Block *t = context;
  (void)worker;
  int64_t row_first = task / t->column_tasks * t->task_rows;
  int64_t row_end = min64(row_first + t->task_rows, t->rows);
  int64_t column_first = task % t->column_tasks * t->task_columns;
  int64_t column_end = min64(column_first + t->task_columns, t->columns);
  if (t->tiles) CPU(gemm_tiles_begin)(t->emulated);
  for (int64_t column = column_first; column < column_end; column += t->panel_columns) {
    for (int64_t row = row_first; row < row_end; row += t->panel_rows) {
      float tile[TILE_PANEL * TILE_PANEL] __attribute__((aligned(64)));
      multiply_panels(t, row, column, tile);
      finish_tile(t, tile, row, column);
    }
  }
  if (t->tiles) CPU(gemm_tiles_end)(t->emulated);
}

static void run_block(Block *t) {
  Threads *threads = t->g->threads;
  int64_t groups = ceil_div(t->rows, GROUP), panels = ceil_div(t->columns, t->panel_columns);
  int64_t row_packs = ceil_div(t->rows, PACK_ROWS);
  threads_run(threads, row_packs + (t->pack_b ? panels : 0), pack_task, t);

  t->task_rows = min64(TASK_ROWS, groups * GROUP);
  int64_t task_panels = TASK_COLUMNS / t->panel_columns;
  int64_t row_tasks = ceil_div(t->rows, t->task_rows);
  int64_t wanted = TASKS_PER_THREAD * threads_count(threads);
  while (task_panels > 1 && row_tasks * ceil_div(panels, task_panels) < wanted)
    task_panels--;
  t->task_columns = task_panels * t->panel_columns;
  t->column_tasks = ceil_div(panels, task_panels);
  threads_run(threads, row_tasks * t->column_tasks, multiply_task, t);
}

/* Block sizes along m and n such that both packed factors and the sums fit in the workspace. */
static void fit_blocks(const Gemm *g, int64_t units, int64_t panel, bool sums, int64_t *rows,
                       int64_t *columns) {
  int64_t room = g->work_bytes / 4;
  *rows = min64(BLOCK_ROWS, ceil_div(g->m, GROUP) * GROUP);
  for (;;) {
    int64_t left = room - *rows * units;
    *columns = left / (units + (sums ? *rows : 0)) / panel * panel;
    if (*columns >= min64(4 * panel, ceil_div(g->n, GROUP) * GROUP) || *rows == GROUP) break;
    *rows = ceil_div(*rows / 2, GROUP) * GROUP;
  }
  *columns = min64(*columns, ceil_div(g->n, GROUP) * GROUP);
}

/* A block of no size, with the variant that multiplies these factors. */
static Block kind_of(const Gemm *g) {
  Block kind = {.g = g, .panel_rows = PANEL_ROWS, .panel_columns = PANEL_COLUMNS};
  if (!g->a.bf16 || !g->b.bf16) return kind;
  Product product = product_choice()->bf16;
  kind.emulated = product == PRODUCT_AMX_EMULATED;
  kind.tiles = product == PRODUCT_AMX_BF16 || kind.emulated;
  kind.pairs = kind.tiles || gemm_has_pairs();
  if (kind.tiles) kind.panel_rows = kind.panel_columns = TILE_PANEL;
  return kind;
}

void CPU(gemm)(const Gemm *g) {
  Block kind = kind_of(g);
  int64_t per_unit = kind.pairs ? 2 : 1;
  int64_t all_units = ceil_div(g->k, per_unit);
  if (kind.tiles) all_units = ceil_div(all_units, TILE_UNITS) * TILE_UNITS;
  int64_t units = min64(all_units, BLOCK_UNITS);
  bool one_block = units == all_units, sums = !one_block && g->c_bf16;
  int64_t rows, columns;
  fit_blocks(g, units, kind.panel_columns, sums, &rows, &columns);
  for (int64_t n0 = 0; n0 < g->n; n0 += columns) {
    for (int64_t m0 = 0; m0 < g->m; m0 += rows) {
      for (int64_t k0 = 0; k0 < g->k; k0 += units * per_unit) {
        Block block = kind;
        block.m0 = m0;
        block.n0 = n0;
        block.k0 = k0;
        block.first = k0 == 0;
        block.depth = min64(units * per_unit, g->k - k0);
        block.last = k0 + block.depth == g->k;
        block.units = ceil_div(block.depth, per_unit);
        if (kind.tiles) block.units = ceil_div(block.units, TILE_UNITS) * TILE_UNITS;
        block.rows = min64(rows, g->m - m0);
        block.columns = min64(columns, g->n - n0);
        block.a = g->work;
        block.b = block.a + rows * units;
        block.sums = sums ? block.b + columns * units : NULL;
        block.pack_b = m0 == 0 || !one_block;
        run_block(&block);
      }
    }
  }
}

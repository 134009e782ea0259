/* gemm.c -- blocks, tasks and results of the matrix product. See gemm.h. */
#include "kernels/cpu/gemm.h"

enum {
  FILL_ROWS = 64,   /* of a, copied by one task: whole cache lines where rows are adjacent */
  FILL_DEPTH = 256, /* of b, copied by a task for all its panels before it continues: where these
                       are adjacent, their lines are fetched together */
  TASK_ROWS = 96,   /* multiplied by a task's panels before the next: they stay in the second-level
                       cache */
  TASK_COLUMNS = 288,   /* of b: six panels, or nine of tiles */
  TASKS_PER_THREAD = 4, /* enough to even out */
  ALONE_PANELS = 3,     /* with fewer, rows of a are fetched too often for what they are used for */
  TILE_DEPTH =
      192, /* units: of 32 rows and of 32 columns, half of a 48 KiB first-level cache each */
  LINE_BYTES = 64
};

/* One block [m0, m0 + rows) x [n0, n0 + columns) x [k0, k0 + depth) of the product. */
typedef struct GemmBlock {
  const Gemm *g;
  GemmKind kind;
  bool first, last; /* along k */
  int64_t m0, rows, n0, columns, k0, depth, units;
  int64_t task_rows, task_columns, column_tasks;
  bool copies_a, copies_b;
  bool alone;   /* a task has all rows of its columns, and copies these itself */
  bool stream;  /* c goes past the caches: see Gemm.read_late */
  float *a, *b; /* panels; a: if copies_a */
  float *sums;  /* [rows,columns] over the k before, where c cannot hold them; or NULL */
} GemmBlock;

/* Elements k .. k+depth-1 of the block's own; k is a multiple of FILL_DEPTH. */
static void fill_panel(const GemmBlock *t, int64_t column, int64_t k, int64_t depth) {
  int64_t columns = min64(gemm_columns(t->kind), t->columns - column);
  float *panel = t->b + column * t->units;
  CPU(gemm_fill_column_panels)
  (t->kind, &t->g->b, t->n0 + column, columns, t->k0 + k, depth,
   panel + gemm_units(t->kind, k) * whole_sixteens(columns));
}

static void fill_task(void *context, int64_t task, int32_t worker) {
  const GemmBlock *t = context;
  (void)worker;
  int64_t row_tasks = t->copies_a ? ceil_div(t->rows, FILL_ROWS) : 0;
  if (task >= row_tasks) {
    fill_panel(t, (task - row_tasks) * gemm_columns(t->kind), 0, t->depth);
    return;
  }
  int64_t line = task * FILL_ROWS;
  CPU(gemm_fill_row_panels)
  (t->kind, &t->g->a, t->m0 + line, min64(FILL_ROWS, t->rows - line), t->k0, t->depth,
   t->a + line * t->units);
}

/* Finishes a tile: adds bias and earlier sums, and writes its elements to c. */
static void finish_tile(const GemmBlock *t, const float *tile, int64_t row, int64_t rows,
                        int64_t column) {
  const Gemm *g = t->g;
  int64_t columns = min64(gemm_columns(t->kind), t->columns - column);
  bool to_sums = t->sums && !t->last, from_sums = t->sums && !t->first;
  bool add = g->accumulate ? (t->sums ? t->last : true) : (t->sums ? false : !t->first);
  for (int64_t i = 0; i < rows; i++) {
    int64_t c = (t->m0 + row + i) * g->n + t->n0 + column;
    float *sums = t->sums ? t->sums + (row + i) * t->columns + column : NULL;
    for (int64_t j = 0; j < columns; j += LANES) {
      int64_t n = min64(LANES, columns - j);
      Vec x = v_load(tile + i * PANEL_COLUMNS + j);
      if (from_sums) x = v_add(v_get_n(sums, j, n, DTYPE_F32), x);
      if (to_sums) {
        v_put_n(sums, j, n, DTYPE_F32, x);
        continue;
      }
      if (t->last && g->bias) x = v_add(x, v_get_n(g->bias, t->n0 + column + j, n, g->bias_dtype));
      if (add) x = v_add(v_get_n(g->c, c + j, n, g->c_dtype), x);
      v_put_n(g->c, c + j, n, g->c_dtype, x);
    }
  }
}

/* The same without sums outside c and with whole vectors, which is nearly every tile. Conditions
 * that cannot change within a tile are tested before it; testing them inside took 3 % of a small
 * model's step. */
ALWAYS_INLINE void finish_vectors(const GemmBlock *t, const float *tile, int64_t row, int64_t rows,
                                  int64_t column, int64_t vectors, DType c_dtype) {
  const Gemm *g = t->g;
  bool add = g->accumulate || !t->first, has_bias = t->last && g->bias;
  Vec bias[PANEL_COLUMNS / LANES];
  for (int64_t v = 0; has_bias && v < vectors; v++)
    bias[v] = v_get(g->bias, t->n0 + column + v * LANES, g->bias_dtype);
  int64_t c = (t->m0 + row) * g->n + t->n0 + column;
  for (int64_t i = 0; i < rows; i++, c += g->n) {
    for (int64_t v = 0; v < vectors; v++) {
      Vec x = v_load(tile + i * PANEL_COLUMNS + v * LANES);
      if (has_bias) x = v_add(x, bias[v]);
      if (add) x = v_add(v_get(g->c, c + v * LANES, c_dtype), x);
      if (c_dtype == DTYPE_F32 && t->stream)
        v_stream((float *)g->c + c + v * LANES, x);
      else
        v_put(g->c, c + v * LANES, c_dtype, x);
    }
  }
}

static void write_tile(const GemmBlock *t, const float *tile, int64_t row, int64_t rows,
                       int64_t column) {
  int64_t columns = min64(gemm_columns(t->kind), t->columns - column);
  if (t->sums || columns % LANES != 0)
    finish_tile(t, tile, row, rows, column);
  else if (t->g->c_dtype == DTYPE_BF16)
    finish_vectors(t, tile, row, rows, column, columns / LANES, DTYPE_BF16);
  else if (t->g->c_dtype == DTYPE_F16)
    finish_vectors(t, tile, row, rows, column, columns / LANES, DTYPE_F16);
  else
    finish_vectors(t, tile, row, rows, column, columns / LANES, DTYPE_F32);
}

/* Rows row .. row+rows-1 of one panel of columns, TASK_ROWS at most. */
static void multiply_panels(const GemmBlock *t, int64_t row, int64_t rows, int64_t column) {
  float sums[TASK_ROWS * PANEL_COLUMNS] __attribute__((aligned(64)));
  int64_t columns = min64(gemm_columns(t->kind), t->columns - column);
  PanelTask task = {.a = t->a,
                    .depth = t->units,
                    .row = row,
                    .rows = rows,
                    .b = t->b + column * t->units,
                    .columns = ceil_div(columns, LANES) * LANES,
                    .sums = sums};
  int64_t lead = 0; /* rows that are computed once more, to have a whole panel */
  if (!t->copies_a) {
    const Factor *a = &t->g->a;
    lead = max64(0, (t->kind.tiles ? TILE_LINES : PANEL_ROWS) - rows);
    task.a = at(a->data, t->m0 * a->line_stride + t->k0, a->dtype);
    task.row_bytes = a->line_stride * dtype_bytes(a->dtype);
    task.row -= lead, task.rows += lead;
  }
  for (; task.first < t->units; task.first = task.end) {
    task.end = t->kind.tiles ? min64(task.first + TILE_DEPTH, t->units) : t->units;
    task.add = task.first > 0;
    gemm_panel(t->kind, &task);
  }
  write_tile(t, sums + lead * PANEL_COLUMNS, row, rows, column);
}

/* Rows of the next multiplication, at most `left`. Rows that are read in place come in whole tiles
 * of TILE_LINES until fewer are left. */
static int64_t rows_at_once(const GemmBlock *t, int64_t left) {
  if (!t->kind.tiles) return min64(PANEL_ROWS, left);
  return t->copies_a || left < TILE_LINES ? left : left / TILE_LINES * TILE_LINES;
}

static void multiply_task(void *context, int64_t task, int32_t worker) {
  const GemmBlock *t = context;
  (void)worker;
  int64_t row_first = task / t->column_tasks * t->task_rows;
  int64_t row_end = min64(row_first + t->task_rows, t->rows);
  int64_t column_first = task % t->column_tasks * t->task_columns;
  int64_t column_end = min64(column_first + t->task_columns, t->columns);
  int64_t panel_columns = gemm_columns(t->kind);
  for (int64_t k = 0; t->alone && t->copies_b && k < t->depth; k += FILL_DEPTH)
    for (int64_t column = column_first; column < column_end; column += panel_columns)
      fill_panel(t, column, k, min64(FILL_DEPTH, t->depth - k));
  CPU(gemm_begin)(t->kind);
  for (int64_t first = row_first; first < row_end; first += TASK_ROWS) {
    int64_t end = min64(first + TASK_ROWS, row_end);
    for (int64_t column = column_first; column < column_end; column += panel_columns)
      for (int64_t row = first, rows; row < end; row += rows) {
        rows = rows_at_once(t, end - row);
        multiply_panels(t, row, rows, column);
      }
  }
  CPU(gemm_end)(t->kind);
  if (t->stream) v_stream_end();
}

/* If a is not copied and columns are many, each task copies its own columns into panels: they
 * stay in its core's cache. Else all columns are copied before the first task, and tasks are blocks
 * of rows and columns. */
static void run_block(GemmBlock *t) {
  Threads *threads = t->g->threads;
  int64_t panel = gemm_columns(t->kind), panels = ceil_div(t->columns, panel);
  int64_t wanted = TASKS_PER_THREAD * threads_count(threads);
  int64_t task_panels = min64(TASK_COLUMNS / panel, max64(1, panels / wanted));
  t->alone = !t->copies_a && task_panels >= ALONE_PANELS;
  t->task_rows = t->alone ? t->rows : min64(TASK_ROWS, whole_sixteens(t->rows));
  int64_t row_tasks = ceil_div(t->rows, t->task_rows);
  if (!t->alone) task_panels = min64(TASK_COLUMNS / panel, max64(1, row_tasks * panels / wanted));
  t->task_columns = task_panels * panel;
  t->column_tasks = ceil_div(panels, task_panels);

  int64_t row_fills = t->copies_a ? ceil_div(t->rows, FILL_ROWS) : 0;
  threads_run(threads, row_fills + (t->copies_b && !t->alone ? panels : 0), fill_task, t);
  threads_run(threads, row_tasks * t->column_tasks, multiply_task, t);
}

/* True if c is made of whole cache lines, so that streaming stores are possible. */
static bool can_stream(const void *c, int64_t n) {
  return (uintptr_t)c % LINE_BYTES == 0 && n * (int64_t)sizeof(float) % LINE_BYTES == 0;
}

bool CPU(gemm)(const Gemm *g) {
  const bool all_bf16 = g->a.dtype == DTYPE_BF16 && g->b.dtype == DTYPE_BF16;
  GemmKind kind = gemm_kind(all_bf16, g->tf32);
  const ProductShape shape = {g->m,
                              g->n,
                              g->k,
                              .rows_stand = g->a.k_stride == 1,
                              .factors_bf16 = all_bf16,
                              .narrow = g->c_dtype != DTYPE_F32,
                              .converts = kind.tf32 || g->a.dtype == DTYPE_F16};
  ProductBlocks most = product_blocks(kind, &shape);
  if (g->work_bytes < product_blocks_bytes(&most)) return false;
  int64_t deep = most.units * (kind.pairs ? 2 : 1); /* elements of k in a block */
  for (int64_t n0 = 0; n0 < g->n; n0 += most.columns) {
    for (int64_t m0 = 0; m0 < g->m; m0 += most.rows) {
      for (int64_t k0 = 0; k0 < g->k; k0 += deep) {
        GemmBlock block = {.g = g, .kind = kind, .m0 = m0, .n0 = n0, .k0 = k0};
        block.first = k0 == 0;
        block.depth = min64(deep, g->k - k0);
        block.last = k0 + block.depth == g->k;
        block.units = gemm_units(kind, block.depth);
        block.rows = min64(most.rows, g->m - m0);
        block.columns = min64(most.columns, g->n - n0);
        block.a = g->work;
        block.b = block.a + (most.copies_rows ? most.rows * most.units : 0);
        block.sums = most.sums ? block.b + most.columns * most.units : NULL;
        block.stream =
            g->read_late && !g->accumulate && block.first && block.last && can_stream(g->c, g->n);
        block.copies_a = most.copies_rows;
        block.copies_b = m0 == 0 || deep < g->k;
        run_block(&block);
      }
    }
  }
  return true;
}

/* grid_test.c -- however a batch is divided over ranks and micro-batches, and whatever backward
 * computes again, training is the same: loss and gradient norm before clipping, at every step.
 *
 * In f32 only orders of summation differ: 1e-5 relative. In bf16 a sum in another order may round a
 * weight the other way, and from there losses part: one rounding, 2^-9, for losses and sixteen for
 * norms. Data are read for more than one epoch, dropout is on. SGD's cells show constant factors
 * that Adam would hide. */
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/plan/plan_io.h"
#include "tests/parity/job_plan.h"
#include "tests/parity/job_run.h"
#include "tests/unit/check.h"

#ifdef __SANITIZE_THREAD__
enum { STEPS = 8, FEW_STEPS = 4 }; /* races do not wait for the last steps */
#else
enum { STEPS = 50, FEW_STEPS = 15 };
#endif
enum { BATCH = 16, CONTEXT = 32, VOCAB = 64, CELLS_MAX = 12, CELL_CHANGES = 20, GRID_CHANGES = 8 };
enum { TOKENS = BATCH * CONTEXT * STEPS * 2 / 3 }; /* an epoch and a half */

static const double F32_BOUND = 1e-5, BF16_LOSS = 0x1p-9, BF16_NORM = 0x1p-5;

typedef struct Cell {
  int64_t dp, accumulation; /* 0: end of the list */
  const char *change;       /* NULL: none */
} Cell;

/* The first cell is what the others are compared with. */
typedef struct Grid {
  const char *name, *model;
  int64_t steps;
  bool is_bf16;
  const char *change[GRID_CHANGES];
  Cell cell[CELLS_MAX];
} Grid;

static char folder[64];

/* ---- one cell */

typedef struct CellChanges {
  char text[CELL_CHANGES][160];
  JobChanges list;
  int32_t count;
} CellChanges;

static void change(CellChanges *changes, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void change(CellChanges *changes, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char *text = changes->text[changes->count];
  (void)vsnprintf(text, sizeof changes->text[0], format, arguments);
  va_end(arguments);
  changes->list.text[changes->count++] = text;
}

static void change_for(CellChanges *changes, const Grid *grid, const Cell *cell) {
  *changes = (CellChanges){.count = 0};
  change(changes, "data=tokens");
  change(changes, "data.train=%s/tokens.u8", folder);
  change(changes, "data.format=u8");
  change(changes, "log.dir=%s/run", folder);
  change(changes, "model.layers=3");
  change(changes, "train.batch=%d sequences", BATCH);
  change(changes, "train.steps=%lld", (long long)grid->steps);
  change(changes, "train.microbatch=%lld", (long long)(BATCH / cell->dp / cell->accumulation));
  change(changes, "cluster.devices=%lld", (long long)cell->dp);
  change(changes, "parallel.zero=0");
  for (int32_t i = 0; i < GRID_CHANGES && grid->change[i]; i++)
    change(changes, "%s", grid->change[i]);
  if (cell->change) change(changes, "%s", cell->change);
}

static uint64_t gradient_bytes(const Plan *plan) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < plan->tensors_count; i++)
    if (plan->tensors[i].kind == BUFFER_GRAD)
      bytes += plan->tensors[i].size_bytes * plan->tensors[i].layer_count;
  return bytes;
}

static bool has_change(const Grid *grid, const Cell *cell, const char *text) {
  for (int32_t i = 0; i < GRID_CHANGES && grid->change[i]; i++)
    if (strcmp(grid->change[i], text) == 0) return true;
  return cell->change && strcmp(cell->change, text) == 0;
}

/* Gradients go over the wire once a step, and with them one block of control, however many
 * micro-batches there were: 2 (n - 1) / n of their bytes leave each rank. Shares are whole cache
 * lines, so rank 0's are a little larger. */
static void check_wire(const Plan *plan, const Grid *grid, const Cell *cell,
                       const RunRecord *record) {
  bool is_halved = has_change(grid, cell, "precision.reduce=bf16") ||
                   has_change(grid, cell, "precision.reduce=fp16");
  double wire = (double)gradient_bytes(plan) / (is_halved ? 2 : 1);
  double n = (double)cell->dp, control = 4 * sizeof(double); /* slots */
  double want = cell->dp == 1 ? 0 : 2 * (n - 1) / n * (wire + control);
  for (int64_t step = 1; step <= grid->steps; step++)
    CHECK(record->comm_bytes[step] >= want && record->comm_bytes[step] <= 1.02 * want);
}

static void check_memory(const Plan *plan, const RunRecord *record) {
  CHECK(record->planned_bytes > 0);
  CHECK_INT(record->addressed_bytes, record->planned_bytes);
  for (uint32_t i = 0; i < plan->programs_count; i++) {
    const PlanPeak *peak = plan_peak(plan, &plan->programs[i]);
    CHECK((double)peak->peak_bytes <= 1.05 * (double)peak->live_bytes);
  }
}

static void forget_run(void) {
  char run[80];
  (void)snprintf(run, sizeof run, "%s/run", folder);
  job_folder_remove(run);
}

static bool run_cell(const Grid *grid, const Cell *cell, RunRecord *record) {
  static CellChanges changes;
  change_for(&changes, grid, cell);
  char plan_path[80];
  (void)snprintf(plan_path, sizeof plan_path, "%s/cell.plan", folder);
  forget_run();
  Plan plan;
  bool planned = job_plan(grid->model, &changes.list, plan_path, &plan);
  bool done = planned && job_run(&plan, 0, record);
  CHECK(done);
  if (done) CHECK_INT(record->last_step, grid->steps);
  if (done) check_wire(&plan, grid, cell, record);
  if (done) check_memory(&plan, record);
  if (planned) plan_close(&plan);
  return done;
}

/* ---- a grid */

static double compare(const double *got, const double *want, const Grid *grid, const char *what,
                      double bound) {
  double worst = 0;
  for (int64_t step = 1; step <= grid->steps; step++) {
    double far = fabs(got[step] / want[step] - 1);
    if (!(far <= bound))
      printf("step %lld: %s %.9g, want %.9g\n", (long long)step, what, got[step], want[step]);
    CHECK(far <= bound);
    if (!(far <= worst)) worst = far;
  }
  return worst;
}

static void run_grid(const Grid *grid) {
  static RunRecord first, other;
  if (!run_cell(grid, &grid->cell[0], &first)) return;
  printf("%-28s loss %.4f -> %.4f\n", grid->name, first.loss[1], first.loss[grid->steps]);
  for (const Cell *cell = &grid->cell[1]; cell->dp > 0; cell++) {
    if (!run_cell(grid, cell, &other)) continue;
    double loss_bound = grid->is_bf16 ? BF16_LOSS : F32_BOUND;
    double norm_bound = grid->is_bf16 ? BF16_NORM : F32_BOUND;
    double loss = compare(other.loss, first.loss, grid, "loss", loss_bound);
    double norm = compare(other.norm, first.norm, grid, "norm", norm_bound);
    printf("  dp %lld x accumulation %lld %-24s loss %.1e  norm %.1e  of %.0e %.0e\n",
           (long long)cell->dp, (long long)cell->accumulation, cell->change ? cell->change : "",
           loss, norm, loss_bound, norm_bound);
    fflush(stdout);
  }
}

#define DROPOUT "model.dropout=0.1"
#define SGD     "optimizer=sgd", "optimizer.lr=0.1", "optimizer.clip=0.5"

static const Grid grids[] = {
    {"GPT-2, SGD, dropout",
     "gpt2",
     STEPS,
     false,
     {SGD, DROPOUT},
     {{1, 1, NULL},
      {1, 2, NULL},
      {1, 4, NULL},
      {2, 1, NULL},
      {2, 2, NULL},
      {2, 4, NULL},
      {4, 1, NULL},
      {4, 2, NULL},
      {4, 4, NULL}}},
    {"GPT-2, AdamW, dropout",
     "gpt2",
     STEPS,
     false,
     {DROPOUT},
     {{1, 1, NULL}, {1, 4, NULL}, {2, 2, NULL}, {4, 1, NULL}, {4, 4, NULL}}},
    {"GPT-2, recomputed",
     "gpt2",
     FEW_STEPS,
     false,
     {SGD, DROPOUT},
     {{1, 1, NULL},
      {1, 2, "memory.recompute=block"},
      {2, 2, "memory.recompute=block"},
      {2, 2, "memory.recompute=selective"},
      {1, 1, "memory.recompute=sqrt"},
      {2, 2, "memory.recompute=sqrt"}}},
    {"Llama",
     "llama",
     FEW_STEPS,
     false,
     {SGD},
     {{1, 1, NULL}, {1, 2, "memory.recompute=block"}, {2, 2, NULL}, {4, 1, NULL}}},
    {"Llama, tied head, AdamW",
     "llama",
     FEW_STEPS,
     false,
     {"model.tied=true"},
     {{1, 1, NULL}, {1, 4, NULL}, {2, 2, "memory.recompute=block"}, {4, 1, NULL}}},
    {"GPT-2, bf16",
     "gpt2",
     FEW_STEPS,
     true,
     {SGD, DROPOUT, "precision=bf16"},
     {{1, 1, NULL}, {1, 4, NULL}, {2, 2, NULL}, {4, 1, "memory.recompute=block"}}},
    {"GPT-2, fp16",
     "gpt2",
     FEW_STEPS,
     true,
     {SGD, DROPOUT, "precision=fp16", "precision.loss_scale=1024"},
     {{1, 1, NULL},
      {1, 4, "precision.param=fp32"},
      {2, 2, "precision.grad=fp16"},
      {4, 2, "precision.reduce=fp16"}}},
    {"GPT-2, bf16 gradients",
     "gpt2",
     FEW_STEPS,
     true,
     {SGD, DROPOUT, "precision=bf16"},
     {{1, 1, NULL},
      {1, 4, "precision.grad=bf16"},
      {2, 2, "precision.grad=bf16"},
      {4, 2, "precision.grad=bf16"},
      {4, 2, "precision.reduce=bf16"}}},
};

int main(void) {
  (void)snprintf(folder, sizeof folder, "/tmp/lockstep_grid_%d", (int)getpid());
  job_folder(folder, TOKENS, VOCAB);
  TEST("a batch may be divided in any way") {
    for (size_t i = 0; i < sizeof grids / sizeof *grids; i++)
      run_grid(&grids[i]);
  }
  job_folder_remove(folder);
  CHECK_DONE();
}

/* masked_test.c -- targets that do not count: of 16 rows, 1, 3, 7 or 0 have no class. Loss and
 * every gradient of a step are those of this file's own model in double precision, divided by the
 * targets that count, however ranks and micro-batches share the rows.
 *
 * f32: the loss 1e-5 relative; each number of each gradient within 1e-4 rms + 1e-8, rms that of its
 * tensor. bf16: the loss 2^-9 relative; a gradient tensor may be STRAY times as far from this
 * model's as that of a run of the other rows alone, on one rank. */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/parity/job_compile.h"
#include "tests/parity/tensors.h"
#include "tests/unit/check.h"

enum { ROWS = 16, INPUTS = 3, WIDTH = 16, HIDDEN = 32, LAYERS = 4, CLASSES = 4, PATH_BYTES = 128 };

static const double LOSS = 1e-5, GRADIENT = 1e-4, GRADIENT_LEAST = 1e-8;
static const double BF16_LOSS = 0x1p-9, STRAY = 2;

typedef struct Way {
  const char *name, *job;
  bool is_bf16;
} Way;

static const Way ways[] = {
    {"one rank", "microbatch = 16 }, parallel = { dp = 1 }, cluster = { 'here', devices = 1 }",
     false},
    {"dp 4", "microbatch = 2 }, parallel = { dp = 4 }, cluster = { 'here', devices = 4 }", false},
    {"tp 2", "microbatch = 8 }, parallel = { tp = 2 }, cluster = { 'here', devices = 2 }", false},
    {"pp 2", "microbatch = 2 }, parallel = { pp = 2 }, cluster = { 'here', devices = 2 }", false},
    {"dp 2 tp 2 pp 2, zero 2",
     "microbatch = 2 }, parallel = { dp = 2, tp = 2, pp = 2, zero = 2 }, "
     "cluster = { 'here', devices = 8 }",
     false},
    {"loss in chunks",
     "microbatch = 8 }, parallel = { dp = 2 }, memory = { loss_chunks = 4 }, "
     "cluster = { 'here', devices = 2 }",
     false},
    {"bf16, dp 4",
     "microbatch = 2 }, precision = 'bf16', parallel = { dp = 4 }, "
     "cluster = { 'here', devices = 4 }",
     true},
    {"bf16, pp 2",
     "microbatch = 4 }, precision = 'bf16', parallel = { pp = 2 }, "
     "cluster = { 'here', devices = 2 }",
     true},
};

static char folder[64];

/* ---- the rows */

static double row_input(int row, int k) {
  const double x[INPUTS] = {row * 7 % 5 / 4.0, row * 3 % 8 / 8.0, row % 3 - 1};
  return x[k];
}

/* Neighbouring rows: some replicas have many of them and some none. */
static int row_class(int row, int masked) {
  return row < masked ? -1 : row * 5 % 4;
}

static void write_rows(const char *path, int first, int masked) {
  FILE *file = fopen(path, "w");
  if (!file) abort();
  fputs("a,b,c,k\n", file);
  for (int row = first; row < ROWS; row++)
    fprintf(file, "%g,%g,%g,%d\n", row_input(row, 0), row_input(row, 1), row_input(row, 2),
            row_class(row, masked));
  fclose(file);
}

static const char *path_to(char path[PATH_BYTES], const char *name) {
  (void)snprintf(path, PATH_BYTES, "%s/%s", folder, name);
  return path;
}

/* Parameters stay as they began: the rate is too small to move them. */
static void write_job(const char *path, int rows, const char *way) {
  FILE *file = fopen(path, "w");
  if (!file) abort();
  fprintf(file,
          "return job { '%s/jobs/classes.lua', data = { 'table', train = '%s/rows.csv',\n"
          "  columns = { x = { 'a', 'b', 'c' }, y = 'k' }, shuffle = false },\n"
          "  optimizer = { 'sgd', lr = 1e-30 }, train = { batch = '%d samples', steps = 1, %s }\n",
          PARITY_FOLDER, folder, rows, way);
  fclose(file);
}

/* ---- the model, in double precision */

typedef struct Linear {
  const float *w, *b; /* [out,in] */
  double *d_w, *d_b;
  int in, out;
} Linear;

static Tensor *tensor_named(const Tensors *all, const char *name) {
  for (int32_t i = 0; i < all->count; i++)
    if (strcmp(all->at[i].name, name) == 0) return &all->at[i];
  printf("no tensor is named %s\n", name);
  abort();
}

typedef struct Gradients {
  char name[64][64];
  double *values[64];
  int64_t count[64];
  int used;
} Gradients;

static double *gradient(Gradients *all, const char *name, int64_t count) {
  (void)snprintf(all->name[all->used], sizeof all->name[0], "%s", name);
  all->count[all->used] = count;
  all->values[all->used] = calloc((size_t)count, sizeof(double));
  return all->values[all->used++];
}

static Linear linear(const Tensors *params, Gradients *gradients, const char *name, int in,
                     int out) {
  char w[64], b[64];
  (void)snprintf(w, sizeof w, "%s.weight", name);
  (void)snprintf(b, sizeof b, "%s.bias", name);
  return (Linear){tensor_named(params, w)->values,
                  tensor_named(params, b)->values,
                  gradient(gradients, w, (int64_t)in * out),
                  gradient(gradients, b, out),
                  in,
                  out};
}

static void forward(const Linear *l, const double *x, double *y) {
  for (int o = 0; o < l->out; o++) {
    y[o] = (double)l->b[o];
    for (int i = 0; i < l->in; i++)
      y[o] += (double)l->w[o * l->in + i] * x[i];
  }
}

/* Adds to d_x. */
static void backward(const Linear *l, const double *x, const double *d_y, double *d_x) {
  for (int o = 0; o < l->out; o++) {
    l->d_b[o] += d_y[o];
    for (int i = 0; i < l->in; i++) {
      l->d_w[o * l->in + i] += d_y[o] * x[i];
      d_x[i] += d_y[o] * (double)l->w[o * l->in + i];
    }
  }
}

typedef struct Model {
  Linear first, up[LAYERS], down[LAYERS], last;
} Model;

/* The row's loss; its gradient is divided by `targets`. */
static double row_step(const Model *m, const double *x, int class, double targets) {
  double h[LAYERS + 1][WIDTH], up[LAYERS][HIDDEN], z[CLASSES], d_z[CLASSES], sum = 0;
  forward(&m->first, x, h[0]);
  for (int l = 0; l < LAYERS; l++) {
    forward(&m->up[l], h[l], up[l]);
    for (int i = 0; i < HIDDEN; i++)
      up[l][i] = fmax(up[l][i], 0);
    forward(&m->down[l], up[l], h[l + 1]);
    for (int i = 0; i < WIDTH; i++)
      h[l + 1][i] += h[l][i];
  }
  forward(&m->last, h[LAYERS], z);
  for (int k = 0; k < CLASSES; k++)
    sum += exp(z[k]);
  for (int k = 0; k < CLASSES; k++)
    d_z[k] = (exp(z[k]) / sum - (k == class)) / targets;
  double d_h[WIDTH] = {0}, d_x[INPUTS] = {0};
  backward(&m->last, h[LAYERS], d_z, d_h);
  for (int l = LAYERS; l-- > 0;) {
    double d_up[HIDDEN] = {0};
    backward(&m->down[l], up[l], d_h, d_up);
    for (int i = 0; i < HIDDEN; i++)
      if (up[l][i] <= 0) d_up[i] = 0;
    backward(&m->up[l], h[l], d_up, d_h);
  }
  backward(&m->first, x, d_h, d_x);
  return log(sum) - z[class];
}

static double step(const Tensors *params, int masked, Gradients *gradients) {
  Model m = {.first = linear(params, gradients, "first", INPUTS, WIDTH),
             .last = linear(params, gradients, "last", WIDTH, CLASSES)};
  for (int l = 0; l < LAYERS; l++) {
    char up[64], down[64];
    (void)snprintf(up, sizeof up, "blocks.%d.up", l);
    (void)snprintf(down, sizeof down, "blocks.%d.down", l);
    m.up[l] = linear(params, gradients, up, WIDTH, HIDDEN);
    m.down[l] = linear(params, gradients, down, HIDDEN, WIDTH);
  }
  double loss = 0, targets = ROWS - masked;
  for (int row = 0; row < ROWS; row++) {
    const double x[INPUTS] = {row_input(row, 0), row_input(row, 1), row_input(row, 2)};
    if (row_class(row, masked) >= 0) loss += row_step(&m, x, row_class(row, masked), targets);
  }
  return loss / targets;
}

/* ---- one way */

typedef struct RunOf {
  const Draft *draft;
  bool agrees;
  Tensors gradients, parameters;
  FleetRank rank[FLEET_RANKS_MAX];
} RunOf;

static void look(void *context, const Fleet *fleet, int64_t number) {
  RunOf *run = context;
  if (number != 1) return;
  run->agrees = tensors_read(&run->gradients, run->draft, fleet, BASE_GRAD) &&
                tensors_read(&run->parameters, run->draft, fleet, BASE_PARAM);
}

typedef struct Away {
  double rms, farthest, distance; /* distance: the root of the squares of all */
} Away;

static Away away(const Tensor *got, const double *want) {
  double squares = 0;
  Away away = {0};
  for (int64_t i = 0; i < got->count; i++) {
    double difference = (double)got->values[i] - want[i];
    squares += want[i] * want[i];
    away.distance += difference * difference;
    away.farthest = fmax(away.farthest, fabs(difference));
  }
  away.rms = sqrt(squares / (double)got->count);
  away.distance = sqrt(away.distance);
  return away;
}

/* The gradient's distance, as a part of what is allowed. */
static double part_of_bound(const RunOf *run, const RunOf *alone, const char *name,
                            const double *want) {
  Away away_here = away(tensor_named(&run->gradients, name), want);
  if (alone == NULL) return away_here.farthest / (GRADIENT * away_here.rms + GRADIENT_LEAST);
  Away away_alone = away(tensor_named(&alone->gradients, name), want);
  return away_here.distance / (STRAY * away_alone.distance + GRADIENT_LEAST);
}

/* alone: in bf16, of the rows that count. */
static void compare(const Way *way, const RunOf *run, const RunOf *alone, int masked) {
  Gradients want = {.used = 0};
  const double loss = step(&run->parameters, masked, &want), bound = alone ? BF16_LOSS : LOSS;
  double worst = 0, far = fabs(run->rank[0].loss[1] / loss - 1);
  CHECK_INT(want.used, run->gradients.count);
  for (int i = 0; i < want.used; i++) {
    CHECK_INT(tensor_named(&run->gradients, want.name[i])->count, want.count[i]);
    double part = part_of_bound(run, alone, want.name[i], want.values[i]);
    if (!(part <= 1))
      printf("%s, %d masked: %s is %g of the bound\n", way->name, masked, want.name[i], part);
    CHECK(part <= 1);
    worst = fmax(worst, part);
    free(want.values[i]);
  }
  CHECK(far <= bound);
  printf("  %-24s %d masked: loss %.1e of %.1e, gradients %.2f of their bound\n", way->name, masked,
         far, bound, worst);
}

/* One step of the rows from `first` on. False: there was a failure. */
static bool run_rows(RunOf *run, const char *way, int first, int masked) {
  char job_path[PATH_BYTES], plan[PATH_BYTES], rows[PATH_BYTES];
  const char *error = "";
  JobCompile job;
  write_rows(path_to(rows, "rows.csv"), first, masked);
  write_job(path_to(job_path, "job.lua"), ROWS - first, way);
  bool done = job_compile(&job, job_path, path_to(plan, "plan"), &error);
  if (!done) diags_print(&job.compile->diags, stdout, false);
  *run = (RunOf){.draft = job.compiled.draft};
  done = done && fleet_run(&job.plan, 1, (FleetQueues){0}, look, run, run->rank) && run->agrees;
  CHECK(done);
  job_compile_close(&job);
  (void)unlink(job_path), (void)unlink(plan), (void)unlink(rows);
  return done;
}

static void run_way(const Way *way, int masked) {
  static RunOf run, alone;
  char one_rank[160];
  (void)snprintf(one_rank, sizeof one_rank,
                 "microbatch = %d }, precision = 'bf16', cluster = { 'here', devices = 1 }",
                 ROWS - masked);
  bool done = run_rows(&run, way->job, 0, masked);
  if (way->is_bf16) done = run_rows(&alone, one_rank, masked, masked) && done;
  if (done) compare(way, &run, way->is_bf16 ? &alone : NULL, masked);
  tensors_free(&run.gradients), tensors_free(&run.parameters);
  if (!way->is_bf16) return;
  tensors_free(&alone.gradients), tensors_free(&alone.parameters);
}

int main(void) {
  static const int masked[] = {0, 1, 3, 7};
  (void)snprintf(folder, sizeof folder, "/tmp/lockstep_masked_XXXXXX");
  if (mkdtemp(folder) == NULL) return 2;
  TEST("a step is the mean over the targets that count, however it is divided") {
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
      for (size_t k = 0; k < sizeof masked / sizeof *masked; k++)
        run_way(&ways[i], masked[k]);
  }
  (void)rmdir(folder);
  CHECK_DONE();
}

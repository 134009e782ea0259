/* LINK: kernels -- smoothing and z of cross-entropy by their definition, in f64: with p the softmax
 * over the real classes, a row's loss is (1 - e) (-log p[target]) + e mean(-log p) + z lse^2.
 * Whole, and cut over ranks that tell each other three numbers a row. */
#include <math.h>

#include "kernels/contract/contract.h"
#include "tests/unit/check.h"
#include "tests/unit/kernel_call.h"

enum { ROWS = 7, RANKS = 3, HELD = 16, CLASSES = 43, ALL = RANKS * HELD };

static const double e = 0.1, z = 0.01;
static Threads *team;
static double logits[ROWS][ALL];
static const int32_t targets[ROWS] = {0, 42, 17, -1, 15, 16, 31};

static double lse_of(int row) {
  double sum = 0;
  for (int k = 0; k < CLASSES; k++)
    sum += exp(logits[row][k]);
  return log(sum);
}

static double by_definition(void) {
  double loss = 0;
  for (int r = 0; r < ROWS; r++) {
    double lse = lse_of(r), mean = 0;
    if (targets[r] < 0) continue;
    for (int k = 0; k < CLASSES; k++)
      mean += (lse - logits[r][k]) / CLASSES;
    loss += (1 - e) * (lse - logits[r][targets[r]]) + e * mean + z * lse * lse;
  }
  return loss;
}

static double slope_of(int row, int k) {
  double lse = lse_of(row);
  if (targets[row] < 0 || k >= CLASSES) return 0;
  return exp(logits[row][k] - lse) * (1 + 2 * z * lse) - (1 - e) * (k == targets[row]) -
         e / CLASSES;
}

/* The logits of classes first .. first + held - 1, and the targets. */
static Call call_of(const char *kernel, DType dtype, int first, int held) {
  Call c = {.kernel = kernel,
            .dim = {ROWS, held, CLASSES, RANKS},
            .control = {.targets = 1, .loss_scale = 1}};
  int32_t l = call_add(&c, dtype, ROWS * held), t = call_add(&c, DTYPE_I32, ROWS);
  for (int r = 0; r < ROWS; r++) {
    for (int k = 0; k < held; k++)
      call_set(&c, l, r * held + k, logits[r][first + k]);
    call_set(&c, t, r, targets[r]);
  }
  return c;
}

static void finish(Call *c, KernelVariant variant) {
  call_add(c, DTYPE_F64, 2);
  call_add(c, DTYPE_F64, ROWS);
  call_run(c, variant, team);
}

static void check_slopes(const Call *c, int first, int held, double within) {
  for (int r = 0; r < ROWS; r++)
    for (int k = 0; k < held; k++)
      CHECK_NEAR(call_get(c, 0, r * held + k), slope_of(r, first + k), within);
}

static void check_whole(KernelVariant variant, DType dtype, double within) {
  Call c = call_of("cross_entropy_train", dtype, 0, ALL);
  c.attr[0] = 1, c.attr[1] = e, c.attr[2] = z;
  finish(&c, variant);
  CHECK_NEAR(call_get(&c, 2, 0), by_definition(), within * 10);
  CHECK_NEAR(call_get(&c, 2, 1), ROWS - 1, 0);
  check_slopes(&c, 0, ALL, within);
  call_free(&c);
}

static void check_parts(KernelVariant variant, DType dtype, double within) {
  float all[RANKS][ROWS][3];
  for (int rank = 0; rank < RANKS; rank++) {
    Call c = call_of("cross_entropy_stats", dtype, rank * HELD, HELD);
    c.attr[0] = rank * HELD, c.attr[1] = e;
    call_add(&c, DTYPE_F32, ROWS * 3);
    call_run(&c, variant, team);
    memcpy(all[rank], c.operand[2], sizeof all[rank]);
    call_free(&c);
  }
  for (int rank = 0; rank < RANKS; rank++) {
    Call c = call_of("cross_entropy_parts_train", dtype, rank * HELD, HELD);
    c.attr[0] = 1, c.attr[1] = rank * HELD, c.attr[2] = e, c.attr[3] = z;
    call_add(&c, DTYPE_F32, RANKS * ROWS * 3);
    memcpy(c.operand[2], all, sizeof all);
    finish(&c, variant);
    CHECK_NEAR(call_get(&c, 3, 0), by_definition(), within * 10);
    check_slopes(&c, rank * HELD, HELD, within);
    call_free(&c);
  }
}

int main(void) {
  team = threads_new(2, NULL);
  for (int r = 0; r < ROWS; r++)
    for (int k = 0; k < ALL; k++)
      logits[r][k] = (double)(float)(3 * sin(17.0 * r + 5.3 * k * k));
  TEST("all classes on one rank") {
    check_whole(KERNEL_REFERENCE, DTYPE_F64, 1e-13);
    check_whole(KERNEL_FAST, DTYPE_F32, 1e-6);
  }
  TEST("classes cut over ranks, whose statistics are f32") {
    check_parts(KERNEL_REFERENCE, DTYPE_F64, 1e-6);
    check_parts(KERNEL_FAST, DTYPE_F32, 1e-6);
  }
  threads_free(team);
  CHECK_DONE();
}

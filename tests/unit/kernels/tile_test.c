/* LINK: kernels -- products by tiles: the registers in plain C against the manual's definition, the
 * linear kernels against sums in that order, bit for bit; and the processor's own registers against
 * both, where it has them. */
#include <stdlib.h>

#include "kernels/contract/blocks.h"
#include "kernels/contract/workspace.h"
#include "kernels/cpu/tile.h"
#include "kernels/product.h"
#include "tests/unit/check.h"
#include "tests/unit/kernel_call.h"
#include "tests/unit/tile_sum.h"

#if defined(__x86_64__)

void cpu_linear_avx2(const KernelArgs *args);
void cpu_linear_avx512(const KernelArgs *args);
void cpu_linear_dx_avx2(const KernelArgs *args);
void cpu_linear_dx_avx512(const KernelArgs *args);
void cpu_linear_dw_avx2(const KernelArgs *args);
void cpu_linear_dw_avx512(const KernelArgs *args);

enum { LEVELS = 2, GEMM_BLOCK = 2048 /* of k, summed apart */ };

typedef void LinearKernel(const KernelArgs *args);

/* ---- one pair of registers */

static uint32_t pair(float even, float odd) {
  return bf16_from_float(even) | (uint32_t)bf16_from_float(odd) << 16;
}

/* The first element of c + a . b for one row of pairs and one column of pairs. */
static float dot_one(float c, const uint32_t *row, const uint32_t *column, int count) {
  TileFile file;
  memset(&file, 0, sizeof file);
  memcpy(&file.unit[0][0][0], &c, sizeof c);
  for (int u = 0; u < count; u++) {
    file.unit[4][0][u] = row[u];
    file.unit[6][u][0] = column[u];
  }
  tile_dot_emulated(&file, 0, 4, 6);
  memcpy(&c, &file.unit[0][0][0], sizeof c);
  return c;
}

static float dot_pair(float c, float even, float odd, float even_by, float odd_by) {
  uint32_t row = pair(even, odd), column = pair(even_by, odd_by);
  return dot_one(c, &row, &column, 1);
}

static void test_order(void) {
  /* The pair is added before c is: 2^24 + (1 + 1), not (2^24 + 1) + 1. */
  CHECK(dot_pair(0x1p24f, 1, 1, 1, 1) == 0x1p24f + 2);
  /* Even and odd places are summed apart: 2^24 is summed alone, and 1 + 1 together. */
  uint32_t row[3] = {pair(0x1p24f, 1), pair(0, 1), pair(0, 0)};
  uint32_t ones[3] = {pair(1, 1), pair(1, 1), pair(1, 1)};
  CHECK(dot_one(0, row, ones, 3) == 0x1p24f + 2);
  /* Along even places each product is added to the sum before it: ties go to the even neighbour. */
  uint32_t down[3] = {pair(0x1p24f, 0), pair(1, 0), pair(1, 0)};
  CHECK(dot_one(0, down, ones, 3) == 0x1p24f);
  /* A product is not rounded before it is added. */
  float x = 1 + 0x1p-7f;
  uint32_t fused[2] = {pair(-(1 + 0x1p-6f), 0), pair(x, 0)};
  uint32_t by[2] = {pair(1, 0), pair(x, 0)};
  CHECK(dot_one(0, fused, by, 2) == 0x1p-14f);
}

static void test_denormals(void) {
  CHECK(dot_pair(1, 0x1p-127f, 0, 0x1p127f, 0) == 1); /* one comes in */
  CHECK(dot_pair(0, 0x1p-64f, 0, 0x1p-63f, 0) == 0);  /* one would come out of a product, */
  CHECK(dot_pair(0x1p-126f, -0x1p-63f, 0, 0x1p-64f, 0) == 0x1p-126f);
  CHECK(dot_pair(0x1.8p-126f, -0x1p-63f, 0, 0x1p-63f, 0) == 0);      /* of the sum with c, */
  CHECK(dot_pair(0x1p-130f, 0x1p-63f, 0, 0x1p-63f, 0) == 0x1p-126f); /* or is in c */
  CHECK(signbit(tile_multiply_add(-0x1p-64f, 0x1p-63f, 0)) != 0);
  /* Rounded to 24 bits, this is the least normal float: it is kept. */
  CHECK(tile_multiply_add(0x1p-76f, -0x1p-76f, 0x1p-126f) == 0x1p-126f);
  /* This one is not, though the nearest float with denormals would be. */
  CHECK(tile_multiply_add(0x1.8p-75f, -0x1p-76f, 0x1p-126f) == 0);
}

static void test_special(void) {
  CHECK(isnan(dot_pair(0, INFINITY, 0, 0, 0)));
  CHECK(isinf(dot_pair(0, INFINITY, 1, 1, 1)));
  CHECK(isnan(dot_pair(NAN, 1, 1, 1, 1)));
}

/* ---- the linear kernels */

typedef struct Shape {
  int64_t rows, in, out;
  bool flipped;
} Shape;

static const Shape shapes[] = {
    {1, 1, 1, false},      {16, 32, 16, false},   {17, 33, 31, false},   {32, 64, 32, true},
    {33, 95, 65, true},    {48, 48, 16, false},   {64, 2100, 40, false}, {100, 70, 130, true},
    {7, 31, 4500, true},   {3, 33, 50257, false},                        /* GPT-2's head */
    {17, 64, 1600, false}, {209, 96, 1601, true}, {115, 1216, 64, true}, /* rows are read where they
                                                                            are */
};

typedef struct Product3 {
  const char *name;
  LinearKernel *kernel[LEVELS];
  Lines a, b;
  int64_t m, n, k;
} Product3;

/* Runs one kernel at both levels and compares every element. Operands 0 and 1 are its inputs. */
static void check_kernel(const Shape *s, Call *call, const Product3 *p, Threads *threads) {
  for (int level = 0; level < LEVELS; level++) {
    if (level == 1 && !product_runs_here(PRODUCT_AVX512)) continue;
    KernelArgs args = {.operand = call->operand,
                       .dtype = call->dtype,
                       .bytes = call->bytes,
                       .dim = call->dim,
                       .attr = call->attr,
                       .operand_count = 4,
                       .threads = threads};
    memset(call->operand[2], 0xff, (size_t)call->bytes[2]);
    call->bytes[3] = product_bytes(&(ProductShape){p->m, p->n, p->k, .factors_bf16 = true});
    p->kernel[level](&args);
    const float *c = call->operand[2];
    int64_t wrong = 0;
    for (int64_t e = 0; e < p->m * p->n; e++) {
      float want = tile_sum(&p->a, e / p->n, &p->b, e % p->n, p->k, GEMM_BLOCK);
      wrong += tile_bits(c[e]) != tile_bits(want);
    }
    if (wrong > 0)
      printf("%s, %lld x %lld x %lld, level %d: %lld elements\n", p->name, (long long)s->rows,
             (long long)s->in, (long long)s->out, level, (long long)wrong);
    CHECK(wrong == 0);
  }
}

static Call call_of(const Shape *s, int64_t left, int64_t right, int64_t result) {
  Call call = {.dim = {s->rows, s->in, s->out, s->flipped}};
  call_fill(&call, call_add(&call, DTYPE_BF16, left), 1);
  call_fill(&call, call_add(&call, DTYPE_BF16, right), 2);
  call_add(&call, DTYPE_F32, result);
  call_add(&call, DTYPE_F32, WORK_PRODUCT_MOST / 4);
  return call;
}

static void check_shape(const Shape *s, Threads *threads) {
  int64_t rows = s->rows, in = s->in, out = s->out;
  Call call = call_of(s, rows * in, in * out, rows * out);
  Lines x = {call.operand[0], in, 1};
  Lines w = {call.operand[1], s->flipped ? 1 : in, s->flipped ? out : 1}; /* lines: out */
  check_kernel(s, &call,
               &(Product3){"linear", {cpu_linear_avx2, cpu_linear_avx512}, x, w, rows, out, in},
               threads);
  call_free(&call);

  call = call_of(s, rows * out, in * out, rows * in);
  Lines d_y = {call.operand[0], out, 1};
  w = (Lines){call.operand[1], s->flipped ? out : 1, s->flipped ? 1 : in}; /* lines: in */
  check_kernel(
      s, &call,
      &(Product3){"linear_dx", {cpu_linear_dx_avx2, cpu_linear_dx_avx512}, d_y, w, rows, in, out},
      threads);
  call_free(&call);

  call = call_of(s, rows * in, rows * out, in * out);
  x = (Lines){call.operand[0], 1, in};
  d_y = (Lines){call.operand[1], 1, out};
  check_kernel(s, &call,
               &(Product3){"linear_dw",
                           {cpu_linear_dw_avx2, cpu_linear_dw_avx512},
                           s->flipped ? x : d_y,
                           s->flipped ? d_y : x,
                           s->flipped ? in : out,
                           s->flipped ? out : in,
                           rows},
               threads);
  call_free(&call);
}

static void check_shapes(void) {
  Threads *team[2] = {threads_new(1, NULL), threads_new(2, NULL)};
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
    for (int t = 0; t < 2; t++)
      check_shape(&shapes[i], team[t]);
  threads_free(team[0]);
  threads_free(team[1]);
}

int main(void) {
  if (!product_runs_here(PRODUCT_AMX_EMULATED)) {
    printf("tiles are for processors with AVX2\n");
    return 77;
  }
  /* On a processor with tiles these are its own; the choice is made once. */
  (void)setenv("LOCKSTEP_CPU", "amx-bf16", 1);
  TEST("pairs are summed in the manual's order") test_order();
  TEST("denormals count as 0") test_denormals();
  TEST("what is no number stays so") test_special();
  TEST("tiles are chosen when they are asked for") {
    Product chosen = product_choice()->bf16;
    CHECK(chosen == PRODUCT_AMX_BF16 || chosen == PRODUCT_AMX_EMULATED);
    printf("tiles %s\n", chosen == PRODUCT_AMX_BF16 ? "of this processor" : "emulated");
  }
  TEST("linear kernels sum in the order of tiles, at every level") check_shapes();
  CHECK_DONE();
}

#else

int main(void) {
  printf("tiles are for x86-64\n");
  return 77;
}

#endif

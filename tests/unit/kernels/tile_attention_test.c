/* LINK: kernels -- attention's products by tiles against sums in the order of tiles, bit for bit.
 *
 * Operands are chosen so that everything but one product is exact: with q or k all 0 and lse 0,
 * every probability is 1. Softmax and masks are compared with the plain kernel by
 * kernel_variants_test. */
#include <stdlib.h>

#include "kernels/contract/workspace.h"
#include "kernels/cpu/tile.h"
#include "kernels/product.h"
#include "tests/unit/check.h"
#include "tests/unit/kernel_call.h"
#include "tests/unit/tile_sum.h"

#if defined(__x86_64__)

void cpu_attention_avx2(const KernelArgs *args);
void cpu_attention_avx512(const KernelArgs *args);
void cpu_attention_backward_avx2(const KernelArgs *args);
void cpu_attention_backward_avx512(const KernelArgs *args);

enum {
  LEVELS = 2,
  SCORE_HEADS = 24,
  KEY_BLOCK = 128,  /* keys that attention sums over before it adds to what was there */
  QUERY_BLOCK = 144 /* the same of queries, backward */
};

typedef void AttentionKernel(const KernelArgs *args);

/* One sample; every query head has keys of its own. */
typedef struct Shape {
  int64_t seq, heads, head;
} Shape;

static const Shape shapes[] = {{1, 2, 16},   {2, 1, 40},  {33, 2, 64},  {64, 1, 32},
                               {128, 1, 96}, {130, 2, 8}, {256, 1, 64}, {300, 1, 128}};

static Call call_of(const Shape *s, double scale) {
  int64_t width = s->heads * s->head, second = s->seq / 2;
  return (Call){
      .dim = {1, s->seq, s->heads, s->heads, s->head, width, width, width, width, width, width},
      .attr = {0, scale, 0, 0, (double)second, 0, (double)second, 0, (double)s->heads,
               (double)s->seq}};
}

/* Adds an operand of normal numbers, or of zeros. */
static int32_t add(Call *call, const Shape *s, DType dtype, bool filled) {
  int32_t i = call_add(call, dtype, s->seq * s->heads * s->head);
  if (filled) call_fill(call, i, 7);
  return i;
}

static void run(Call *call, AttentionKernel *kernel, Threads *threads) {
  kernel(&(KernelArgs){.operand = call->operand,
                       .dtype = call->dtype,
                       .bytes = call->bytes,
                       .dim = call->dim,
                       .attr = call->attr,
                       .operand_count = call->operand_count,
                       .sample_first = &call->sample_first,
                       .threads = threads});
}

/* One head of an operand: lines are tokens, k is the element; or the other way round. */
static Lines head_of(const Call *call, const Shape *s, int32_t operand, int64_t head, bool tokens) {
  int64_t width = s->heads * s->head;
  const uint16_t *first = (const uint16_t *)call->operand[operand] + head * s->head;
  return tokens ? (Lines){first, width, 1} : (Lines){first, 1, width};
}

static void expect(const Shape *s, const char *what, float is, float want, int64_t *wrong) {
  if (tile_bits(is) == tile_bits(want)) return;
  if ((*wrong)++ == 0)
    printf("%s, %lld tokens of %lld heads of %lld: %a, not %a\n", what, (long long)s->seq,
           (long long)s->heads, (long long)s->head, (double)is, (double)want);
}

static void add_work(Call *call, WorkspaceBytes *bytes) {
  WorkspaceUse use = {KERNEL_TARGET_CPU, call->dim, call->dtype, 2, false};
  call_add(call, DTYPE_F32, bytes(&use) / 4);
}

/* With one token, lse is the score: the sum over the head. */
static void check_scores(int64_t head, AttentionKernel *kernel, Threads *threads) {
  Shape s = {1, SCORE_HEADS, head};
  Call call = call_of(&s, 1);
  for (int i = 0; i < 3; i++)
    add(&call, &s, DTYPE_BF16, true);
  add(&call, &s, DTYPE_F32, false);
  call_add(&call, DTYPE_F32, SCORE_HEADS);
  add_work(&call, workspace_attention);
  run(&call, kernel, threads);
  int64_t wrong = 0;
  for (int64_t h = 0; h < SCORE_HEADS; h++) {
    Lines q = head_of(&call, &s, 0, h, true), k = head_of(&call, &s, 1, h, true);
    expect(&s, "score", ((float *)call.operand[4])[h], tile_sum(&k, 0, &q, 0, head, head), &wrong);
  }
  CHECK(wrong == 0);
  call_free(&call);
}

/* With a scale of 0, out is the mean of v over the keys. */
static void check_values(const Shape *s, AttentionKernel *kernel, Threads *threads) {
  Call call = call_of(s, 0);
  for (int i = 0; i < 3; i++)
    add(&call, s, DTYPE_BF16, true);
  add(&call, s, DTYPE_F32, false);
  call_add(&call, DTYPE_F32, s->seq * s->heads);
  add_work(&call, workspace_attention);
  run(&call, kernel, threads);
  const uint16_t one = bf16_from_float(1);
  const Lines ones = {&one, 0, 0};
  const float *out = call.operand[3];
  int64_t wrong = 0;
  for (int64_t h = 0; h < s->heads; h++) {
    Lines v = head_of(&call, s, 2, h, false);
    for (int64_t d = 0; d < s->head; d++) {
      float want = tile_sum(&v, d, &ones, 0, s->seq, KEY_BLOCK) * (1 / (float)s->seq);
      for (int64_t i = 0; i < s->seq; i++)
        expect(s, "out", out[(i * s->heads + h) * s->head + d], want, &wrong);
    }
  }
  CHECK(wrong == 0);
  call_free(&call);
}

/* d_s[query][key] of one head, when probabilities are 1: d_out v^T, rounded. */
static void slopes(const Call *call, const Shape *s, int64_t h, uint16_t *d_s) {
  Lines d_out = head_of(call, s, 0, h, true), v = head_of(call, s, 3, h, true);
  for (int64_t i = 0; i < s->seq; i++)
    for (int64_t j = 0; j < s->seq; j++)
      d_s[i * s->seq + j] = bf16_from_float(tile_sum(&v, j, &d_out, i, s->head, s->head));
}

/* The gradients that are not 0: d_v, and d_q of q = 0 or d_k of k = 0. */
static int64_t wrong_gradients(const Call *call, const Shape *s, int64_t h, bool zero_q,
                               const uint16_t *d_s) {
  const uint16_t one = bf16_from_float(1);
  const Lines ones = {&one, 0, 0}, by_query = {d_s, s->seq, 1}, by_key = {d_s, 1, s->seq};
  Lines d_out = head_of(call, s, 0, h, false), other = head_of(call, s, zero_q ? 2 : 1, h, false);
  const float *d_v = call->operand[8], *d_other = call->operand[zero_q ? 6 : 7];
  int64_t wrong = 0;
  for (int64_t i = 0; i < s->seq; i++)
    for (int64_t d = 0; d < s->head; d++) {
      int64_t e = (i * s->heads + h) * s->head + d;
      expect(s, "d_v", d_v[e], tile_sum(&ones, 0, &d_out, d, s->seq, QUERY_BLOCK), &wrong);
      float want = tile_sum(zero_q ? &by_query : &by_key, i, &other, d, s->seq,
                            zero_q ? KEY_BLOCK : QUERY_BLOCK);
      expect(s, zero_q ? "d_q" : "d_k", d_other[e], want, &wrong);
    }
  return wrong;
}

static void check_gradients(const Shape *s, bool zero_q, AttentionKernel *kernel,
                            Threads *threads) {
  Call call = call_of(s, 1);
  add(&call, s, DTYPE_BF16, true); /* d_out */
  add(&call, s, DTYPE_BF16, !zero_q);
  add(&call, s, DTYPE_BF16, zero_q);
  add(&call, s, DTYPE_BF16, true);  /* v */
  add(&call, s, DTYPE_BF16, false); /* out: no row terms */
  call_add(&call, DTYPE_F32, s->seq * s->heads);
  for (int i = 0; i < 3; i++)
    add(&call, s, DTYPE_F32, false);
  add_work(&call, workspace_attention_backward);
  run(&call, kernel, threads);
  uint16_t *d_s = malloc((size_t)(s->seq * s->seq) * sizeof *d_s);
  int64_t wrong = d_s == NULL;
  for (int64_t h = 0; wrong == 0 && h < s->heads; h++) {
    slopes(&call, s, h, d_s);
    wrong = wrong_gradients(&call, s, h, zero_q, d_s);
  }
  CHECK(wrong == 0);
  free(d_s);
  call_free(&call);
}

static AttentionKernel *const forward[LEVELS] = {cpu_attention_avx2, cpu_attention_avx512};
static AttentionKernel *const backward[LEVELS] = {cpu_attention_backward_avx2,
                                                  cpu_attention_backward_avx512};

/* Calls `check` for every level that runs here, with one thread and with two. */
#define EVERY_LEVEL(check)                                                                         \
  for (int level = 0; level < 1 + product_runs_here(PRODUCT_AVX512); level++)                      \
    for (int t = 0; t < 2; t++)                                                                    \
  check

static void check_all(Threads *const team[2]) {
  TEST("scores sum over the head in the order of tiles") {
    const int64_t heads[] = {8, 16, 40, 64, 128};
    for (int i = 0; i < 5; i++)
      EVERY_LEVEL(check_scores(heads[i], forward[level], team[t]));
  }
  TEST("out sums over the keys in the order of tiles") {
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
      EVERY_LEVEL(check_values(&shapes[i], forward[level], team[t]));
  }
  TEST("gradients sum over keys and queries in the order of tiles") {
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
      for (int zero_q = 0; zero_q < 2; zero_q++)
        EVERY_LEVEL(check_gradients(&shapes[i], zero_q, backward[level], team[t]));
  }
}

int main(void) {
  if (!product_runs_here(PRODUCT_AMX_EMULATED)) {
    printf("tiles are for processors with AVX2\n");
    return 77;
  }
  (void)setenv("LOCKSTEP_CPU", "amx-bf16", 1); /* emulated where there are none */
  Threads *team[2] = {threads_new(1, NULL), threads_new(2, NULL)};
  check_all(team);
  threads_free(team[0]);
  threads_free(team[1]);
  CHECK_DONE();
}

#else

int main(void) {
  printf("tiles are for x86-64\n");
  return 77;
}

#endif

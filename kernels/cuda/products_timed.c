/* products_timed.c -- which of the library's candidates is fastest for a product, on operands of
 * its own shapes, types and alignment, with numbers of ordinary size: zeros would draw less power,
 * and so run at a higher clock. */
#include "kernels/cuda/products_timed.h"

#include <stdlib.h>

#include "kernels/cuda/products_inside.h"
#include "kernels/math/floats.h"
#include "kernels/math/philox.h"

/* A candidate has this many runs in each of two rounds; the second round has only those that are
 * near the best. Another one than the library's first must be faster by more than noise. */
enum { ROUNDS = 2, RUNS = 3, NEAR_PERCENT = 110, NOISE_PERCENT = 98 };
enum { WARM_RUNS = 16, UNIT_BYTES = 256, PATTERN_BYTES = 1 << 16, ONE_BYTES = 256 };
static const int64_t warm_ns = 50000000, all_ns = 10000000000;

static _Thread_local struct {
  const ProductClock *clock;
  uint8_t *memory;
  uint64_t size_bytes;
  bool is_warm;
  int64_t spent_ns;
} lent;

void products_lend(const ProductClock *clock, void *memory, uint64_t size_bytes) {
  lent.clock = memory != NULL ? clock : NULL;
  lent.memory = memory;
  lent.size_bytes = size_bytes;
}

int32_t lent_driver(void) {
  return lent.clock != NULL ? lent.clock->driver : 0;
}

/* ---- operands */

/* The product that is tried, with the candidate of this run. */
typedef struct Trial {
  const LtApi *api;
  const LtProduct *product;
  const LtAlgorithm *algorithm;
  void *a, *b, *d, *workspace;
  uint64_t workspace_bytes;
  float beta;
} Trial;

static bool run_trial(const void *context, void *stream) {
  const Trial *t = context;
  const LtProduct *p = t->product;
  const float one = 1;
  return t->api->multiply(p->handle, p->operation, &one, t->a, p->a, t->b, p->b, &t->beta, t->d,
                          p->d, t->d, p->d, t->algorithm, t->workspace, t->workspace_bytes,
                          stream) == LT_DONE;
}

static int64_t element_bytes(int32_t type) {
  return type == LT_F32 || type == LT_TF32 ? 4 : type == LT_BF16 || type == LT_F16 ? 2 : 1;
}

/* Numbers from -1 to 1 in the operand's dtype. Codes of both formats decode to numbers of ordinary
 * size. */
static void make_pattern(int32_t type, uint8_t pattern[PATTERN_BYTES]) {
  const DType dtype = type == LT_BF16 ? DTYPE_BF16 : type == LT_F16 ? DTYPE_F16 : DTYPE_F32;
  const int64_t element = element_bytes(type);
  for (int64_t i = 0; i < PATTERN_BYTES / element; i++) {
    uint32_t word[4];
    philox4(1, 0, (uint64_t)i, word);
    if (element == 1)
      pattern[i] = (uint8_t)((word[0] & 0x87u) | 0x30u);
    else
      float_put(pattern, i, dtype, (float)(word[0] >> 8) / (float)(1 << 23) - 1.0f);
  }
}

/* The next place of the memory, as aligned as the record's addresses are and no more. NULL: there
 * is no room. */
static void *take(uint64_t *used, uint64_t size_bytes, uint32_t align_bytes) {
  uint64_t at = (*used + UNIT_BYTES - 1) / UNIT_BYTES * UNIT_BYTES;
  if (align_bytes < UNIT_BYTES) at += align_bytes;
  if (at + size_bytes > lent.size_bytes) return NULL;
  *used = at + size_bytes;
  return lent.memory + at;
}

static void *take_filled(uint64_t *used, uint64_t size_bytes, uint32_t align_bytes,
                         const uint8_t *pattern) {
  void *at = take(used, size_bytes, align_bytes);
  return at != NULL && lent.clock->fill(at, size_bytes, pattern, PATTERN_BYTES) ? at : NULL;
}

static bool set(const Trial *t, int attribute, const void *address) {
  return address != NULL && t->api->operation_set(t->product->operation, attribute, &address,
                                                  sizeof address) == LT_DONE;
}

/* Scales of 1, more than any mode reads. */
static bool place_scales(const Trial *t, const Matrices *x, uint64_t *used, uint8_t *pattern) {
  const uint64_t lines = (uint64_t)(x->m > x->n ? x->m : x->n);
  const uint64_t size_bytes = (lines + 4) * ((uint64_t)x->k / LT_SCALE_SIDE + 4) * sizeof(float);
  for (int64_t i = 0; i < PATTERN_BYTES / 4; i++)
    float_put(pattern, i, DTYPE_F32, 1);
  void *scales = take_filled(used, size_bytes, UNIT_BYTES, pattern);
  return set(t, LT_SCALE_A, scales) && set(t, LT_SCALE_B, scales);
}

/* False: the memory has no room for it. */
static bool place(Trial *t, const Matrices *x, const ChoiceKey *shape, uint8_t *pattern) {
  const uint32_t align = shape->align_bytes;
  const int64_t factor = element_bytes(shape->factors), result = element_bytes(shape->result);
  const int64_t columns_a = x->transpose_a != LT_PLAIN ? x->m : x->k;
  const int64_t columns_b = x->transpose_b != LT_PLAIN ? x->k : x->n;
  const uint64_t d_bytes = (uint64_t)(x->m * x->n * result);
  const int32_t epilogue = shape->epilogue;
  uint64_t used = 0;
  make_pattern(shape->factors, pattern);
  t->a = take_filled(&used, (uint64_t)(x->lead_a * columns_a * factor), align, pattern);
  t->b = take_filled(&used, (uint64_t)(x->lead_b * columns_b * factor), align, pattern);
  make_pattern(shape->result, pattern);
  t->d = take_filled(&used, d_bytes, align, pattern);
  t->workspace = take(&used, shape->workspace_most, UNIT_BYTES);
  if (t->a == NULL || t->b == NULL || t->d == NULL || t->workspace == NULL) return false;
  if ((epilogue & PRODUCT_USES_BIAS) != 0 &&
      !set(t, LT_BIAS, take_filled(&used, (uint64_t)((x->m + x->n) * 4), align, pattern)))
    return false;
  if ((epilogue & LT_EPILOGUE_AUX) != 0 &&
      !set(t, LT_AUX, take_filled(&used, d_bytes, align, pattern)))
    return false;
  return !x->parts.codes || place_scales(t, x, &used, pattern);
}

/* ---- trying */

typedef struct TimedAlgorithm {
  const LtCandidate *offered;
  int64_t took_ns[ROUNDS * RUNS];
  int32_t count;
} TimedAlgorithm;

static int by_time(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* INT64_MAX: it cannot run. */
static int64_t median(TimedAlgorithm *candidate) {
  if (candidate->count == 0) return INT64_MAX;
  qsort(candidate->took_ns, (size_t)candidate->count, sizeof *candidate->took_ns, by_time);
  return candidate->took_ns[candidate->count / 2];
}

static void run_round(Trial *t, TimedAlgorithm *candidates, int32_t count, int64_t limit_ns) {
  int64_t took_ns[1 + RUNS]; /* the first warms up */
  for (int32_t i = 0; i < count; i++) {
    TimedAlgorithm *c = &candidates[i];
    if (limit_ns < INT64_MAX && median(c) > limit_ns) continue;
    t->algorithm = &c->offered->algorithm;
    if (!lent.clock->time(run_trial, t, 1 + RUNS, took_ns)) continue;
    for (int32_t run = 1; run <= RUNS; run++)
      c->took_ns[c->count++] = took_ns[run];
  }
}

static int64_t fastest(TimedAlgorithm *candidates, int32_t count, int32_t *which) {
  int64_t best_ns = INT64_MAX;
  for (int32_t i = 0; i < count; i++) {
    const int64_t ns = median(&candidates[i]);
    if (ns < best_ns) best_ns = ns, *which = i;
  }
  return best_ns;
}

/* A GPU that was idle has another clock than one that works. */
static void warm_up(ProductTry *product, const void *context) {
  int64_t took_ns[WARM_RUNS], sum_ns = 0;
  for (int32_t turn = 0; turn < WARM_RUNS && sum_ns < warm_ns && !lent.is_warm; turn++) {
    if (!lent.clock->time(product, context, WARM_RUNS, took_ns)) return;
    for (int32_t i = 0; i < WARM_RUNS; i++)
      sum_ns += took_ns[i];
  }
  lent.is_warm = true;
}

bool lent_may_try(void) {
  return lent.clock != NULL && lent.spent_ns <= all_ns;
}

static ProductTimes try_all(Trial *t, const LtCandidate *const *offered, int32_t count) {
  TimedAlgorithm candidates[PRODUCT_TRIES_MOST] = {{.offered = NULL}};
  for (int32_t i = 0; i < count; i++)
    candidates[i].offered = offered[i];
  t->algorithm = &offered[0]->algorithm;
  warm_up(run_trial, t);
  int32_t best = 0;
  run_round(t, candidates, count, INT64_MAX);
  const int64_t first_round_ns = fastest(candidates, count, &best);
  if (first_round_ns == INT64_MAX) return (ProductTimes){0};
  run_round(t, candidates, count, first_round_ns * NEAR_PERCENT / 100);
  const int64_t best_ns = fastest(candidates, count, &best), first_ns = median(&candidates[0]);
  if (best_ns <= first_ns / 100 * NOISE_PERCENT) return (ProductTimes){best, best_ns, first_ns};
  return (ProductTimes){0, first_ns, first_ns};
}

ProductTimes product_fastest(const LtApi *api, const LtProduct *product, const Matrices *x,
                             const ChoiceKey *shape, bool adds, const LtCandidate *const *offered,
                             int32_t count) {
  Trial trial = {.api = api,
                 .product = product,
                 .workspace_bytes = shape->workspace_most,
                 .beta = adds ? 1 : 0};
  ProductTimes times = {0};
  if (!lent_may_try() || count < 1) return times;
  const int64_t begun_ns = lent.clock->now_ns();
  uint8_t *pattern = malloc(PATTERN_BYTES);
  if (pattern != NULL && place(&trial, x, shape, pattern)) times = try_all(&trial, offered, count);
  free(pattern);
  lent.spent_ns += lent.clock->now_ns() - begun_ns;
  return times;
}

/* ---- for attention */

void *lent_take(uint64_t *used, uint64_t size_bytes, int64_t align_bytes, uint32_t dtype) {
  const int32_t type = dtype == DTYPE_BF16 ? LT_BF16 : dtype == DTYPE_F16 ? LT_F16 : LT_F32;
  uint8_t *pattern = malloc(PATTERN_BYTES);
  if (pattern == NULL) return NULL;
  make_pattern(type, pattern);
  void *at = take_filled(used, size_bytes, (uint32_t)align_bytes, pattern);
  free(pattern);
  return at;
}

int64_t lent_run_ns(ProductTry *product, const void *context) {
  const int64_t begun_ns = lent.clock->now_ns();
  int64_t took_ns[1 + RUNS]; /* the first warms up */
  warm_up(product, context);
  const bool ran = lent.clock->time(product, context, 1 + RUNS, took_ns);
  lent.spent_ns += lent.clock->now_ns() - begun_ns;
  if (!ran) return INT64_MAX;
  qsort(took_ns + 1, RUNS, sizeof *took_ns, by_time);
  return took_ns[1 + RUNS / 2];
}

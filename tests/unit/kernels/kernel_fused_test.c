/* kernel_fused_test.c -- a fused kernel leaves the bits of its two kernels: every row of
 * fusions.def that plans for processors use, in shapes with rests, in place and beside, whatever
 * the number of threads. LINK: kernels */
#include "tests/unit/check.h"
#include "tests/unit/kernel_pair.h"

static const PairShape shapes[] = {
    {.rows = 1, .width = 1, .inner = 1},
    {.rows = 7, .width = 33, .inner = 5},
    {.rows = 129, .width = 100, .inner = 70, .transposed = true},
    {.rows = 64, .width = 768, .inner = 96},
    {.rows = 130, .width = 48, .inner = 2100, .accumulate = true}, /* sums over blocks of k */
};

static bool same_bits(const Pair *a, const Pair *b) {
  for (int32_t k = 0; k < 2; k++) {
    const KernelContract *contract = contract_find(a->call[k].kernel);
    for (int32_t i = 0; i < contract->operand_count; i++)
      if (contract->operands[i].access != KERNEL_SCRATCH &&
          memcmp(a->call[k].operand[i], b->call[k].operand[i], (size_t)a->call[k].bytes[i]) != 0)
        return false;
  }
  return true;
}

/* `fewer`: the first adds so many elements less than the operands have. */
static void make(Pair *pair, const KernelFusion *fusion, const PairShape *shape, int64_t fewer) {
  pair_make(pair, fusion, KERNEL_TARGET_CPU, shape);
  pair->call[0].dim[1] -= fewer;
}

static void check_pair(const KernelFusion *fusion, const PairShape *shape, int64_t fewer,
                       Threads *const team[2]) {
  Pair apart, fused;
  make(&apart, fusion, shape, fewer);
  call_run(&apart.call[0], KERNEL_FAST, team[0]);
  call_run(&apart.call[1], KERNEL_FAST, team[0]);
  for (int32_t t = 0; t < 2; t++) {
    make(&fused, fusion, shape, fewer);
    CHECK(pair_run_fused(&fused, kernels_of(KERNEL_FAST), KERNEL_TARGET_CPU, team[t],
                         threads_count(team[t])));
    bool same = same_bits(&apart, &fused);
    if (!same)
      printf("%s and %s, %lld x %lld, inner %lld, dtype %d, in place %d\n", fused.call[0].kernel,
             fused.call[1].kernel, (long long)shape->rows, (long long)shape->width,
             (long long)shape->inner, (int)shape->dtype, shape->in_place);
    CHECK(same);
    pair_free(&fused);
  }
  pair_free(&apart);
}

int main(void) {
  Threads *const team[2] = {threads_new(1, NULL), threads_new(3, NULL)};
  static const DType dtypes[] = {DTYPE_F32, DTYPE_BF16, DTYPE_F64};
  int32_t count;
  const KernelFusion *fusions = contract_fusions(&count);

  TEST("a fused kernel leaves the bits of its two kernels") {
    for (int32_t j = 0; j < count; j++)
      for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (size_t t = 0; t < sizeof dtypes / sizeof *dtypes; t++)
          for (int32_t in_place = 0; in_place < 2; in_place++) {
            PairShape shape = shapes[s];
            shape.dtype = dtypes[t], shape.in_place = in_place != 0, shape.threads = 3;
            if (contract_may_fuse(fusions[j].first, fusions[j].second, KERNEL_TARGET_CPU))
              check_pair(&fusions[j], &shape, 0, team);
          }
  }

  TEST("an add of fewer elements than the norm has is not made to add more") {
    PairShape shape = shapes[1];
    shape.threads = 3;
    for (int32_t j = 0; j < count; j++)
      if (fusions[j].first == KERNEL_add) check_pair(&fusions[j], &shape, 1, team);
  }

  TEST("a row that plans for processors do not use is not fused there") {
    for (int32_t j = 0; j < count; j++) {
      if (contract_may_fuse(fusions[j].first, fusions[j].second, KERNEL_TARGET_CPU)) continue;
      Pair pair;
      PairShape shape = shapes[1];
      shape.threads = 1;
      pair_make(&pair, &fusions[j], KERNEL_TARGET_CPU, &shape);
      CHECK(!pair_run_fused(&pair, kernels_of(KERNEL_FAST), KERNEL_TARGET_CPU, team[0], 1));
      pair_free(&pair);
    }
  }

  TEST("the reference fuses none: it is what others are compared with") {
    Pair pair;
    PairShape shape = shapes[1];
    shape.threads = 1;
    pair_make(&pair, &fusions[0], KERNEL_TARGET_CPU, &shape);
    CHECK(!pair_run_fused(&pair, kernels_of(KERNEL_REFERENCE), KERNEL_TARGET_CPU, team[0], 1));
    pair_free(&pair);
  }
  threads_free(team[0]), threads_free(team[1]);
  CHECK_DONE();
}

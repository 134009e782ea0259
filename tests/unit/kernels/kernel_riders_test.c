/* LINK: runtime kernels_cuda_host -- the gradient of a bias that rides between a norm's backward
 * and an addition, on a GPU by the shim: against the plain kernels, and d_x and its sum to the bit
 * against the target's own one after another, in rows that are shared out in each way. */
#include "kernels/contract/fusions.h"
#include "kernels/cuda/host/order.h"
#include "kernels/cuda/variants.h"
#include "tests/unit/fused_against.h"

/* rows, width; the last ones are no whole vectors, and too wide. */
static const int64_t sizes[][2] = {{3, 8},    {1063, 24}, {9, 504}, {17, 768}, {3, 1016},
                                   {5, 2048}, {2, 4096},  {3, 7},   {1, 4104}};
enum { SIZES = sizeof sizes / sizeof *sizes, NORM = 0, SUM = 1, ADD = 2, COUNT = 3 };

/* A norm's backward, the sum of the rows that are added, the addition. */
typedef struct Ridden {
  CaseCall of[COUNT];
} Ridden;

static void make(Ridden *chain, const int64_t *size, Mode mode, bool adds) {
  static const char *const kernels[] = {"layernorm_backward", "linear_db", "add"};
  for (int32_t i = 0; i < COUNT; i++) {
    KernelCase of = {.kernel = kernels[i], .dim = {size[0], size[1]}};
    if (i == ADD) add_dims(&of, size[0] * size[1]);
    CHECK(case_make(&of, mode, 7 + (uint64_t)i, &chain->of[i]));
    chain->of[i].call.accumulate = adds && i != ADD;
  }
  share(&chain->of[ADD], 0, &chain->of[NORM], 4);
  share(&chain->of[SUM], 0, &chain->of[ADD], 1);
}

static void free_all(Ridden *chain) {
  call_free(&chain->of[SUM].call);
  call_free(&chain->of[ADD].call);
  call_free(&chain->of[NORM].call);
}

/* False: the kernels cannot be fused. */
static bool run(Ridden *chain, bool fuses, uint64_t order) {
  const Kernel *kernel[COUNT];
  KernelArgs args[COUNT];
  KernelUse use[COUNT];
  KernelFused fused = {0};
  const char *why = "";
  cuda_host_order(order);
  for (int32_t i = 0; i < COUNT; i++) {
    kernel[i] = &kernels_cuda()[chain->of[i].contract->id];
    args[i] = call_args(&chain->of[i].call, NULL);
    use[i] = case_use(&chain->of[i]);
    use[i].accumulate = chain->of[i].call.accumulate;
    CHECK(kernel[i]->prepare(kernel[i], &use[i], &args[i].state, &why) == KERNEL_DONE);
  }
  if (fuses) CHECK(kernel[0]->fuse(kernel, use, COUNT, &fused, &why) == KERNEL_DONE);
  if (fuses && fused.run == NULL) return false;
  if (fuses) CHECK(fused.run(&fused, args, &why) == KERNEL_DONE);
  for (int32_t i = 0; i < COUNT && !fuses; i++)
    CHECK(kernel[i]->run(&args[i], &why) == KERNEL_DONE);
  return true;
}

static bool are_near_all(const Ridden *want, const Ridden *got) {
  bool good = true;
  for (int32_t i = 0; i < COUNT; i++) {
    const Pair a = {{want->of[i]}}, b = {{got->of[i]}};
    for (int32_t k = 0; k < want->of[i].call.operand_count; k++)
      good = good && (case_is_scratch(&want->of[i], k) || is_near(&a, &b, 0, k));
  }
  return good;
}

/* d_x and its sum. Sums of columns may be added up in another order than one after the other. */
static bool have_same_rows(const Ridden *a, const Ridden *b) {
  const Call *one = &a->of[NORM].call, *other = &b->of[NORM].call;
  return memcmp(one->operand[4], other->operand[4], (size_t)one->bytes[4]) == 0 &&
         same_bytes(&a->of[ADD], &b->of[ADD]);
}

static bool are_same_all(const Ridden *a, const Ridden *b) {
  bool same = true;
  for (int32_t i = 0; i < COUNT; i++)
    same = same && same_bytes(&a->of[i], &b->of[i]);
  return same;
}

typedef void Change(Ridden *chain);

static void nothing(Ridden *chain) {
  (void)chain;
}
static void fewer_rows(Ridden *chain) {
  chain->of[SUM].call.dim[0]--;
}
static void other_type(Ridden *chain) {
  chain->of[SUM].call.dtype[1] = DTYPE_BF16, chain->of[SUM].call.bytes[1] /= 2;
}
static void of_the_slope(Ridden *chain) {
  chain->of[SUM].call.operand[0] = chain->of[NORM].call.operand[4];
}
static void over_the_rows(Ridden *chain) {
  CaseCall *add = &chain->of[ADD];
  share(add, 2, add, 1);
}

static void check(const int64_t *size, Mode mode, bool adds, Change *change) {
  Ridden plain, apart, fused, again;
  Ridden *all[] = {&plain, &apart, &fused, &again};
  for (int i = 0; i < 4; i++)
    make(all[i], size, mode, adds), change(all[i]);
  for (int32_t i = 0; i < COUNT; i++)
    call_run(&plain.of[i].call, KERNEL_REFERENCE, NULL);
  const bool ran = run(&apart, false, 1) && run(&fused, true, 1) && run(&again, true, 2);
  const bool good = ran && are_near_all(&plain, &fused) && have_same_rows(&apart, &fused) &&
                    are_same_all(&again, &fused);
  CHECK(good);
  if (!good)
    printf("  %lld x %lld, %s, adds %d\n", (long long)size[0], (long long)size[1], mode_names[mode],
           adds);
  for (int i = 0; i < 4; i++)
    free_all(all[i]);
}

int main(void) {
  case_target = KERNEL_TARGET_CUDA;
  TEST("in rows of every width, added to or assigned, and where the sum is made by itself")
  for (int s = 0; s < SIZES; s++)
    for (Mode mode = MODE_F32; mode <= MODE_MIXED; mode++)
      if (s == 2 || (s + (int)mode) % 4 == 0) check(sizes[s], mode, s % 2 > 0, nothing);
  TEST("a sum of fewer rows, of another type, of d_x, of rows that are written over") {
    static Change *const changes[] = {fewer_rows, other_type, of_the_slope, over_the_rows};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
      check(sizes[2], MODE_MIXED, false, changes[i]);
  }
  TEST("the rows of fusions.def are what runs") {
    int32_t count;
    const KernelRider *rider = contract_riders(&count);
    CHECK_INT(count, 1);
    CHECK(rider->rider == KERNEL_linear_db && rider->second == KERNEL_add);
    CHECK(contract_rider(KERNEL_linear_db, KERNEL_layernorm_backward, KERNEL_add,
                         KERNEL_TARGET_CPU) == NULL);
  }
  CHECK_DONE();
}

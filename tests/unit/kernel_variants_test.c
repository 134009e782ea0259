/* LINK: kernels -- every fast kernel against the plain one, on the same numbers.
 *
 * The plain kernels compute in double from the same rounded inputs, so what is compared is the fast
 * path's own rounding. With rms the root mean square of the operand as the plain kernel wrote it,
 * but at least 0.05 for inputs are standard normal, |fast - plain| is at most
 * - f32: 2e-5 rms + 2e-5 |plain|, sums of up to about 1000 products in f32;
 * - bf16: 2e-5 rms + 2^-7 |plain|, one value rounded once, to neighbours at worst;
 * - bf16 in attention: 2^-6 rms + 2^-7 |plain|, probabilities may be rounded on the way;
 * - f64: 2e-5 |plain|, losses and sums of squares made of f32 within blocks.
 *
 * Kernels that only move numbers must agree exactly, no kernel may touch an input, and two threads
 * must give the same bytes twice. Arguments: names of kernels to run; all without. LOCKSTEP_CPU
 * chooses the variant of matrix products (kernels/product.h). */
#include <math.h>

#include "kernels/product.h"
#include "kernels/variants.h"
#include "tests/unit/check.h"
#include "tests/unit/kernel_cases.h"

static bool moves_only(const char *kernel) {
  static const char *const names[] = {
      "embedding", "positions", "relu", "relu_backward", "copy",         "cast",         "pack",
      "unpack",    "slice",     "sum",  "init_normal",   "init_uniform", "init_constant"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(names[i], kernel) == 0) return true;
  return false;
}

static double rms_of(const Call *call, int32_t operand) {
  double sum = 0;
  int64_t count = call_count(call, operand);
  for (int64_t i = 0; i < count; i++)
    if (isfinite(call_get(call, operand, i)))
      sum += call_get(call, operand, i) * call_get(call, operand, i);
  return sqrt(sum / (double)count);
}

static double bound_of(const Call *call, DType dtype, double rms, double plain) {
  bool attention = strncmp(call->kernel, "attention", 9) == 0;
  if (rms < 0.05) rms = 0.05;
  switch (dtype) {
  case DTYPE_F32: return 2e-5 * (rms + fabs(plain));
  case DTYPE_BF16:
    return attention ? 0x1p-6 * rms + 0x1p-7 * fabs(plain) : 2e-5 * rms + 0x1p-7 * fabs(plain);
  case DTYPE_F64: return 2e-5 * fabs(plain);
  default: return 0;
  }
}

static void describe(const CaseCall *c, int64_t threads) {
  printf("  %s, %s, %lld thread(s), accumulate %d, seed %llu, dims", c->call.kernel,
         mode_names[c->mode], (long long)threads, c->call.accumulate, (unsigned long long)c->seed);
  for (int32_t i = 0; i < 12; i++)
    printf(" %lld", (long long)c->call.dim[i]);
  printf("\n");
}

/* False when operand `i` differs; prints where it differs first. */
static bool compare(const CaseCall *plain, const CaseCall *fast, int32_t i) {
  const Call *a = &plain->call, *b = &fast->call;
  if (case_is_scratch(plain, i)) return true;
  bool exact = case_is_read_only(plain, i) || moves_only(a->kernel);
  if (exact && memcmp(a->operand[i], b->operand[i], (size_t)a->bytes[i]) == 0) return true;
  double rms = rms_of(a, i);
  for (int64_t e = 0; e < call_count(a, i); e++) {
    double want = call_get(a, i, e), got = call_get(b, i, e);
    double bound = exact ? 0 : bound_of(a, (DType)a->dtype[i], rms, want);
    if (got == want || fabs(got - want) <= bound || (isnan(got) && isnan(want))) continue;
    printf("operand %d element %lld: plain %.9g, fast %.9g, bound %g, rms %g\n", i, (long long)e,
           want, got, bound, rms);
    return false;
  }
  return true;
}

static bool same_control(const Control *a, const Control *b) {
  return fabs(a->grad_norm - b->grad_norm) <= 1e-12 * a->grad_norm &&
         fabs(a->clip_scale - b->clip_scale) <= 1e-12 && a->reduce[2] == b->reduce[2];
}

static bool same_bytes(const CaseCall *a, const CaseCall *b) {
  for (int32_t i = 0; i < a->call.operand_count; i++)
    if (!case_is_scratch(a, i) &&
        memcmp(a->call.operand[i], b->call.operand[i], (size_t)a->call.bytes[i]) != 0)
      return false;
  return true;
}

static void run_fast(const KernelCase *kernel_case, const CaseCall *plain, Threads *threads) {
  CaseCall fast, again;
  case_make(kernel_case, plain->mode, plain->seed, &fast);
  case_make(kernel_case, plain->mode, plain->seed, &again);
  fast.call.accumulate = again.call.accumulate = plain->call.accumulate;
  call_run(&fast.call, KERNEL_FAST, threads);
  bool good = same_control(&plain->call.control, &fast.call.control);
  if (!good) printf("control differs\n");
  if (threads_count(threads) > 1) {
    call_run(&again.call, KERNEL_FAST, threads);
    if (!same_bytes(&fast, &again)) good = !printf("two runs differ\n");
  }
  for (int32_t i = 0; good && i < plain->call.operand_count; i++)
    good = compare(plain, &fast, i);
  if (!good) {
    check_failures++;
    describe(plain, threads_count(threads));
  }
  call_free(&fast.call);
  call_free(&again.call);
}

static void run_case(const KernelCase *kernel_case, Mode mode, bool accumulate,
                     Threads *const team[2]) {
  CaseCall plain;
  CHECK(case_make(kernel_case, mode, 1000 + (uint64_t)(kernel_case - kernel_cases), &plain));
  plain.call.accumulate = accumulate;
  call_run(&plain.call, KERNEL_REFERENCE, team[0]);
  for (int i = 0; i < 2; i++)
    run_fast(kernel_case, &plain, team[i]);
  call_free(&plain.call);
}

static void run_kernel(const char *kernel, Threads *const team[2]) {
  int64_t cases = 0;
  bool fast = contract_find(kernel)->row->has_fast;
  for (size_t i = 0; i < KERNEL_CASES; i++) {
    if (strcmp(kernel_cases[i].kernel, kernel) != 0) continue;
    cases++;
    if (!fast && cases > 2) continue; /* nothing to compare: only that the case itself is sound */
    for (Mode mode = MODE_F32; mode < MODE_COUNT; mode++)
      run_case(&kernel_cases[i], mode, (i + mode) % 2, team);
  }
  if (cases == 0) printf("kernel_case_list.h has no case of %s\n", kernel);
  CHECK(cases > 0);
}

int main(int argc, char **argv) {
  static const char *const kernels[] = {
#define KERNEL(name, ...) #name,
#include "kernels/kernels.def"
#undef KERNEL
  };
  const ProductChoice *choice = product_choice();
  if (choice->problem[0] != 0) {
    printf("%s\n", choice->problem);
    return 77;
  }
  printf("%s: fp32 %s, bf16 %s\n", choice->processor, product_name(choice->f32),
         product_name(choice->bf16));
  Threads *team[2] = {threads_new(1, NULL), threads_new(2, NULL)};
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
    bool wanted = argc == 1;
    for (int k = 1; k < argc; k++)
      wanted |= strcmp(argv[k], kernels[i]) == 0;
    TEST(kernels[i]) if (wanted) run_kernel(kernels[i], team);
  }
  TEST("what is not in kernels.def is not found") {
    CHECK(kernel_find("no_such_kernel", KERNEL_FAST) == NULL);
  }
  threads_free(team[0]);
  threads_free(team[1]);
  CHECK_DONE();
}

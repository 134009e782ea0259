/* LINK: kernels -- every fast kernel against the plain one, on the same numbers.
 *
 * kernel_compare.h has the bounds; two threads must give the same bytes twice. Arguments: names of
 * kernels to run; all without. LOCKSTEP_CPU chooses the variant of matrix products
 * (kernels/product.h). The thread sanitizer only looks at what two threads do: there each fast
 * kernel runs once, and other builds compare its results. */
#include "kernels/product.h"
#include "kernels/variants.h"
#include "tests/unit/check.h"
#include "tests/unit/kernel_compare.h"

#ifdef __SANITIZE_THREAD__
enum { ACCESSES_ONLY = 1 };
#else
enum { ACCESSES_ONLY = 0 };
#endif

static void describe(const CaseCall *c, int64_t threads) {
  printf("  %s, %s, %lld thread(s), accumulate %d, seed %llu, dims", c->call.kernel,
         mode_names[c->mode], (long long)threads, c->call.accumulate, (unsigned long long)c->seed);
  for (int32_t i = 0; i < 12; i++)
    printf(" %lld", (long long)c->call.dim[i]);
  printf("\n");
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
  if (ACCESSES_ONLY) {
    call_run(&plain.call, KERNEL_FAST, team[1]);
    call_free(&plain.call);
    return;
  }
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
    if (!fast && (cases > 2 || ACCESSES_ONLY))
      continue; /* nothing to compare: only that the case itself is sound */
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
  int found = 1;
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
    bool wanted = argc == 1;
    for (int k = 1; k < argc; k++)
      if (strcmp(argv[k], kernels[i]) == 0) wanted = true, found++;
    TEST(kernels[i]) if (wanted) run_kernel(kernels[i], team);
  }
  CHECK_INT(found, argc); /* every argument is a kernel */
  TEST("what is not in kernels.def is not found") {
    CHECK(kernel_find("no_such_kernel", KERNEL_FAST) == NULL);
  }
  threads_free(team[0]);
  threads_free(team[1]);
  CHECK_DONE();
}

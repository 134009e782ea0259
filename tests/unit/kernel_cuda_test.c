/* LINK: kernels kernels_cuda_host -- the kernels for GPUs, run on this processor, against the plain
 * ones: kernel_compare.h has the bounds. Each case runs twice, with blocks and threads in another
 * order: the bytes must be the same. Arguments: names of kernels to run; all without. */
#include "kernels/cuda/host/order.h"
#include "kernels/cuda/variants.h"
#include "tests/unit/check.h"
#include "tests/unit/kernel_compare.h"

static bool run_once(const KernelCase *kernel_case, const CaseCall *plain, uint64_t order,
                     CaseCall *c) {
  const char *why = "";
  case_make(kernel_case, plain->mode, plain->seed, c);
  c->call.accumulate = plain->call.accumulate;
  cuda_host_order(order);
  bool done = call_try(&c->call, &kernels_cuda()[c->contract->id], NULL, &why);
  if (!done) printf("%s: %s\n", c->call.kernel, why);
  return done;
}

static void run_case(const KernelCase *kernel_case, Mode mode, bool accumulate) {
  CaseCall plain, cuda, again;
  CHECK(case_make(kernel_case, mode, 1000 + (uint64_t)(kernel_case - kernel_cases), &plain));
  plain.call.accumulate = accumulate;
  call_run(&plain.call, KERNEL_REFERENCE, NULL);
  bool good = run_once(kernel_case, &plain, 1, &cuda) && run_once(kernel_case, &plain, 2, &again);
  if (good && !same_bytes(&cuda, &again)) good = !printf("two orders differ\n");
  if (good && !same_control(&plain.call.control, &cuda.call.control))
    good = !printf("control differs\n");
  for (int32_t i = 0; good && i < plain.call.operand_count; i++)
    good = compare(&plain, &cuda, i);
  if (!good) {
    check_failures++;
    printf("  %s, %s, accumulate %d, case %d\n", plain.call.kernel, mode_names[mode], accumulate,
           (int)(kernel_case - kernel_cases));
  }
  call_free(&plain.call);
  call_free(&cuda.call);
  call_free(&again.call);
}

static void run_kernel(const char *kernel) {
  for (size_t i = 0; i < KERNEL_CASES; i++)
    for (Mode mode = MODE_F32; mode < MODE_COUNT; mode++)
      if (strcmp(kernel_cases[i].kernel, kernel) == 0)
        run_case(&kernel_cases[i], mode, (i + mode) % 2);
}

int main(int argc, char **argv) {
  case_target = KERNEL_TARGET_CUDA;
  for (KernelId id = 0; id < KERNEL_COUNT; id++) {
    const char *name = contract_of(id)->row->name;
    bool wanted = argc == 1;
    for (int k = 1; k < argc; k++)
      wanted |= strcmp(argv[k], name) == 0;
    TEST(name) if (wanted) run_kernel(name);
  }
  TEST("f64 is refused") {
    CaseCall c;
    const char *why = "";
    CHECK(case_make(&kernel_cases[0], MODE_F64, 1, &c));
    CHECK(!call_try(&c.call, &kernels_cuda()[c.contract->id], NULL, &why));
    CHECK(strstr(why, "f32 and bf16") != NULL);
    call_free(&c.call);
  }
  CHECK_DONE();
}

/* LINK: runtime kernels_cuda_host lt_stand_in -- the kernels for GPUs, run on this processor, with
 * blocks and threads in another order each time, and products also through the stand-in of
 * cublasLt. Arguments: names of kernels to run; all without. */
#include "kernels/cuda/host/order.h"
#include "kernels/cuda/variants.h"
#include "tests/unit/kernel_against.h"
#include "tests/unit/lt_stand_in.h"

static bool run_on_host(CaseCall *c, int time) {
  const char *why = "";
  cuda_host_order((uint64_t)time);
  bool done = call_try(&c->call, &kernels_cuda()[c->contract->id], NULL, &why);
  if (!done) printf("%s: %s\n", c->call.kernel, why);
  return done;
}

/* Bound and run as a record is. */
static bool run_through_library(CaseCall *c, int time) {
  const char *why = "";
  const Kernel *kernel = &lt_stand_in_kernels()[c->contract->id];
  const KernelUse use = case_use(c);
  KernelArgs args = call_args(&c->call, NULL);
  (void)time;
  bool done = kernel->prepare(kernel, &use, &args.state, &why) == KERNEL_DONE;
  if (done) {
    done = kernel->run(&args, &why) == KERNEL_DONE;
    kernel->release(args.state);
  }
  if (!done) printf("%s through cublasLt: %s\n", c->call.kernel, why);
  return done;
}

int main(int argc, char **argv) {
  kernels_against(KERNEL_TARGET_CUDA, argc - 1, argv + 1, run_on_host);
  TEST("products through cublasLt") {
    int64_t before = lt_stand_in_count();
    const char *const names[] = {"linear", "linear_bias", "linear_dx", "linear_dw"};
    for (int i = 0; i < 4; i++)
      kernel_against(names[i], run_through_library);
    CHECK(lt_stand_in_count() > before);
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

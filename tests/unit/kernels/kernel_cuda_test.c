/* LINK: kernels kernels_cuda_host -- the kernels for GPUs, run on this processor, with blocks and
 * threads in another order each time. Arguments: names of kernels to run; all without. */
#include "kernels/cuda/host/order.h"
#include "kernels/cuda/variants.h"
#include "tests/unit/kernel_against.h"

static bool run_on_host(CaseCall *c, int time) {
  const char *why = "";
  cuda_host_order((uint64_t)time);
  bool done = call_try(&c->call, &kernels_cuda()[c->contract->id], NULL, &why);
  if (!done) printf("%s: %s\n", c->call.kernel, why);
  return done;
}

int main(int argc, char **argv) {
  kernels_against(KERNEL_TARGET_CUDA, argc - 1, argv + 1, run_on_host);
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

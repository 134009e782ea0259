/* LINK: kernels_cuda_host runtime -- attention where cuDNN is missing: kernels of our own, and one
 * line that says why. */
#include "kernels/cuda/attentions.h"
#include "kernels/cuda/variants.h"
#include "runtime/device/cudnn_library.h"
#include "tests/unit/kernel_against.h"

static const Kernel *kernels;

static int32_t no_gpu(const char **name) {
  *name = "";
  return -1;
}

static bool run_bound(CaseCall *c, int time) {
  const char *why = "";
  const Kernel *kernel = &kernels[c->contract->id];
  const KernelUse use = case_use(c);
  KernelArgs args = call_args(&c->call, (void *[KERNEL_CONTROLS_MAX]){NULL});
  (void)time;
  bool done = kernel->prepare(kernel, &use, &args.state, &why) == KERNEL_DONE &&
              kernel->run(&args, &why) == KERNEL_DONE;
  CHECK(args.state == NULL);
  kernel->release(args.state);
  return done;
}

static void check_own(const char *name) {
  size_t i = 0;
  while (i + 1 < KERNEL_CASES &&
         !(strcmp(kernel_cases[i].kernel, name) == 0 && kernel_cases[i].dim[4] % 8 == 0))
    i++;
  case_against(&kernel_cases[i], MODE_BF16, false, run_bound);
}

int main(void) {
  const char *want = "4 by kernels of our own: cuDNN cannot be loaded (/nowhere/libcudnn.so.9";
  char text[ATTENTIONS_TEXT_BYTES];
  Status status = {0};
  case_target = KERNEL_TARGET_CUDA;
  CHECK(cudnn_library("/nowhere/libcudnn.so.9", &status) == NULL);
  kernels = kernels_cuda_attending(kernels_cuda(), NULL, status.text, no_gpu);
  TEST("nothing bound, nothing said") {
    attentions_tell(text);
    CHECK_TEXT(text, "");
  }
  TEST("our own kernels run, and the line says what to do") {
    check_own("attention");
    check_own("attention_backward");
    attentions_tell(text);
    CHECK(strncmp(text, want, strlen(want)) == 0);
    CHECK(strstr(text, "install cuDNN 9.6 or later") != NULL);
  }
  CHECK_DONE();
}

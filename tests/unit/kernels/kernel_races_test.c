/* LINK: runtime kernels_cuda_watched lt_stand_in -- the kernels for GPUs, with an eye on every
 * access: no two threads race, and every vector is aligned; and products and sums contracted as
 * nvcc contracts them, two fused records give the bytes of one after the other. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/cuda/host/order.h"
#include "kernels/cuda/host/racing.h"
#include "kernels/cuda/variants.h"
#include "tests/unit/fused_against.h"

static bool run(CaseCall *c, int time) {
  const char *why = "";
  cuda_host_order((uint64_t)time);
  bool done = call_try(&c->call, &kernels_cuda()[c->contract->id], NULL, &why);
  if (!done) printf("%s: %s\n", c->call.kernel, why);
  return done;
}

static bool run_pair(Pair *pair, bool as_one, int time) {
  Bound bound;
  cuda_host_order((uint64_t)time);
  bind_pair(pair, kernels_cuda(), &bound);
  bool can = !as_one || bound.fused.run != NULL;
  if (can) run_bound(&bound, as_one);
  unbind(&bound);
  return can;
}

/* A child says it: the fault ends the program. */
static bool ends(Racing which, bool good) {
  static float x[256] __attribute__((aligned(16))), y[256] __attribute__((aligned(16)));
  int status = 0;
  (void)fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    if (freopen("/dev/null", "w", stderr) == NULL) _exit(1);
    racing_run(which, good, x, y);
    _exit(0);
  }
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status) ? WTERMSIG(status) == SIGABRT : WEXITSTATUS(status) == 0);
  return WIFSIGNALED(status);
}

int main(int argc, char **argv) {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("fma")) {
    printf("skipped: the processor has no multiply-add\n");
    return 77;
  }
#endif
  TEST("faults are seen, and only they")
  for (Racing which = 0; which < RACING_COUNT; which++) {
    CHECK(ends(which, false));
    CHECK(!ends(which, true));
  }
  kernels_against(KERNEL_TARGET_CUDA, argc - 1, argv + 1, run);
  int32_t count = 0;
  const KernelFusion *fusions = contract_fusions(&count);
  for (int32_t i = 0; argc == 1 && i < count; i++) {
    if ((fusions[i].targets >> KERNEL_TARGET_CUDA & 1u) == 0 || is_product(fusions[i].first))
      continue;
    TEST(contract_of(fusions[i].first)->row->name) CHECK(check_join(&fusions[i], run_pair) > 0);
  }
  CHECK_DONE();
}

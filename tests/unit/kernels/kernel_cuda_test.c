/* LINK: runtime kernels_cuda_host lt_stand_in -- the kernels for GPUs, run on this processor, with
 * blocks and threads in another order each time, and products also through the stand-in of
 * cublasLt. Arguments: names of kernels to run, or none; all without. A build with
 * kernel_races_test, which runs the same cases and looks at every access, passes `none`: each case
 * runs with that look in release, and under the address sanitizer in dev. */
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

/* NULL: one launch for each record. */
static KernelStatus (*const takes_many[KERNEL_COUNT])(const KernelArgs *, int32_t,
                                                      const char **) = {
#define KERNEL(name, ...) [KERNEL_##name] = cuda_##name##_together,
#include "kernels/kernels.def"
#undef KERNEL
};

/* More tensors than one table holds, of sizes with one chunk and several. */
enum { TOGETHER = 70, GROWTH = 131 };

static bool make_tensor(const char *name, Mode mode, int i, CaseCall *c) {
  KernelCase of = kernel_cases[0];
  for (size_t k = 0; k < KERNEL_CASES && strcmp(of.kernel, name) != 0; k++)
    of = kernel_cases[k];
  const KernelContract *contract = contract_find(name);
  for (int32_t k = 0; k < contract->dim_count; k++) /* and whole tensors of those that draw */
    of.dim[k] = 1 + (int64_t)GROWTH * i;
  for (int32_t k = 0; k < contract->attr_count; k++)
    if (strcmp(contract->attrs[k].name, "decay") == 0) of.attr[k] = 0.01 * i;
  if (!case_make(&of, mode, (uint64_t)i, c)) return false;
  c->call.control.seed = 5; /* one control block is all tensors' */
  return true;
}

/* A batch writes to each tensor the bytes that the tensor has when it is alone. */
static void run_batch(const char *name, Mode mode) {
  static CaseCall alone[TOGETHER], together[TOGETHER];
  KernelArgs args[TOGETHER];
  void *control[KERNEL_CONTROLS_MAX];
  const char *why = "";
  const Kernel *kernel = &kernels_cuda()[contract_find(name)->id];
  for (int i = 0; i < TOGETHER; i++) {
    CHECK(make_tensor(name, mode, i, &alone[i]) && make_tensor(name, mode, i, &together[i]));
    CHECK(call_try(&alone[i].call, kernel, NULL, &why));
    args[i] = call_args(&together[i].call, control);
  }
  control_addresses(contract_of(kernel->id), &together[0].call.control, control);
  CHECK(kernel->run_batch(kernel, args, TOGETHER, &why) == KERNEL_DONE);
  for (int i = 0; i < TOGETHER; i++) {
    if (!same_bytes(&alone[i], &together[i])) printf("%s: tensor %d differs\n", name, i);
    CHECK(same_bytes(&alone[i], &together[i]));
    call_free(&alone[i].call), call_free(&together[i].call);
  }
}

static void refuse_another_optimizer(void) {
  CaseCall c[2];
  KernelArgs args[2];
  void *control[KERNEL_CONTROLS_MAX];
  const char *why = "";
  const Kernel *kernel = &kernels_cuda()[KERNEL_adamw];
  for (int i = 0; i < 2; i++) {
    CHECK(make_tensor("adamw", MODE_F32, i, &c[i]));
    args[i] = call_args(&c[i].call, control);
  }
  control_addresses(contract_of(kernel->id), &c[0].call.control, control);
  c[1].call.attr[0] = 0.5;
  CHECK(kernel->run_batch(kernel, args, 2, &why) == KERNEL_REFUSED);
  CHECK(strstr(why, "the same numbers") != NULL);
  call_free(&c[0].call), call_free(&c[1].call);
}

int main(int argc, char **argv) {
  kernels_against(KERNEL_TARGET_CUDA, argc - 1, argv + 1, run_on_host);
  TEST("products through cublasLt") {
    int64_t before = lt_stand_in_count();
    const char *const names[] = {"linear",     "linear_bias",     "linear_dx",     "linear_dw",
                                 "linear_fp8", "linear_fp8_bias", "linear_fp8_dx", "linear_fp8_dw"};
    for (int i = 0; i < 8; i++)
      kernel_against(names[i], run_through_library);
    CHECK(lt_stand_in_count() > before);
  }
  TEST("many tensors in one launch") {
    for (KernelId id = 0; id < KERNEL_COUNT; id++) {
      const KernelRow *row = contract_of(id)->row;
      bool is_of_tensors = row->role == ROLE_UPDATE || row->role == ROLE_SQUARE_SUM;
      if (!is_of_tensors) continue;
      CHECK(takes_many[id] != NULL);
      for (Mode mode = MODE_F32; mode <= MODE_F16; mode++)
        run_batch(row->name, mode);
    }
    refuse_another_optimizer();
  }
  TEST("f64 is refused") {
    CaseCall c;
    const char *why = "";
    CHECK(case_make(&kernel_cases[0], MODE_F64, 1, &c));
    CHECK(!call_try(&c.call, &kernels_cuda()[c.contract->id], NULL, &why));
    CHECK(strstr(why, "f32, bf16 and fp16") != NULL);
    call_free(&c.call);
  }
  CHECK_DONE();
}

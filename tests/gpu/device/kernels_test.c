/* kernels_test.c -- the kernels on a GPU against the plain ones on the processor, and records that
 * fuse against the same two one after the other. Normal numbers are drawn by the GPU's own
 * functions, whose last bit may differ: there one rounding is allowed.
 *
 * Exit status 77: there is no GPU here, or no CUDA back end; it says which. Arguments: names of
 * kernels to run; all without. */
#include "runtime/device/cuda/plugin.h"
#include "tests/unit/fused_against.h"

enum { ALIGN_BYTES = 256 };

static const CudaPlugin *cuda;
static Device *device;
static const Kernel *kernels;

static void stop(const Status *status) {
  printf("%s\n", status->text);
  exit(1);
}

/* In windows, as they have a largest size. */
static void move(void *at, void *host, int64_t size_bytes, Access access) {
  Status status = {0};
  for (int64_t done = 0; done < size_bytes; done += DEVICE_WINDOW_BYTES) {
    int64_t left = size_bytes - done;
    size_t part = (size_t)(left < DEVICE_WINDOW_BYTES ? left : DEVICE_WINDOW_BYTES);
    void *window = device->ops->open_window(device, (char *)at + done, part, access, &status);
    if (window == NULL) stop(&status);
    if (access == ACCESS_READ)
      memcpy((char *)host + done, window, part);
    else
      memcpy(window, (char *)host + done, part);
    if (!device->ops->close_window(device, &status)) stop(&status);
  }
}

enum { CALLS_MOST = 2 };

/* The operands of calls, and control, in one piece of the GPU's memory. */
typedef struct There {
  char *base;
  void *operand[CALLS_MOST][KERNEL_OPERANDS_MAX];
  Control *control;
} There;

static int64_t aligned(int64_t bytes) {
  return (bytes + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
}

/* Where the same memory of the host is there; NULL: it has no place yet. */
static void *place_of(Call *const *calls, const There *there, int count, const void *memory) {
  for (int c = 0; c < count; c++)
    for (int32_t i = 0; i < calls[c]->operand_count; i++)
      if (calls[c]->operand[i] == memory && there->operand[c][i] != NULL)
        return there->operand[c][i];
  return NULL;
}

static There send(Call *const *calls, int count) {
  There there = {0};
  Status status = {0};
  int64_t at = aligned(sizeof(Control));
  for (int c = 0; c < count; c++)
    for (int32_t i = 0; i < calls[c]->operand_count; i++)
      at += aligned(calls[c]->bytes[i]);
  void *base = NULL;
  if (!cuda->memory.map((size_t)at, &base, &status)) stop(&status);
  there.base = base;
  there.control = base;
  at = aligned(sizeof(Control));
  move(there.control, &calls[0]->control, sizeof calls[0]->control, ACCESS_WRITE);
  for (int c = 0; c < count; c++)
    for (int32_t i = 0; i < calls[c]->operand_count; i++) {
      void *place = place_of(calls, &there, count, calls[c]->operand[i]);
      there.operand[c][i] = place != NULL ? place : there.base + at;
      move(there.operand[c][i], calls[c]->operand[i], calls[c]->bytes[i], ACCESS_WRITE);
      at += aligned(calls[c]->bytes[i]);
    }
  return there;
}

static void receive(Call *const *calls, int count, const There *there) {
  move(there->control, &calls[0]->control, sizeof calls[0]->control, ACCESS_READ);
  for (int c = 0; c < count; c++)
    for (int32_t i = 0; i < calls[c]->operand_count; i++)
      move(there->operand[c][i], calls[c]->operand[i], calls[c]->bytes[i], ACCESS_READ);
  cuda->memory.unmap(there->base);
}

static void *stream(void) {
  return device->ops->stream(device->ops->queue(device, 0));
}

static bool run_on_gpu(CaseCall *c, int time) {
  (void)time;
  Call *call = &c->call;
  There there = send(&call, 1);
  Status status = {0};
  const char *why = "";
  void *control[KERNEL_CONTROLS_MAX];
  control_addresses(c->contract, there.control, control);
  KernelArgs args = call_args(call, control);
  args.operand = there.operand[0];
  args.stream = stream();
  const Kernel *kernel = &kernels[c->contract->id];
  const KernelUse use = case_use(c);
  bool done = kernel->prepare(kernel, &use, &args.state, &why) == KERNEL_DONE &&
              kernel->run(&args, &why) == KERNEL_DONE;
  if (!done) printf("%s: %s\n", call->kernel, why);
  if (!device->ops->finish(device, &status)) stop(&status);
  if (kernel->release != NULL) kernel->release(args.state);
  receive(&call, 1, &there);
  return done;
}

/* A RunPair. */
static bool run_pair_on_gpu(Pair *pair, bool as_one, int time) {
  (void)time;
  Call *calls[] = {&pair->of[0].call, &pair->of[1].call};
  Status status = {0};
  Bound bound;
  bind_pair(pair, kernels, &bound);
  bool can = !as_one || bound.fused.run != NULL;
  if (can) {
    There there = send(calls, 2);
    for (int k = 0; k < 2; k++)
      bound.args[k].operand = there.operand[k], bound.args[k].stream = stream();
    run_bound(&bound, as_one);
    if (!device->ops->finish(device, &status)) stop(&status);
    receive(calls, 2, &there);
  }
  unbind(&bound);
  return can;
}

/* Which ends of products fuse is the library's choice, so that it is only said. */
static void run_pairs(int name_count, char **names) {
  int32_t count = 0;
  for (const KernelFusion *fusion = contract_fusions(&count); count > 0; fusion++, count--) {
    const char *first = contract_of(fusion->first)->row->name;
    bool wanted = name_count == 0;
    for (int k = 0; k < name_count; k++)
      wanted |= strcmp(names[k], first) == 0;
    if (!wanted || (fusion->targets >> KERNEL_TARGET_CUDA & 1u) == 0) continue;
    TEST(first) {
      int fused = check_join(fusion, run_pair_on_gpu);
      printf("%s and %s: %d cases ran fused\n", first, contract_of(fusion->second)->row->name,
             fused);
      CHECK(fused > 0 || is_product(fusion->first));
    }
  }
}

/* By the variant's libraries, which it names. */
static void run_all(KernelVariant variant, int name_count, char **names) {
  Status status = {0};
  char attention[CUDA_TEXT_BYTES] = "";
  kernels = cuda->kernels(variant, &status);
  if (kernels == NULL) stop(&status);
  kernels_against(KERNEL_TARGET_CUDA, name_count, names, run_on_gpu);
  cuda->tell_attention(attention);
  printf("products %s; attention %s\n", variant == KERNEL_FAST ? "through cublasLt" : "of our own",
         *attention != '\0' ? attention : "of our own");
}

/* The libraries' kernels run twice: as a deterministic run has them, whose bytes repeat; and those
 * of backward attention as others have them, which add up with atomics. */
int main(int argc, char **argv) {
  Status status = {0};
  uint32_t count = 0;
  (void)setvbuf(stdout, NULL, _IOLBF, 0); /* what was found stays, if the test is stopped */
  cuda = cuda_plugin(&status);
  if (cuda == NULL || !cuda->count(&count, &status) || !cuda->choose(0, &status)) {
    printf("skipped: %s\n", status.text);
    return status.code == STATUS_USER ? 77 : 1;
  }
  device = cuda->open(&(DeviceSetup){.lane_count = 1}, &status);
  if (device == NULL) stop(&status);
  compare_draws_rounded = true;
  run_all(KERNEL_REFERENCE, argc - 1, argv + 1);
  if (!cuda->read_choices("/nowhere/to.products", true, &status)) stop(&status);
  run_all(KERNEL_FAST, argc - 1, argv + 1);
  run_pairs(argc - 1, argv + 1);
  if (!cuda->read_choices("/nowhere/to.products", false, &status)) stop(&status);
  char *varying[] = {"attention_backward"};
  against_varies = varying[0];
  run_all(KERNEL_FAST, 1, varying);
  device->ops->close(device);
  CHECK_DONE();
}

/* Which GPU a rank takes where CUDA_VISIBLE_DEVICES hides some or turns their order round; of MIG
 * instances, which of them its process is left.
 * LINK: runtime cuda_host */
#include <stdlib.h>
#include <string.h>

#include "runtime/device/gpu_find.h"
#include "tests/parity/cuda_host.h"
#include "tests/unit/check.h"

static const char four[] = "0000:1b:00.0 GPU-1b,0000:3b:00.0 GPU-3b,0000:9b:00.0 GPU-9b,"
                           "0000:bb:00.0 GPU-bb";

static void sees(const char *node, const char *visible) {
  if (node != NULL)
    (void)setenv("CUDA_HOST_GPUS", node, 1);
  else
    (void)unsetenv("CUDA_HOST_GPUS");
  if (visible != NULL)
    (void)setenv("CUDA_VISIBLE_DEVICES", visible, 1);
  else
    (void)unsetenv("CUDA_VISIBLE_DEVICES");
}

/* The UUID of what is found, or why nothing is. */
static const char *found(const char *pci, uint32_t number, bool is_alone) {
  static Status status;
  static GpuId gpu;
  uint32_t device = 0;
  const CudaPlugin *cuda = cuda_host_plugin(0);
  status = (Status){0};
  if (!gpu_find(cuda, (GpuWanted){pci, number, is_alone}, &device, &status)) {
    CHECK_INT(status.code, STATUS_USER); /* another try would find the same */
    return status.text;
  }
  CHECK(cuda->look(device, &gpu, &status));
  return gpu.uuid;
}

static const char *left_of(const char *visible, uint32_t number) {
  sees(NULL, visible);
  gpu_take_instance(number);
  return getenv("CUDA_VISIBLE_DEVICES");
}

int main(void) {
  TEST("by address, in whatever order they are seen") {
    sees(four, NULL);
    CHECK_TEXT(found("0000:9b:00.0", 0, true), "GPU-9b");
    sees(four, "3,2,1,0");
    CHECK_TEXT(found("0000:9b:00.0", 0, true), "GPU-9b");
    CHECK_TEXT(found("00000000:BB:00.0", 1, false), "GPU-bb");
    sees(four, "GPU-bb,GPU-1b");
    CHECK_TEXT(found("0000:1b:00.0", 3, true), "GPU-1b");
  }
  TEST("one that is hidden is missed, also where another is the only one seen") {
    sees(four, "GPU-9b,3");
    CHECK_TEXT(found("0000:1b:00.0", 0, true),
               "the plan gives it the GPU at 0000:1b:00.0, and it sees 2 GPUs (0000:9b:00.0, "
               "0000:bb:00.0), as CUDA_VISIBLE_DEVICES is \"GPU-9b,3\": let every process see all "
               "GPUs of its node (srun --gpu-bind=none, no CUDA_VISIBLE_DEVICES of your own), or "
               "compile for those that the job gets");
    sees(four, "1");
    CHECK(strstr(found("0000:1b:00.0", 0, true), "it sees 1 GPU (0000:3b:00.0), as ") != NULL);
    sees(four, "7,0"); /* nothing after a GPU that does not exist */
    CHECK_TEXT(found("0000:1b:00.0", 0, true), "the stand-in finds no GPU here");
  }
  TEST("by number, where nodes are not described") {
    sees(four, NULL);
    CHECK_TEXT(found("", 2, true), "GPU-9b");
    sees(four, "3,1");
    CHECK_TEXT(found("", 1, false), "GPU-3b");
    CHECK(strstr(found("", 2, true), "gives it GPU 2 of its node, and it sees 2 GPUs (") != NULL);
  }
  TEST("the only one that a launcher shows is the rank's; of several ranks it is not") {
    sees(four, "GPU-9b");
    CHECK_TEXT(found("", 2, true), "GPU-9b");
    CHECK(strstr(found("", 2, false), "gives it GPU 2 of its node") != NULL);
  }
  TEST("GPUs that do not tell where they are go by number") {
    sees(NULL, NULL);
    CHECK_TEXT(found("0000:1b:00.0", 5, true), "GPU-5");
  }
  TEST("of MIG instances a process keeps its own") {
    CHECK_TEXT(left_of("MIG-a,MIG-b,MIG-c", 1), "MIG-b");
    CHECK_TEXT(left_of("MIG-a,MIG-b,MIG-c", 2), "MIG-c");
    CHECK_TEXT(left_of("MIG-a,MIG-b", 2), "MIG-a,MIG-b");
    CHECK_TEXT(left_of("MIG-a", 3), "MIG-a");
    CHECK_TEXT(left_of("GPU-a,GPU-b", 1), "GPU-a,GPU-b");
    sees("0000:1b:00.0 MIG-a,0000:1b:00.0 MIG-b", "MIG-a,MIG-b");
    gpu_take_instance(1);
    CHECK_TEXT(found("", 1, true), "MIG-b");
  }
  CHECK_DONE();
}

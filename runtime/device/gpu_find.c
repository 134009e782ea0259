#include "runtime/device/gpu_find.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/process/plural.h"

static const char visible[] = "CUDA_VISIBLE_DEVICES";

/* Domain, bus, device and function. False: it is no address. */
static bool read_address(const char *text, unsigned long part[4]) {
  static const char separators[] = "::.";
  for (size_t i = 0; i < sizeof separators; i++) {
    char *end;
    part[i] = strtoul(text, &end, 16);
    if (end == text || *end != separators[i]) return false;
    text = end + 1;
  }
  return true;
}

bool gpu_is_at(const char *pci, const char *other) {
  unsigned long a[4], b[4];
  return read_address(pci, a) && read_address(other, b) && memcmp(a, b, sizeof a) == 0;
}

/* "2 GPUs (0000:1b:00.0, 0000:3b:00.0), as CUDA_VISIBLE_DEVICES is "0,1"" */
static void tell_seen(const CudaPlugin *cuda, uint32_t count, char text[512]) {
  const char *setting = getenv(visible);
  int length = snprintf(text, 512, "%u GPU%s", count, plural(count));
  for (uint32_t i = 0; i < count && i < 8; i++) {
    GpuId gpu;
    Status status;
    if (cuda->look(i, &gpu, &status) && *gpu.pci)
      length += snprintf(text + length, 512 - (size_t)length, "%s%s", i > 0 ? ", " : " (", gpu.pci);
    else
      return;
  }
  length += snprintf(text + length, 512 - (size_t)length, "%s)", count > 8 ? " ..." : "");
  if (setting != NULL)
    (void)snprintf(text + length, 512 - (size_t)length, ", as %s is \"%.100s\"", visible, setting);
}

static bool refuse(const CudaPlugin *cuda, GpuWanted wanted, uint32_t count, Status *status) {
  char seen[512], which[64];
  tell_seen(cuda, count, seen);
  if (*wanted.pci)
    (void)snprintf(which, sizeof which, "the GPU at %.32s", wanted.pci);
  else
    (void)snprintf(which, sizeof which, "GPU %u of its node", wanted.number);
  return status_fail(
      status, STATUS_USER,
      "the plan gives it %s, and it sees %s: let every process see all GPUs of its node (srun "
      "--gpu-bind=none, no %s of your own), or compile for those that the job gets",
      which, seen, visible);
}

bool gpu_find(const CudaPlugin *cuda, GpuWanted wanted, uint32_t *device, Status *status) {
  uint32_t count = 0;
  bool tells = false; /* the driver tells addresses; a stand-in of it may not */
  if (!cuda->count(&count, status)) return false;
  for (uint32_t i = 0; i < count && *wanted.pci; i++) {
    GpuId gpu;
    if (!cuda->look(i, &gpu, status)) return false;
    *device = i;
    if (gpu_is_at(gpu.pci, wanted.pci)) return true;
    tells |= *gpu.pci != '\0';
  }
  *device = count == 1 && wanted.is_alone ? 0 : wanted.number;
  return (!tells && *device < count) || refuse(cuda, wanted, count, status);
}

void gpu_take_instance(uint32_t number) {
  static const char prefix[] = "MIG-";
  const char *setting = getenv(visible);
  char one[128];
  for (uint32_t i = 0; setting != NULL && strncmp(setting, prefix, sizeof prefix - 1) == 0; i++) {
    size_t length = strcspn(setting, ",");
    if (i == number && length < sizeof one) {
      (void)snprintf(one, sizeof one, "%.*s", (int)length, setting);
      (void)setenv(visible, one, 1);
      return;
    }
    if (setting[length] == '\0') return;
    setting += length + 1;
  }
}

#include "compiler/machine/topology/gpus.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/process/nvml.h"

enum { NAME_BYTES = 96, CAPABILITY_LEAST = 8 };

/* One entry of CUDA_VISIBLE_DEVICES, a number or the beginning of a UUID. */
static bool is_named(const char *entry, size_t length, unsigned number, const char *uuid) {
  char *end;
  unsigned long value = strtoul(entry, &end, 10);
  if (end == entry + length) return value == number;
  return length > 4 && strncmp(entry, uuid, length) == 0;
}

static bool is_visible(unsigned number, const char *uuid) {
  const char *at = getenv("CUDA_VISIBLE_DEVICES");
  if (at == NULL) return true;
  for (; *at; at += strspn(at, ", ")) {
    size_t length = strcspn(at, ", ");
    if (is_named(at, length, number, uuid)) return true;
    at += length;
  }
  return false;
}

static const char *told(Arena *arena, int (*ask)(NvmlDevice, char *, unsigned), NvmlDevice device) {
  char text[NAME_BYTES] = "";
  if (ask == NULL || ask(device, text, sizeof text) != NVML_DONE) return "";
  return arena_copy_n(arena, text, strnlen(text, sizeof text));
}

static double fp32_of(const Nvml *nvml, NvmlDevice device) {
  unsigned cores = 0, mhz = 0;
  bool knows = nvml->cores != NULL && nvml->most_clock != NULL &&
               nvml->cores(device, &cores) == NVML_DONE &&
               nvml->most_clock(device, NVML_SM_CLOCK, &mhz) == NVML_DONE;
  return knows ? 2e6 * (double)cores * (double)mhz : 0;
}

static bool read_gpu(Arena *arena, const Nvml *nvml, unsigned number, Gpu *gpu, const char **why) {
  NvmlDevice device;
  NvmlMemory memory = {0};
  NvmlPci pci = {.address = ""};
  int error = nvml->handle(number, &device);
  if (error == NVML_DONE) error = nvml->memory(device, &memory);
  if (error != NVML_DONE) {
    *why = arena_printf(arena, "GPU %u: %s", number, nvml->error_text(error));
    return false;
  }
  *gpu = (Gpu){.name = told(arena, nvml->name, device),
               .uuid = told(arena, nvml->uuid, device),
               .memory_bytes = (int64_t)memory.total,
               .fp32 = fp32_of(nvml, device)};
  if (nvml->pci == NULL || nvml->pci(device, &pci) != NVML_DONE) pci.address[0] = 0;
  gpu->pci = arena_copy_n(arena, pci.address, strnlen(pci.address, sizeof pci.address));
  int major = 0, minor = 0;
  if (nvml->capability != NULL && nvml->capability(device, &major, &minor) == NVML_DONE)
    gpu->major = major, gpu->minor = minor;
  return true;
}

Gpus topology_gpus(Arena *arena) {
  Gpus gpus = {0};
  Nvml nvml;
  char why[NVML_WHY_BYTES];
  unsigned count = 0;
  if (!nvml_open(&nvml, why)) {
    bool has_driver = strncmp(why, "NVML: ", 6) == 0;
    if (has_driver) gpus.why = arena_copy(arena, why);
    return gpus;
  }
  int error = nvml.count(&count);
  if (error != NVML_DONE) gpus.why = arena_printf(arena, "NVML: %s", nvml.error_text(error));
  for (unsigned i = 0; error == NVML_DONE && i < count; i++) {
    Gpu gpu;
    if (read_gpu(arena, &nvml, i, &gpu, &gpus.why) && is_visible(i, gpu.uuid))
      VEC_PUSH(arena, &gpus.list, gpu);
  }
  nvml_close(&nvml);
  return gpus;
}

bool topology_has_cuda(void) {
  static const char *const places[] = {"", "../lib/lockstep/"};
  char folder[PATH_MAX], path[PATH_MAX + 64];
  ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
  folder[length < 0 ? 0 : length] = 0;
  char *slash = strrchr(folder, '/');
  if (slash != NULL) *slash = 0;
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    (void)snprintf(path, sizeof path, "%s/%slockstep_cuda.so", folder, places[i]);
    if (access(path, F_OK) == 0) return true;
  }
  return false;
}

/* Why ranks cannot have these GPUs; NULL: they can. */
static const char *hindrance(Arena *arena, const Gpus *gpus, bool has_cuda) {
  const Gpu *first = &gpus->list.at[0];
  if (!has_cuda) return "this build has no CUDA back end: ./bootstrap build makes it where nvcc is";
  if (first->major > 0 && first->major < CAPABILITY_LEAST)
    return arena_printf(arena, "its compute capability is %d.%d, and kernels need 8.0",
                        (int)first->major, (int)first->minor);
  for (int32_t i = 1; i < gpus->list.count; i++)
    if (strcmp(gpus->list.at[i].name, first->name) != 0)
      return arena_printf(arena, "another GPU is %s: CUDA_VISIBLE_DEVICES chooses some of one kind",
                          gpus->list.at[i].name);
  return NULL;
}

void topology_use_gpus(Arena *arena, const Gpus *gpus, bool has_cuda, Machine *machine) {
  if (gpus->list.count == 0) {
    machine->gpu_unused = gpus->why;
    return;
  }
  const char *why = hindrance(arena, gpus, has_cuda);
  machine->gpu = gpus->list.at[0].name;
  if (why != NULL) {
    machine->gpu_unused = arena_printf(arena, "%s: %s", machine->gpu, why);
    return;
  }
  machine->gpus = gpus->list.count;
  machine->gpu_fp32 = gpus->list.at[0].fp32;
  machine->gpu_memory_bytes = INT64_MAX;
  for (int32_t i = 0; i < gpus->list.count; i++)
    if (gpus->list.at[i].memory_bytes < machine->gpu_memory_bytes)
      machine->gpu_memory_bytes = gpus->list.at[i].memory_bytes;
}

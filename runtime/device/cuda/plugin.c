/* plugin.c -- which GPU, and what the runtime gets from it. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/attentions.h"
#include "kernels/cuda/choices.h"
#include "kernels/cuda/products.h"
#include "kernels/cuda/variants.h"
#include "runtime/device/cuda/architectures.h"
#include "runtime/device/cuda/cuda.h"
#include "runtime/device/cuda/cupti.h"
#include "runtime/device/cuda/measure.h"
#include "runtime/device/cudnn_library.h"
#include "runtime/device/lt_library.h"

/* Which of the three is missing: the driver, one that is new enough, or a GPU. */
static bool has_none(cudaError_t error, Status *status) {
  const char *seen = getenv("CUDA_VISIBLE_DEVICES");
  int version = 0;
  if (cudaDriverGetVersion(&version) != cudaSuccess) version = 0;
  if (version == 0)
    return status_fail(status, STATUS_USER,
                       "NVIDIA's driver (libcuda.so.1) is not installed here: install it, or "
                       "compile for processors (cluster = { \"here\", device = \"cpu\" })");
  if (error == cudaErrorInsufficientDriver)
    return status_fail(
        status, STATUS_USER,
        "NVIDIA's driver is for CUDA %d.%d, and lockstep_cuda.so was built with CUDA "
        "%d.%d: install a newer driver, or build with an older CUDA",
        version / 1000, version % 1000 / 10, CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
  return status_fail(
      status, STATUS_USER,
      "NVIDIA's driver finds no GPU here: nvidia-smi -L lists those that it has%s%s%s",
      seen != NULL ? "; CUDA_VISIBLE_DEVICES is \"" : "", seen != NULL ? seen : "",
      seen != NULL ? "\"" : "");
}

static bool count_gpus(uint32_t *seen, Status *status) {
  int count = 0;
  cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaErrorInsufficientDriver || error == cudaErrorNoDevice)
    return has_none(error, status);
  *seen = (uint32_t)count;
  return cuda_done(error, "count the GPUs", status);
}

/* Asks the driver for the UUID of an instance (MIG): the runtime may know only its GPU's. The
 * driver is loaded already. */
static bool ask_driver(int device, unsigned char uuid[16]) {
  int handle = 0;
  int (*get)(int *, int) = NULL, (*get_uuid)(unsigned char *, int) = NULL;
  void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (driver == NULL) return false;
  *(void **)&get = dlsym(driver, "cuDeviceGet");
  *(void **)&get_uuid = dlsym(driver, "cuDeviceGetUuid_v2");
  bool has =
      get != NULL && get_uuid != NULL && get(&handle, device) == 0 && get_uuid(uuid, handle) == 0;
  (void)dlclose(driver);
  return has;
}

/* As nvidia-smi -L and CUDA_VISIBLE_DEVICES write it. */
static void write_uuid(const struct cudaDeviceProp *gpu, int device, char text[GPU_UUID_BYTES]) {
  bool is_instance = strstr(gpu->name, " MIG ") != NULL;
  unsigned char uuid[16];
  memcpy(uuid, gpu->uuid.bytes, sizeof uuid);
  if (is_instance) (void)ask_driver(device, uuid);
  char *at = text + snprintf(text, GPU_UUID_BYTES, "%s", is_instance ? "MIG" : "GPU");
  for (size_t i = 0; i < sizeof uuid; i++) {
    bool begins = i == 0 || i == 4 || i == 6 || i == 8 || i == 10;
    at += snprintf(at, 4, "%s%02x", begins ? "-" : "", uuid[i]);
  }
}

static bool look(uint32_t device, GpuId *id, Status *status) {
  struct cudaDeviceProp gpu;
  int ordinal = (int)device;
  *id = (GpuId){.name = ""};
  if (!cuda_done(cudaGetDeviceProperties(&gpu, ordinal), "ask for a GPU's properties", status) ||
      !cuda_done(cudaDeviceGetPCIBusId(id->pci, sizeof id->pci, ordinal), "ask for a GPU's address",
                 status))
    return false;
  (void)snprintf(id->name, sizeof id->name, "%.*s", (int)sizeof id->name - 1, gpu.name);
  write_uuid(&gpu, ordinal, id->uuid);
  return true;
}

static void listens(void) {
  Status unused;
  (void)cupti_open(NULL, &unused);
}

static bool choose(uint32_t device, Status *status) {
  struct cudaDeviceProp gpu;
  int ordinal = (int)device;
  if (!cuda_done(cudaGetDeviceProperties(&gpu, ordinal), "ask for a GPU's properties", status))
    return false;
  if (!architectures_cover(CUDA_ARCHITECTURES, gpu.major, gpu.minor))
    return status_fail(status, STATUS_USER,
                       "GPU %d is a %s of compute capability %d.%d, and kernels are compiled "
                       "for " CUDA_ARCHITECTURES
                       ": ./bootstrap build on this machine compiles them for its GPUs (8.0 and "
                       "later); --on cpu runs the plan on processors",
                       ordinal, gpu.name, gpu.major, gpu.minor);
  return cuda_done(cudaSetDevice(ordinal), "use the GPU", status);
}

static bool describe(GpuFacts *facts, Status *status) {
  size_t free_bytes = 0, all_bytes = 0;
  int device = 0;
  if (!cuda_done(cudaGetDevice(&device), "tell which GPU it has", status) ||
      !look((uint32_t)device, &facts->id, status) ||
      !cuda_done(cudaMemGetInfo(&free_bytes, &all_bytes), "ask for a GPU's memory", status))
    return false;
  facts->memory_bytes = all_bytes;
  facts->free_bytes = free_bytes;
  return true;
}

/* The calling thread's GPU, as set by choose. */
static int32_t current_gpu(const char **name) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static char names[PRODUCT_GPUS_MAX][CHOICE_GPU_BYTES];
  struct cudaDeviceProp gpu;
  int device = -1;
  if (cudaGetDevice(&device) != cudaSuccess || device >= PRODUCT_GPUS_MAX) return -1;
  pthread_mutex_lock(&lock);
  if (names[device][0] == '\0' && cudaGetDeviceProperties(&gpu, device) == cudaSuccess)
    (void)snprintf(names[device], CHOICE_GPU_BYTES, "%.*s", CHOICE_GPU_BYTES - 1, gpu.name);
  pthread_mutex_unlock(&lock);
  *name = names[device];
  return device;
}

/* Attention does without its library: the run says why. */
static const Kernel *with_attention(const Kernel *base) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static Status missing = {.text = "LOCKSTEP_CUDNN is 0"};
  const char *wanted = getenv("LOCKSTEP_CUDNN");
  bool is_wanted = wanted == NULL || strcmp(wanted, "0") != 0;
  pthread_mutex_lock(&lock);
  const DnnApi *dnn = is_wanted ? cudnn_library(NULL, &missing) : NULL;
  const Kernel *found = kernels_cuda_attending(base, dnn, missing.text, current_gpu);
  pthread_mutex_unlock(&lock);
  return found;
}

static const Kernel *kernels(KernelVariant variant, Status *status) {
  if (variant == KERNEL_REFERENCE) return kernels_cuda();
  const LtApi *lt = lt_library(NULL, status);
  return lt != NULL ? with_attention(kernels_cuda_with(lt, current_gpu)) : NULL;
}

static bool read_choices(const char *path, bool must_hold, Status *status) {
  char why[CHOICES_WHY_BYTES];
  choices_hold(must_hold);
  return choices_read(path, why) || status_fail(status, STATUS_USER, "%s", why);
}

static bool write_choices(const char *path, Status *status) {
  char why[CHOICES_WHY_BYTES];
  return choices_write(path, why) || status_fail(status, STATUS_WORLD, "%s", why);
}

static bool take_choices(const LtChoice *choices, int64_t count, Status *status) {
  for (int64_t i = 0; i < count; i++)
    if (!choices_add(&choices[i]))
      return status_fail(status, STATUS_WORLD, "not enough memory for the choices of products");
  return (products_settle() && attentions_settle()) ||
         status_fail(status, STATUS_WORLD,
                     "cublasLt or cuDNN does not take what another rank has chosen: give all nodes "
                     "the same libraries and the same GPUs");
}

const CudaPlugin *lockstep_cuda_plugin(void) {
  static const CudaPlugin plugin = {
      .version = CUDA_PLUGIN_VERSION,
      .count = count_gpus,
      .look = look,
      .listens = listens,
      .choose = choose,
      .describe = describe,
      .memory = {.map = cuda_map, .unmap = cuda_unmap, .pin = cuda_pin, .unpin = cuda_unpin},
      .open = cuda_device_open,
      .kernels = kernels,
      .read_choices = read_choices,
      .write_choices = write_choices,
      .count_choices = choices_count,
      .lend = cuda_lend,
      .choice_at = choices_at,
      .take_choices = take_choices,
      .tell_attention = attentions_tell,
      .list_attention = attentions_list};
  return &plugin;
}

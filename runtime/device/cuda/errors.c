/* errors.c -- what CUDA says of a failure, and where its words do not tell what to do, that. */
#include "runtime/device/cuda/cuda.h"

static const struct {
  cudaError_t error;
  const char *hint;
} hints[] = {
    {cudaErrorSystemNotReady, "where GPUs have NVSwitches nvidia-fabricmanager has to run"},
    {cudaErrorSystemDriverMismatch, "the kernel's module and libcuda.so.1 are of two versions: "
                                    "load the module again, or restart the machine"},
    {cudaErrorDevicesUnavailable,
     "another process has the GPU for itself, or its compute mode forbids it: end that process "
     "(nvidia-smi lists it), or allow several with nvidia-smi -c DEFAULT"},
    {cudaErrorMemoryAllocation, "the GPU is full: end what else runs on it (nvidia-smi lists it)"},
    {cudaErrorECCUncorrectable,
     "the GPU's memory is damaged there: reset it with nvidia-smi -r, and look at "
     "nvidia-smi -q -d ECC,ROW_REMAPPER"},
    {cudaErrorInsufficientDriver, "install a newer driver, or build with an older CUDA"},
    {cudaErrorNoKernelImageForDevice, "./bootstrap build on this machine compiles for its GPUs"},
    {cudaErrorNvlinkUncorrectable,
     "a link between GPUs has failed: nvidia-smi nvlink -e counts it"},
};

bool cuda_done(cudaError_t error, const char *what, Status *status) {
  const char *hint = NULL;
  for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
    if (hints[i].error == error) hint = hints[i].hint;
  return error == cudaSuccess || status_fail(status, STATUS_WORLD, "CUDA cannot %s: %s%s%s%s", what,
                                             cudaGetErrorString(error), hint != NULL ? " (" : "",
                                             hint != NULL ? hint : "", hint != NULL ? ")" : "");
}

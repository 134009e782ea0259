/* cuda.h -- shared by the files of the CUDA back end. */
#ifndef LOCKSTEP_DEVICE_CUDA_H
#define LOCKSTEP_DEVICE_CUDA_H

#include <cuda_runtime_api.h>

#include "runtime/device/cuda/plugin.h"

/* True if `error` is success; otherwise `status` says what could not be done, and why. */
bool cuda_done(cudaError_t error, const char *what, Status *status);

DeviceOpen cuda_device_open;

#endif

/* cuda.h -- shared by the files of the CUDA back end. */
#ifndef LOCKSTEP_DEVICE_CUDA_H
#define LOCKSTEP_DEVICE_CUDA_H

#include <cuda_runtime_api.h>

#include "runtime/device/cuda/plugin.h"

/* True if `error` is success; otherwise `status` says what could not be done, and why. */
bool cuda_done(cudaError_t error, const char *what, Status *status);

DeviceOpen cuda_device_open;

/* The calls of ArenaMap: memory of the GPU, and pages of the host that are locked for it. */
bool cuda_map(size_t size_bytes, void **at, Status *status);
void cuda_unmap(void *at);
bool cuda_pin(void *at, size_t size_bytes, Status *status);
void cuda_unpin(void *at, size_t size_bytes);

/* Bytes from `at`, at most `size_bytes`, to the end of its piece: memory of the host is locked in
 * pieces, and a copy may not cross from one to the next. */
uint64_t cuda_piece_bytes(const void *at, uint64_t size_bytes);

#endif

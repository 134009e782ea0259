/* memory.c -- memory of the GPU, and pages of the host that are locked for it. */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runtime/device/cuda/cuda.h"

/* One call cannot register 512 GiB or more with drivers from R580: their table of pages, 16 bytes
 * for each of 4 KiB, is larger than the kernel gives them. Pieces end at multiples of this address,
 * so that a copy finds their ends without a list of them. */
static const uint64_t piece_bytes = (uint64_t)1 << 38;

uint64_t cuda_piece_bytes(const void *at, uint64_t size_bytes) {
  const uint64_t left = piece_bytes - (uintptr_t)at % piece_bytes;
  return size_bytes < left ? size_bytes : left;
}

/* When memory is short the amount that is free says more than the error. */
static bool allocate(size_t size_bytes, void **at, Status *status) {
  size_t free_bytes = 0, all_bytes = 0;
  cudaError_t error = cudaMalloc(at, size_bytes);
  if (error != cudaErrorMemoryAllocation || cudaMemGetInfo(&free_bytes, &all_bytes) != cudaSuccess)
    return cuda_done(error, "allocate the arena", status);
  return status_fail(status, STATUS_USER,
                     "the arena is %zu bytes, and of the GPU's %zu bytes %zu are free: end what "
                     "else runs on it, or compile with a memory.budget below that",
                     size_bytes, all_bytes, free_bytes);
}

/* Until it is clear: cudaMemset returns before, and streams do not wait for it, for they were made
 * not to wait for the stream that it is in. */
static bool clear(void *at, size_t size_bytes, Status *status) {
  return cuda_done(cudaMemset(at, 0, size_bytes), "clear the arena", status) &&
         cuda_done(cudaDeviceSynchronize(), "clear the arena", status);
}

bool cuda_map(size_t size_bytes, void **at, Status *status) {
  return allocate(size_bytes, at, status) && clear(*at, size_bytes, status);
}

void cuda_unmap(void *at) {
  (void)cudaFree(at);
}

/* CUDA's error for a refusal by the system is the one for a full GPU. */
static bool refused(cudaError_t error, size_t size_bytes, Status *status) {
  char limit[96] = "";
  struct rlimit locked;
  if (getrlimit(RLIMIT_MEMLOCK, &locked) == 0 && locked.rlim_cur < size_bytes)
    (void)snprintf(limit, sizeof limit, " (ulimit -l: %.3g MB)", (double)locked.rlim_cur * 1e-6);
  if (error == cudaErrorMemoryAllocation)
    return status_fail(status, STATUS_WORLD,
                       "the system refuses to lock %.3g MB of host memory for the GPU: raise the "
                       "limit of locked memory%s, or move less (offload, with share or most)",
                       (double)size_bytes * 1e-6, limit);
  if (error == cudaErrorNotSupported)
    return status_fail(
        status, STATUS_WORLD,
        "the GPU's driver cannot lock memory that the host has mapped, which offload "
        "needs: compile the job without offload");
  return cuda_done(error, "lock memory of the host", status);
}

/* Locks whole pages: the mapping ends after them. Each page is where its first touch put it, and a
 * huge page is whole, before it is locked: a locked page neither moves nor grows. */
bool cuda_pin(void *at, size_t size_bytes, Status *status) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  uint8_t *const base = at;
  const size_t whole = (size_bytes + page - 1) / page * page;
  for (size_t locked = 0, piece; locked < whole; locked += piece) {
    piece = cuda_piece_bytes(base + locked, whole - locked);
    const cudaError_t error = cudaHostRegister(base + locked, piece, cudaHostRegisterDefault);
    if (error == cudaSuccess) continue;
    (void)cudaGetLastError(); /* a later launch would report the error as its own */
    cuda_unpin(base, locked);
    return refused(error, size_bytes, status);
  }
  return true;
}

void cuda_unpin(void *at, size_t size_bytes) {
  uint8_t *const base = at;
  for (size_t open = 0, piece; open < size_bytes; open += piece) {
    piece = cuda_piece_bytes(base + open, size_bytes - open);
    (void)cudaHostUnregister(base + open);
  }
}

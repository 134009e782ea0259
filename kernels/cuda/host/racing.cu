/* racing.cu -- kernels with faults, for the test of races.cpp. */
#include "kernels/cuda/vectors.h"

extern "C" {
#include "kernels/cuda/host/racing.h"
}

/* Each thread takes its neighbour's number: after a barrier, or before. */
__global__ void pass_on(const float *x, float *y, bool waits) {
  SHARED(float, next, ROW_THREADS);
  next[threadIdx.x] = x[threadIdx.x];
  if (waits) __syncthreads();
  y[threadIdx.x] = next[(threadIdx.x + 1) % blockDim.x];
}

/* The same within a warp. */
__global__ void pass_on_lane(const float *x, float *y, bool waits) {
  SHARED(float, next, ROW_THREADS);
  next[threadIdx.x] = x[threadIdx.x];
  if (waits) __syncwarp();
  y[threadIdx.x] = next[threadIdx.x ^ 1u];
}

/* Each thread writes another byte (`own`); or pairs of threads write the same one and race. */
__global__ void write_byte(const float *, float *y, bool own) {
  ((unsigned char *)y)[own ? threadIdx.x : threadIdx.x | 1u] = 1;
}

/* One thread writes a byte; another reads the word that it is part of, or the next word. */
__global__ void write_part(const float *, float *y, bool own) {
  if (threadIdx.x == 0) ((unsigned char *)y)[2] = 1;
  if (threadIdx.x == 1) y[2] = y[own ? 1 : 0];
}

/* All blocks add to one number, or each to its own. */
__global__ void add_block(const float *x, float *y, bool own) {
  if (threadIdx.x == 0) y[own ? blockIdx.x : 0] += x[blockIdx.x];
}

/* The second block reads what the first one writes, or what no one does. */
__global__ void read_block(const float *x, float *y, bool own) {
  if (threadIdx.x > 0) return;
  if (blockIdx.x == 0) y[0] = x[0];
  if (blockIdx.x == 1) y[1] = own ? x[1] : y[0];
}

/* The vector begins at a multiple of its size, or one element after it. */
__global__ void move_vector(const float *x, float *y, bool aligned) {
  if (threadIdx.x > 0 || blockIdx.x > 0) return;
  *(Vector<float, 4> *)y = *(const Vector<float, 4> *)(aligned ? x : x + 1);
}

extern "C" void racing_run(Racing which, bool good, const float *x, float *y) {
  static void (*const kernels[])(const float *, float *, bool) = {
      pass_on, pass_on_lane, write_byte, write_part, add_block, read_block, move_vector};
  const KernelArgs args = {};
  const char *why = "";
  Launch run(&args, &why, "racing");
  run.blocks(dim3(which < RACING_BLOCKS ? 1 : 2), ROW_THREADS, kernels[which], x, y, good);
}

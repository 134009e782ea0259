/* tensors.h -- kernels that work on many tensors in one launch. */
#ifndef LOCKSTEP_KERNELS_CUDA_TENSORS_H
#define LOCKSTEP_KERNELS_CUDA_TENSORS_H

#include <type_traits>

#include "kernels/cuda/vectors.h"

/* As many as fit into the 4 kB that every GPU takes as a kernel's arguments, and at most 64. */
template <class T> struct TensorsMost {
  static constexpr int FIT = (4096 - 640) / (int)(sizeof(T) + sizeof(int32_t));
  static constexpr int VALUE = FIT < 64 ? FIT : 64;
};

/* A part of one tensor, which a block works on at a time. */
struct Chunk {
  int32_t tensor;
  int64_t first, end; /* elements */
  int64_t number;     /* within the tensor */
};

template <class T> struct Tensors {
  typedef T Tensor;
  T of[TensorsMost<T>::VALUE];        /* each has its number of elements, `n` */
  int32_t end[TensorsMost<T>::VALUE]; /* chunks of this one and all before it */
  int32_t count;

  __device__ int64_t chunks() const { return end[count - 1]; }
  __device__ Chunk chunk(int64_t number) const {
    int32_t t = 0;
    while (number >= end[t])
      t++;
    if (t > 0) number -= end[t - 1];
    int64_t first = number * WORK_SUM_BLOCK, last = first + WORK_SUM_BLOCK;
    return {t, first, last < of[t].n ? last : of[t].n, number};
  }
};

/* Elements of the chunk, shared out over the threads of the block. */
#define EACH_OF_CHUNK(i, chunk)                                                                    \
  int64_t i = (chunk).first + threadIdx.x;                                                         \
  i < (chunk).end;                                                                                 \
  i += blockDim.x

/* The same in vectors of V, then the rest one by one: calls `body` with the first and the Count. */
template <int V, class Body> static __device__ void each_vector_of(const Chunk &chunk, Body body) {
  const int64_t in_vectors = chunk.end - (chunk.end - chunk.first) % V;
  for (int64_t i = chunk.first + (int64_t)threadIdx.x * V; i < in_vectors;
       i += (int64_t)blockDim.x * V)
    body(i, Count<V>());
  for (int64_t i = in_vectors + threadIdx.x; i < chunk.end; i += blockDim.x)
    body(i, Count<1>());
}

/* Calls `start` with tables of the tensors that `make` makes of the records. */
template <class T, class Make, class Start>
static KernelStatus with_tensors(const KernelArgs *args, int32_t count, Make make, Start start) {
  static_assert(sizeof(Tensors<T>) <= 4096 - 448, "a table fits beside the other arguments");
  KernelStatus status = KERNEL_DONE;
  for (int32_t first = 0; first < count && status == KERNEL_DONE; first += TensorsMost<T>::VALUE) {
    Tensors<T> all;
    int64_t chunks = 0;
    all.count = count - first < TensorsMost<T>::VALUE ? count - first : TensorsMost<T>::VALUE;
    for (int32_t i = 0; i < all.count; i++) {
      all.of[i] = make(&args[first + i]);
      chunks += (all.of[i].n + WORK_SUM_BLOCK - 1) / WORK_SUM_BLOCK;
      all.end[i] = (int32_t)chunks;
    }
    status = start(all, chunks);
  }
  return status;
}

#endif

/* cudnn_stand_in.h -- cuDNN for tests without GPUs: a shared object with the library's entry
 * points, loaded as the library is. It keeps descriptors as they are set, refuses what does not fit
 * (attributes that a kind does not have, types and counts, sizes that do not join, tensors that are
 * read before they are made, ids that are not bound), and carries a graph out operation by
 * operation, in f32, on the addresses of a call: what a graph computes is what was asked for,
 * whoever recognises it. Scratch that it is given is overwritten first. */
#ifndef LOCKSTEP_TESTS_CUDNN_STAND_IN_H
#define LOCKSTEP_TESTS_CUDNN_STAND_IN_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/cuda/attentions.h"
#include "runtime/device/cudnn_library.h"
#include "tests/unit/cudnn_stand_in_says.h"
#include "tests/unit/lt_stand_in.h"

static inline void *cudnn_stand_in_find(const char *name) {
  void *object = dlopen(CUDNN_STAND_IN, RTLD_NOW | RTLD_LOCAL);
  void *found = object != NULL ? dlsym(object, name) : NULL;
  if (found == NULL) printf("%s\n", dlerror()), exit(1);
  return found;
}

static inline void cudnn_stand_in_say(CudnnStandInSays says) {
  CudnnStandInSay *call = NULL;
  *(void **)&call = cudnn_stand_in_find("cudnn_says");
  call(&says);
}

static inline CudnnStandInSeen cudnn_stand_in_seen(void) {
  CudnnStandInSee *call = NULL;
  CudnnStandInSeen seen;
  *(void **)&call = cudnn_stand_in_find("cudnn_sees");
  call(&seen);
  return seen;
}

/* The kernels for GPUs, with products and attention through the stand-ins. */
static inline const Kernel *cudnn_stand_in_kernels(void) {
  Status status = {0};
  const DnnApi *api = cudnn_library(CUDNN_STAND_IN, &status);
  if (api == NULL) printf("%s\n", status.text), exit(1);
  return kernels_cuda_attending(lt_stand_in_kernels(), api, NULL, lt_stand_in_gpu);
}

/* Its second engine is faster than the first that it recommends. Of what runs no plan of its the
 * time is cublasLt's stand-in's. */
static inline bool cudnn_stand_in_time(ProductTry *product, const void *context, int32_t runs,
                                       int64_t *took_ns) {
  for (int32_t i = 0; i < runs; i++) {
    const int64_t calls = cudnn_stand_in_seen().own_calls;
    if (!product(context, (void *)&cudnn_stand_in_time)) return false;
    const CudnnStandInSeen seen = cudnn_stand_in_seen();
    took_ns[i] = seen.own_calls == calls ? lt_stand_in_took_ns()
                 : seen.engine == 2      ? 3000000
                                         : 2000000;
  }
  return true;
}

static const ProductClock cudnn_stand_in_clock = {13000, lt_stand_in_fill, cudnn_stand_in_time,
                                                  lt_stand_in_now};

#endif

/* lt_stand_in.h -- cublasLt for tests without GPUs: a shared object with the library's entry
 * points, loaded as the library is. It computes in plain C when it is called, and refuses what the
 * library would: matrices that do not fit each other, short leading dimensions, types that it does
 * not multiply, algorithms of another shape, addresses less aligned than it was told, scratch that
 * is too small, a bias without an address. It is stricter in one: results that overlap what is
 * read.
 *
 * It offers three algorithms for everything, which round alike and are told apart by their tile;
 * the second is the fastest, by a clock that it has.
 *
 * Where there is room it splits the sum over k in two parts, which it adds up in the scratch. First
 * it offers to round the parts to bf16, which the caller must not take. Where columns are not whole
 * vectors of 16 bytes it rounds a product in bf16 before its epilogue, as cublasLt 13.1 was seen to
 * do on an H100. */
#ifndef LOCKSTEP_TESTS_LT_STAND_IN_H
#define LOCKSTEP_TESTS_LT_STAND_IN_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/products.h"
#include "kernels/cuda/products_timed.h"
#include "runtime/device/lt_library.h"

/* Further functions of the shared object. */
typedef int64_t LtStandInCount(void);    /* products that were made; calls that were wrong */
typedef void LtStandInKnows(bool knows); /* false: no algorithm for anything */
typedef void LtStandInEnds(int status);  /* of a search for what ends with more than a bias */
typedef void LtStandInSlows(int64_t ns); /* how much longer such a product takes */

static inline void *lt_stand_in_find(const char *name) {
  void *object = dlopen(LT_STAND_IN, RTLD_NOW | RTLD_LOCAL);
  void *found = object != NULL ? dlsym(object, name) : NULL;
  if (found == NULL) printf("%s\n", dlerror()), exit(1);
  return found;
}

static inline int64_t lt_stand_in_count(void) {
  LtStandInCount *call = NULL;
  *(void **)&call = lt_stand_in_find("lt_stand_in_products");
  return call();
}

static inline int64_t lt_stand_in_faults(void) {
  LtStandInCount *call = NULL;
  *(void **)&call = lt_stand_in_find("lt_stand_in_faults");
  return call();
}

static inline void lt_stand_in_knows(bool knows) {
  LtStandInKnows *call = NULL;
  *(void **)&call = lt_stand_in_find("lt_stand_in_knows");
  call(knows);
}

static inline void lt_stand_in_slows(int64_t ns) {
  LtStandInSlows *call = NULL;
  *(void **)&call = lt_stand_in_find("lt_stand_in_slows");
  call(ns);
}

static inline void lt_stand_in_ends(int status) {
  LtStandInEnds *call = NULL;
  *(void **)&call = lt_stand_in_find("lt_stand_in_ends");
  call(status);
}

/* The time of this thread's last product. */
static inline int64_t lt_stand_in_took_ns(void) {
  LtStandInCount *call = NULL;
  *(void **)&call = lt_stand_in_find("lt_stand_in_ns");
  return call();
}

static inline bool lt_stand_in_fill(void *to, uint64_t size_bytes, const void *pattern,
                                    uint64_t pattern_bytes) {
  for (uint64_t at = 0; at < size_bytes; at += pattern_bytes)
    memcpy((char *)to + at, pattern,
           at + pattern_bytes < size_bytes ? pattern_bytes : size_bytes - at);
  return true;
}

/* Now and then something else runs on the GPU. */
static inline bool lt_stand_in_time(ProductTry *product, const void *context, int32_t runs,
                                    int64_t *took_ns) {
  for (int32_t i = 0; i < runs; i++) {
    if (!product(context, NULL)) return false;
    took_ns[i] = lt_stand_in_took_ns() + (i == 2 ? 4000000 : 0);
  }
  return true;
}

/* Trying never comes to its limit: that would depend on what else the machine does. */
static inline int64_t lt_stand_in_now(void) {
  return 0;
}

static const ProductClock lt_stand_in_clock = {13000, lt_stand_in_fill, lt_stand_in_time,
                                               lt_stand_in_now};

static inline int32_t lt_stand_in_gpu(const char **name) {
  *name = "stand-in GPU";
  return 0;
}

/* The kernels for GPUs, with products through it. */
static inline const Kernel *lt_stand_in_kernels(void) {
  Status status = {0};
  const LtApi *api = lt_library(LT_STAND_IN, &status);
  if (api == NULL) printf("%s\n", status.text), exit(1);
  return kernels_cuda_with(api, lt_stand_in_gpu);
}

#endif

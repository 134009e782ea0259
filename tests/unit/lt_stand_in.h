/* lt_stand_in.h -- cublasLt for tests without GPUs: a shared object with the library's entry
 * points, loaded as the library is. It computes in plain C when it is called, and refuses what the
 * library would: matrices that do not fit each other, short leading dimensions, types that it does
 * not multiply, algorithms of another shape, addresses less aligned than it was told, scratch that
 * is too small, a bias without an address. It is stricter in one: results that overlap what is
 * read.
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

#include "kernels/cuda/products.h"
#include "runtime/device/lt_library.h"

/* Further functions of the shared object. */
typedef int64_t LtStandInCount(void);    /* products that were made; calls that were wrong */
typedef void LtStandInKnows(bool knows); /* false: no algorithm for anything */
typedef void LtStandInEnds(int status);  /* of a search for what ends with more than a bias */

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

static inline void lt_stand_in_ends(int status) {
  LtStandInEnds *call = NULL;
  *(void **)&call = lt_stand_in_find("lt_stand_in_ends");
  call(status);
}

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

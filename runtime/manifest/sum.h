/* sum.h -- the end of a manifest's text, and the names of dtypes in it. */
#ifndef LOCKSTEP_MANIFEST_SUM_H
#define LOCKSTEP_MANIFEST_SUM_H

#define XXH_STATIC_LINKING_ONLY /* the size of a state */
#include <xxhash.h>

#include "runtime/manifest/manifest.h"

enum {
  MANIFEST_SUM_DIGITS = 16,
  MANIFEST_SUM_END =
      MANIFEST_SUM_DIGITS + 3 /* the text ends with the digits and "} and a newline */
};

/* As in headers of safetensors. NULL: no tensor of a state has it. */
static inline const char *manifest_dtype(DType dtype) {
  static const char *const names[DTYPE_COUNT] = {
      [DTYPE_F32] = "F32", [DTYPE_BF16] = "BF16", [DTYPE_I32] = "I32",
      [DTYPE_F64] = "F64", [DTYPE_I16] = "I16",   [DTYPE_F16] = "F16",
  };
  return names[dtype];
}

#endif

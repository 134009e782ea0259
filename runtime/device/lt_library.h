/* lt_library.h -- finds and loads cublasLt. */
#ifndef LOCKSTEP_LT_LIBRARY_H
#define LOCKSTEP_LT_LIBRARY_H

#include "kernels/cuda/lt_api.h"
#include "runtime/status.h"

/* The library, loaded once a process: libcublasLt.so.13 or .12 as the loader finds it, or in the
 * CUDA toolkit's folder; where `path` is not NULL, that file. NULL: `status` says what is missing.
 */
const LtApi *lt_library(const char *path, Status *status);

#endif

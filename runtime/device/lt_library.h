/* lt_library.h -- finds and loads cublasLt. */
#ifndef LOCKSTEP_LT_LIBRARY_H
#define LOCKSTEP_LT_LIBRARY_H

#include "kernels/cuda/lt_api.h"
#include "runtime/process/status.h"

/* The library, loaded once in a process: libcublasLt.so.13 or .12 as found by the loader or in the
 * folder of the CUDA toolkit; if `path` is not NULL, that file. NULL: `status` says what is
 * missing.
 */
const LtApi *lt_library(const char *path, Status *status);

#endif

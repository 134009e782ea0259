/* cudnn_library.h -- finds and loads cuDNN. */
#ifndef LOCKSTEP_CUDNN_LIBRARY_H
#define LOCKSTEP_CUDNN_LIBRARY_H

#include "kernels/cuda/cudnn_api.h"
#include "runtime/process/status.h"

/* The library, loaded once in a process: libcudnn.so.9 as found by the loader or in the folder of
 * the CUDA toolkit; if `path` is not NULL, that file. NULL: `status` says what is missing;
 * attention does without it. */
const DnnApi *cudnn_library(const char *path, Status *status);

#endif

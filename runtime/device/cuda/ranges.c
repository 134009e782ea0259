#include "runtime/device/cuda/ranges.h"

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>

void range_begin(const char *name) {
  (void)nvtxRangePushA(name);
}

void range_end(void) {
  (void)nvtxRangePop();
}

#else /* a toolkit may come without it: a profiler shows kernels by their own names */

void range_begin(const char *name) {
  (void)name;
}

void range_end(void) {}

#endif

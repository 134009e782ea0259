/* ranges.h -- spans of the issuing thread in a profiler's timeline (NVTX). Without a profiler,
 * which sets NVTX_INJECTION64_PATH to its library, a call only tests a pointer. */
#ifndef LOCKSTEP_CUDA_RANGES_H
#define LOCKSTEP_CUDA_RANGES_H

void range_begin(const char *name);
void range_end(void);

#endif

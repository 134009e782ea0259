/* ranges.h -- spans of the issuing thread in a profiler's timeline (NVTX). Without a profiler,
 * which says by NVTX_INJECTION64_PATH where its library is, a call costs a look at a pointer. */
#ifndef LOCKSTEP_CUDA_RANGES_H
#define LOCKSTEP_CUDA_RANGES_H

void range_begin(const char *name);
void range_end(void);

#endif

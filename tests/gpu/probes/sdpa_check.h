/* sdpa_check.h -- compares what both passes left on the device with the fp64 reference. */
#ifndef GPU_SDPA_CHECK_H
#define GPU_SDPA_CHECK_H

#include "tests/gpu/probes/sdpa_run.h"

typedef struct {
  Difference o, stats, d_q, d_k, d_v;
} SdpaDifferences;

/* Fails when one of them is off by more than bf16 arithmetic explains. Small shapes only. */
bool sdpa_check(const SdpaShape *shape, const SdpaBuffers *buffers, SdpaDifferences *differences);

#endif

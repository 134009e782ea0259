/* sdpa_reference.h -- attention forward and backward in fp64, in the layouts of sdpa.h. */
#ifndef GPU_SDPA_REFERENCE_H
#define GPU_SDPA_REFERENCE_H

#include "tests/gpu/probes/sdpa.h"

/* All arrays are the caller's: qkv and d_qkv of sdpa_qkv_count elements, o and d_o of
 * sdpa_o_count, stats of sdpa_stats_count. d_qkv is set, not added to. */
typedef struct {
  const double *qkv, *d_o;
  double *o, *stats, *d_qkv;
} SdpaArrays;

/* False when out of memory. */
bool sdpa_reference(const SdpaShape *shape, const SdpaArrays *arrays);

#endif

/* sdpa_cases.h -- the attention shapes that are planned, checked and timed. */
#ifndef GPU_SDPA_CASES_H
#define GPU_SDPA_CASES_H

#include "tests/gpu/probes/sdpa.h"

/* Small enough for an fp64 reference on the host; an odd length and shared key heads among them. */
static const SdpaShape SDPA_CHECKS[] = {
    {2, 4, 4, 256, 64, true},   {2, 4, 4, 256, 64, false}, {1, 8, 2, 256, 128, true},
    {1, 8, 2, 256, 128, false}, {1, 2, 2, 200, 64, true},
};

/* GPT-2 124M (12 heads of 64) at 65536 tokens, Llama-3 8B (32 query and 8 key heads of 128) at
 * 16384 tokens; the unmasked ones are the off-diagonal blocks of ring attention. */
static const SdpaShape SDPA_TIMINGS[] = {
    {64, 12, 12, 1024, 64, true}, {32, 12, 12, 2048, 64, true}, {16, 12, 12, 4096, 64, true},
    {8, 12, 12, 8192, 64, true},  {4, 12, 12, 16384, 64, true}, {16, 32, 8, 1024, 128, true},
    {8, 32, 8, 2048, 128, true},  {4, 32, 8, 4096, 128, true},  {2, 32, 8, 8192, 128, true},
    {1, 32, 8, 16384, 128, true}, {8, 12, 12, 8192, 64, false}, {2, 32, 8, 8192, 128, false},
};

enum {
  SDPA_CHECK_COUNT = sizeof SDPA_CHECKS / sizeof *SDPA_CHECKS,
  SDPA_TIMING_COUNT = sizeof SDPA_TIMINGS / sizeof *SDPA_TIMINGS,
};

#endif

/* control.h -- everything that changes between steps, in one small buffer that kernels read by
 * address.
 *
 * It stands at a fixed arena offset and is mirrored on the host. Kernel arguments never change from
 * step to step, so a captured CUDA graph stays valid. */
#ifndef LOCKSTEP_PLAN_CONTROL_H
#define LOCKSTEP_PLAN_CONTROL_H

#include <stdint.h>

/* Slots of `reduce`, summed over all ranks by the one control all-reduce of a step. */
enum {
  REDUCE_LOSS = 0,       /* sum of losses over this rank's samples */
  REDUCE_COUNT = 1,      /* samples (tokens) with weight 1 */
  REDUCE_FOUND_INF = 2,  /* > 0 when any rank saw a non-finite gradient */
  REDUCE_STOP = 3,       /* > 0 when any rank was asked to stop after this step */
  REDUCE_CHECKPOINT = 4, /* > 0 when any rank was asked to save after this step */
  REDUCE_SLOTS = 8
};

typedef struct Control {
  double reduce[REDUCE_SLOTS];
  double lr;              /* of this step */
  double grad_norm;       /* global, before clipping */
  double clip_scale;      /* multiplies every gradient inside the update; 1 when not clipped */
  int64_t step;           /* 1 in the first step: Adam's t */
  uint64_t seed;          /* of the job */
  int64_t samples_before; /* sequences consumed before this step */
  int64_t microbatch_samples;
  int64_t padded_samples; /* the last so many of this micro-batch do not count: 0 in training */
} Control;

/* Of `elements` of a micro-batch, sample by sample, those that count; the rest is padding at the
 * end. */
static inline int64_t control_counted(const Control *control, int64_t elements) {
  if (control->padded_samples <= 0 || control->microbatch_samples <= 0) return elements;
  if (control->padded_samples >= control->microbatch_samples) return 0;
  return elements / control->microbatch_samples *
         (control->microbatch_samples - control->padded_samples);
}

#endif

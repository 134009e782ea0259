/* control.h -- everything that changes between steps, in one small block that kernels read by
 * address.
 *
 * It stands at a fixed offset of the device arena, so that kernel arguments never change from step
 * to step and captured work stays valid. The host neither reads nor writes it: one copy at the
 * start of a run of a program brings what the host sets, one at the end takes what the run has
 * left. Both go by slots of a ring in memory of the host, at PlanJob.control_ring_offset. */
#ifndef LOCKSTEP_PLAN_CONTROL_H
#define LOCKSTEP_PLAN_CONTROL_H

#include <stddef.h>
#include <stdint.h>

enum { CONTROL_SLOTS_MAX = 2 };

/* Slots of `reduce`, summed over all ranks by the one control all-reduce of a step. The host sets
 * where they start: at 0, and the requests at 1 on a rank that asks. */
enum {
  REDUCE_LOSS = 0,       /* sum of losses over this rank's samples */
  REDUCE_COUNT = 1,      /* samples (tokens) with weight 1 */
  REDUCE_FOUND_INF = 2,  /* > 0 when any rank saw a non-finite gradient */
  REDUCE_STOP = 3,       /* > 0 when any rank was asked to stop after this step */
  REDUCE_CHECKPOINT = 4, /* > 0 when any rank was asked to save after this step */
  REDUCE_SLOTS = 8
};

/* What lasts from step to step: part of a checkpoint. */
typedef struct ControlLasting {
  int64_t updates; /* made so far, this step's included once its norm is known: Adam's t */
} ControlLasting;

/* What a run of a program leaves to the host. */
typedef struct ControlOut {
  double grad_norm;  /* global, before clipping */
  double clip_scale; /* multiplies every gradient inside the update; 1 when not clipped */
  double reduce[REDUCE_SLOTS];
} ControlOut;

/* What the host sets before each run of a program. */
typedef struct ControlIn {
  double reduce[REDUCE_SLOTS];
  double lr;              /* of this step */
  int64_t step;           /* 1 in the first step */
  uint64_t seed;          /* of the job */
  int64_t samples_before; /* sequences consumed before this step */
  int64_t microbatch_samples;
  int64_t padded_samples; /* the last so many of this micro-batch do not count: 0 in training */
} ControlIn;

/* All of it, in the device's memory. From grad_norm on it is a ControlOut, from reduce on a
 * ControlIn. */
typedef struct Control {
  ControlLasting lasting;
  double grad_norm;
  double clip_scale;
  double reduce[REDUCE_SLOTS];
  double lr;
  int64_t step;
  uint64_t seed;
  int64_t samples_before;
  int64_t microbatch_samples;
  int64_t padded_samples;
} Control;

#define CONTROL_OUT_OFFSET offsetof(Control, grad_norm)
#define CONTROL_IN_OFFSET  offsetof(Control, reduce)
_Static_assert(CONTROL_OUT_OFFSET + offsetof(ControlOut, reduce) == offsetof(Control, reduce) &&
                   CONTROL_IN_OFFSET + offsetof(ControlIn, lr) == offsetof(Control, lr) &&
                   CONTROL_IN_OFFSET + sizeof(ControlIn) == sizeof(Control),
               "a block is what lasts, what comes out, and what goes in");

/* One of control_slots in memory of the host. */
typedef struct ControlPair {
  ControlIn in;
  ControlOut out;
} ControlPair;

#ifdef __CUDACC__
#define CONTROL_INLINE static inline __host__ __device__
#else
#define CONTROL_INLINE static inline
#endif

/* Of `elements` of a micro-batch, sample by sample, those that count; the rest is padding at the
 * end. */
CONTROL_INLINE int64_t control_counted(const Control *control, int64_t elements) {
  if (control->padded_samples <= 0 || control->microbatch_samples <= 0) return elements;
  if (control->padded_samples >= control->microbatch_samples) return 0;
  return elements / control->microbatch_samples *
         (control->microbatch_samples - control->padded_samples);
}

#endif

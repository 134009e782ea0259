/* loss_scale.h -- the dynamic loss scale, an fp32 number: how it follows from the steps that
 * overflowed.
 *
 *              overflow, the window's overflows used up: scale x backoff, at least min
 *            ┌──────────────────────────────────────────────┐
 *   scale ───┤                                              ├──> scale of the next step
 *            └──────────────────────────────────────────────┘
 *              `window` good steps in a row: scale x growth, unless that is infinite
 */
#ifndef LOCKSTEP_LOSS_SCALE_H
#define LOCKSTEP_LOSS_SCALE_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/inline.h"

/* Control slots. */
typedef struct LossScaleState {
  double *scale;
  int64_t *good, *left, *skipped, *skipped_in_row;
} LossScaleState;

/* Attrs of the kernel, in order. window 0: the scale stays, and overflows are counted. */
enum {
  LOSS_SCALE_WINDOW,
  LOSS_SCALE_GROWTH,
  LOSS_SCALE_BACKOFF,
  LOSS_SCALE_HYSTERESIS, /* overflows without a growth between them that lower it, all but the first
                            at once */
  LOSS_SCALE_MIN,
  LOSS_SCALE_LATE,   /* good steps that do not count at the start and after an overflow */
  LOSS_SCALE_REFILL, /* 1: a good step restores hysteresis */
  LOSS_SCALE_ATTRS
};

KERNEL_INLINE void loss_scale_lower(LossScaleState s, const double *attr) {
  double lower = (float)(*s.scale * attr[LOSS_SCALE_BACKOFF]);
  *s.good = -(int64_t)attr[LOSS_SCALE_LATE];
  if (*s.left > 0) --*s.left;
  if (*s.left > 0) return;
  *s.scale = lower > attr[LOSS_SCALE_MIN] ? lower : attr[LOSS_SCALE_MIN];
}

KERNEL_INLINE void loss_scale_raise(LossScaleState s, const double *attr) {
  const double largest = 3.4028234663852886e38; /* of fp32 */
  double higher = (float)(*s.scale * attr[LOSS_SCALE_GROWTH]);
  if (attr[LOSS_SCALE_REFILL] != 0) *s.left = (int64_t)attr[LOSS_SCALE_HYSTERESIS];
  if (++*s.good != (int64_t)attr[LOSS_SCALE_WINDOW]) return;
  *s.good = 0;
  *s.left = (int64_t)attr[LOSS_SCALE_HYSTERESIS];
  if (higher <= largest) *s.scale = higher;
}

/* After the norm of a step. */
KERNEL_INLINE void loss_scale_step(LossScaleState s, bool overflows, const double *attr) {
  *s.skipped += overflows;
  *s.skipped_in_row = overflows ? *s.skipped_in_row + 1 : 0;
  if (attr[LOSS_SCALE_WINDOW] == 0) return;
  if (overflows)
    loss_scale_lower(s, attr);
  else
    loss_scale_raise(s, attr);
}

#endif

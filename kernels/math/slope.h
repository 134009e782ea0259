/* slope.h -- the factor of a loss's gradient. */
#ifndef LOCKSTEP_SLOPE_H
#define LOCKSTEP_SLOPE_H

#include "kernels/inline.h"

/* targets: of the whole step, that count; null: `scale` is divided by their number already.
 * loss_scale: null is 1. */
KERNEL_INLINE double slope_scale(double scale, const double *targets, const double *loss_scale) {
  if (loss_scale) scale *= *loss_scale;
  if (!targets) return scale;
  return *targets > 0 ? scale / *targets : 0;
}

#endif
